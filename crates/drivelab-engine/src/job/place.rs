//! What the next I/O of a job does, and where.

use super::Job;
use super::files::FileTurns;
use crate::backend::Backend;
use crate::mix::Drawn;
use crate::target::CachedRange;
use crate::window::StopReason;
use crate::workload::Operation;

impl<B: Backend> Job<B> {
    /// The next operation, its place and its bytes; `None` when the range has come to its end.
    #[inline]
    pub(super) fn next_place(&mut self, now: u64) -> Option<(Operation, u64, u32)> {
        let next = match &mut self.turns {
            Some(turns) if B::IS_ON_TREE => turns.next(&mut self.mix, &mut self.random),
            _ => self.next_block(),
        };
        if next.is_none() {
            self.window.stop(StopReason::RangeEnd, now);
        }
        next
    }

    /// Gives up what the page cache holds of the job's range if a pass has just begun with an I/O; whether it did.
    #[inline]
    pub(super) fn drop_cache_at_new_pass(&mut self, size: u32) -> bool {
        if self.parts.cached.is_empty() {
            return false;
        }
        let mut begins_again = self.files.as_mut().is_some_and(FileTurns::take_begun_again);
        for addresses in &mut self.addresses {
            begins_again |= addresses.take_wrapped();
        }
        let (done, whole) = self.pass;
        begins_again |= done >= whole;
        self.pass.0 = if begins_again { 0 } else { done } + u64::from(size);
        if begins_again {
            self.parts.cached.iter().for_each(CachedRange::drop_pages);
        }
        begins_again
    }

    #[inline]
    fn next_block(&mut self) -> Option<(Operation, u64, u32)> {
        let Some(Drawn { operation, size, unit, access, .. }) = self.mix.only() else {
            return self.next_of_several();
        };
        let addresses = &mut self.addresses[access];
        if self.window.stops_at_range_end() && addresses.would_wrap(u64::from(size)) {
            return None;
        }
        Some((operation, addresses.next(&mut self.random, u64::from(size), u64::from(unit)), size))
    }

    #[inline(never)]
    fn next_of_several(&mut self) -> Option<(Operation, u64, u32)> {
        if let Some(recorded) = &mut self.recorded {
            return recorded.next_place();
        }
        let stops_at_range_end = self.window.stops_at_range_end();
        loop {
            let drawn = self.mix.draw(&mut self.random);
            let (offset, size) = if let Some(files) = &mut self.files {
                files.next_place(drawn, &mut self.random, stops_at_range_end)?
            } else {
                let addresses = &mut self.addresses[drawn.access];
                if stops_at_range_end && addresses.would_wrap(u64::from(drawn.size)) {
                    return None;
                }
                addresses.next_cut(&mut self.random, u64::from(drawn.size), u64::from(drawn.unit))
            };
            if drawn.is_issued {
                return Some((drawn.operation, offset, size as u32));
            }
        }
    }
}
