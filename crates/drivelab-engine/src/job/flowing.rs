//! A job that shares a flow, or waits for others: what it does before each I/O, and while the others are to go first.

use super::{Job, SYNC};
use crate::backend::Backend;
use crate::error::Result;
use crate::recording::RecordedPlaces;

impl<B: Backend> Job<B> {
    /// Lets one I/O through, or makes the sync call that is due before it; false where neither may be, a pause is
    /// due, or others of the flow go first.
    #[cold]
    pub(super) fn look_before_next(&mut self) -> Result<bool> {
        if self.waits.is_some() {
            self.until_pause = u64::from(self.may_go_by_others() && self.is_due() && self.may_issue());
            return Ok(self.until_pause > 0);
        }
        if self.flow.is_none() {
            return self.look_for_sync();
        }
        let now = self.clock.ticks();
        let may_go = self.may_issue() && !self.window.is_over(now) && !self.is_pause_due(now);
        let Some(flow) = &mut self.flow else { return Ok(false) };
        if !may_go || !flow.take() {
            return Ok(false);
        }
        if self.syncs_before_next.is_some() {
            return self.look_for_sync();
        }
        self.looked_until_pause -= 1;
        self.until_pause = 1;
        Ok(true)
    }

    /// Tells the others how far the job is, and whether they are far enough for its next I/O.
    fn may_go_by_others(&mut self) -> bool {
        let number = self.next_recorded();
        let Some(waits) = &mut self.waits else { return true };
        let counts = &self.outcome.all_phases[..=SYNC];
        waits.tell(counts.iter().map(|counts| counts.count + counts.errors).sum());
        waits.may_go(number)
    }

    /// The number of the next I/O in the job's recording.
    pub(super) fn next_recorded(&self) -> u64 {
        self.recorded.as_ref().map_or(0, RecordedPlaces::issued)
    }

    /// Whether the schedule lets the next I/O begin.
    fn is_due(&self) -> bool {
        !self.schedule.is_open()
            || self.schedule.next_arrival().is_some_and(|next| next <= self.clock.ticks())
    }

    /// Whether what holds up the next I/O is a pause, and not the share of a flow.
    pub(super) fn is_pause_due(&self, now: u64) -> bool {
        self.flow.is_none() || self.looked_until_pause == 0 || now >= self.pause_ticks
    }

    /// Lets the other jobs of the flow go first.
    pub(super) fn give_way(&self) {
        match self.parts.workload.pacing.flow_sleep_ns {
            0 => self.clock.give_way(),
            ns => self.clock.sleep(ns),
        }
    }
}
