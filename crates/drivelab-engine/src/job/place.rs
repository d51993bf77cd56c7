//! What the next I/O of a job does, and where.

use super::Job;
use crate::backend::Backend;
use crate::mix::Drawn;
use crate::window::StopReason;
use crate::workload::Operation;

impl<B: Backend> Job<B> {
    /// The next operation, its place and its bytes; `None` when the range has come to its end.
    #[inline]
    pub(super) fn next_place(&mut self, now: u64) -> Option<(Operation, u64, u32)> {
        let next = match &mut self.turns {
            Some(turns) if B::IS_ON_TREE => turns.next(&self.mix, &mut self.random),
            _ => self.next_block(),
        };
        if next.is_none() {
            self.window.stop(StopReason::RangeEnd, now);
        }
        next
    }

    #[inline]
    fn next_block(&mut self) -> Option<(Operation, u64, u32)> {
        let Drawn { operation, size, unit } = self.mix.draw(&mut self.random);
        if self.window.stops_at_range_end() && self.addresses.would_wrap(u64::from(size)) {
            return None;
        }
        Some((operation, self.addresses.next(&mut self.random, u64::from(size), u64::from(unit)), size))
    }
}
