//! Which of several asynchronous operations of one thread a bio belongs to.
//!
//! Where the addresses are known, the bio lies in the operation's bytes. Otherwise the kernel queues bios in
//! the order of the operations that one call submits, so a bio goes to the first operation of its direction
//! that still lacks bytes: of those that are just being submitted, else of all that are under way. What is
//! left (the file system's own, a flush) goes to the operation that began first, one that is just being
//! submitted before others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Kind, Operation, Target};
use crate::lifetime::Bio;
use crate::record::category;

/// Directions of a bio: read, write, discard, flush.
pub const DIRECTIONS: usize = 4;
const FLUSH: usize = 3;

/// Direction of a bio.
pub fn direction_of(bio: &Bio) -> usize {
    let has = |bits: u32| bio.category & bits != 0;
    match bio.bytes {
        0 => FLUSH,
        _ if has(category::DISCARD) => 2,
        _ => usize::from(has(category::WRITE)),
    }
}

/// How much of each direction an operation asks for: bytes, and one flush.
pub fn demand(operation: &Operation) -> [u64; DIRECTIONS] {
    let size = operation.size;
    match operation.kind {
        Kind::Read => [size, 0, 0, 0],
        Kind::Write => [0, size, 0, 0],
        Kind::Trim => [0, 0, size, 0],
        Kind::Sync => [0, 0, 0, 1],
        Kind::DurableWrite => [0, size, 0, 1],
    }
}

/// Where an operation lies on the traced device: first byte and length of every piece.
pub fn pieces<'a>(operation: &'a Operation, target: &'a Target) -> impl Iterator<Item = (u64, u64)> + 'a {
    let (start, end) = (operation.offset, operation.offset.saturating_add(operation.size));
    target.extents.iter().filter_map(move |extent| {
        let from = start.max(extent.offset);
        let until = end.min(extent.offset.saturating_add(extent.length));
        (from < until).then(|| (extent.device_offset.saturating_add(from - extent.offset), until - from))
    })
}

/// How far an asynchronous operation has come.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// What it still lacks, by direction.
    lacks: [u64; DIRECTIONS],
    is_submitting: bool,
    is_under_way: bool,
}

impl Progress {
    fn take(&mut self, direction: usize, bytes: u32) {
        self.lacks[direction] = self.lacks[direction].saturating_sub(u64::from(bytes).max(1));
    }
}

/// The asynchronous operations of one thread that are under way, by their places in the pool.
#[derive(Debug, Default)]
pub struct Flights {
    submitting: BTreeSet<(u64, usize)>,
    under_way: BTreeSet<(u64, usize)>,
    submitting_lanes: [VecDeque<usize>; DIRECTIONS],
    lanes: [VecDeque<usize>; DIRECTIONS],
    by_address: BTreeMap<(u64, u64, usize), u64>,
    longest: u64,
}

impl Flights {
    /// An operation begins.
    pub fn start(
        &mut self,
        place: usize,
        operation: &Operation,
        target: Option<&Target>,
        all: &mut [Progress],
    ) {
        let lacks = demand(operation);
        all[place] = Progress { lacks, is_submitting: true, is_under_way: true };
        self.under_way.insert((operation.start_ns, place));
        self.submitting.insert((operation.start_ns, place));
        for direction in (0..DIRECTIONS).filter(|&direction| lacks[direction] > 0) {
            self.submitting_lanes[direction].push_back(place);
            self.lanes[direction].push_back(place);
        }
        for (start, length) in target.into_iter().flat_map(|target| pieces(operation, target)) {
            self.longest = self.longest.max(length);
            self.by_address.insert((start, operation.start_ns, place), length);
        }
    }

    /// The call that submitted an operation has returned.
    pub fn submitted(&mut self, place: usize, operation: &Operation, all: &mut [Progress]) {
        self.submitting.remove(&(operation.start_ns, place));
        all[place].is_submitting = false;
    }

    /// An operation is done.
    pub fn end(
        &mut self,
        place: usize,
        operation: &Operation,
        target: Option<&Target>,
        all: &mut [Progress],
    ) {
        self.submitted(place, operation, all);
        self.under_way.remove(&(operation.start_ns, place));
        all[place].is_under_way = false;
        for (start, _) in target.into_iter().flat_map(|target| pieces(operation, target)) {
            self.by_address.remove(&(start, operation.start_ns, place));
        }
    }

    /// The operation that a bio of this thread belongs to; None when nothing is under way.
    pub fn choose(&mut self, bio: &Bio, all: &mut [Progress]) -> Option<usize> {
        let direction = direction_of(bio);
        let is_own = direction != FLUSH && bio.category & category::META == 0;
        let chosen = if is_own && !self.by_address.is_empty() {
            self.at_address(bio, direction, all)
        } else if is_own || direction == FLUSH {
            self.in_order(direction, all)
        } else {
            None
        };
        let chosen =
            chosen.or_else(|| self.submitting.first().or(self.under_way.first()).map(|key| key.1))?;
        all[chosen].take(direction, bio.bytes);
        Some(chosen)
    }

    /// The one whose bytes it shares: first those that still lack them, then the one that began first.
    fn at_address(&self, bio: &Bio, direction: usize, all: &[Progress]) -> Option<usize> {
        let start = bio.sector.saturating_mul(512);
        let end = start.saturating_add(u64::from(bio.bytes));
        let near = self.by_address.range((start.saturating_sub(self.longest), 0, 0)..(end, 0, 0));
        let shares = near.filter(|((first, _, _), length)| first.saturating_add(**length) > start);
        let order = |&(_, began, place): &(u64, u64, usize)| (all[place].lacks[direction] == 0, began, place);
        shares.map(|(key, _)| order(key)).min().map(|(_, _, place)| place)
    }

    fn in_order(&mut self, direction: usize, all: &[Progress]) -> Option<usize> {
        let lacks = |place: usize| all[place].lacks[direction] > 0;
        first_of(&mut self.submitting_lanes[direction], |place| all[place].is_submitting && lacks(place))
            .or_else(|| first_of(&mut self.lanes[direction], |place| all[place].is_under_way && lacks(place)))
    }
}

/// The first of a lane that is wanted; those before it never will be again, and are dropped.
fn first_of(lane: &mut VecDeque<usize>, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
    while let Some(&place) = lane.front() {
        if is_wanted(place) {
            return Some(place);
        }
        lane.pop_front();
    }
    None
}
