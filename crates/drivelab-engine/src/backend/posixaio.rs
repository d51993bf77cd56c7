//! POSIX asynchronous I/O of the C library: glibc keeps a queue for each descriptor and lets a thread of its own
//! work it off, one I/O after the other. Discards complete inside `submit`.
//!
//! Each job has a descriptor of its own, and with it a queue and a thread, as if it were a process of its own.

use std::cell::UnsafeCell;
use std::io;
use std::os::fd::RawFd;
use std::sync::Once;

use super::sync::trimmed;
use super::{Backend, Command, Completion, Wait, completions_taken};
use crate::error::{EngineError, Result};
use crate::target::Target;
use crate::workload::{DurabilityMethod, Operation, Workload};

/// So many of the oldest I/Os are waited for at once; the library looks each of them up.
const WAITED_FOR: usize = 8;
/// Threads that the library may have: one for each descriptor that has I/O outstanding.
const THREADS_MAX: libc::c_int = 1 << 16;

/// `struct aioinit` of aio.h.
#[repr(C)]
#[derive(Default)]
struct AioInit {
    threads: libc::c_int,
    requests: libc::c_int,
    unused: [libc::c_int; 4],
    idle_seconds: libc::c_int,
    reserved: libc::c_int,
}

unsafe extern "C" {
    fn aio_init(settings: *const AioInit);
}

/// The queue of one job.
#[derive(Debug)]
pub struct Posixaio {
    fd: RawFd,
    is_block_device: bool,
    sync_flag: libc::c_int,
    /// One for each slot; the library changes it until the I/O has ended.
    blocks: Box<[UnsafeCell<libc::aiocb>]>,
    queued: Vec<Command>,
    /// Slots of what the library has, the oldest first.
    outstanding: Vec<u32>,
    /// Sent last, by a call of its own.
    discard: Option<Command>,
    /// What has ended without the library: discards, and what it refused to take.
    done: Vec<Completion>,
    takes_most: usize,
}

impl Posixaio {
    /// A queue of the workload's depth on an open target, which no other job uses.
    #[must_use]
    pub fn new(workload: &Workload, target: &Target) -> Self {
        allow_threads();
        let depth = workload.queue_depth as usize;
        let is_fsync = workload.sync_call() == DurabilityMethod::Fsync;
        // SAFETY: zeros are a valid block.
        let empty = || UnsafeCell::new(unsafe { std::mem::zeroed() });
        Self {
            fd: target.fd(),
            is_block_device: target.is_block_device(),
            sync_flag: if is_fsync { libc::O_SYNC } else { libc::O_DSYNC },
            blocks: std::iter::repeat_with(empty).take(depth).collect(),
            queued: Vec::with_capacity(depth),
            outstanding: Vec::with_capacity(depth),
            discard: None,
            done: Vec::with_capacity(depth),
            takes_most: completions_taken(workload),
        }
    }

    fn block(&self, slot: u32) -> *mut libc::aiocb {
        self.blocks[slot as usize].get()
    }

    /// Gives a command to the library; an errno when it does not take it.
    fn send(&self, command: &Command) -> std::result::Result<(), i32> {
        let block = self.block(command.slot);
        // SAFETY: nothing is outstanding in this slot, so the block is ours; it and the buffer stay where they
        // are until the I/O has ended.
        let result = unsafe {
            (*block).aio_fildes = self.fd;
            (*block).aio_buf = command.buffer.cast();
            (*block).aio_nbytes = command.size as usize;
            (*block).aio_offset = command.offset as libc::off_t;
            (*block).aio_sigevent.sigev_notify = libc::SIGEV_NONE;
            match command.operation {
                Operation::Read => libc::aio_read(block),
                Operation::Write => libc::aio_write(block),
                Operation::Sync => libc::aio_fsync(self.sync_flag, block),
                operation => unreachable!("{operation:?} is not for the blocks of a target"),
            }
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)) }
    }

    /// Takes what has ended.
    fn take(&mut self, completions: &mut Vec<Completion>) {
        let (blocks, most) = (&self.blocks, self.takes_most);
        self.outstanding.retain(|&slot| {
            if completions.len() >= most {
                return true;
            }
            let block = blocks[slot as usize].get();
            // SAFETY: the block was given to the library, which is asked under its own lock.
            let result = match unsafe { libc::aio_error(block) } {
                libc::EINPROGRESS => return true,
                // SAFETY: the I/O has ended, and this is asked once.
                0 => (unsafe { libc::aio_return(block) }) as i32,
                errno => -errno,
            };
            completions.push(Completion { slot, result });
            false
        });
    }

    /// Waits until one of the oldest I/Os has ended, a signal arrives or the time is up.
    fn wait(&self, limit: *const libc::timespec) -> Result<()> {
        let mut oldest = [std::ptr::null(); WAITED_FOR];
        let count = self.outstanding.len().min(WAITED_FOR);
        for (place, &slot) in oldest.iter_mut().zip(&self.outstanding) {
            *place = self.block(slot).cast_const();
        }
        // SAFETY: the blocks are ours, and the list holds `count` of them.
        if unsafe { libc::aio_suspend(oldest.as_ptr(), count as libc::c_int, limit) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR | libc::EAGAIN) => Ok(()),
            _ => Err(EngineError::from_os("wait for asynchronous I/O", "aio_suspend", &error)),
        }
    }
}

impl Backend for Posixaio {
    const IS_ASYNCHRONOUS: bool = true;
    const TRIMS_ALONE: bool = true;

    fn queue(&mut self, command: &Command) {
        match command.operation {
            Operation::Trim => self.discard = Some(*command),
            _ => self.queued.push(*command),
        }
    }

    fn submit(&mut self) -> Result<()> {
        for place in 0..self.queued.len() {
            let command = self.queued[place];
            match self.send(&command) {
                Ok(()) => self.outstanding.push(command.slot),
                Err(errno) => self.done.push(Completion { slot: command.slot, result: -errno }),
            }
        }
        self.queued.clear();
        if let Some(command) = self.discard.take() {
            self.done.push(trimmed(self.fd, self.is_block_device, &command));
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        let before = completions.len();
        completions.append(&mut self.done);
        self.take(completions);
        if completions.len() > before {
            return Ok(());
        }
        match wait {
            Wait::No => return Ok(()),
            Wait::Forever => self.wait(std::ptr::null())?,
            Wait::AtMost(ns) => {
                let seconds = (ns / 1_000_000_000) as libc::time_t;
                let limit = libc::timespec { tv_sec: seconds, tv_nsec: (ns % 1_000_000_000) as libc::c_long };
                self.wait(&raw const limit)?;
            }
        }
        self.take(completions);
        Ok(())
    }
}

impl Drop for Posixaio {
    /// What the library has not begun is called off, and what it has begun is waited for: it uses the blocks.
    fn drop(&mut self) {
        // SAFETY: the descriptor is this job's own, so nobody else's I/O is called off.
        unsafe { libc::aio_cancel(self.fd, std::ptr::null_mut()) };
        self.take(&mut Vec::new());
        while !self.outstanding.is_empty() {
            if self.wait(std::ptr::null()).is_err() {
                // Nobody may use the memory again while the library might.
                std::mem::forget(std::mem::take(&mut self.blocks));
                return;
            }
            self.take(&mut Vec::new());
        }
    }
}

/// Lets the library have a thread for every job, where it would stop at 20. It listens only before its first I/O.
fn allow_threads() {
    static ONCE: Once = Once::new();
    let settings = AioInit { threads: THREADS_MAX, requests: 64, idle_seconds: 1, ..AioInit::default() };
    // SAFETY: the call only reads the settings.
    ONCE.call_once(|| unsafe { aio_init(&raw const settings) });
}
