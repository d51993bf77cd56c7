//! Any way to issue I/O, in a loop that asks the zones of a drive where each I/O goes.

use super::{Backend, Command, Completion, Wait};
use crate::error::Result;
use crate::workload::Operation;
use crate::zones::Resets;

/// A backend whose job keeps to zones: what it issues it issues as ever, but a trim of a zone is a reset of it.
#[derive(Debug)]
pub struct OnZones<B> {
    issues: B,
    resets: Resets,
    reset: Option<Command>,
    done: Option<Completion>,
}

impl<B: Backend> OnZones<B> {
    /// Makes of a backend the same one on zones.
    pub fn with(resets: Resets) -> impl FnOnce(B) -> Self {
        move |issues| Self { issues, resets, reset: None, done: None }
    }
}

impl<B: Backend> Backend for OnZones<B> {
    const IS_ASYNCHRONOUS: bool = B::IS_ASYNCHRONOUS;
    const HAS_BUFFER: bool = B::HAS_BUFFER;
    const TRIMS_ALONE: bool = B::TRIMS_ALONE;
    const WAITS_FOR_SYNC: bool = B::WAITS_FOR_SYNC;
    const IS_ON_ZONES: bool = true;

    fn waits_as_it_submits(&self) -> bool {
        self.issues.waits_as_it_submits()
    }

    fn queue(&mut self, command: &Command) {
        if command.operation == Operation::Trim && self.resets.is_one(command.offset) {
            self.reset = Some(*command);
        } else {
            self.issues.queue(command);
        }
    }

    fn submit(&mut self) -> Result<()> {
        let Some(command) = self.reset.take() else { return self.issues.submit() };
        let errno = self.resets.reset(command.offset);
        let result = if errno == 0 { command.size as i32 } else { -errno };
        self.done = Some(Completion { slot: command.slot, result });
        Ok(())
    }

    fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        let Some(done) = self.done.take() else { return self.issues.reap(wait, completions) };
        completions.push(done);
        self.issues.reap(Wait::No, completions)
    }

    fn submit_and_wait(&mut self, completions: &mut Vec<Completion>) -> Result<()> {
        if self.reset.is_none() && self.done.is_none() {
            return self.issues.submit_and_wait(completions);
        }
        self.submit()?;
        self.reap(Wait::Forever, completions)
    }

    fn write_buffer(&mut self) -> i32 {
        self.issues.write_buffer()
    }
}
