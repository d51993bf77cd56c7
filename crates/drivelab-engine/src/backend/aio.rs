//! Linux asynchronous I/O (io_submit), for kernels and containers without io_uring.
//!
//! Only direct I/O is really asynchronous here; buffered I/O and discards complete inside `submit`.

use std::io;
use std::sync::Arc;

use super::files::{Descriptors, Files};
use super::sync::{synced, trimmed};
use super::{Backend, Command, Completion, Wait, completions_taken};
use crate::error::{Code, EngineError, Result};
use crate::target::Target;
use crate::workload::{DurabilityMethod, Operation, SyncOrder, Workload};

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
const IOCB_CMD_FSYNC: u16 = 2;
const IOCB_CMD_FDSYNC: u16 = 3;

/// `struct iocb` of linux/aio_abi.h (little-endian order of the first two words).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    size: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

/// A context of one job.
#[derive(Debug)]
pub struct Aio<F> {
    context: libc::c_ulong,
    descriptors: Descriptors<F>,
    is_block_device: bool,
    method: DurabilityMethod,
    write_flags: i32,
    blocks: Vec<Iocb>,
    queued: Vec<*mut Iocb>,
    events: Vec<IoEvent>,
    /// Sync calls hold the job up.
    blocks_to_sync: bool,
    /// Sent last, each by a call of its own that waits for its end: discards, and such sync calls.
    waited_for: Vec<Command>,
    /// What has ended without an event: what was waited for, and what the kernel refused to take.
    done: Vec<Completion>,
}

impl<F: Files> Aio<F> {
    /// Makes a context for a queue of the workload's depth, on the target or all files of a job.
    ///
    /// # Errors
    ///
    /// [`Code::AioUnusable`] when the kernel gives no context.
    pub fn new(workload: &Workload, files: F, targets: &[Arc<Target>]) -> Result<Self> {
        let all: Vec<_> = targets.iter().map(|target| target.fd()).collect();
        let depth = workload.queue_depth as usize;
        let durable = workload.durability.method == DurabilityMethod::RwfDsync;
        Ok(Self {
            context: setup(workload.queue_depth)?,
            descriptors: Descriptors::new(files, &all),
            is_block_device: targets[0].is_block_device(),
            method: workload.sync_call(),
            write_flags: if durable { libc::RWF_DSYNC } else { 0 },
            blocks: vec![Iocb::default(); depth],
            queued: Vec::with_capacity(depth),
            events: vec![IoEvent::default(); completions_taken(workload).min(depth)],
            blocks_to_sync: workload.durability.order == SyncOrder::BeforeNext,
            waited_for: Vec::with_capacity(depth),
            done: Vec::with_capacity(depth),
        })
    }

    fn get_events(&mut self, at_least: usize, most: usize, timeout: *const libc::timespec) -> Result<usize> {
        debug_assert!(most <= self.events.len());
        // SAFETY: `events` has room for as many events as are passed as the maximum.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                at_least,
                most,
                self.events.as_mut_ptr(),
                timeout,
            )
        };
        if count >= 0 {
            return Ok(count as usize);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(0),
            _ => Err(EngineError::from_os("wait for asynchronous I/O", "io_getevents", &error)),
        }
    }
}

impl<F: Files> Backend for Aio<F> {
    const IS_ASYNCHRONOUS: bool = true;
    const TRIMS_ALONE: bool = true;
    const WAITS_FOR_SYNC: bool = true;

    fn queue(&mut self, command: &Command) {
        let (opcode, rw_flags) = match command.operation {
            Operation::Read => (IOCB_CMD_PREAD, 0),
            Operation::Write => (IOCB_CMD_PWRITE, self.write_flags),
            Operation::Sync if !self.blocks_to_sync && self.method == DurabilityMethod::Fsync => {
                (IOCB_CMD_FSYNC, 0)
            }
            Operation::Sync if !self.blocks_to_sync => (IOCB_CMD_FDSYNC, 0),
            Operation::Sync | Operation::Trim => {
                self.waited_for.push(*command);
                return;
            }
            operation => unreachable!("{operation:?} is not for the blocks of a target"),
        };
        let has_data = command.operation != Operation::Sync;
        let (fd, offset) = self.descriptors.of(command.offset);
        let block = &mut self.blocks[command.slot as usize];
        *block = Iocb {
            data: u64::from(command.slot),
            rw_flags,
            opcode,
            fd: fd as u32,
            buffer: if has_data { command.buffer as u64 } else { 0 },
            size: if has_data { u64::from(command.size) } else { 0 },
            offset: if has_data { offset as i64 } else { 0 },
            ..Iocb::default()
        };
        self.queued.push(&raw mut *block);
    }

    fn submit(&mut self) -> Result<()> {
        let mut sent = 0;
        while sent < self.queued.len() {
            let rest = &mut self.queued[sent..];
            // SAFETY: each pointer is to a block of `self.blocks`, which is never moved or freed before the context.
            let count =
                unsafe { libc::syscall(libc::SYS_io_submit, self.context, rest.len(), rest.as_mut_ptr()) };
            if count > 0 {
                sent += count as usize;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // Something is outstanding; its completion makes room.
                Some(libc::EAGAIN) => std::thread::yield_now(),
                // The first command itself was refused: that is its completion.
                Some(errno) => {
                    // SAFETY: as above.
                    let slot = unsafe { (*rest[0]).data } as u32;
                    self.done.push(Completion { slot, result: -errno });
                    sent += 1;
                }
                None => return Err(EngineError::from_os("submit asynchronous I/O", "io_submit", &error)),
            }
        }
        self.queued.clear();
        for command in self.waited_for.drain(..) {
            let (fd, offset) = self.descriptors.of(command.offset);
            self.done.push(match command.operation {
                Operation::Sync => synced(fd, self.method, &command),
                _ => trimmed(fd, self.is_block_device, &Command { offset, ..command }),
            });
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        if !self.done.is_empty() {
            completions.append(&mut self.done);
            return Ok(());
        }
        let most = self.events.len().saturating_sub(completions.len());
        if most == 0 {
            return Ok(());
        }
        let no_time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let count = match wait {
            Wait::No => self.get_events(0, most, &raw const no_time)?,
            Wait::Forever => self.get_events(1, most, std::ptr::null())?,
            Wait::AtMost(ns) => {
                let seconds = (ns / 1_000_000_000) as libc::time_t;
                let limit = libc::timespec { tv_sec: seconds, tv_nsec: (ns % 1_000_000_000) as libc::c_long };
                self.get_events(1, most, &raw const limit)?
            }
        };
        let ended = self.events[..count].iter();
        completions
            .extend(ended.map(|event| Completion { slot: event.data as u32, result: event.result as i32 }));
        Ok(())
    }
}

impl<F> Drop for Aio<F> {
    fn drop(&mut self) {
        // SAFETY: the context is this value's own; the call waits for what is outstanding.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

fn setup(depth: u32) -> Result<libc::c_ulong> {
    let mut context: libc::c_ulong = 0;
    // SAFETY: the kernel writes one number to `context`.
    let result = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) };
    if result == 0 {
        return Ok(context);
    }
    let error = io::Error::last_os_error();
    let cause = match error.raw_os_error() {
        Some(libc::EAGAIN) => "all contexts are taken (fs.aio-max-nr)",
        Some(libc::ENOSYS) => "this kernel was built without it",
        Some(libc::EPERM) => "forbidden by a security policy",
        _ => "the kernel refused",
    };
    Err(EngineError::new(Code::AioUnusable, format!("asynchronous I/O cannot be used: {cause}: {error}"))
        .at("io_setup")
        .advise("use --backend sync, or leave the choice to --backend auto"))
}

/// Whether this process may use Linux asynchronous I/O.
///
/// # Errors
///
/// [`Code::AioUnusable`] with the kernel's reason.
pub fn probe() -> Result<()> {
    let context = setup(1)?;
    // SAFETY: the context was just made and holds nothing.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    Ok(())
}
