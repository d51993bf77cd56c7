//! Where the program's bytes lie on the traced device, and which work of the kernel is plainly somebody else's.

use std::collections::HashSet;

use super::{Extent, Pool, Surroundings};
use crate::lifetime::Bio;
use crate::record::category;

/// Bytes of a device that operations go to, in order and apart; nothing when they are not known of every job.
#[derive(Debug, Default)]
pub struct Places {
    pieces: Vec<(u64, u64)>,
}

impl Places {
    /// Where the operations of a pool go to.
    pub fn of(pool: &Pool<'_>, around: &Surroundings) -> Self {
        let jobs: HashSet<u32> = pool.operations.iter().map(|(_, operation)| operation.job).collect();
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        for job in jobs {
            let extents = around.targets.get(&job).map_or(&[][..], |target| &target.extents);
            if extents.is_empty() {
                return Self::default();
            }
            let bytes_of =
                |extent: &Extent| (extent.device_offset, extent.device_offset.saturating_add(extent.length));
            pieces.extend(extents.iter().map(bytes_of));
        }
        pieces.sort_unstable();
        pieces.dedup_by(|next, kept| {
            let meets = next.0 <= kept.1;
            kept.1 = if meets { kept.1.max(next.1) } else { kept.1 };
            meets
        });
        Self { pieces }
    }

    /// Whether a bio writes or discards plain data outside of the program's bytes. A thread of the kernel does
    /// that for other programs, and later: no operation waits for it, whatever goes on meanwhile.
    pub fn is_elsewhere(&self, bio: &Bio) -> bool {
        let has = |bits: u32| bio.category & bits != 0;
        let is_plain = bio.bytes > 0
            && has(category::WRITE | category::DISCARD)
            && !has(category::META | category::FLUSH | category::FUA);
        let start = bio.sector.saturating_mul(512);
        let end = start.saturating_add(u64::from(bio.bytes));
        let before_end = self.pieces.partition_point(|piece| piece.0 < end);
        let meets = before_end > 0 && self.pieces[before_end - 1].1 > start;
        is_plain && !self.pieces.is_empty() && !meets
    }
}
