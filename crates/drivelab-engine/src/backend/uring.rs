//! io_uring: registered file and buffers, many commands per system call. Discards complete inside `submit`.

use std::io;
use std::os::fd::RawFd;

use io_uring::{IoUring, opcode, squeue, types};

use super::sync::trimmed;
use super::{Backend, Command, Completion, Wait};
use crate::buffer::Buffers;
use crate::error::{Code, EngineError, Result};
use crate::target::Target;
use crate::workload::{DurabilityMethod, Operation, PacingKind, Workload};

const FILE: types::Fixed = types::Fixed(0);
const ENTER_GETEVENTS: u32 = 1;
const ENTER_SQ_WAKEUP: u32 = 2;

/// A ring of one job; must be used by the thread that made it.
pub struct Uring {
    ring: IoUring,
    fd: RawFd,
    is_block_device: bool,
    queued: u32,
    /// Sent last, by a call of its own.
    discard: Option<Command>,
    discarded: Option<Completion>,
    has_registered_buffers: bool,
    submits_by_poll: bool,
    completes_by_poll: bool,
    method: DurabilityMethod,
    write_flags: i32,
}

impl Uring {
    /// Makes a ring and registers the target and the buffers with it.
    ///
    /// Buffers stay unregistered where the limit of locked memory forbids it, and the flags that only
    /// newer kernels know are left out on older ones.
    ///
    /// # Errors
    ///
    /// [`Code::UringUnusable`] when the kernel or a security policy does not allow io_uring.
    pub fn new(workload: &Workload, target: &Target, buffers: &Buffers) -> Result<Self> {
        let ring = build(workload).map_err(|error| unusable(&error))?;
        let submitter = ring.submitter();
        submitter.register_files(&[target.fd()]).map_err(|error| unusable(&error))?;
        let vectors: Vec<_> = (0..buffers.count())
            .map(|index| libc::iovec {
                iov_base: buffers.region(index).0.cast(),
                iov_len: buffers.region(index).1,
            })
            .collect();
        // SAFETY: the buffers outlive the ring: a job drops its backend before its buffers.
        let has_registered_buffers = unsafe { submitter.register_buffers(&vectors) }.is_ok();
        let durable = workload.durability.method == DurabilityMethod::RwfDsync;
        Ok(Self {
            ring,
            fd: target.fd(),
            is_block_device: target.is_block_device(),
            queued: 0,
            discard: None,
            discarded: None,
            has_registered_buffers,
            submits_by_poll: workload.polled_submission,
            completes_by_poll: workload.polled_completion,
            method: workload.durability.method,
            write_flags: if durable { libc::RWF_DSYNC } else { 0 },
        })
    }

    #[inline]
    fn entry(&self, command: &Command) -> squeue::Entry {
        let Command { offset, size, buffer, .. } = *command;
        let index = command.buffer_index as u16;
        match command.operation {
            Operation::Read if self.has_registered_buffers => {
                opcode::ReadFixed::new(FILE, buffer, size, index).offset(offset).build()
            }
            Operation::Read => opcode::Read::new(FILE, buffer, size).offset(offset).build(),
            Operation::Write if self.has_registered_buffers => {
                let entry = opcode::WriteFixed::new(FILE, buffer, size, index);
                entry.offset(offset).rw_flags(self.write_flags).build()
            }
            Operation::Write => {
                opcode::Write::new(FILE, buffer, size).offset(offset).rw_flags(self.write_flags).build()
            }
            Operation::Sync => self.sync_entry(),
            operation => unreachable!("{operation:?} is not for the blocks of a target"),
        }
    }

    fn sync_entry(&self) -> squeue::Entry {
        match self.method {
            DurabilityMethod::Fsync => opcode::Fsync::new(FILE).build(),
            DurabilityMethod::SyncFileRange => {
                let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
                    | libc::SYNC_FILE_RANGE_WRITE
                    | libc::SYNC_FILE_RANGE_WAIT_AFTER;
                // All of the file: earlier writes than the last one wait for this call, too.
                opcode::SyncFileRange::new(FILE, 0).offset(0).flags(flags).build()
            }
            _ => opcode::Fsync::new(FILE).flags(types::FsyncFlags::DATASYNC).build(),
        }
    }

    /// One io_uring_enter that also runs deferred completion work; interruptions are not errors.
    fn enter(&self, submit: u32, wait_for: u32, timeout: Option<&types::Timespec>) -> Result<u32> {
        let mut flags = ENTER_GETEVENTS;
        if self.submits_by_poll {
            flags |= ENTER_SQ_WAKEUP;
        }
        let submitter = self.ring.submitter();
        let result = match timeout {
            // SAFETY: without an argument nothing but numbers is passed.
            None => unsafe { submitter.enter::<libc::sigset_t>(submit, wait_for, flags, None) },
            Some(limit) => {
                let args = types::SubmitArgs::new().timespec(limit);
                submitter.submit_with_args(wait_for as usize, &args)
            }
        };
        match result {
            Ok(count) => Ok(count as u32),
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(0),
                _ => Err(EngineError::from_os("wait for io_uring", "io_uring_enter", &error)),
            },
        }
    }
}

impl Backend for Uring {
    const IS_ASYNCHRONOUS: bool = true;
    const TRIMS_ALONE: bool = true;

    #[inline]
    fn queue(&mut self, command: &Command) {
        if command.operation == Operation::Trim {
            self.discard = Some(*command);
            return;
        }
        let entry = self.entry(command).user_data(u64::from(command.slot));
        // SAFETY: the buffer and the file stay valid until the command has completed; the ring has at
        // least as many entries as can be waiting, so a push cannot fail.
        unsafe { self.ring.submission().push(&entry) }.expect("the ring has an entry for every slot");
        self.queued += 1;
    }

    fn waits_as_it_submits(&self) -> bool {
        !self.submits_by_poll
    }

    #[inline]
    fn submit(&mut self) -> Result<()> {
        if self.submits_by_poll {
            // The kernel's thread takes what was queued; it is woken only when it sleeps.
            if self.ring.submission().need_wakeup() {
                self.enter(self.queued, 0, None)?;
            }
            self.queued = 0;
        }
        self.send_queued(0)?;
        if let Some(command) = self.discard.take() {
            self.discarded = Some(trimmed(self.fd, self.is_block_device, &command));
        }
        Ok(())
    }

    #[inline]
    fn submit_and_wait(&mut self, completions: &mut Vec<Completion>) -> Result<()> {
        if self.queued == 0 || self.submits_by_poll {
            self.submit()?;
            return self.reap(Wait::Forever, completions);
        }
        self.send_queued(1)?;
        self.take(completions);
        Ok(())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        let before = completions.len();
        completions.extend(self.discarded.take());
        self.take(completions);
        if completions.len() > before {
            return Ok(());
        }
        match wait {
            Wait::No if self.completes_by_poll || self.ring.submission().taskrun() => {
                self.enter(0, 0, None)?
            }
            Wait::No => return Ok(()),
            Wait::Forever => self.enter(0, 1, None)?,
            Wait::AtMost(ns) => {
                let limit = types::Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                self.enter(0, 1, Some(&limit))?
            }
        };
        self.take(completions);
        Ok(())
    }
}

impl Uring {
    /// Sends all that was queued, and waits for so many completions unless a signal arrives. The kernel may take less
    /// than it was given, and does not wait then.
    #[inline]
    fn send_queued(&mut self, wait_for: u32) -> Result<()> {
        while self.queued > 0 {
            self.queued -= self.enter(self.queued, wait_for, None)?.min(self.queued);
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, completions: &mut Vec<Completion>) {
        let ended = self.ring.completion();
        completions
            .extend(ended.map(|entry| Completion { slot: entry.user_data() as u32, result: entry.result() }));
    }
}

impl Drop for Uring {
    /// Lets go of the target at once. The kernel takes a ring apart some time after it was closed, and
    /// until then a file system could not be unmounted and a device not be opened exclusively.
    fn drop(&mut self) {
        let submitter = self.ring.submitter();
        // A failure leaves it to the kernel, as before.
        let _ = submitter.unregister_files();
        let _ = submitter.unregister_buffers();
    }
}

fn build(workload: &Workload) -> io::Result<IoUring> {
    let depth = workload.queue_depth;
    let plain = || {
        let mut builder = IoUring::builder();
        builder.setup_clamp();
        if workload.polled_completion {
            builder.setup_iopoll();
        }
        if workload.polled_submission {
            builder.setup_sqpoll(1000);
        }
        builder
    };
    if workload.polled_submission {
        // The kernel's thread frees the entries of a batch at its end; what completed before that has
        // been reaped already and may be queued again: twice the depth.
        return plain().build(2 * depth);
    }
    // One thread submits, and completions are worked off when it asks for them (since Linux 6.1).
    let mut modern = plain();
    modern.setup_single_issuer().setup_defer_taskrun();
    if workload.pacing.kind != PacingKind::Closed || workload.uses(Operation::Trim) {
        // A loop that looks without waiting must be told that something waits to be worked off.
        modern.setup_taskrun_flag();
    }
    modern.build(depth).or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => plain().build(depth),
        _ => Err(error),
    })
}

fn unusable(error: &io::Error) -> EngineError {
    let cause = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "forbidden by a security policy (a container's seccomp profile, or kernel.io_uring_disabled)"
        }
        Some(libc::ENOSYS) => "this kernel was built without it",
        Some(libc::ENOMEM) => "the limit of locked memory is too small (ulimit -l)",
        _ => "the kernel refused",
    };
    EngineError::new(Code::UringUnusable, format!("io_uring cannot be used: {cause}: {error}"))
        .at("io_uring_setup")
        .advise("use --backend aio or --backend sync, or leave the choice to --backend auto")
}

/// Whether this process may use io_uring; the reason when it may not.
///
/// # Errors
///
/// [`Code::UringUnusable`] with the kernel's reason.
pub fn probe() -> Result<()> {
    IoUring::new(1).map(|_| ()).map_err(|error| unusable(&error))
}
