//! A job on zones: where its I/Os go, and what has to end before.

use super::{Job, Slot};
use crate::backend::{Backend, Wait};
use crate::error::{EngineError, Result};
use crate::window::StopReason;
use crate::workload::Operation;
use crate::zones::{Next, resetting};

impl<B: Backend> Job<B> {
    /// The next I/O; `None` when there is no place for it any more, or the job is to end while it waits for one.
    #[inline(never)]
    pub(super) fn next_on_zones(&mut self) -> Result<Option<(Operation, u64, u32)>> {
        while self.may_issue() {
            let is_alone = self.outstanding() == 0;
            let Some(zones) = &mut self.parts.zones else { return Ok(None) };
            let mut drawn = zones.waiting().unwrap_or_else(|| self.mix.draw(&mut self.random));
            while zones.is_too_early(drawn.operation) {
                drawn = self.mix.draw(&mut self.random);
            }
            let addresses = &mut self.addresses[drawn.access];
            match zones.next(drawn, addresses, &mut self.random, is_alone) {
                Ok(Next::At(offset, size)) => return Ok(Some((drawn.operation, offset, size as u32))),
                Ok(Next::Nowhere) => {
                    self.window.stop(StopReason::RangeEnd, self.clock.ticks());
                }
                Ok(Next::WaitForOwn) => self.let_all_end()?,
                Ok(Next::WaitForOthers) => {
                    zones.wait();
                    self.window.is_over(self.clock.ticks());
                }
                Err((error, offset)) => {
                    let name = &self.parts.workload.target.path;
                    return Err(EngineError::from_os(&resetting(offset), name, &error));
                }
            }
        }
        Ok(None)
    }

    fn let_all_end(&mut self) -> Result<()> {
        while self.outstanding() > 0 {
            self.collect(Wait::Forever)?;
        }
        Ok(())
    }

    /// Tells the zones that an I/O has ended.
    pub(super) fn leave_zone(&mut self, slot: &Slot) {
        let operations = [Operation::Read, Operation::Write, Operation::Trim];
        let operation = operations.into_iter().find(|&operation| operation as u8 == slot.event);
        if let (Some(zones), Some(operation)) = (&mut self.parts.zones, operation) {
            zones.ended(operation, slot.offset, u64::from(slot.size));
        }
    }
}
