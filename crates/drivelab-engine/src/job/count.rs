//! What a job does with an I/O that has ended: judges, counts, times and records it.

use super::{Job, SYNC, Slot};
use crate::backend::{Backend, CommandKind, Completion};
use crate::iolog::Record;
use crate::series::{COMPLETION, Counts, DURABLE_WRITE, RESPONSE, SUBMISSION, TOTAL};
use crate::window::StopReason;
use crate::workload::Operation;

const READ: usize = Operation::Read as usize;
const WRITE: usize = Operation::Write as usize;

impl<B: Backend> Job<B> {
    #[inline]
    pub(super) fn complete(&mut self, completion: Completion, now: u64) {
        let slot = self.slots[completion.slot as usize];
        let event = if slot.is_syncing { SYNC } else { usize::from(slot.operation) };
        let result = self.judge(event, &slot, completion);
        self.count(event, &slot, result, now);
        if self.parts.recorder.is_some() && self.window.contains(slot.intended) {
            self.record(event, &slot, result, now);
        }
        if event == WRITE && result >= 0 && self.sync_is_due() {
            let state = &mut self.slots[completion.slot as usize];
            state.is_syncing = true;
            state.command_issued = now;
            self.queue(completion.slot, CommandKind::Sync);
            return;
        }
        self.free.push(completion.slot);
        self.window.ended(u64::from(slot.size), result >= 0, slot.intended, now);
    }

    /// Bytes moved, or a negative errno: also an I/O that moved nothing has failed, and so has a read
    /// of data that do not belong to its offset.
    #[inline]
    fn judge(&self, event: usize, slot: &Slot, completion: Completion) -> i32 {
        let result = completion.result;
        if result == 0 && event != SYNC {
            return -libc::ENODATA;
        }
        if self.verifies && event == READ && result > 0 {
            let is_intact = self.buffers.verify(completion.slot, slot.offset, result as usize);
            return if is_intact { result } else { -libc::EILSEQ };
        }
        result
    }

    #[inline]
    fn sync_is_due(&mut self) -> bool {
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

    /// Counts one completion and its latencies.
    #[inline]
    fn count(&mut self, event: usize, slot: &Slot, result: i32, now: u64) {
        let mut counts = Counts::default();
        if result < 0 {
            counts.errors = u64::from(self.fail(event, slot, -result, now));
        } else {
            counts.count = 1;
            counts.bytes = if event == SYNC { 0 } else { result as u64 };
            counts.short = u64::from(event != SYNC && (result as u32) < slot.size);
        }
        self.outcome.all_phases[event].add(&counts);
        if event == SYNC {
            self.outcome.all_phases[DURABLE_WRITE].count += counts.count;
        }
        if !self.window.contains(slot.intended) {
            return;
        }
        self.interval.counts[event].add(&counts);
        if counts.count == 1 {
            self.time(event, slot, now);
        }
    }

    #[inline]
    fn time(&mut self, event: usize, slot: &Slot, now: u64) {
        let total = self.nanoseconds_between(slot.command_issued, now);
        self.interval.record(event, TOTAL, total);
        if B::IS_ASYNCHRONOUS {
            let submission = self.nanoseconds_between(slot.command_issued, slot.submitted).min(total);
            self.interval.record(event, SUBMISSION, submission);
            self.interval.record(event, COMPLETION, total - submission);
        }
        let is_open = self.schedule.is_open();
        if is_open && event != SYNC {
            self.interval.record(event, RESPONSE, self.nanoseconds_between(slot.intended, now));
        }
        if event == SYNC {
            self.interval.counts[DURABLE_WRITE].count += 1;
            self.interval.record(DURABLE_WRITE, TOTAL, self.nanoseconds_between(slot.issued, now));
            if is_open {
                let response = self.nanoseconds_between(slot.intended, now);
                self.interval.record(DURABLE_WRITE, RESPONSE, response);
            }
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
    fn fail(&mut self, event: usize, slot: &Slot, errno: i32, now: u64) -> bool {
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
        let intended = if event == SYNC { slot.command_issued } else { slot.intended };
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
