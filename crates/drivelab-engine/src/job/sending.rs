//! How commands reach the backend and what has ended comes back from it.

use super::{Job, Phase};
use crate::backend::{Backend, Command, Wait};
use crate::error::Result;
use crate::workload::Operation;

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
        let state = &self.slots[slot as usize];
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

    #[inline]
    pub(super) fn send(&mut self) -> Result<()> {
        self.outcome.outstanding_max = self.outcome.outstanding_max.max(self.outstanding() as u32);
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

    /// Takes what has completed.
    #[inline]
    pub(super) fn collect(&mut self, wait: Wait) -> Result<()> {
        self.backend.reap(wait, &mut self.completions)?;
        let now = self.clock.ticks();
        if self.window.enter(now) {
            self.hand_on_interval(now);
        }
        for position in 0..self.completions.len() {
            let completion = self.completions[position];
            self.complete(completion, now);
            self.send_full_batch()?;
        }
        self.completions.clear();
        Ok(())
    }
}
