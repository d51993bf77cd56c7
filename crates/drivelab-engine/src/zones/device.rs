//! What the kernel tells of a drive's zones, and does to them.

use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;

use super::state::Zone;
use crate::error::{Code, EngineError, Result};
use crate::target::Target;
use crate::workload::ZonedDrive;

const BLKREPORTZONE: libc::c_ulong = 0xC010_1282;
const BLKRESETZONE: libc::c_ulong = 0x4010_1283;
const BLKFINISHZONE: libc::c_ulong = 0x4010_1288;
const HAS_CAPACITY: u32 = 1;
const SECTOR: u64 = 512;
/// Zones that are reported with one call.
const REPORTED_MAX: usize = 4096;
/// Most zones that are written at the same time, as in fio.
const OPEN_MAX: u32 = 4096;

const SEQUENTIAL_ONLY: u8 = 2;
const IMPLICITLY_OPEN: u8 = 2;
const EXPLICITLY_OPEN: u8 = 3;
const CLOSED: u8 = 4;
const WITHOUT_POINTER: u8 = 0;
const READ_ONLY: u8 = 0xD;
const FULL: u8 = 0xE;
const OFFLINE: u8 = 0xF;

/// Whose zones they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// The drive's own, and it takes writes only at their write pointers.
    Sequential,
    /// None of the drive's: parts of it that are used as if they were.
    MadeUp,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Reported {
    start: u64,
    length: u64,
    write_pointer: u64,
    kind: u8,
    condition: u8,
    _other: [u8; 6],
    capacity: u64,
    _reserved: [u8; 24],
}

#[repr(C)]
struct Report {
    sector: u64,
    zone_count: u32,
    flags: u32,
    zones: [Reported; REPORTED_MAX],
}

pub(super) fn model_of(target: &Target) -> Model {
    match queue_attribute(target, "zoned").as_deref() {
        Some("host-managed" | "host-aware") => Model::Sequential,
        _ => Model::MadeUp,
    }
}

/// Zones that may be written at the same time; 0 is no limit.
pub(super) fn max_open(target: &Target, model: Model, asked: &ZonedDrive) -> Result<u32> {
    let of_drive = match model {
        Model::Sequential if !asked.ignores_drive_limit => number(target, "max_open_zones"),
        _ => 0,
    };
    let most = if of_drive == 0 { OPEN_MAX } else { of_drive.min(OPEN_MAX) };
    if asked.max_open_zones > most {
        let what = format!("{} open zones were asked for, and {most} can be", asked.max_open_zones);
        return Err(EngineError::new(Code::Unsupported, what).advise("ask for fewer open zones"));
    }
    Ok(if asked.max_open_zones == 0 { of_drive } else { asked.max_open_zones })
}

/// Every zone of a drive.
pub(super) fn report(target: &Target, asked: &ZonedDrive, name: &str) -> Result<Vec<Zone>> {
    let closed_counts = number(target, "max_active_zones") > 0;
    let mut found: Vec<Zone> = Vec::new();
    let mut report =
        Box::new(Report { sector: 0, zone_count: 0, flags: 0, zones: [Reported::default(); REPORTED_MAX] });
    loop {
        report.zone_count = REPORTED_MAX as u32;
        // SAFETY: the ioctl reads the head of the report and fills as many zones as there is room for.
        let result = unsafe { libc::ioctl(target.fd(), BLKREPORTZONE as _, &raw mut *report) };
        if result != 0 {
            return Err(EngineError::from_os("ask for its zones", name, &io::Error::last_os_error()));
        }
        let zones = &report.zones[..report.zone_count as usize];
        let Some(last) = zones.last() else { break };
        report.sector = last.start + last.length;
        let has_capacity = report.flags & HAS_CAPACITY != 0;
        found.extend(zones.iter().map(|zone| zone_of(zone, has_capacity, closed_counts)));
    }
    let Some(first) = found.first() else {
        return Err(EngineError::new(Code::Unsupported, "it reports no zones").at(name));
    };
    let size = first.end - first.start;
    if asked.zone_size_bytes != 0 && asked.zone_size_bytes != size {
        let what = format!("zones of {} B were asked for, and the drive has {size} B", asked.zone_size_bytes);
        let advice = "leave the size of the zones out: the drive tells it";
        return Err(EngineError::new(Code::Misaligned, what).at(name).advise(advice));
    }
    Ok(found)
}

/// Makes a zone empty.
pub(super) fn reset(fd: RawFd, zone: (u64, u64)) -> io::Result<()> {
    manage(fd, BLKRESETZONE, zone)
}

/// Makes a zone full.
pub(super) fn finish(fd: RawFd, zone: (u64, u64)) -> io::Result<()> {
    manage(fd, BLKFINISHZONE, zone)
}

fn manage(fd: RawFd, request: libc::c_ulong, (start, end): (u64, u64)) -> io::Result<()> {
    let range = [start / SECTOR, (end - start) / SECTOR];
    // SAFETY: the ioctl reads two 64-bit numbers from `range`.
    let result = unsafe { libc::ioctl(fd, request as _, range.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn zone_of(reported: &Reported, has_capacity: bool, closed_counts: bool) -> Zone {
    let capacity = if has_capacity { reported.capacity } else { reported.length };
    let write_pointer = match reported.condition {
        WITHOUT_POINTER | FULL => reported.start + capacity,
        _ => reported.write_pointer,
    };
    let is_open = matches!(reported.condition, IMPLICITLY_OPEN | EXPLICITLY_OPEN)
        || reported.condition == CLOSED && closed_counts;
    Zone {
        has_pointer: reported.kind == SEQUENTIAL_ONLY,
        is_readable: reported.condition != OFFLINE,
        is_writable: !matches!(reported.condition, OFFLINE | READ_ONLY),
        is_in_use: is_open,
        ..Zone::empty(
            reported.start * SECTOR,
            (reported.start + reported.length) * SECTOR,
            capacity * SECTOR,
            write_pointer * SECTOR,
        )
    }
}

fn number(target: &Target, attribute: &str) -> u32 {
    queue_attribute(target, attribute).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// An attribute of the queue of a block device, or of the device that a partition is of.
fn queue_attribute(target: &Target, attribute: &str) -> Option<String> {
    let device = target.metadata().filter(|_| target.is_block_device())?.rdev();
    let directory = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    let read = |part: &str| fs::read_to_string(format!("{directory}/{part}queue/{attribute}"));
    read("").or_else(|_| read("../")).ok().map(|text| text.trim().to_owned())
}
