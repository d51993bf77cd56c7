//! Ways to issue I/O: one file each, all with one contract.
//!
//! A backend holds commands that were queued, sends them with `submit`, and hands back what has
//! completed with `reap`. It neither measures nor counts; the loop in `job.rs` does.

pub mod aio;
pub mod blocking;
pub mod choose;
pub mod files;
pub mod mmap;
pub mod null;
pub mod on_zones;
pub mod posixaio;
pub mod ring;
pub mod simulated;
pub mod stdio;
pub mod sync;
pub mod transfer;
pub mod tree;
pub mod uring;
pub mod uring_cmd;

use crate::error::Result;
use crate::workload::{Operation, Workload};

/// One command for one slot of the queue.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// What to do; reads and writes use the slot's buffer.
    pub operation: Operation,
    /// Slot whose buffer is used; at most one command per slot is outstanding.
    pub slot: u32,
    /// Where on the target.
    pub offset: u64,
    /// How many bytes.
    pub size: u32,
    /// The buffer for it.
    pub buffer: *mut u8,
    /// The buffer's number.
    pub buffer_index: u32,
}

/// A command that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Slot of the command.
    pub slot: u32,
    /// Bytes moved, or the negative errno.
    pub result: i32,
}

/// How long `reap` may wait when nothing has completed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until something completes or a signal arrives.
    Forever,
    /// At most this many nanoseconds.
    AtMost(u64),
}

/// Completions that one look takes at most: as many as are asked for, and one where a sync call may be due after it.
fn completions_taken(workload: &Workload) -> usize {
    match (workload.durability.syncs_before_next(), workload.completion_batch) {
        (true, _) => 1,
        (false, 0) => usize::MAX,
        (false, batch) => batch as usize,
    }
}

/// One way to issue I/O.
pub trait Backend {
    /// Whether `submit` returns before the commands have completed. Where it does not, a submission
    /// latency cannot be told from the completion latency, and only the total is recorded.
    const IS_ASYNCHRONOUS: bool;

    /// Whether the program itself holds written data back, in a buffer of its own.
    const HAS_BUFFER: bool = false;

    /// Whether a discard is sent alone and has completed when `submit` returns. The kernel has no asynchronous one for
    /// every target, so backends with a queue make the call that a synchronous one makes.
    const TRIMS_ALONE: bool = false;

    /// Whether a sync call that is due before the next I/O has completed when `submit` returns.
    const WAITS_FOR_SYNC: bool = false;

    /// Whether the operations are on files, whose numbers are the addresses.
    const IS_ON_TREE: bool = false;

    /// Whether zones say where each I/O goes.
    const IS_ON_ZONES: bool = false;

    /// Whether one call both sends and waits: then `submit_and_wait` costs less than `submit` and `reap`,
    /// and the moment between the two is not seen.
    fn waits_as_it_submits(&self) -> bool {
        false
    }

    /// Takes a command; it may be sent only by `submit` and `submit_and_wait`.
    fn queue(&mut self, command: &Command);

    /// Takes several commands, none of which is a discard.
    #[inline]
    fn queue_each(&mut self, commands: impl Iterator<Item = Command>) {
        commands.for_each(|command| self.queue(&command));
    }

    /// Sends what was queued.
    ///
    /// # Errors
    ///
    /// A failure of the interface itself; failures of I/O come back as completions.
    fn submit(&mut self) -> Result<()>;

    /// Appends what has completed, up to as many as one look takes; waits for at least one only as `wait` says.
    ///
    /// # Errors
    ///
    /// A failure of the interface itself.
    fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<()>;

    /// `submit`, then `reap` with `Wait::Forever`.
    ///
    /// # Errors
    ///
    /// A failure of the interface itself.
    fn submit_and_wait(&mut self, completions: &mut Vec<Completion>) -> Result<()> {
        self.submit()?;
        self.reap(Wait::Forever, completions)
    }

    /// Hands on what the program holds back; returns 0, or a negative errno.
    fn write_buffer(&mut self) -> i32 {
        0
    }
}
