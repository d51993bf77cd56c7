//! Calls that stand where pread and pwrite do: pages through a pipe, space that is reserved and not written.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use super::Command;
use super::blocking::Call;
use super::sync::Sync;
use crate::error::{EngineError, Result};
use crate::target::Target;
use crate::workload::{Operation, Workload};

/// What does a read or a write.
pub trait Transfer {
    /// The bytes that were moved, or -1 with errno set.
    fn transfer(&self, fd: RawFd, command: &Command) -> isize;
}

/// Does reads and writes by a [`Transfer`], and all else as [`Sync`] does.
#[derive(Debug)]
pub struct Transferring<T> {
    fd: RawFd,
    transfer: T,
    others: Sync,
}

impl<T: Transfer> Transferring<T> {
    /// Calls on an open target.
    pub fn new(target: &Target, workload: &Workload, transfer: T) -> Self {
        Self { fd: target.fd(), transfer, others: Sync::new(target, workload) }
    }
}

impl<T: Transfer> Call for Transferring<T> {
    fn execute(&mut self, command: &Command) -> i32 {
        if !matches!(command.operation, Operation::Read | Operation::Write) {
            return self.others.execute(command);
        }
        let moved = self.transfer.transfer(self.fd, command);
        if moved < 0 { -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) } else { moved as i32 }
    }
}

/// Moves pages between a file and memory through a pipe: splice and vmsplice.
#[derive(Debug)]
pub struct Pipe {
    from: OwnedFd,
    to: OwnedFd,
}

/// What a pipe holds unless it is told otherwise.
const PIPE_BYTES: usize = 64 * 1024;

impl Pipe {
    /// A pipe of its own.
    ///
    /// # Errors
    ///
    /// None is to be had.
    pub fn new() -> Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: the call fills both numbers.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
            return Err(EngineError::from_os("make a pipe", "backend", &io::Error::last_os_error()));
        }
        // SAFETY: they are open, and nobody else has them.
        let [from, to] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Ok(Self { from, to })
    }

    /// Moves memory into the pipe, or out of it.
    fn memory(end: &OwnedFd, memory: *mut u8, bytes: usize) -> isize {
        let vector = libc::iovec { iov_base: memory.cast(), iov_len: bytes };
        // SAFETY: the buffer holds `bytes` bytes from there on, and is left alone until the file has them.
        unsafe { libc::vmsplice(end.as_raw_fd(), &raw const vector, 1, 0) }
    }
}

/// Makes a call again that the signal of a run's end has interrupted: unlike pread, these wait for a pipe.
fn again_if_woken(mut call: impl FnMut() -> isize) -> isize {
    loop {
        let moved = call();
        if moved >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return moved;
        }
    }
}

impl Transfer for Pipe {
    fn transfer(&self, fd: RawFd, command: &Command) -> isize {
        let mut offset = command.offset as libc::off64_t;
        let (mut moved, size) = (0, command.size as usize);
        let is_read = command.operation == Operation::Read;
        while moved < size {
            let chunk = (size - moved).min(PIPE_BYTES);
            // SAFETY: the chunk lies within the command's buffer.
            let memory = unsafe { command.buffer.add(moved) };
            let first = again_if_woken(|| {
                if is_read {
                    // SAFETY: the kernel reads and changes `offset` alone.
                    unsafe {
                        libc::splice(fd, &raw mut offset, self.to.as_raw_fd(), ptr::null_mut(), chunk, 0)
                    }
                } else {
                    Self::memory(&self.to, memory, chunk)
                }
            });
            if first <= 0 {
                return if first < 0 { -1 } else { moved as isize };
            }
            let mut left = first as usize;
            while left > 0 {
                let done = first as usize - left;
                let second = again_if_woken(|| {
                    if is_read {
                        // SAFETY: what is left lies within the chunk.
                        Self::memory(&self.from, unsafe { memory.add(done) }, left)
                    } else {
                        // SAFETY: as for the other direction.
                        unsafe {
                            libc::splice(self.from.as_raw_fd(), ptr::null_mut(), fd, &raw mut offset, left, 0)
                        }
                    }
                });
                if second <= 0 {
                    return -1;
                }
                left -= second as usize;
            }
            moved += first as usize;
        }
        moved as isize
    }
}

/// Reserves space where a file would be written, and beyond its end where it would be read.
#[derive(Debug)]
pub struct Reservation;

impl Transfer for Reservation {
    fn transfer(&self, fd: RawFd, command: &Command) -> isize {
        let mode = if command.operation == Operation::Read { libc::FALLOC_FL_KEEP_SIZE } else { 0 };
        // SAFETY: no memory is passed.
        let result = unsafe {
            libc::fallocate(fd, mode, command.offset as libc::off_t, libc::off_t::from(command.size))
        };
        if result < 0 { -1 } else { command.size as isize }
    }
}
