//! What is known of I/O that has not ended.

use std::collections::VecDeque;

use super::places::{Linked, NONE, SectorMap};
use crate::lifetime::{Bio, Command};

/// A bio on its way.
#[derive(Debug, Default)]
pub(super) struct OpenBio {
    pub life: Bio,
    /// Fragments whose data are not completed.
    pub to_complete: u32,
    /// Fragments of which nobody was told; 0 only for one that is not open.
    pub to_end: u32,
    /// When the last fragment so far ended.
    pub told: u64,
    /// Whether a part of it was given up: its end is not known.
    pub is_given_up: bool,
}

/// A piece of a bio; without a split it is all of it.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    pub bio: u32,
    pub start: u64,
    pub end: u64,
    /// Category bits of its Q, or of its G.
    pub category: u32,
    /// The next one of the same request.
    pub next: u32,
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// Not in use.
    #[default]
    Free,
    /// Only queued: one fragment.
    Queued,
    /// It has got a request.
    Got,
    /// It goes with another request; which one the D will tell.
    Merged,
    /// It is with the scheduler or the flush machine.
    Inserted,
    /// It was put back.
    Requeued,
    /// It is at the device.
    Issued,
    /// Its data are there, its submitter was not told.
    Untold,
}

/// What will be, or is, a command: fragments that lie behind each other.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub state: State,
    /// First sector that is not completed.
    pub start: u64,
    pub end: u64,
    pub first_fragment: u32,
    pub last_fragment: u32,
    pub next: u32,
    /// What a split left over: old kernels queue it once more.
    pub is_remainder: bool,
    /// How often records had been lost when it was queued or issued.
    pub losses: u32,
    /// As far as it is known. Until D the pid is that of Q.
    pub life: Command,
}

impl Request {
    pub(super) fn is_waiting(&self) -> bool {
        !matches!(self.state, State::Free | State::Issued | State::Untold)
    }

    /// Whether it is, or was until it was put back, a command.
    pub(super) fn was_issued(&self) -> bool {
        self.state != State::Untold && self.life.bytes > 0
    }
}

impl Linked for Request {
    fn next(&self) -> u32 {
        self.next
    }

    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// Who waits to be told that its I/O is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A bio without data.
    Flush(u32),
    /// A request whose data are there.
    Data(u32),
}

/// One who waits for a C without bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Untold {
    pub who: Waiter,
    pub sector: u64,
    pub end: u64,
    /// Since when a flush helps it.
    pub since: u64,
    /// No flush has to come first.
    pub is_immediate: bool,
    /// A whole flush that helped it has gone by, and another one since: its C is lost.
    pub is_forgotten: bool,
    pub losses: u32,
}

/// A flush command that has ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flushed {
    pub issued: u64,
    pub completed: u64,
    pub cpu: u32,
    pub error: i32,
}

/// A flush command at the device.
#[derive(Debug)]
pub(super) struct FlushCommand {
    pub life: Command,
    pub is_requeued: bool,
    /// No other flush was at the device when it was issued.
    pub was_alone: bool,
    /// How often records had been lost when it was issued.
    pub losses: u32,
}

const FLUSHES_KEPT: usize = 8;

/// A device of the trace.
#[derive(Debug)]
pub(super) struct Device {
    pub number: u32,
    /// Bios with data between Q and D.
    pub queued: u32,
    /// Commands between D and C.
    pub in_flight: u32,
    /// Requests that wait for their D.
    pub waiting: u32,
    pub flushes: VecDeque<FlushCommand>,
    flushed: [Flushed; FLUSHES_KEPT],
    flushed_count: usize,
    pub untold: VecDeque<Untold>,
    /// Last sequence number of each CPU.
    pub sequences: SectorMap<u32, u32>,
}

impl Device {
    pub(super) fn new(number: u32) -> Self {
        Self {
            number,
            queued: 0,
            in_flight: 0,
            waiting: 0,
            flushes: VecDeque::new(),
            flushed: [Flushed::default(); FLUSHES_KEPT],
            flushed_count: 0,
            untold: VecDeque::new(),
            sequences: SectorMap::default(),
        }
    }

    pub(super) fn remember_flush(&mut self, flush: Flushed) {
        self.flushed[self.flushed_count % FLUSHES_KEPT] = flush;
        self.flushed_count += 1;
    }

    /// Flushes that have ended lately, the newest first.
    pub(super) fn flushed(&self) -> impl Iterator<Item = Flushed> + '_ {
        let kept = self.flushed_count.min(FLUSHES_KEPT);
        (1..=kept).map(|back| self.flushed[(self.flushed_count - back) % FLUSHES_KEPT])
    }
}

/// A request of one fragment.
pub(super) fn request_of(fragment: u32, start: u64, end: u64, life: Command, losses: u32) -> Request {
    Request {
        state: State::Queued,
        start,
        end,
        first_fragment: fragment,
        last_fragment: fragment,
        next: NONE,
        is_remainder: false,
        losses,
        life,
    }
}
