//! Sync calls that are due before the next I/O: looked for as fio does until 3.37.

use super::{Job, Phase, SYNC, Slot};
use crate::backend::{Backend, Wait};
use crate::error::Result;
use crate::workload::{Operation, Workload};

const READ: usize = Operation::Read as usize;
const TRIM: usize = Operation::Trim as usize;

/// What decides whether a call is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct SyncsBeforeNext {
    every_writes: u64,
    /// Writes that were issued.
    writes: u64,
    /// How many they were at the last call.
    writes_at_call: u64,
    /// Whether the I/O that was let through last is still to be counted.
    is_let_through: bool,
    /// I/Os that had ended when the last call did.
    ended_at_sync: Option<u64>,
}

impl SyncsBeforeNext {
    /// `None` where calls are due otherwise, or not at all.
    pub(super) fn of(workload: &Workload) -> Option<Self> {
        let asked = &workload.durability;
        asked.syncs_before_next().then_some(Self {
            every_writes: asked.every_writes,
            writes: 0,
            writes_at_call: 0,
            is_let_through: false,
            ended_at_sync: None,
        })
    }
}

impl<B: Backend> Job<B> {
    /// Makes the call that is due, or lets one I/O through; false where neither may be, or a pause is due.
    pub(super) fn look_for_sync(&mut self) -> Result<bool> {
        let Some(mut state) = self.syncs_before_next else { return Ok(false) };
        if !self.may_issue() || self.window.is_over(self.clock.ticks()) {
            return Ok(false);
        }
        state.writes += u64::from(state.is_let_through && self.mix.last() == Operation::Write);
        let is_due = state.writes > 0
            && state.writes.is_multiple_of(state.every_writes)
            && state.ended_at_sync != Some(self.ios_ended());
        state.is_let_through = !is_due && self.looked_until_pause > 0;
        self.looked_until_pause -= u64::from(state.is_let_through);
        let is_first = state.writes_at_call != state.writes;
        if is_due {
            state.writes_at_call = state.writes;
        }
        self.syncs_before_next = Some(state);
        self.until_pause = u64::from(state.is_let_through);
        if is_due {
            self.sync_before_next(if is_first { Phase::SyncOfLast } else { Phase::OwnSync })?;
        }
        Ok(is_due || state.is_let_through)
    }

    fn sync_before_next(&mut self, phase: Phase) -> Result<()> {
        let is_write = |slot: &&Slot| slot.event == Operation::Write as u8;
        let write = self.slots.iter().filter(is_write).max_by_key(|slot| slot.issued).copied();
        let Some(slot) = self.free.pop() else { return Ok(()) };
        self.slots[slot as usize] = Slot {
            command_issued: self.clock.ticks(),
            event: SYNC as u8,
            phase,
            ..write.unwrap_or(self.slots[slot as usize])
        };
        // it takes a turn, and does not look at which files were written
        if let Some(files) = &mut self.files {
            self.slots[slot as usize].offset = files.place_of_turn(&mut self.random);
        }
        self.queue(slot, Operation::Sync);
        if B::WAITS_FOR_SYNC {
            self.send()?;
            return self.collect(Wait::No);
        }
        self.send_full_batch()
    }

    /// Notes that a call has ended.
    #[cold]
    pub(super) fn note_sync(&mut self) {
        let ended = self.ios_ended();
        if let Some(state) = &mut self.syncs_before_next {
            state.ended_at_sync = Some(ended);
        }
    }

    /// Reads, writes and trims that have ended.
    fn ios_ended(&self) -> u64 {
        self.outcome.all_phases[READ..=TRIM].iter().map(|counts| counts.count + counts.errors).sum()
    }
}
