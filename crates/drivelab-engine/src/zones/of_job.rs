//! The zones of a drive as one job uses them.

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use super::place::{Step, Wish};
use super::{ZoneTable, device, lock};
use crate::address::{Addresses, Random};
use crate::mix::Drawn;
use crate::workload::{AccessKind, Operation, Workload};

/// What the next I/O of a job has to wait for, or where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Its offset and its bytes.
    At(u64, u64),
    /// What is outstanding has to end before it is asked again.
    WaitForOwn,
    /// Nothing of the job is outstanding, and another one has I/O there: it is asked again after a while.
    WaitForOthers,
    /// Nowhere any more.
    Nowhere,
}

/// Whether what a workload writes is to stay, because it is verified afterwards.
pub(super) fn keeps_contents(workload: &Workload) -> bool {
    workload.verify && workload.uses(Operation::Write)
}

/// Resets zones where they are trimmed.
#[derive(Debug)]
pub struct Resets {
    table: Arc<ZoneTable>,
    fd: RawFd,
}

impl Resets {
    /// Whether there is a zone with a write pointer.
    #[must_use]
    pub fn is_one(&self, offset: u64) -> bool {
        let zones = lock(&self.table.zones);
        zones.list.get(zones.at(offset)).is_some_and(|zone| zone.has_pointer)
    }

    /// Makes the zone at an offset empty if it is not; 0 or an errno.
    pub fn reset(&mut self, offset: u64) -> i32 {
        let is_empty = {
            let zones = lock(&self.table.zones);
            zones.list[zones.at(offset)].filled() == 0
        };
        if is_empty || !self.table.model.is_of_drive() {
            return 0;
        }
        let reset = device::reset(self.fd, self.table.bounds_at(offset));
        reset.map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0)
    }
}

/// A job's use of zones.
#[derive(Debug)]
pub struct OwnZones {
    table: Arc<ZoneTable>,
    fd: RawFd,
    job: u32,
    range: (u64, u64),
    stops_at_end: bool,
    /// Whether what is written is to stay, to be verified.
    keeps: bool,
    /// Whether reads have to wait until something was written that they can read.
    writes_first: bool,
    /// Where each order that is sequential goes on; `None` for those that are random.
    cursors: Vec<Option<u64>>,
    /// What was drawn and has no place yet.
    waiting: Option<(Drawn, Wish)>,
    resets: u64,
    finishes: u64,
}

impl OwnZones {
    pub(super) fn new(
        table: Arc<ZoneTable>,
        fd: RawFd,
        job: u32,
        (range, asked_bytes): ((u64, u64), u64),
        workload: &Workload,
    ) -> Self {
        let is_ordered = |kind| kind == AccessKind::Sequential;
        let cursors = workload.accesses().map(|access| is_ordered(access.kind).then_some(range.0)).collect();
        let limits = &workload.limits;
        let bytes_of_job = limits.bytes / u64::from(workload.job_count);
        // an order that is to move no more than its range does not begin it again for what zones have no room for
        let stops_at_end = limits.runtime_ns == 0 && limits.count == 0 && bytes_of_job <= asked_bytes;
        let keeps = keeps_contents(workload);
        let reads_all = table.asked.reads_beyond_write_pointer;
        let writes_first = workload.uses(Operation::Read) && workload.uses(Operation::Write) && !reads_all;
        Self {
            table,
            fd,
            job,
            range,
            stops_at_end,
            writes_first,
            keeps,
            cursors,
            waiting: None,
            resets: 0,
            finishes: 0,
        }
    }

    /// Makes all of its zones empty, where what is written is verified later: nothing else may be left.
    pub(super) fn begin_empty(&mut self) -> Result<(), (io::Error, u64)> {
        let (first, end) = {
            let zones = lock(&self.table.zones);
            (zones.at(self.range.0), zones.at(self.range.0 + self.range.1))
        };
        for number in if self.keeps { first..end } else { 0..0 } {
            let holds_data = {
                let zone = &lock(&self.table.zones).list[number];
                zone.has_pointer && zone.filled() > 0
            };
            if holds_data {
                self.reset_on_drive(number)?;
                let mut zones = lock(&self.table.zones);
                zones.was_reset(number);
                zones.close(number);
            }
        }
        Ok(())
    }

    /// The part of the target that the job uses, in whole zones: start and length.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        self.range
    }

    /// Zones that it has made empty, and full.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.resets, self.finishes)
    }

    /// Whether an operation is not one to begin with: of reads and writes a write comes first, as in fio.
    #[must_use]
    pub fn is_too_early(&self, operation: Operation) -> bool {
        self.writes_first && operation == Operation::Read
    }

    /// The I/O that waits for a place.
    #[must_use]
    pub fn waiting(&self) -> Option<Drawn> {
        self.waiting.map(|(drawn, _)| drawn)
    }

    /// Lets another job have I/O where it waits for it to end.
    pub fn wait(&self) {
        self.table.wait();
    }

    /// Where an I/O goes that was drawn, or that waits; `is_alone` where nothing of the job is outstanding.
    ///
    /// # Errors
    ///
    /// What the drive says to a reset, with the offset of the zone.
    pub fn next(
        &mut self,
        drawn: Drawn,
        addresses: &mut Addresses,
        random: &mut Random,
        is_alone: bool,
    ) -> Result<Next, (io::Error, u64)> {
        let (size, least) = (u64::from(drawn.size), u64::from(drawn.unit));
        let is_random = self.cursors[drawn.access].is_none();
        let (job, range, keeps) = (self.job, self.range, self.keeps);
        let made = |offset| {
            let is_judged = false;
            Wish { offset, size, least, is_random, job, range, keeps, is_alone, is_judged }
        };
        let mut wish = match (self.waiting.take(), self.cursors[drawn.access]) {
            (Some((_, wish)), _) => Wish { is_alone, ..wish },
            (None, None) => made(addresses.next_cut(random, size, least).0),
            (None, Some(cursor)) => match self.in_order(cursor, drawn) {
                Some(offset) => made(offset),
                None => return Ok(Next::Nowhere),
            },
        };
        loop {
            let step = match drawn.operation {
                Operation::Read => lock(&self.table.zones).place_read(&wish, &self.table.asked),
                Operation::Trim => lock(&self.table.zones).place_trim(&wish),
                _ => lock(&self.table.zones).place_write(&mut wish, &self.table.asked),
            };
            let step = match step {
                Step::Reset(number) => {
                    self.reset_on_drive(number)?;
                    // not let go in between: another job would write to its start first
                    let mut zones = lock(&self.table.zones);
                    zones.was_reset(number);
                    zones.write_to(number, &wish)
                }
                Step::Finish(number) => {
                    wish.offset = self.finish(number)?;
                    if wish.offset == self.range.0 && !is_random && self.stops_at_end {
                        Step::Nowhere
                    } else {
                        continue;
                    }
                }
                other => other,
            };
            match step {
                Step::At(offset, size) => {
                    self.writes_first &= drawn.operation != Operation::Write;
                    if let Some(cursor) = &mut self.cursors[drawn.access] {
                        let is_trim = drawn.operation == Operation::Trim;
                        *cursor = if is_trim { self.table.bounds_at(offset).1 } else { offset + size };
                    }
                    return Ok(Next::At(offset, size));
                }
                Step::WaitForOwn | Step::WaitForOthers => {
                    self.waiting = Some((drawn, wish));
                    let is_own = step == Step::WaitForOwn;
                    return Ok(if is_own { Next::WaitForOwn } else { Next::WaitForOthers });
                }
                _ if !is_random && wish.offset > self.range.0 && !self.stops_at_end => {
                    // an order that has come to its end begins again
                    wish.offset = self.range.0;
                }
                _ => return Ok(Next::Nowhere),
            }
        }
    }

    /// Notes that an I/O of the job has ended.
    pub fn ended(&mut self, operation: Operation, offset: u64, size: u64) {
        self.resets += u64::from(lock(&self.table.zones).ended(operation, offset, size));
        self.table.changed.notify_all();
    }

    /// What resets its zones.
    #[must_use]
    pub fn resets(&self) -> Resets {
        Resets { table: Arc::clone(&self.table), fd: self.fd }
    }

    /// Where an order goes on: behind its last I/O, or in the next zone where this one has no room there.
    fn in_order(&self, cursor: u64, drawn: Drawn) -> Option<u64> {
        let zones = lock(&self.table.zones);
        let end = self.range.0 + self.range.1;
        let zone = zones.list.get(zones.at(cursor));
        let is_write = drawn.operation == Operation::Write;
        let past = zone.filter(|zone| is_write && zone.has_pointer && cursor >= zone.writable_end);
        let next = past.map_or(cursor, |zone| zone.end);
        if next + u64::from(drawn.unit) <= end {
            return Some(next);
        }
        (!self.stops_at_end).then_some(self.range.0)
    }

    /// Makes a zone empty that the job holds.
    fn reset_on_drive(&mut self, number: usize) -> Result<(), (io::Error, u64)> {
        let (start, end) = self.bounds(number);
        if self.table.model.is_of_drive() {
            device::reset(self.fd, (start, end)).map_err(|error| (error, start))?;
        }
        self.resets += 1;
        Ok(())
    }

    /// Makes a zone full; start of the next one.
    fn finish(&mut self, number: usize) -> Result<u64, (io::Error, u64)> {
        let (start, end) = self.bounds(number);
        if self.table.model.is_of_drive() {
            device::finish(self.fd, (start, end)).map_err(|error| (error, start))?;
        }
        self.finishes += 1;
        let mut zones = lock(&self.table.zones);
        zones.was_finished(number);
        self.table.changed.notify_all();
        let (first, last) = (zones.at(self.range.0), zones.at(self.range.0 + self.range.1));
        let others = (number + 1..last).chain(first..last);
        let next = others.into_iter().find(|&other| zones.list[other].has_pointer);
        Ok(next.map_or(self.range.0, |next| zones.list[next].start))
    }

    fn bounds(&self, number: usize) -> (u64, u64) {
        let zone = &lock(&self.table.zones).list[number];
        (zone.start, zone.end)
    }
}
