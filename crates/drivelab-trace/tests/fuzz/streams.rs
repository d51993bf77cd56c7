//! Streams of records that are whole, and tell of what no drive has ever done.

use crate::bytes::{any_form, any_number, change_some, further, is_rare, lost_text, one_of};
use crate::campaign::Kept;
use crate::case::File;
use crate::lives::Dice;
use crate::soup::{Taste, any_category, payload};
use crate::support::bytes::append;
use crate::support::{BlockTrace, DurableWrite, Io};
use drivelab_trace::record::{CGROUP_BIT, Record};

/// Records as files: one dump, or one file for each of a few CPUs.
fn written(dice: &mut Dice, records: Vec<Record>) -> Vec<File> {
    let cpus = if dice.is_true() { None } else { Some(dice.roll(1, 5) as u32) };
    let (form, is_mixed) = (any_form(dice), is_rare(dice, 5));
    let name = "made".to_owned();
    let numbers = (0..cpus.unwrap_or(1)).map(|cpu| cpus.map(|_| cpu));
    let mut files: Vec<File> =
        numbers.map(|cpu| File { name: name.clone(), cpu, bytes: Vec::new() }).collect();
    for mut record in records {
        let place = cpus.map_or(0, |cpus| record.cpu % cpus);
        if cpus.is_some() && !is_rare(dice, 500) {
            record.cpu = place;
        }
        let form = if is_mixed { any_form(dice) } else { form };
        let bytes = &mut files[place as usize].bytes;
        append(&record, form, bytes);
        if is_mixed && is_rare(dice, 30) {
            bytes.extend(lost_text(dice));
        }
    }
    files
}

fn beginning(dice: &mut Dice) -> u64 {
    one_of(dice, &[0, 1, 1_000_000_000, 1 << 45, u64::MAX - 1_000_000, u64::MAX - (1 << 56)])
}

/// Lives as they should be.
fn sensible(dice: &mut Dice, now: &mut u64, count: u64) -> Vec<Record> {
    let mut trace = BlockTrace::new(2);
    for _ in 0..count {
        let sector = dice.roll(0, 64) * 8;
        let time = (*now).min(1 << 60);
        let ended = match dice.roll(0, 8) {
            0..3 => trace.io(time, &Io { sector, is_inserted: dice.is_true(), ..Io::default() }),
            3 => trace.merged_ios(time, sector, &[4096, 512, 8192], dice.is_true()),
            4 => trace.split_io(time, sector, &[4096, 4096, 512]),
            5 => trace.requeued_io(time, sector, 4096, 2),
            6 => trace.flush(time, dice.roll(1, 1_000_000)),
            _ => trace.durable_write(
                time,
                &DurableWrite {
                    sector,
                    has_preflush: dice.is_true(),
                    is_fua_emulated: dice.is_true(),
                    ..DurableWrite::default()
                },
            ),
        };
        *now = if dice.is_true() { ended } else { (*now).saturating_add(500) };
    }
    trace.numbered(false)
}

fn shuffled(dice: &mut Dice, records: &mut Vec<Record>) {
    for _ in 0..dice.roll(0, 8) {
        if records.is_empty() {
            return;
        }
        let (from, to) =
            (dice.roll(0, records.len() as u64) as usize, dice.roll(0, records.len() as u64) as usize);
        match dice.roll(0, 4) {
            0 => drop(records.remove(from)),
            1 => records.insert(to, records[from].clone()),
            2 => records.swap(from, to),
            _ => records[from].action_bits = dice.roll(1, 16) as u16,
        }
    }
}

/// Some hundred records.
pub fn absurd(dice: &mut Dice, kept: &Kept) -> Vec<File> {
    if !kept.cases.is_empty() && is_rare(dice, 3) {
        return further(dice, kept);
    }
    let (mut now, mut records) = (beginning(dice), Vec::new());
    for _ in 0..dice.roll(1, 4) {
        let count = dice.roll(1, 200);
        if dice.is_true() {
            let taste = Taste::any(dice);
            records.extend((1..=count as u32).map(|number| taste.record(dice, &mut now, number)));
        } else {
            let mut lives = sensible(dice, &mut now, count / 8);
            shuffled(dice, &mut lives);
            records.extend(lives);
        }
    }
    let mut files = written(dice, records);
    if is_rare(dice, 10) {
        change_some(dice, &mut files, kept);
    }
    files
}

/// A record that comes again and again, and what becomes other each time.
struct Again {
    first: Record,
    sector_step: u64,
    bytes_step: u32,
    device_step: u32,
    cpu_step: u32,
    pid_step: u32,
    sequence_step: u32,
}

impl Again {
    fn any(dice: &mut Dice, sector: u64) -> Self {
        const ACTIONS: [u16; 17] = [1, 1, 1, 2, 3, 4, 5, 6, 7, 7, 8, 8, 12, 13, 15, 0, 9];
        let action_bits = one_of(dice, &ACTIONS) | if is_rare(dice, 30) { CGROUP_BIT } else { 0 };
        let sector = sector.wrapping_add(one_of(dice, &[0, 0, 0, 1, 8, 16]));
        let bytes = one_of(dice, &[0, 512, 512, 4096, 4096, 8192, 1 << 20, u32::MAX, u32::MAX - 511]);
        let first = Record {
            sector,
            bytes,
            action_bits,
            category: any_category(dice),
            pid: dice.roll(0, 3) as u32,
            device: 8 << 20,
            sequence: dice.roll(0, 2) as u32,
            payload: payload(dice, action_bits, sector, 8 << 20),
            ..Record::default()
        };
        let step = |dice: &mut Dice| if is_rare(dice, 6) { 1 } else { 0 };
        Self {
            first,
            sector_step: one_of(dice, &[0, 0, 1, 1, 8, 8, 16, 1 << 30, u64::MAX, u64::MAX - 7]),
            bytes_step: one_of(dice, &[0, 0, 0, 512, u32::MAX - 511]),
            device_step: step(dice),
            cpu_step: step(dice),
            pid_step: step(dice),
            sequence_step: step(dice),
        }
    }

    fn take(&mut self, dice: &mut Dice, time_ns: u64) -> Record {
        let mut record = self.first.clone();
        record.time_ns = time_ns;
        if !record.payload.is_empty() {
            record.payload = payload(dice, record.action_bits, record.sector, record.device);
        }
        let next = &mut self.first;
        next.sector = next.sector.wrapping_add(self.sector_step);
        next.bytes = next.bytes.wrapping_add(self.bytes_step);
        next.device = next.device.wrapping_add(self.device_step);
        next.cpu = next.cpu.wrapping_add(self.cpu_step);
        next.pid = next.pid.wrapping_add(self.pid_step);
        next.sequence = next.sequence.wrapping_add(self.sequence_step);
        record
    }
}

/// Few records that come many times: what grows with each shows.
pub fn endless(dice: &mut Dice, kept: &Kept) -> Vec<File> {
    if !kept.cases.is_empty() && is_rare(dice, 10) {
        return further(dice, kept);
    }
    let (mut now, mut records) = (beginning(dice), Vec::new());
    let sector = if is_rare(dice, 6) { any_number(dice) } else { 1 << 20 };
    let step_ns = one_of(dice, &[0, 1, 1000, 1_000_000]);
    let most = one_of(dice, &[300, 1000, 3000, 12_000]);
    for _ in 0..dice.roll(1, 4) {
        let kinds = dice.roll(1, 5);
        let mut cycle: Vec<Again> = (0..kinds).map(|_| Again::any(dice, sector)).collect();
        for _ in 0..dice.roll(1, most) {
            for again in &mut cycle {
                now = now.saturating_add(step_ns);
                records.push(again.take(dice, now));
            }
        }
    }
    written(dice, records)
}
