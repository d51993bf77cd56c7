//! How a job waits: for the common start, for the schedule, and for completions.

use std::sync::atomic::Ordering;

use super::Job;
use crate::backend::{Backend, Wait};
use crate::flow::Share;
use crate::recording::Recording;
use crate::workload::Workload;

/// Between two looks at whether another job has done what is waited for, where no call tells.
const OTHERS_NS: u64 = 10_000;

impl<B: Backend> Job<B> {
    /// Sleeps, then spins, until the moment at which the job begins, or is stopped before.
    pub fn wait_for_start(&mut self) {
        loop {
            let now = self.clock.ticks();
            let distance = self.clock.nanoseconds(self.parts.start_ticks.saturating_sub(now));
            if distance == 0 || self.parts.stop.load(Ordering::Relaxed) {
                self.window.enter(now);
                self.begin_before_pause(now);
                self.flow = Share::of(&self.parts.workload.pacing);
                self.outcome.begun_monotonic_ns = self.clock.monotonic_ns(now);
                return;
            }
            self.alarm.sleep_almost(&self.clock, distance);
        }
    }

    #[inline]
    pub(super) fn patience(&self) -> Wait {
        if !self.schedule.is_open() || self.free.is_empty() || !self.window.may_issue() {
            return Wait::Forever;
        }
        let Some(next) = self.schedule.next_arrival() else { return Wait::Forever };
        let distance = self.clock.nanoseconds(next.saturating_sub(self.clock.ticks()));
        match self.alarm.may_sleep(&self.clock, distance) {
            0 if distance == 0 && self.waits.is_some() => Wait::AtMost(OTHERS_NS),
            0 => Wait::No,
            ns => Wait::AtMost(ns),
        }
    }

    /// Sleeps until the schedule's next arrival; false when there is nothing left to do.
    pub(super) fn sleep_until_next_arrival(&mut self) -> bool {
        if !self.may_issue() {
            return false;
        }
        let now = self.clock.ticks();
        self.window.enter(now);
        if self.window.is_over(now) {
            return false;
        }
        if self.until_pause == 0 {
            if self.waits.is_some() {
                self.wait_for_others(now);
            } else if self.is_pause_due(now) {
                self.pause(now);
            } else {
                self.give_way();
            }
            return true;
        }
        if !self.schedule.is_open() {
            return false;
        }
        let Some(next) = self.schedule.next_arrival() else {
            return self.wait_for_end(now);
        };
        let distance = self.clock.nanoseconds(next.saturating_sub(now));
        self.alarm.sleep_almost(&self.clock, distance);
        true
    }

    /// Sleeps until the start of what may wait for another job is near, then until that job is far enough.
    fn wait_for_others(&self, now: u64) {
        let next = self.schedule.next_arrival().filter(|_| self.schedule.is_open()).unwrap_or(now);
        let ns = self.alarm.may_sleep(&self.clock, self.clock.nanoseconds(next.saturating_sub(now)));
        match &self.waits {
            _ if ns > 0 => self.clock.sleep(ns),
            // in virtual time one thread does all jobs
            _ if self.clock.is_virtual() => self.clock.sleep(OTHERS_NS),
            Some(waits) => waits.sleep(self.next_recorded()),
            None => {}
        }
    }

    /// From now on until the next pause, where time decides.
    fn begin_before_pause(&mut self, now: u64) {
        let pacing = &self.parts.workload.pacing;
        if pacing.think_ns > 0 && pacing.think_after_ns > 0 {
            self.pause_ticks = now.saturating_add(self.clock.ticks_in(pacing.think_after_ns));
        }
    }

    /// Issues nothing for as long as the workload says, or until the run ends.
    fn pause(&mut self, now: u64) {
        let workload = &self.parts.workload;
        self.until_pause = ios_until_look(workload);
        self.looked_until_pause = ios_until_pause(workload);
        // where time decides, I/O that was still outstanding takes from the pause: what follows stays in step
        let begin = now.min(self.pause_ticks);
        let end =
            begin.saturating_add(self.clock.ticks_in(workload.pacing.think_ns)).min(self.window.deadline());
        while self.may_issue() {
            let left = end.saturating_sub(self.clock.ticks());
            if left == 0 {
                self.begin_before_pause(end);
                return;
            }
            self.alarm.sleep_almost(&self.clock, self.clock.nanoseconds(left));
        }
    }

    /// The schedule has no more arrivals: the window still lasts until its end.
    fn wait_for_end(&mut self, now: u64) -> bool {
        self.clock.sleep(self.clock.nanoseconds(self.window.deadline().saturating_sub(now)).min(20_000_000));
        true
    }
}

pub(super) fn ios_until_pause(workload: &Workload) -> u64 {
    let pacing = &workload.pacing;
    if pacing.think_ns == 0 || pacing.think_after_ns > 0 { u64::MAX } else { pacing.think_every }
}

/// I/Os until something is looked at: a pause, or what is looked at before each.
pub(super) fn ios_until_look(workload: &Workload) -> u64 {
    let waits = workload.recording.as_ref().is_some_and(Recording::waits);
    let looks_before_each =
        waits || workload.durability.syncs_before_next() || workload.pacing.flow_weight > 0;
    if looks_before_each { 0 } else { ios_until_pause(workload) }
}
