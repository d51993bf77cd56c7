//! Made-up block traces whose every record is known, and the bytes that blktrace would have written for them.
//!
//! Times are ns of CLOCK_MONOTONIC. Every method that makes a whole life returns when it ended.
//! `tests/block_trace.py` is its twin for tests in Python.

#![allow(dead_code, clippy::missing_panics_doc, clippy::must_use_candidate)]

pub mod bytes;
pub mod golden;
pub mod plain;

use drivelab_trace::record::{Action, Record, category, notice};
use std::collections::HashMap;

/// Made-up drives.
pub const SDA: u32 = 8 << 20;
pub const SDB: u32 = 8 << 20 | 16;
pub const WRITE_SYNC: u32 = category::WRITE | category::SYNC;
/// Where the completion of a flush command says it was.
pub const NO_SECTOR: u64 = u64::MAX;

/// What the kernel adds to the direction of a record.
pub fn stage_bits(action: Action) -> u32 {
    match action {
        Action::Requeue => category::REQUEUE | category::FS,
        Action::Issue => category::ISSUE | category::FS,
        Action::Complete => category::COMPLETE | category::FS,
        Action::Insert => category::QUEUE | category::FS,
        Action::Split | Action::Remap | Action::Bounce => 0,
        _ => category::QUEUE,
    }
}

/// One plain life: Q G [P U] [I] D C.
#[derive(Debug, Clone)]
pub struct Io {
    pub sector: u64,
    pub bytes: u32,
    pub direction: u32,
    /// At least 5.
    pub queued_to_issued_ns: u64,
    pub issued_to_completed_ns: u64,
    pub is_inserted: bool,
    pub is_plugged: bool,
    pub error: i32,
    /// None: the next in turn.
    pub cpu: Option<u32>,
    /// None: that of the trace.
    pub device: Option<u32>,
}

impl Default for Io {
    fn default() -> Self {
        Self {
            sector: 0,
            bytes: 4096,
            direction: WRITE_SYNC,
            queued_to_issued_ns: 5_000,
            issued_to_completed_ns: 50_000,
            is_inserted: true,
            is_plugged: true,
            error: 0,
            cpu: None,
            device: None,
        }
    }
}

/// A write with FUA, as a journal commits it.
#[derive(Debug, Clone)]
pub struct DurableWrite {
    pub sector: u64,
    pub bytes: u32,
    pub has_preflush: bool,
    pub is_fua_emulated: bool,
    pub flush_ns: u64,
    pub write_ns: u64,
}

impl Default for DurableWrite {
    fn default() -> Self {
        Self {
            sector: 0,
            bytes: 4096,
            has_preflush: true,
            is_fua_emulated: true,
            flush_ns: 150_000,
            write_ns: 40_000,
        }
    }
}

/// Composes a recording.
#[derive(Debug, Clone)]
pub struct BlockTrace {
    pub cpus: u32,
    pub device: u32,
    pub pid: u32,
    pub records: Vec<Record>,
    lives: u32,
}

impl BlockTrace {
    /// Lives are spread over `cpus` in turn; records are of `SDA` and of thread 70 until told otherwise.
    pub fn new(cpus: u32) -> Self {
        Self { cpus, device: SDA, pid: 70, records: Vec::new(), lives: 0 }
    }

    fn next_cpu(&mut self) -> u32 {
        self.lives += 1;
        self.lives % self.cpus
    }

    /// One record; what is special about it can be set in what is returned.
    pub fn add(
        &mut self,
        time_ns: u64,
        action: Action,
        sector: u64,
        bytes: u32,
        direction: u32,
        cpu: u32,
    ) -> &mut Record {
        let pid = if action == Action::Complete { 0 } else { self.pid };
        self.records.push(Record {
            time_ns,
            sector,
            bytes,
            action_bits: action as u16,
            category: direction | stage_bits(action),
            pid,
            device: self.device,
            cpu,
            ..Record::default()
        });
        self.records.last_mut().expect("just pushed")
    }

    fn notice(&mut self, time_ns: u64, kind: u16, pid: u32, cpu: u32, payload: Vec<u8>) {
        self.records.push(Record {
            time_ns,
            action_bits: kind,
            category: category::NOTIFY,
            pid,
            device: self.device,
            cpu,
            payload,
            ..Record::default()
        });
    }

    /// The notice that names a thread.
    pub fn process(&mut self, time_ns: u64, pid: u32, name: &str, cpu: u32) {
        let mut payload = name.as_bytes().to_vec();
        payload.resize(16, 0);
        self.notice(time_ns, notice::PROCESS, pid, cpu, payload);
    }

    /// The notice that says what time of day it was.
    pub fn timestamp(&mut self, time_ns: u64, realtime_ns: u64, cpu: u32) {
        let words = [realtime_ns / 1_000_000_000, realtime_ns % 1_000_000_000];
        let payload = words.iter().flat_map(|word| u32::try_from(*word).expect("before 2106").to_ne_bytes());
        self.notice(time_ns, notice::TIMESTAMP, 0, cpu, payload.collect());
    }

    /// A notice with text.
    pub fn message(&mut self, time_ns: u64, text: &str, cpu: u32) {
        self.notice(time_ns, notice::MESSAGE, 0, cpu, text.as_bytes().to_vec());
    }

    /// One bio that is one request.
    pub fn io(&mut self, time_ns: u64, io: &Io) -> u64 {
        let cpu = io.cpu.unwrap_or_else(|| self.next_cpu());
        let device = io.device.unwrap_or(self.device);
        let (issued, usual) = (time_ns + io.queued_to_issued_ns, std::mem::replace(&mut self.device, device));
        let ended = issued + io.issued_to_completed_ns;
        self.add(time_ns, Action::Queue, io.sector, io.bytes, io.direction, cpu);
        self.add(time_ns + 1, Action::GetRequest, io.sector, io.bytes, io.direction, cpu);
        if io.is_plugged {
            self.add(time_ns + 2, Action::Plug, 0, 0, 0, cpu);
            self.add(issued - 2, Action::Unplug, 0, 0, 0, cpu).payload = 1_u64.to_be_bytes().to_vec();
        }
        if io.is_inserted {
            self.add(issued - 1, Action::Insert, io.sector, io.bytes, io.direction, cpu);
        }
        self.add(issued, Action::Issue, io.sector, io.bytes, io.direction, cpu);
        self.add(ended, Action::Complete, io.sector, io.bytes, io.direction, cpu).error = io.error;
        self.device = usual;
        ended
    }

    /// Adjacent bios, 1 us apart, that became one request: Q G I, Q M each (Q F when from the back), D, C after 50 us.
    pub fn merged_ios(&mut self, time_ns: u64, sector: u64, sizes: &[u32], is_front: bool) -> u64 {
        let cpu = self.next_cpu();
        let mut start = sector;
        let mut bios: Vec<(u64, u32)> = Vec::new();
        for size in sizes {
            bios.push((start, *size));
            start += u64::from(*size) / 512;
        }
        if is_front {
            bios.reverse();
        }
        let mut now = time_ns;
        for (index, (start, size)) in bios.into_iter().enumerate() {
            self.add(now, Action::Queue, start, size, WRITE_SYNC, cpu);
            if index == 0 {
                self.add(now + 1, Action::GetRequest, start, size, WRITE_SYNC, cpu);
                self.add(now + 2, Action::Insert, start, size, WRITE_SYNC, cpu);
            } else {
                let merge = if is_front { Action::FrontMerge } else { Action::BackMerge };
                self.add(now + 1, merge, start, size, WRITE_SYNC, cpu);
            }
            now += 1_000;
        }
        let total = sizes.iter().sum();
        self.add(now, Action::Issue, sector, total, WRITE_SYNC, cpu);
        self.add(now + 50_000, Action::Complete, sector, total, WRITE_SYNC, cpu);
        now + 50_000
    }

    /// One bio cut into pieces, 1 us apart: Q, for each piece X (but the last) G D, and one C each after 50 us.
    pub fn split_io(&mut self, time_ns: u64, sector: u64, sizes: &[u32]) -> u64 {
        let cpu = self.next_cpu();
        self.add(time_ns, Action::Queue, sector, sizes.iter().sum(), WRITE_SYNC, cpu);
        let (mut start, mut now) = (sector, time_ns);
        for (index, size) in sizes.iter().enumerate() {
            now += 1_000;
            let next = start + u64::from(*size) / 512;
            if index + 1 < sizes.len() {
                let rest = sizes[index..].iter().sum();
                self.add(now, Action::Split, start, rest, WRITE_SYNC, cpu).payload =
                    next.to_be_bytes().to_vec();
            }
            self.add(now + 1, Action::GetRequest, start, *size, WRITE_SYNC, cpu);
            self.add(now + 2, Action::Issue, start, *size, WRITE_SYNC, cpu);
            self.add(now + 50_002, Action::Complete, start, *size, WRITE_SYNC, cpu);
            start = next;
        }
        now + 50_002
    }

    /// Q G I D, R I D for each time it was put back, all 1 us apart, then C after 50 us.
    pub fn requeued_io(&mut self, time_ns: u64, sector: u64, bytes: u32, times: usize) -> u64 {
        let cpu = self.next_cpu();
        let again = [Action::Requeue, Action::Insert, Action::Issue].repeat(times);
        let first = [Action::Queue, Action::GetRequest, Action::Insert, Action::Issue];
        let mut now = time_ns;
        for action in first.into_iter().chain(again) {
            self.add(now, action, sector, bytes, WRITE_SYNC, cpu);
            now += 1_000;
        }
        self.add(now + 49_000, Action::Complete, sector, bytes, WRITE_SYNC, cpu);
        now + 49_000
    }

    /// A flush without data: Q and G of the thread, D and C of the flush machine (5 us later), C of the bio.
    pub fn flush(&mut self, time_ns: u64, service_ns: u64) -> u64 {
        let (cpu, direction) = (self.next_cpu(), WRITE_SYNC | category::FLUSH);
        self.add(time_ns, Action::Queue, 0, 0, direction, cpu);
        self.add(time_ns + 1, Action::GetRequest, 0, 0, direction, cpu);
        let ended = self.flush_command(time_ns + 5_000, service_ns, cpu) + 1;
        self.add(ended, Action::Complete, 0, 0, direction, cpu);
        ended
    }

    /// Only the device's command: D with 0 bytes of a kernel worker, C at no sector.
    pub fn flush_command(&mut self, time_ns: u64, service_ns: u64, cpu: u32) -> u64 {
        let direction = category::READ | category::FLUSH;
        self.add(time_ns, Action::Issue, 0, 0, direction, cpu).pid = 9;
        self.add(time_ns + service_ns, Action::Complete, NO_SECTOR, 0, direction, cpu);
        time_ns + service_ns
    }

    /// Emulated: Q G, [flush], I D C of the data, flush, C of the bio with 0 bytes. Else D carries FUA and ends it.
    pub fn durable_write(&mut self, time_ns: u64, write: &DurableWrite) -> u64 {
        let cpu = self.next_cpu();
        let data = WRITE_SYNC | category::META | if write.is_fua_emulated { 0 } else { category::FUA };
        let queued = data | category::FUA | if write.has_preflush { category::FLUSH } else { 0 };
        self.add(time_ns, Action::Queue, write.sector, write.bytes, queued, cpu);
        self.add(time_ns + 1, Action::GetRequest, write.sector, write.bytes, queued, cpu);
        let mut now = time_ns + 1_000;
        if write.has_preflush {
            now = self.flush_command(now, write.flush_ns, cpu) + 1_000;
        }
        self.add(now, Action::Insert, write.sector, write.bytes, data, cpu).pid = 9;
        self.add(now + 500, Action::Issue, write.sector, write.bytes, data, cpu).pid = 9;
        now += 500 + write.write_ns;
        self.add(now, Action::Complete, write.sector, write.bytes, data, cpu);
        if write.is_fua_emulated {
            now = self.flush_command(now + 1_000, write.flush_ns, cpu) + 1;
            self.add(now, Action::Complete, write.sector, 0, queued, cpu);
        }
        now
    }

    /// A of a partition, then the life on the whole disk; the sector of `io` is the one on the partition.
    pub fn remapped_io(&mut self, time_ns: u64, io: &Io, from_device: u32, partition_start: u64) -> u64 {
        let cpu = io.cpu.unwrap_or_else(|| self.next_cpu());
        let there = io.sector + partition_start;
        let mut payload = from_device.to_be_bytes().to_vec();
        payload.extend(self.device.to_be_bytes());
        payload.extend(io.sector.to_be_bytes());
        self.add(time_ns, Action::Remap, there, io.bytes, io.direction, cpu).payload = payload;
        self.io(time_ns + 10, &Io { sector: there, cpu: Some(cpu), ..io.clone() })
    }

    /// `count` plain reads and writes of 4 KiB, 10 us apart, several in flight, 6 records each (Q G P I D C).
    pub fn many_ios(&mut self, count: u64) {
        for index in 0..count {
            let io = Io {
                sector: index * 7919 % 1_000_003 * 8,
                direction: if index % 3 == 0 { WRITE_SYNC } else { category::READ },
                issued_to_completed_ns: 60_000 + index % 17 * 1_000,
                is_plugged: false,
                ..Io::default()
            };
            let begun = 1_000_000 + index * 10_000;
            self.io(begun, &io);
            let cpu = self.lives % self.cpus;
            self.add(begun + 2, Action::Plug, 0, 0, 0, cpu);
        }
    }

    /// The records in the order of time; numbered per CPU and device where `counts_sequence`.
    pub fn numbered(&self, counts_sequence: bool) -> Vec<Record> {
        let mut records = self.records.clone();
        records.sort_by_key(|record| record.time_ns);
        let mut last: HashMap<(u32, u32), u32> = HashMap::new();
        if counts_sequence {
            for record in records.iter_mut().filter(|record| !record.is_notice()) {
                let number = last.entry((record.cpu, record.device)).or_default();
                *number += 1;
                record.sequence = *number;
            }
        }
        records
    }
}

/// A new folder of this name below the build's folder.
pub fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for a test");
    folder
}
