//! What operations wait for beside their own bios.
//!
//! A call that has to be durable waits for the kernel's threads. Another one may, and has to have slept then: where it
//! is known that it did not, it waited for nothing, whatever went on beside it. Where that is not known, a call with
//! bios of its own is taken to have waited, and one without is where a bio of the kernel's ended shortly before it
//! did, after most of its time: what went on beyond its end, or ended long before, is not what let it go on.

use std::collections::HashMap;

use super::carried::end_of;
use super::layers::Above;
use super::who::{Thread, Who};
use super::{Kind, Operation, Pool};
use crate::lifetime::{Bio, Class};

/// A call goes on so soon after what it waited for, where a processor is free: it is woken, and copies its data.
const GOES_ON_WITHIN_NS: u64 = 100_000;

/// What an operation waits for beside its own bios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Nothing.
    Own,
    /// The kernel's reads.
    Reads,
    /// All that the kernel's threads do.
    All,
}

/// What every operation of a pool waits for, in their order.
pub fn waits(pool: &Pool<'_>, who: &Who, above: &Above) -> Vec<Waits> {
    let signs = Signs::of(pool, who, above);
    let of = |operation: &Operation| match operation.kind {
        _ if operation.waits_for_durability() => Waits::All,
        _ if !operation.is_synchronous || !signs.has_waited(operation) => Waits::Own,
        Kind::Read => Waits::Reads,
        _ => Waits::All,
    };
    pool.operations.iter().map(|&(_, operation)| of(operation)).collect()
}

/// Moments, in order, that tell of waiting where nobody knows who slept.
#[derive(Debug, Default)]
struct Signs {
    /// When each of the program's threads queued a bio.
    queued: HashMap<u32, Vec<u64>>,
    /// When bios of the kernel ended: reads, and all.
    ends_of_reads: Vec<u64>,
    ends: Vec<u64>,
}

impl Signs {
    /// What a layer sent down is no sign: whoever waits does so for what is above it.
    fn of(pool: &Pool<'_>, who: &Who, above: &Above) -> Self {
        let mut found = Self::default();
        if pool.operations.iter().all(|(_, operation)| operation.has_slept.is_some()) {
            return found;
        }
        let is_first = |&at: &usize| above.of_bio(at).is_none();
        (0..pool.bios.len()).filter(is_first).for_each(|at| found.add(pool.bios[at].1, who));
        let lists = found.queued.values_mut();
        lists.chain([&mut found.ends_of_reads, &mut found.ends]).for_each(|list| list.sort_unstable());
        found
    }

    fn add(&mut self, bio: &Bio, who: &Who) {
        let thread = who.of(bio.pid);
        if let Thread::Own(thread) = thread {
            self.queued.entry(thread).or_default().push(bio.queued);
        }
        if thread == Thread::Kernel || thread != Thread::Foreign && who.is_journal(bio) {
            self.ends.extend(end_of(bio));
            if Class::of(bio.category, bio.bytes) == Class::Read {
                self.ends_of_reads.extend(end_of(bio));
            }
        }
    }

    /// Whether a call that need not be durable waited, or may have.
    fn has_waited(&self, operation: &Operation) -> bool {
        let (start, end) = (operation.start_ns, operation.end_ns.max(operation.start_ns));
        let last_before = |list: &[u64], moment: u64| {
            list.partition_point(|&time| time < moment).checked_sub(1).map(|last| list[last])
        };
        operation.has_slept.unwrap_or_else(|| {
            let queued = self.queued.get(&operation.thread).and_then(|list| last_before(list, end));
            let ends = if operation.kind == Kind::Read { &self.ends_of_reads } else { &self.ends };
            let late = (start + (end - start) / 2).max(end.saturating_sub(GOES_ON_WITHIN_NS));
            queued.is_some_and(|queued| queued >= start)
                || last_before(ends, end).is_some_and(|ended| ended >= late)
        })
    }
}
