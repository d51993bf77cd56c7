//! Single records of which everything is possible, and something is likely.

use crate::bytes::{any_number, is_rare, one_of};
use crate::lives::Dice;
use drivelab_trace::record::{CGROUP_BIT, Record, category};

/// What I/O of the kernel looks like.
pub const LIKELY: [u32; 10] = [
    category::READ,
    category::WRITE,
    category::WRITE | category::SYNC,
    category::WRITE | category::FUA,
    category::WRITE | category::FLUSH | category::FUA | category::META,
    category::WRITE | category::FLUSH,
    category::READ | category::FLUSH,
    category::WRITE | category::DISCARD,
    category::WRITE | category::META,
    category::READ | category::PASSTHROUGH,
];

/// Bits of the category.
pub fn any_category(dice: &mut Dice) -> u32 {
    if is_rare(dice, 8) { dice.roll(0, 1 << 16) as u32 } else { one_of(dice, &LIKELY) }
}

/// The payload that an action has, or none that it could have.
pub fn payload(dice: &mut Dice, action: u16, sector: u64, device: u32) -> Vec<u8> {
    if is_rare(dice, 20) {
        let most = if is_rare(dice, 50) { 65_535 } else { 100 };
        return (0..dice.roll(0, most)).map(|_| dice.roll(0, 256) as u8).collect();
    }
    let mut bytes = if action & CGROUP_BIT == 0 { vec![] } else { vec![7; 8] };
    match action & !CGROUP_BIT {
        13 => {
            let cut =
                if is_rare(dice, 6) { any_number(dice) } else { sector.saturating_add(dice.roll(0, 20)) };
            bytes.extend(cut.to_be_bytes());
        }
        15 => {
            let from = if is_rare(dice, 6) { any_number(dice) as u32 } else { device };
            bytes.extend(from.to_be_bytes());
            bytes.extend(device.to_be_bytes());
            bytes.extend(sector.wrapping_sub(dice.roll(0, 3) * 8).to_be_bytes());
        }
        10 | 11 => bytes.extend(dice.roll(0, 5).to_be_bytes()),
        _ if is_rare(dice, 10) => bytes.push(if dice.is_true() { 0x35 } else { 0x91 }),
        _ => {}
    }
    bytes
}

/// A notice with a sensible payload, or none.
pub fn notice(dice: &mut Dice, time_ns: u64) -> Record {
    const NAMES: [&[u8]; 6] = [
        b"jbd2/sda-8\0\0\0\0\0\0",
        b"kworker/0:1H\0\0\0\0",
        b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"\xff\xfe\0",
        b"",
        b"iou-wrk-1",
    ];
    let payload = match dice.roll(0, 3) {
        0 => one_of(dice, &NAMES).to_vec(),
        1 => (0..dice.roll(0, 12)).map(|_| dice.roll(0, 256) as u8).collect(),
        _ => any_number(dice).to_ne_bytes().to_vec(),
    };
    let extra = if is_rare(dice, 8) { any_category(dice) } else { 0 };
    Record {
        time_ns,
        action_bits: dice.roll(0, 4) as u16 | if is_rare(dice, 6) { CGROUP_BIT } else { 0 },
        category: category::NOTIFY | extra,
        pid: dice.roll(0, 4) as u32,
        device: 8 << 20,
        payload,
        ..Record::default()
    }
}

/// Of any record what is different from case to case.
#[derive(Debug, Clone)]
pub struct Taste {
    pub sectors: u64,
    pub first_sector: u64,
    pub devices: u64,
    pub cpus: u64,
    pub pids: u64,
    pub is_aligned: bool,
    pub is_large: bool,
    pub is_ordered: bool,
    pub step_ns: u64,
    pub wild_once_in: u64,
    pub has_cgroups: bool,
    pub counts: u64,
}

impl Taste {
    pub fn any(dice: &mut Dice) -> Self {
        Self {
            sectors: one_of(dice, &[1, 2, 8, 64, 4096, 1 << 40]),
            first_sector: one_of(dice, &[0, 0, 0, 2048, u64::MAX - 64, u64::MAX - 8]),
            devices: one_of(dice, &[1, 1, 1, 2, 5, 3000]),
            cpus: one_of(dice, &[1, 2, 4, 5000]),
            pids: one_of(dice, &[1, 3, 3, 40_000]),
            is_aligned: dice.is_true(),
            is_large: is_rare(dice, 5),
            is_ordered: !is_rare(dice, 4),
            step_ns: one_of(dice, &[1, 2, 1000, 1000, 1_000_000, 3_000_000_000, 1 << 50, 1 << 58]),
            wild_once_in: one_of(dice, &[5, 50, 1000, u64::MAX]),
            has_cgroups: is_rare(dice, 6),
            counts: dice.roll(0, 4),
        }
    }

    fn bytes(&self, dice: &mut Dice) -> u32 {
        if is_rare(dice, 8) {
            0
        } else if self.is_large {
            any_number(dice) as u32
        } else if self.is_aligned {
            4096
        } else {
            dice.roll(1, 64) as u32 * 512 - if is_rare(dice, 20) { dice.roll(0, 512) as u32 } else { 0 }
        }
    }

    /// The next record of a stream.
    pub fn record(&self, dice: &mut Dice, now: &mut u64, number: u32) -> Record {
        let step = dice.roll(0, self.step_ns);
        *now = if self.is_ordered {
            now.saturating_add(step)
        } else {
            now.wrapping_add(step).wrapping_sub(step / 3)
        };
        if is_rare(dice, 25) {
            return notice(dice, *now);
        }
        let likely: [u16; 16] = [1, 1, 1, 2, 3, 4, 4, 6, 7, 7, 8, 8, 12, 13, 15, 5];
        let mut action_bits = if is_rare(dice, 20) { dice.roll(0, 20) as u16 } else { one_of(dice, &likely) };
        if self.has_cgroups && dice.is_true() {
            action_bits |= CGROUP_BIT;
        }
        let slot = dice.roll(0, self.sectors);
        let slot = if self.is_aligned { slot * 8 } else { slot };
        let sector = if is_rare(dice, 30) { u64::MAX } else { self.first_sector.wrapping_add(slot) };
        let device = 8 << 20 | dice.roll(0, self.devices) as u32;
        let mut record = Record {
            sequence: match self.counts {
                0 => 0,
                1 => number,
                2 => u32::MAX.wrapping_add(number).wrapping_sub(20),
                _ => any_number(dice) as u32,
            },
            time_ns: *now,
            sector,
            bytes: self.bytes(dice),
            action_bits,
            category: any_category(dice),
            pid: dice.roll(0, self.pids) as u32,
            device,
            cpu: dice.roll(0, self.cpus) as u32,
            error: if is_rare(dice, 20) { -5 } else { 0 },
            payload: payload(dice, action_bits, sector, device),
            is_swapped: false,
        };
        if is_rare(dice, self.wild_once_in) {
            wild(dice, &mut record);
        }
        record
    }
}

/// Makes one thing of a record anything.
fn wild(dice: &mut Dice, record: &mut Record) {
    let number = any_number(dice);
    match dice.roll(0, 9) {
        0 => record.sequence = number as u32,
        1 => record.time_ns = number,
        2 => record.sector = number,
        3 => record.bytes = number as u32,
        4 => record.action_bits = number as u16,
        5 => record.category = number as u32 & 0xffff,
        6 => record.device = number as u32,
        7 => record.cpu = number as u32,
        _ => record.pid = number as u32,
    }
}

/// One record alone.
pub fn record(dice: &mut Dice) -> Record {
    let (taste, mut now) = (Taste::any(dice), dice.roll(0, 1 << 40));
    taste.record(dice, &mut now, 1)
}
