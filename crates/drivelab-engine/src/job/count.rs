//! What a job does with an I/O that has ended: judges, counts, times and records it.

use super::{Job, Phase, SYNC, Slot};
use crate::address::unit;
use crate::backend::{Backend, Completion};
use crate::iolog::Record;
use crate::series::{COMPLETION, Counts, DURABLE_WRITE, RESPONSE, REWRITE, SUBMISSION, TOTAL};
use crate::window::StopReason;
use crate::workload::Operation;

const READ: usize = Operation::Read as usize;
const WRITE: usize = Operation::Write as usize;

impl<B: Backend> Job<B> {
    #[inline(always)]
    pub(super) fn complete(&mut self, completion: Completion, now: u64) {
        let slot = self.slots[completion.slot as usize];
        let event = usize::from(slot.event);
        let result = self.judge(event, &slot, completion);
        if B::IS_ON_ZONES {
            self.leave_zone(&slot);
        }
        self.count(event, &slot, result, now);
        if self.parts.recorder.is_some() && self.window.contains(slot.intended) {
            self.record(event, &slot, result, now);
        }
        if result >= 0 && self.goes_on(completion.slot, &slot, result, now) {
            return;
        }
        self.free.push(completion.slot);
        if slot.phase.is_own_sync() {
            self.note_sync();
            self.window.lasted_until(slot.intended, now);
        } else {
            self.window.ended(u64::from(slot.size), result >= 0, slot.intended, now);
        }
    }

    /// Whether another command follows in the same slot: the write back of what was read, or a sync call.
    #[inline]
    fn goes_on(&mut self, number: u32, slot: &Slot, result: i32, now: u64) -> bool {
        let event = usize::from(slot.event);
        if event == READ {
            return self.rewrites && self.is_written_back(number, slot, result);
        }
        if event != WRITE {
            if B::IS_ON_TREE && self.syncs_at_end {
                self.note_last_write(slot);
            }
            if matches!(slot.phase, Phase::Sync | Phase::SyncOfLast) {
                self.count_pair(DURABLE_WRITE, slot, now);
            }
            return false;
        }
        if slot.phase == Phase::WriteBack {
            self.count_pair(REWRITE, slot, now);
        }
        if !self.sync_is_due(slot) {
            return false;
        }
        // Calls that were made since then, for what was completed at the same moment, are not this one's.
        let begin = if self.batch == usize::MAX { now } else { self.clock.ticks() };
        let state = &mut self.slots[number as usize];
        // A durable write begins with the write, also where a read went before.
        state.issued = slot.command_issued;
        state.command_issued = begin;
        (state.event, state.phase) = (SYNC as u8, Phase::Sync);
        self.queue(number, Operation::Sync);
        true
    }

    /// Writes back what was read, changed, for the part of the reads that is asked for.
    #[inline(never)]
    fn is_written_back(&mut self, number: u32, slot: &Slot, result: i32) -> bool {
        if result as u32 != slot.size || unit(&mut self.random) >= self.parts.workload.rewrite_fraction {
            return false;
        }
        self.buffers.change_read(number, slot.offset, slot.size as usize, &mut self.random);
        let state = &mut self.slots[number as usize];
        state.command_issued = self.clock.ticks();
        (state.event, state.phase) = (WRITE as u8, Phase::WriteBack);
        self.queue(number, Operation::Write);
        true
    }

    /// Bytes moved, or a negative errno: also an I/O that moved nothing has failed, and so has a read
    /// of data that do not belong to its offset.
    #[inline]
    fn judge(&self, event: usize, slot: &Slot, completion: Completion) -> i32 {
        let result = completion.result;
        let is_empty = B::IS_ON_TREE && slot.size == 0;
        if result == 0 && event != SYNC && !is_empty {
            return -libc::ENODATA;
        }
        if self.verifies && event == READ && result > 0 {
            let is_intact = self.buffers.verify(completion.slot, slot.offset, result as usize);
            return if is_intact { result } else { -libc::EILSEQ };
        }
        result
    }

    #[inline]
    fn sync_is_due(&mut self, slot: &Slot) -> bool {
        if self.syncs_at_end || B::HAS_BUFFER {
            self.note_last_write(slot);
        }
        if !self.needs_sync_call {
            return false;
        }
        self.writes_since_sync += 1;
        if self.writes_since_sync < self.parts.workload.durability.every_writes {
            return false;
        }
        self.writes_since_sync = 0;
        true
    }

    /// Keeps the write that the end of the job belongs to: the last one that is measured, if any is.
    fn note_last_write(&mut self, slot: &Slot) {
        if self.last_write.is_none() || self.window.contains(slot.intended) {
            self.last_write = Some(*slot);
        }
    }

    /// Counts one completion and its latencies.
    #[inline]
    fn count(&mut self, event: usize, slot: &Slot, result: i32, now: u64) {
        if result < 0 {
            self.count_failed(event, slot, result, now);
            return;
        }
        let counts = Counts {
            count: 1,
            bytes: if event == SYNC { 0 } else { result as u64 },
            short: u64::from(event != SYNC && (result as u32) < slot.size),
            ..Counts::default()
        };
        self.outcome.all_phases[event].add(&counts);
        if self.window.contains(slot.intended) {
            self.interval.counts[event].add(&counts);
            self.time(event, slot, now);
        }
    }

    /// Counts one that failed, which has no latency.
    #[cold]
    fn count_failed(&mut self, event: usize, slot: &Slot, result: i32, now: u64) {
        let errors = u64::from(self.fail(event, slot, -result, now));
        self.outcome.all_phases[event].errors += errors;
        if self.window.contains(slot.intended) {
            self.interval.counts[event].errors += errors;
        }
    }

    /// Counts two commands that belong together, and the time from the start of the first until now.
    #[inline(never)]
    fn count_pair(&mut self, event: usize, slot: &Slot, now: u64) {
        self.outcome.all_phases[event].count += 1;
        if !self.window.contains(slot.intended) {
            return;
        }
        self.interval.counts[event].count += 1;
        self.interval.record(event, TOTAL, self.nanoseconds_between(slot.issued, now));
        if self.schedule.is_open() {
            self.interval.record(event, RESPONSE, self.nanoseconds_between(slot.intended, now));
        }
    }

    #[inline]
    fn time(&mut self, event: usize, slot: &Slot, now: u64) {
        let total = self.nanoseconds_between(slot.command_issued, now);
        self.interval.record(event, TOTAL, total);
        if B::IS_ASYNCHRONOUS && slot.submitted > 0 {
            let submission = self.nanoseconds_between(slot.command_issued, slot.submitted).min(total);
            self.interval.record(event, SUBMISSION, submission);
            self.interval.record(event, COMPLETION, total - submission);
        }
        if self.schedule.is_open() && (event != SYNC || slot.phase == Phase::Whole) {
            self.interval.record(event, RESPONSE, self.nanoseconds_between(slot.intended, now));
        }
    }

    /// Nothing when the second moment lies before the first: a counter read out of order is no latency.
    #[inline]
    fn nanoseconds_between(&self, from: u64, to: u64) -> u64 {
        self.clock.nanoseconds(to.saturating_sub(from))
    }

    /// Notes a failed I/O and stops the run. False when it is no failure: the run is ending, and the
    /// wake-up for that has interrupted the call.
    #[cold]
    pub(super) fn fail(&mut self, event: usize, slot: &Slot, errno: i32, now: u64) -> bool {
        if errno == libc::EINTR && !self.may_issue() {
            return false;
        }
        match self.outcome.errors.iter_mut().find(|known| known.0 == event && known.1 == errno) {
            Some(known) => known.2 += 1,
            None => self.outcome.errors.push((event, errno, 1, slot.offset)),
        }
        self.window.stop(StopReason::Error, now);
        self.parts.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        true
    }

    #[inline]
    fn record(&mut self, event: usize, slot: &Slot, result: i32, now: u64) {
        let clock = self.clock;
        let intended =
            if event == SYNC && slot.phase != Phase::Whole { slot.command_issued } else { slot.intended };
        let record = Record {
            issue_ticks: slot.command_issued,
            offset: slot.offset,
            total_ns: self.nanoseconds_between(slot.command_issued, now),
            response_ns: self.nanoseconds_between(intended, now),
            submission_ns: self.nanoseconds_between(slot.command_issued, slot.submitted).min(i32::MAX as u64)
                as u32,
            size: slot.size,
            result,
            operation: event as u8,
        };
        if let Some(recorder) = &mut self.parts.recorder {
            recorder.push(record, &clock);
        }
    }
}
