//! io_uring: registered file and buffers, many commands per system call. Discards complete inside `submit`.

use std::sync::Arc;

use io_uring::{cqueue, opcode, squeue, types};

use super::files::{Descriptors, Files};
use super::ring::{Ring, unusable};
use super::sync::trimmed;
use super::{Backend, Command, Completion, Wait};
use crate::buffer::Buffers;
use crate::error::Result;
use crate::recording::SyncCall;
use crate::target::Target;
use crate::workload::{DurabilityMethod, Operation, Workload};

/// A ring of one job; must be used by the thread that made it.
pub struct Uring<F> {
    ring: Ring<squeue::Entry, cqueue::Entry>,
    descriptors: Descriptors<F>,
    is_block_device: bool,
    /// Sent last, by a call of its own.
    discard: Option<Command>,
    discarded: Option<Completion>,
    entries: Entries<F>,
}

/// What the entries of a workload have in common.
#[derive(Debug, Clone, Copy)]
struct Entries<F> {
    files: F,
    has_registered_buffers: bool,
    sync_call: SyncCall,
    write_flags: i32,
}

impl<F: Files> Uring<F> {
    /// Makes a ring and registers the target, or all files of a job, and the buffers with it.
    ///
    /// Buffers stay unregistered where the limit of locked memory forbids it.
    ///
    /// # Errors
    ///
    /// [`Code::UringUnusable`] when the kernel or a security policy does not allow io_uring.
    pub fn new(workload: &Workload, files: F, targets: &[Arc<Target>], buffers: &Buffers) -> Result<Self> {
        let ring = Ring::new(workload)?;
        let submitter = ring.submitter();
        let all: Vec<_> = targets.iter().map(|target| target.fd()).collect();
        submitter.register_files(&all).map_err(|error| unusable(&error))?;
        // SAFETY: the buffers outlive the ring: a job drops its backend before its buffers.
        let has_registered_buffers = unsafe { submitter.register_buffers(&buffers.vectors()) }.is_ok();
        let durable = workload.durability.method == DurabilityMethod::RwfDsync;
        Ok(Self {
            ring,
            descriptors: Descriptors::new(files, &all),
            is_block_device: targets[0].is_block_device(),
            discard: None,
            discarded: None,
            entries: Entries {
                files,
                has_registered_buffers,
                sync_call: SyncCall::of(workload),
                write_flags: if durable { libc::RWF_DSYNC } else { 0 },
            },
        })
    }
}

impl<F: Files> Entries<F> {
    #[inline]
    fn entry(&self, command: &Command) -> squeue::Entry {
        let Command { size, buffer, .. } = *command;
        let (number, offset) = self.files.place(command.offset);
        let file = types::Fixed(number as u32);
        let index = command.buffer_index as u16;
        let entry = match command.operation {
            Operation::Read if self.has_registered_buffers => {
                opcode::ReadFixed::new(file, buffer, size, index).offset(offset).build()
            }
            Operation::Read => opcode::Read::new(file, buffer, size).offset(offset).build(),
            Operation::Write if self.has_registered_buffers => {
                let entry = opcode::WriteFixed::new(file, buffer, size, index);
                entry.offset(offset).rw_flags(self.write_flags).build()
            }
            Operation::Write => {
                opcode::Write::new(file, buffer, size).offset(offset).rw_flags(self.write_flags).build()
            }
            Operation::Sync => self.sync_entry(file, offset),
            operation => unreachable!("{operation:?} is not for the blocks of a target"),
        };
        entry.user_data(u64::from(command.slot))
    }

    fn sync_entry(&self, file: types::Fixed, place: u64) -> squeue::Entry {
        match self.sync_call.at(place) {
            DurabilityMethod::Fsync => opcode::Fsync::new(file).build(),
            DurabilityMethod::SyncFileRange => {
                let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
                    | libc::SYNC_FILE_RANGE_WRITE
                    | libc::SYNC_FILE_RANGE_WAIT_AFTER;
                // All of the file: earlier writes than the last one wait for this call, too.
                opcode::SyncFileRange::new(file, 0).offset(0).flags(flags).build()
            }
            _ => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        }
    }
}

impl<F: Files> Backend for Uring<F> {
    const IS_ASYNCHRONOUS: bool = true;
    const TRIMS_ALONE: bool = true;

    #[inline]
    fn queue(&mut self, command: &Command) {
        if command.operation == Operation::Trim {
            self.discard = Some(*command);
            return;
        }
        // SAFETY: the buffer and the file stay valid until the command has completed.
        unsafe { self.ring.queue(&self.entries.entry(command)) };
    }

    #[inline]
    fn queue_each(&mut self, commands: impl Iterator<Item = Command>) {
        let entries = self.entries;
        // SAFETY: as for one command.
        unsafe { self.ring.queue_each(commands.map(|command| entries.entry(&command))) };
    }

    fn waits_as_it_submits(&self) -> bool {
        self.ring.waits_as_it_submits()
    }

    #[inline]
    fn submit(&mut self) -> Result<()> {
        self.ring.submit()?;
        if let Some(command) = self.discard.take() {
            let (fd, offset) = self.descriptors.of(command.offset);
            self.discarded = Some(trimmed(fd, self.is_block_device, &Command { offset, ..command }));
        }
        Ok(())
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, completions: &mut Vec<Completion>) -> Result<()> {
        if self.ring.submit_and_wait(completions)? {
            return Ok(());
        }
        self.submit()?;
        self.reap(Wait::Forever, completions)
    }

    #[inline]
    fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        if let Some(discarded) = self.discarded.take() {
            completions.push(discarded);
            self.ring.take(completions);
            return Ok(());
        }
        self.ring.reap(wait, completions)
    }
}

impl<F> Drop for Uring<F> {
    /// Lets go of the target at once. The kernel takes a ring apart some time after it was closed, and
    /// until then a file system could not be unmounted and a device not be opened exclusively.
    fn drop(&mut self) {
        let submitter = self.ring.submitter();
        // A failure leaves it to the kernel, as before.
        let _ = submitter.unregister_files();
        let _ = submitter.unregister_buffers();
    }
}
