//! What is open, by the sector at which it starts.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Index, IndexMut};

/// Index of nothing.
pub(super) const NONE: u32 = u32::MAX;

/// Values at indices that stay; a freed index is used again, so memory grows with what is open and not with the trace.
#[derive(Debug, Default)]
pub(super) struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T: Default> Slab<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.values[index as usize] = value;
            return index;
        }
        self.values.push(value);
        (self.values.len() - 1) as u32
    }

    pub(super) fn remove(&mut self, index: u32) -> T {
        self.free.push(index);
        std::mem::take(&mut self.values[index as usize])
    }

    /// All values; freed ones are defaults.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, index: u32) -> &T {
        &self.values[index as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.values[index as usize]
    }
}

/// A sector of a device; the device by its position in the follower's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub sector: u64,
    pub device: u32,
}

/// One multiplication and a fold: keys are sectors, nobody attacks them, and the standard hasher costs more
/// than everything else that is done with a record.
#[derive(Debug, Default)]
pub(crate) struct SectorHasher(u64);

impl Hasher for SectorHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        // sectors are multiples of 8, so the low bits of the product say little
        self.0 ^ (self.0 >> 32)
    }
}

/// A map with keys such as sectors.
pub(crate) type SectorMap<K, V> = HashMap<K, V, BuildHasherDefault<SectorHasher>>;

/// Links of a value that is in a [`Places`].
pub(super) trait Linked {
    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
}

#[derive(Debug, Clone, Copy)]
struct Line {
    first: u32,
    last: u32,
    count: u32,
}

/// For each place what is open there, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Places {
    lines: SectorMap<Place, Line>,
}

impl Places {
    /// Adds one behind the others of its place; gives their number.
    pub(super) fn append<T: Linked + Default>(&mut self, all: &mut Slab<T>, place: Place, index: u32) -> u32 {
        all[index].set_next(NONE);
        let line = self.lines.entry(place).or_insert(Line { first: index, last: index, count: 0 });
        if line.count > 0 {
            all[line.last].set_next(index);
            line.last = index;
        }
        line.count += 1;
        line.count
    }

    pub(super) fn remove<T: Linked + Default>(&mut self, all: &mut Slab<T>, place: Place, index: u32) {
        let Some(line) = self.lines.get_mut(&place) else { return };
        if line.count == 1 {
            if line.first == index {
                self.lines.remove(&place);
            }
            return;
        }
        let (mut before, mut at) = (NONE, line.first);
        while at != index {
            if at == NONE {
                return;
            }
            (before, at) = (at, all[at].next());
        }
        let after = all[index].next();
        if before == NONE {
            line.first = after;
        } else {
            all[before].set_next(after);
        }
        if after == NONE {
            line.last = before;
        }
        line.count -= 1;
    }

    /// How many are at a place.
    pub(super) fn count(&self, place: Place) -> u32 {
        self.lines.get(&place).map_or(0, |line| line.count)
    }

    /// The oldest at a place.
    pub(super) fn first(&self, place: Place) -> Option<u32> {
        self.lines.get(&place).map(|line| line.first)
    }

    /// The one with the lowest rank at a place; among equals the oldest, or the newest.
    pub(super) fn pick<T: Linked>(
        &self,
        all: &Slab<T>,
        place: Place,
        is_newest: bool,
        rank: impl Fn(&T) -> Option<u8>,
    ) -> Option<u32> {
        let line = self.lines.get(&place)?;
        let (mut best, mut at) = (None, line.first);
        for _ in 0..line.count {
            if let Some(rank) = rank(&all[at]) {
                let is_better = best.is_none_or(|(lowest, _)| rank < lowest || (is_newest && rank == lowest));
                if is_better {
                    best = Some((rank, at));
                }
            }
            at = all[at].next();
        }
        best.map(|(_, index)| index)
    }
}
