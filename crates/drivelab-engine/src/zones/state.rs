//! What is known of each zone: its write pointer, and who has I/O in it.

use super::device::Model;
use super::of_job::keeps_contents;
use crate::error::{Code, EngineError, Result};
use crate::workload::{Operation, Workload, ZonedDrive};

/// Largest block: where zones are larger, a trim of one is called so.
const TRIMMED_MAX: u64 = 1 << 30;
/// No job.
pub(super) const NOBODY: u32 = 0;

/// One zone; places are bytes of the target.
#[derive(Debug, Clone)]
pub(super) struct Zone {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Up to where it can be written.
    pub(super) writable_end: u64,
    pub(super) pointer: u64,
    pub(super) has_pointer: bool,
    pub(super) is_readable: bool,
    pub(super) is_writable: bool,
    /// Whether the drive says that it is open.
    pub(super) is_in_use: bool,
    /// The job that made it one of those that are written to.
    pub(super) opened_by: u32,
    /// The job whose writes, or whose reset, are outstanding.
    pub(super) held_by: u32,
    pub(super) writes: u32,
    pub(super) reads: u32,
    pub(super) wants_reset: bool,
}

impl Zone {
    pub(super) fn empty(start: u64, end: u64, capacity: u64, pointer: u64) -> Self {
        Self {
            start,
            end,
            writable_end: start + capacity,
            pointer,
            has_pointer: true,
            is_readable: true,
            is_writable: true,
            is_in_use: false,
            opened_by: NOBODY,
            held_by: NOBODY,
            writes: 0,
            reads: 0,
            wants_reset: false,
        }
    }

    /// Bytes that can still be written to it.
    pub(super) fn room(&self) -> u64 {
        self.writable_end.saturating_sub(self.pointer)
    }

    /// Bytes that were written to it.
    pub(super) fn filled(&self) -> u64 {
        self.pointer - self.start
    }
}

/// All zones of a target.
#[derive(Debug)]
pub(super) struct Zones {
    pub(super) list: Vec<Zone>,
    /// Those that are written to, where their number is limited; in the order in which they came.
    pub(super) open: Vec<usize>,
    /// So many at most; 0 is no limit.
    pub(super) max_open: u32,
    pub(super) written_bytes: u64,
    pub(super) writes_until_reset: u64,
    /// The range whose written bytes are counted.
    counted: Option<(u64, u64)>,
    size: u64,
}

impl Zones {
    /// The zones that a drive has reported.
    pub(super) fn new(list: Vec<Zone>, asked: &ZonedDrive) -> Self {
        let size = list.first().map_or(1, |zone| zone.end - zone.start);
        let writes_until_reset = writes_per_reset(asked);
        Self {
            list,
            open: Vec::new(),
            max_open: 0,
            written_bytes: 0,
            writes_until_reset,
            counted: None,
            size,
        }
    }

    /// Forgets who used them: what was written stays.
    pub(super) fn begin_again(&mut self) {
        self.open.clear();
        self.counted = None;
        for zone in &mut self.list {
            *zone = Zone::empty(zone.start, zone.end, zone.writable_end - zone.start, zone.pointer);
        }
    }

    /// A target without zones, divided into empty ones.
    pub(super) fn made_up(target_bytes: u64, asked: &ZonedDrive) -> Result<Self> {
        let size = asked.zone_size_bytes;
        if size == 0 {
            let what = "it has no zones of its own";
            return Err(EngineError::new(Code::Unsupported, what)
                .advise("say how large the zones are that it is divided into, or name a zoned drive"));
        }
        if size < 512 || !size.is_multiple_of(512) || target_bytes < size {
            let what =
                format!("zones of {size} B on {target_bytes} B: a zone is a multiple of 512 B, and fits");
            return Err(EngineError::new(Code::Misaligned, what).advise("use another size of the zones"));
        }
        let capacity = if asked.zone_capacity_bytes == 0 { size } else { asked.zone_capacity_bytes };
        let starts = (0..target_bytes / size).map(|number| number * size);
        let list = starts.map(|start| Zone::empty(start, start + size, capacity, start)).collect();
        Ok(Self::new(list, asked))
    }

    /// The zone of an offset, or one behind the last.
    pub(super) fn at(&self, offset: u64) -> usize {
        ((offset / self.size) as usize).min(self.list.len())
    }

    /// Refuses blocks that no zone takes: writes of more than one, and trims of anything else.
    pub(super) fn refuse_blocks(&self, workload: &Workload) -> Result<()> {
        let least = workload.smallest_block();
        let is_filled =
            |zone: &Zone| !zone.has_pointer || (zone.writable_end - zone.start).is_multiple_of(least);
        if keeps_contents(workload) && !self.list.iter().all(is_filled) {
            let what =
                format!("blocks of {least} B do not fill zones: what is left of one cannot be verified");
            return Err(EngineError::new(Code::Misaligned, what).advise("use another block size"));
        }
        for share in &workload.operations {
            for size in workload.sizes_of(share).iter().map(|size| size.bytes) {
                let what = match share.operation {
                    Operation::Write if size > self.size => "written: at most one",
                    Operation::Trim if size != self.size.min(TRIMMED_MAX) => "trimmed: one",
                    _ => continue,
                };
                let what = format!("blocks of {size} B, and zones of {} B are to be {what}", self.size);
                return Err(EngineError::new(Code::Misaligned, what).advise("use another block size"));
            }
        }
        Ok(())
    }

    /// The part of a range that whole zones make up, as fio rounds it: start and length.
    pub(super) fn whole_zones(&self, (start, length): (u64, u64), writes: bool) -> Result<(u64, u64)> {
        let end = start + length;
        let any_has_pointer =
            self.list.iter().any(|zone| zone.has_pointer && zone.start < end && start < zone.end);
        if !any_has_pointer {
            return Ok((start, length));
        }
        let first = if writes { start.next_multiple_of(self.size) } else { start };
        let last = self.list.last().map_or(0, |zone| zone.end);
        let rounded_end = if end >= last { last } else { end / self.size * self.size };
        if rounded_end <= first {
            let what = format!("{length} B from {start} B on hold no whole zone of {} B", self.size);
            return Err(EngineError::new(Code::TooSmall, what)
                .advise("use a range of one zone or more, from the start of one"));
        }
        Ok((first, rounded_end - first))
    }

    /// Counts the zones of a range that the drive has open among those that are written to.
    pub(super) fn open_those_in_use(
        &mut self,
        (start, length): (u64, u64),
        job: u32,
        asked: &ZonedDrive,
    ) -> Result<()> {
        if asked.reset_threshold > 0.0 && self.counted.is_some_and(|counted| counted != (start, length)) {
            let what = "jobs that write to other ranges share no reset_threshold";
            return Err(
                EngineError::new(Code::Unsupported, what).advise("let all of them write to one range")
            );
        }
        if self.counted.is_none() {
            self.counted = Some((start, length));
            let range = self.at(start)..self.at(start + length);
            self.written_bytes =
                self.list[range].iter().filter(|zone| zone.has_pointer).map(Zone::filled).sum();
        }
        if asked.job_max_open_zones > 0 && self.max_open == 0 {
            let what = "open zones of each job are limited, and those of all jobs are not";
            return Err(EngineError::new(Code::Unsupported, what).advise("limit those of all jobs, too"));
        }
        for number in self.at(start)..self.at(start + length) {
            if self.list[number].is_in_use && !self.open(number, job, asked.job_max_open_zones) {
                let what = format!("more zones of the range are open than may be, {}", self.most_open(asked));
                return Err(EngineError::new(Code::Unsupported, what)
                    .advise("reset zones (blkzone reset), or allow more open zones"));
            }
        }
        Ok(())
    }

    fn most_open(&self, asked: &ZonedDrive) -> u32 {
        if asked.job_max_open_zones > 0 { asked.job_max_open_zones.min(self.max_open) } else { self.max_open }
    }

    /// Makes a zone one of those that are written to, if another may be; whether it is one.
    pub(super) fn open(&mut self, number: usize, job: u32, job_max_open: u32) -> bool {
        if !self.list[number].is_writable {
            return false;
        }
        if self.max_open == 0 {
            return true;
        }
        if self.list[number].opened_by != NOBODY {
            // writes that are outstanding fill it: it counts as full
            return self.list[number].room() > 0;
        }
        let of_job = self.open.iter().filter(|&&open| self.list[open].opened_by == job).count();
        if job_max_open > 0 && of_job >= job_max_open as usize || self.open.len() >= self.max_open as usize {
            return false;
        }
        self.open.push(number);
        self.list[number].opened_by = job;
        true
    }

    /// Takes a zone from those that are written to.
    pub(super) fn close(&mut self, number: usize) {
        self.list[number].opened_by = NOBODY;
        self.list[number].is_in_use = false;
        self.open.retain(|&open| open != number);
    }

    /// Notes that a zone was made empty.
    pub(super) fn was_reset(&mut self, number: usize) {
        let zone = &mut self.list[number];
        self.written_bytes = self.written_bytes.saturating_sub(zone.filled());
        zone.pointer = zone.start;
        zone.wants_reset = false;
        zone.held_by = NOBODY;
    }

    /// Notes that a zone was made full.
    pub(super) fn was_finished(&mut self, number: usize) {
        let zone = &mut self.list[number];
        self.written_bytes += zone.end.saturating_sub(zone.pointer);
        zone.pointer = zone.end;
        zone.held_by = NOBODY;
        self.close(number);
    }

    /// Notes that an I/O has ended; whether it was a reset of a zone that held data.
    pub(super) fn ended(&mut self, operation: Operation, offset: u64, size: u64) -> bool {
        let number = self.at(offset);
        let Some(zone) = self.list.get_mut(number).filter(|zone| zone.has_pointer) else { return false };
        match operation {
            Operation::Read => zone.reads -= 1,
            Operation::Write => {
                zone.writes -= 1;
                if zone.writes == 0 {
                    zone.held_by = NOBODY;
                }
                if offset + size >= zone.writable_end {
                    self.close(number);
                }
            }
            Operation::Trim => {
                let held_data = zone.filled() > 0;
                self.was_reset(number);
                self.close(number);
                return held_data;
            }
            _ => {}
        }
        false
    }
}

/// Before which write from now on a zone is reset that is not full.
pub(super) fn writes_per_reset(asked: &ZonedDrive) -> u64 {
    if asked.reset_frequency > 0.0 { (1.0 / asked.reset_frequency) as u64 } else { u64::MAX }
}

impl Model {
    /// Whether the drive itself knows of a reset.
    pub(super) fn is_of_drive(self) -> bool {
        self == Self::Sequential
    }
}
