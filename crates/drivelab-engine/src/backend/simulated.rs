//! Commands to a simulated drive, whose time passes while a job waits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use drivelab_sim::{Command as DriveCommand, Operation as DriveOperation};

use super::{Backend, Command, Completion, Wait};
use crate::error::Result;
use crate::simulated::SimulatedDrive;
use crate::workload::{DurabilityMethod, Operation, Workload};

/// The queue of one job.
pub struct Simulated {
    drive: SimulatedDrive,
    is_forced: bool,
    stored_share: f64,
    queued: Vec<DriveCommand>,
    slots: Vec<u32>,
    /// What ends when, the earliest first.
    outstanding: BinaryHeap<Reverse<(u64, u32, i32)>>,
}

impl Simulated {
    /// A queue to a drive.
    #[must_use]
    pub fn new(workload: &Workload, drive: &SimulatedDrive) -> Self {
        use DurabilityMethod::{ODsync, OSync, RwfDsync};
        let capacity = workload.queue_depth as usize;
        Self {
            drive: drive.clone(),
            is_forced: matches!(workload.durability.method, ODsync | OSync | RwfDsync),
            stored_share: 1.0 - workload.contents.compressible_fraction,
            queued: Vec::with_capacity(capacity),
            slots: Vec::with_capacity(capacity),
            outstanding: BinaryHeap::with_capacity(capacity),
        }
    }
}

impl Backend for Simulated {
    /// A submission takes no time, so none is recorded.
    const IS_ASYNCHRONOUS: bool = false;

    fn queue(&mut self, command: &Command) {
        let operation = match command.operation {
            Operation::Read => DriveOperation::Read,
            Operation::Write => DriveOperation::Write,
            Operation::Trim => DriveOperation::Trim,
            _ => DriveOperation::Flush,
        };
        self.slots.push(command.slot);
        self.queued.push(DriveCommand {
            operation,
            offset: command.offset,
            bytes: u64::from(command.size),
            is_forced: self.is_forced,
            stored_share: self.stored_share,
        });
    }

    fn submit(&mut self) -> Result<()> {
        let now = self.drive.time().now();
        let mut drive = self.drive.lock();
        for (command, slot) in self.queued.drain(..).zip(self.slots.drain(..)) {
            let done = drive.submit(now, &command);
            self.outstanding.push(Reverse((done.at_ns, slot, done.result)));
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        let time = self.drive.time();
        let mut now = time.now();
        let first = self.outstanding.peek().map(|Reverse((at, ..))| *at);
        now = match (wait, first) {
            (Wait::Forever, Some(first)) => now.max(first),
            (Wait::AtMost(ns), Some(first)) => now.max(first.min(now + ns)),
            (Wait::AtMost(ns), None) => now + ns,
            _ => now,
        };
        time.set(now);
        while let Some(Reverse((at, slot, result))) = self.outstanding.peek().copied() {
            if at > now {
                break;
            }
            self.outstanding.pop();
            completions.push(Completion { slot, result });
        }
        Ok(())
    }
}
