//! What all ways share that make a call for each command and have its answer when the call returns.

use super::{Backend, Command, Completion, Wait};
use crate::error::Result;

/// How a command is carried out while its caller waits.
pub trait Call {
    /// As [`Backend::HAS_BUFFER`].
    const HAS_BUFFER: bool = false;

    /// As [`Backend::IS_ON_TREE`].
    const IS_ON_TREE: bool = false;

    /// Carries a command out; returns the bytes moved, or the negative errno.
    fn execute(&mut self, command: &Command) -> i32;

    /// As [`Backend::write_buffer`].
    fn write_buffer(&mut self) -> i32 {
        0
    }
}

/// Executes each command in `submit`, one at a time.
#[derive(Debug)]
pub struct Blocking<C> {
    call: C,
    queued: Option<Command>,
    done: Option<Completion>,
}

impl<C: Call> Blocking<C> {
    /// A backend that makes this call.
    pub fn new(call: C) -> Self {
        Self { call, queued: None, done: None }
    }
}

impl<C: Call> Backend for Blocking<C> {
    const IS_ASYNCHRONOUS: bool = false;
    const HAS_BUFFER: bool = C::HAS_BUFFER;
    const IS_ON_TREE: bool = C::IS_ON_TREE;

    #[inline]
    fn queue(&mut self, command: &Command) {
        debug_assert!(self.queued.is_none(), "a synchronous backend takes one command at a time");
        self.queued = Some(*command);
    }

    #[inline]
    fn submit(&mut self) -> Result<()> {
        if let Some(command) = self.queued.take() {
            self.done = Some(Completion { slot: command.slot, result: self.call.execute(&command) });
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        completions.extend(self.done.take());
        Ok(())
    }

    fn write_buffer(&mut self) -> i32 {
        self.call.write_buffer()
    }
}
