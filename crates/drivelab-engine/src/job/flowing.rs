//! A job that shares a flow: what it does before each I/O, and while the others are to go first.

use super::{Job, ios_until_pause};
use crate::backend::Backend;
use crate::error::Result;
use crate::flow::Share;
use crate::workload::Workload;

/// The share of a job, and what else it waits for.
#[derive(Debug)]
pub(super) struct OwnFlow {
    share: Share,
    /// I/Os until the next pause; where sync calls are looked for, these know.
    pub(super) until_pause: u64,
}

impl OwnFlow {
    /// That of a job that begins now; `None` where it shares none.
    pub(super) fn begin(workload: &Workload) -> Option<Self> {
        let share = Share::of(&workload.pacing)?;
        Some(Self { share, until_pause: ios_until_pause(workload) })
    }
}

impl<B: Backend> Job<B> {
    /// Lets one I/O through, or makes the sync call that is due before it; false where neither may be, a pause is
    /// due, or others of the flow go first.
    #[cold]
    pub(super) fn look_before_next(&mut self) -> Result<bool> {
        if self.flow.is_none() {
            return self.look_for_sync();
        }
        let now = self.clock.ticks();
        let may_go = self.may_issue() && !self.window.is_over(now) && !self.is_pause_due(now);
        let Some(flow) = &mut self.flow else { return Ok(false) };
        if !may_go || !flow.share.take() {
            return Ok(false);
        }
        if self.syncs_before_next.is_some() {
            return self.look_for_sync();
        }
        flow.until_pause -= 1;
        self.until_pause = 1;
        Ok(true)
    }

    /// Whether what holds up the next I/O is a pause, and not the share of a flow.
    pub(super) fn is_pause_due(&self, now: u64) -> bool {
        let Some(flow) = &self.flow else { return true };
        let left = self.syncs_before_next.map_or(flow.until_pause, |syncs| syncs.until_pause);
        left == 0 || now >= self.pause_ticks
    }

    /// Lets the other jobs of the flow go first.
    pub(super) fn give_way(&self) {
        match self.parts.workload.pacing.flow_sleep_ns {
            0 => self.clock.give_way(),
            ns => self.clock.sleep(ns),
        }
    }
}
