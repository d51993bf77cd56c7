//! The short way of a job that issues I/Os of one kind and size as soon as a slot is free, and needs nothing else.
//!
//! It does what `fill` and `complete` do, but takes what is the same for all I/Os of a pass out of the loop. An I/O
//! that fails, falls short or lies outside of the window goes the long way.

use super::{Job, JobParts, Slot};
use crate::backend::{Backend, Command};
use crate::mix::Drawn;
use crate::series::{COMPLETION, Counts, SUBMISSION, TOTAL};
use crate::workload::{Operation, PacingKind};

/// From so many I/Os in a pass on, the short way is the shorter one.
pub(super) const PLAIN_FROM: usize = 3;

/// The one kind of I/O that such a job issues.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain {
    drawn: Drawn,
}

impl Plain {
    /// `None` where I/Os differ, wait for anything but a slot, or are followed by anything.
    pub(super) fn of<B: Backend>(
        parts: &JobParts,
        drawn: Option<Drawn>,
        stops_at_range_end: bool,
    ) -> Option<Self> {
        let workload = &parts.workload;
        let is_write = drawn.is_some_and(|drawn| drawn.operation == Operation::Write);
        let has_followers = is_write
            && (B::HAS_BUFFER
                || workload.durability.syncs_after_writes()
                || workload.durability.syncs_last());
        let waits = workload.pacing.kind != PacingKind::Closed
            || workload.pacing.think_ns > 0
            || workload.pacing.flow_weight > 0
            || workload.durability.syncs_before_next()
            || workload.submission_batch > 0
            || workload.recording.is_some();
        let is_seen =
            workload.record_ios || workload.verify || workload.rewrites() || !parts.cached.is_empty();
        let moves_data =
            drawn.is_some_and(|drawn| matches!(drawn.operation, Operation::Read | Operation::Write));
        let is_plain = moves_data
            && !has_followers
            && !waits
            && !is_seen
            && !stops_at_range_end
            && !B::IS_ON_TREE
            && !B::IS_ON_ZONES;
        drawn.filter(|_| is_plain).map(|drawn| Self { drawn })
    }

    /// What the slots hold before the first I/O, and keep.
    pub(super) fn slot(&self) -> Slot {
        Slot { event: self.drawn.operation as u8, size: self.drawn.size, ..Slot::default() }
    }
}

impl<B: Backend> Job<B> {
    /// Makes commands for free slots, as many as the limits allow.
    #[inline(never)]
    pub(super) fn fill_plain(&mut self) {
        let Some(Plain { drawn }) = self.plain else { return };
        if !self.may_issue() {
            return;
        }
        let Drawn { operation, size, unit, access, .. } = drawn;
        let (is_write, clock, deadline) = (operation == Operation::Write, self.clock, self.window.deadline());
        let most = self.free.len().min(self.window.room(u64::from(size)));
        let first = self.free.len() - most;
        let (bytes, unit) = (u64::from(size), u64::from(unit));
        let addresses = &mut self.addresses[access];
        let places = addresses.plain_places(bytes, unit);
        let random = &mut self.random;
        let buffers = &mut self.buffers;
        let slots = &mut self.slots[..];
        let mut unused = most;
        let commands = self.free[first..].iter().rev().map_while(|&number| {
            let mut now = clock.ticks();
            if now >= deadline {
                return None;
            }
            let offset = match &places {
                Some(places) => places.draw(random),
                None => addresses.next(random, bytes, unit),
            };
            if is_write && buffers.stamp(number, offset, size as usize, random) {
                now = clock.ticks();
            }
            let slot = &mut slots[number as usize];
            *slot = Slot { issued: now, intended: now, command_issued: now, submitted: 0, offset, ..*slot };
            let (buffer_index, buffer) = buffers.of_slot(number, is_write);
            unused -= 1;
            Some(Command { operation, slot: number, offset, size, buffer, buffer_index })
        });
        self.backend.queue_each(commands);
        if unused > 0 {
            self.window.is_over(clock.ticks());
        }
        self.sent.extend_from_slice(&self.free[first + unused..]);
        self.free.truncate(first + unused);
        let count = (most - unused) as u64;
        self.window.issued(count, count * bytes);
    }

    /// Counts and times what has completed; leaves what goes the long way.
    #[inline(never)]
    pub(super) fn complete_plain(&mut self, now: u64) {
        let Some(Plain { drawn }) = self.plain else { return };
        let (event, size) = (drawn.operation as usize, drawn.size);
        let (clock, slots) = (self.clock, &self.slots[..]);
        let (begin, length) = (self.window.start(), self.window.deadline() - self.window.start());
        let first = self.free.len();
        self.free.resize(first + self.completions.len(), 0);
        let freed = &mut self.free[first..];
        let completions = &mut self.completions[..];
        let (mut count, mut left, mut is_timed) = (0, 0, 0);
        let totals = (0..completions.len()).filter_map(|position| {
            let completion = completions[position];
            let slot = &slots[completion.slot as usize];
            if completion.result as u32 != size || slot.issued.wrapping_sub(begin) >= length {
                completions[left] = completion;
                left += 1;
                return None;
            }
            freed[count] = completion.slot;
            count += 1;
            is_timed |= slot.submitted;
            Some(clock.nanoseconds(now.saturating_sub(slot.issued)))
        });
        self.interval.record_each(event, TOTAL, totals);
        self.completions.truncate(left);
        if is_timed > 0 {
            for &number in &self.free[first..first + count] {
                let slot = &self.slots[number as usize];
                if slot.submitted > 0 {
                    let total = clock.nanoseconds(now.saturating_sub(slot.issued));
                    let submission = clock.nanoseconds(slot.submitted.saturating_sub(slot.issued)).min(total);
                    self.interval.record(event, SUBMISSION, submission);
                    self.interval.record(event, COMPLETION, total - submission);
                }
            }
        }
        self.free.truncate(first + count);
        let counts =
            Counts { count: count as u64, bytes: count as u64 * u64::from(size), ..Counts::default() };
        self.outcome.all_phases[event].add(&counts);
        self.interval.counts[event].add(&counts);
        self.window.ended_well(counts.count, counts.bytes, now);
    }
}
