//! How commands reach the backend and what has ended comes back from it.

use super::{Job, Phase};
use crate::backend::{Backend, Command, Wait};
use crate::error::Result;
use crate::workload::Operation;

/// Of so many calls that send and wait, the first is timed in its parts.
const PASSES_A_SAMPLE: u32 = 64;

impl<B: Backend> Job<B> {
    /// Sends what waits and takes what has ended: the call that follows holds both up. Returns the present tick.
    #[cold]
    pub(super) fn clear_the_way(&mut self) -> Result<u64> {
        if !self.sent.is_empty() {
            self.send()?;
        }
        if self.outstanding() > 0 {
            self.collect(Wait::No)?;
        }
        Ok(self.clock.ticks())
    }

    #[inline]
    pub(super) fn queue(&mut self, slot: u32, operation: Operation) {
        let state = &mut self.slots[slot as usize];
        state.submitted = 0;
        let is_new = operation == Operation::Write && state.phase != Phase::WriteBack;
        let (buffer_index, buffer) = self.buffers.of_slot(slot, is_new);
        self.backend.queue(&Command {
            operation,
            slot,
            offset: state.offset,
            size: state.size,
            buffer,
            buffer_index,
        });
        self.sent.push(slot);
    }

    pub(super) fn send_full_batch(&mut self) -> Result<()> {
        if self.sent.len() >= self.batch { self.send() } else { Ok(()) }
    }

    /// Sends what waits, unless this is left to the call that waits for completions. Of the calls that may do both, one
    /// in [`PASSES_A_SAMPLE`] is made as two, between which the end of the submission is seen.
    #[inline]
    pub(super) fn send_alone_if_timed(&mut self) -> Result<()> {
        if self.sent.is_empty() {
            return Ok(());
        }
        if self.samples_submission {
            self.until_sample = self.until_sample.checked_sub(1).unwrap_or(PASSES_A_SAMPLE - 1);
            if self.until_sample != PASSES_A_SAMPLE - 1 {
                return Ok(());
            }
        }
        self.send()
    }

    #[inline]
    pub(super) fn send(&mut self) -> Result<()> {
        self.note_outstanding();
        self.backend.submit()?;
        if B::IS_ASYNCHRONOUS {
            let now = self.clock.ticks();
            for &slot in &self.sent {
                self.slots[slot as usize].submitted = now;
            }
        }
        self.sent.clear();
        Ok(())
    }

    fn note_outstanding(&mut self) {
        let outstanding = self.outstanding();
        self.outcome.outstanding_max = self.outcome.outstanding_max.max(outstanding as u32);
        if B::IS_ASYNCHRONOUS {
            self.outcome.levels.add_call(self.sent.len(), outstanding);
        } else {
            self.outcome.levels.add_one();
        }
    }

    /// Takes what has completed; sends first what still waits for that.
    #[inline]
    pub(super) fn collect(&mut self, wait: Wait) -> Result<()> {
        if B::IS_ASYNCHRONOUS && self.waits_for_more {
            return self.collect_several(wait);
        }
        if self.sent.is_empty() {
            self.backend.reap(wait, &mut self.completions)?;
        } else {
            self.note_outstanding();
            self.backend.submit_and_wait(&mut self.completions)?;
            self.sent.clear();
        }
        let now = self.clock.ticks();
        if B::IS_ASYNCHRONOUS {
            self.outcome.levels.add_look(self.completions.len());
        }
        if self.window.enter(now) {
            self.hand_on_interval(now);
        }
        if B::IS_ASYNCHRONOUS && self.completions.len() >= self.plain_from {
            self.complete_plain(now);
        }
        for position in 0..self.completions.len() {
            let completion = self.completions[position];
            self.complete(completion, now);
            self.send_full_batch()?;
        }
        self.completions.clear();
        Ok(())
    }

    /// Takes as many at a look as are to be taken at least; where all slots were in use, look after look until so few
    /// are as wait for their refill.
    #[cold]
    #[inline(never)]
    fn collect_several(&mut self, wait: Wait) -> Result<()> {
        let workload = &self.parts.workload;
        let (least, depth) = (workload.completion_batch_min as usize, workload.refill_depth as usize);
        let empties = depth > 0 && self.free.is_empty();
        // each look then goes the common way
        self.waits_for_more = false;
        loop {
            if !self.sent.is_empty() {
                self.send()?;
            }
            self.backend.reap(wait, &mut self.completions)?;
            let least = least.min(self.outstanding());
            while wait == Wait::Forever && self.completions.len() < least {
                self.backend.reap(wait, &mut self.completions)?;
            }
            self.collect(Wait::No)?;
            if !empties || wait != Wait::Forever || self.outstanding() <= depth {
                break;
            }
        }
        self.waits_for_more = true;
        Ok(())
    }
}
