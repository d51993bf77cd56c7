//! No I/O at all: every command completes at once. Measures what the engine itself costs.

use super::{Backend, Command, Completion, Wait};
use crate::error::Result;
use crate::workload::Operation;

/// Completes every command when it is submitted.
#[derive(Debug, Default)]
pub struct Null {
    queued: Vec<Completion>,
    done: Vec<Completion>,
}

impl Null {
    /// A backend for a queue of this depth.
    #[must_use]
    pub fn new(queue_depth: u32) -> Self {
        let capacity = queue_depth as usize;
        Self { queued: Vec::with_capacity(capacity), done: Vec::with_capacity(capacity) }
    }
}

impl Backend for Null {
    const IS_ASYNCHRONOUS: bool = true;

    #[inline]
    fn queue(&mut self, command: &Command) {
        let bytes = if command.operation == Operation::Sync { 0 } else { command.size };
        self.queued.push(Completion { slot: command.slot, result: bytes as i32 });
    }

    #[inline]
    fn submit(&mut self) -> Result<()> {
        self.done.append(&mut self.queued);
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        completions.append(&mut self.done);
        Ok(())
    }
}
