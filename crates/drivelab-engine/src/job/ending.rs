//! How a job ends: what follows its last write and belongs to it, and what it hands on.

use std::sync::atomic::Ordering;

use super::{Job, JobOutcome, Phase, SYNC, Slot};
use crate::backend::Backend;
use crate::run::Message;
use crate::series::{Counts, Interval};
use crate::wake;
use crate::window::StopReason;
use crate::workload::Operation;
use crate::zones::OwnZones;

const WRITE: usize = Operation::Write as usize;

impl<B: Backend> Job<B> {
    /// Ends the writes of a job that has reached its limit; one that was stopped or has failed leaves them.
    /// True when a call was made for that, after whose end there may be more to do.
    #[cold]
    pub(super) fn end_writes(&mut self) -> bool {
        let Some(last) = self.last_write else { return false };
        let is_stopped = self.parts.stop.load(Ordering::Relaxed);
        if is_stopped || matches!(self.window.reason(), StopReason::Caller | StopReason::Error) {
            return false;
        }
        // The time may be up already, and whoever waits for the job would interrupt the call.
        wake::hold_wake_ups();
        if self.syncs_at_end {
            let (offset, is_last) = match &mut self.files {
                Some(files) => files.next_to_sync(),
                None => (last.offset, true),
            };
            self.syncs_at_end = !is_last;
            return self.sync_after(&Slot { offset, ..last });
        }
        if B::HAS_BUFFER {
            self.write_buffer(&last);
        }
        false
    }

    fn sync_after(&mut self, last: &Slot) -> bool {
        let Some(slot) = self.free.pop() else { return false };
        self.slots[slot as usize] =
            Slot { command_issued: self.clock.ticks(), event: SYNC as u8, phase: Phase::OwnSync, ..*last };
        self.queue(slot, Operation::Sync);
        true
    }

    fn write_buffer(&mut self, last: &Slot) {
        let result = self.backend.write_buffer();
        let now = self.clock.ticks();
        if self.window.enter(now) {
            self.hand_on_interval(now);
        }
        if result < 0 {
            let counts =
                Counts { errors: u64::from(self.fail(WRITE, last, -result, now)), ..Counts::default() };
            self.outcome.all_phases[WRITE].add(&counts);
            if self.window.contains(last.intended) {
                self.interval.counts[WRITE].add(&counts);
            }
        }
        self.window.lasted_until(last.intended, now);
    }

    /// Hands on what is left; what the job did.
    pub fn finish(mut self) -> JobOutcome {
        let now = self.clock.ticks();
        self.window.finish(now);
        let missed = (self.window.start(), self.window.deadline().min(now));
        self.outcome.arrivals.2 = self.schedule.count_due(missed.0, missed.1, &mut self.random);
        self.outcome.starts = self.schedule.take_starts();
        let empty = Box::new(Interval::new(&self.parts.shape));
        let last = std::mem::replace(&mut self.interval, empty);
        let index = self.window.interval_index();
        let message = Message::Interval { job: self.parts.job, index, next_index: u32::MAX, interval: last };
        let _ = self.parts.messages.send(message);
        if let Some(recorder) = self.parts.recorder.take() {
            self.outcome.recorded = recorder.finish();
        }
        if !B::IS_ASYNCHRONOUS {
            self.outcome.levels.complete_ones();
        }
        self.outcome.stop_reason = self.window.reason();
        self.outcome.window_ticks = (self.window.start(), self.window.end(), now);
        self.outcome.usage = self.window.usage();
        self.outcome.zones = self.parts.zones.as_ref().map(OwnZones::counts);
        self.outcome
    }
}
