//! fread and fwrite of the C library, through a stream's own buffer, whose size the library chooses.
//!
//! Each job has a stream of its own. It is moved (fseeko) where the last I/O has not left it, and between reading
//! and writing, as the C standard demands. The time of an I/O is that of the call as the program sees it: most
//! calls only fill or empty the buffer. A sync call is fflush and the call of the workload's method. At the end of
//! a job that wrote, fflush belongs to the measured time; fclose has nothing more to write and comes after it.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::Command;
use super::blocking::Call;
use super::sync::sync;
use crate::error::{EngineError, Result};
use crate::target::Target;
use crate::workload::{DurabilityMethod, Operation, Workload};

const NOWHERE: u64 = u64::MAX;

/// Makes the calls.
#[derive(Debug)]
pub struct Stdio {
    stream: *mut libc::FILE,
    method: DurabilityMethod,
    /// Where the stream stands; [`NOWHERE`] when it must be moved before its next use.
    position: u64,
    /// What the last call did, `Sync` when there was none: another operation must move the stream first.
    last: Operation,
}

impl Stdio {
    /// A stream on an open target, which no other job uses: they would share its position.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left for it.
    pub fn new(workload: &Workload, target: &Target) -> Result<Self> {
        let failed =
            |error| EngineError::from_os("open a stream on the target", &workload.target.path, &error);
        // SAFETY: the call makes a descriptor and touches no memory.
        let fd = unsafe { libc::fcntl(target.fd(), libc::F_DUPFD_CLOEXEC, 0) };
        if fd < 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        let mode = if workload.changes_target() { c"r+" } else { c"r" };
        // SAFETY: the descriptor is open and belongs to the stream from now on; the mode is a C string.
        let stream = unsafe { libc::fdopen(fd, mode.as_ptr()) };
        if stream.is_null() {
            let error = io::Error::last_os_error();
            // SAFETY: no stream was made, so the descriptor is still ours.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
            return Err(failed(error));
        }
        Ok(Self { stream, method: workload.durability.method, position: 0, last: Operation::Sync })
    }

    /// Bytes that a call moved that did not move all; the error when there were none.
    #[cold]
    fn short(&mut self, count: usize) -> i32 {
        let error = io::Error::last_os_error();
        self.position = NOWHERE;
        // SAFETY: the stream is open.
        let has_failed = unsafe { libc::ferror(self.stream) } != 0;
        // SAFETY: as above.
        unsafe { libc::clearerr(self.stream) };
        match count {
            0 if has_failed => -error.raw_os_error().unwrap_or(libc::EIO),
            _ => count as i32,
        }
    }

    #[cold]
    fn failure(&mut self) -> i32 {
        self.position = NOWHERE;
        -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
    }

    fn sync(&mut self) -> i32 {
        let flushed = self.write_buffer();
        if flushed < 0 {
            return flushed;
        }
        // SAFETY: the stream is open.
        match sync(unsafe { libc::fileno(self.stream) }, self.method) {
            -1 => self.failure(),
            _ => 0,
        }
    }
}

impl Call for Stdio {
    const HAS_BUFFER: bool = true;

    #[inline]
    fn execute(&mut self, command: &Command) -> i32 {
        if command.operation == Operation::Sync {
            return self.sync();
        }
        let may_follow = self.last == command.operation || self.last == Operation::Sync;
        if self.position != command.offset || !may_follow {
            // SAFETY: the stream is open.
            let moved = unsafe { libc::fseeko(self.stream, command.offset as libc::off_t, libc::SEEK_SET) };
            if moved != 0 {
                return self.failure();
            }
        }
        let size = command.size as usize;
        // SAFETY: the stream is open, and the buffer holds `size` bytes.
        let count = unsafe {
            match command.operation {
                Operation::Read => libc::fread(command.buffer.cast(), 1, size, self.stream),
                Operation::Write => libc::fwrite(command.buffer.cast(), 1, size, self.stream),
                operation => unreachable!("{operation:?} is refused before a stream is opened"),
            }
        };
        (self.position, self.last) = (command.offset + count as u64, command.operation);
        if count == size { command.size as i32 } else { self.short(count) }
    }

    fn write_buffer(&mut self) -> i32 {
        // SAFETY: the stream is open.
        if unsafe { libc::fflush(self.stream) } == 0 { 0 } else { self.failure() }
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        // SAFETY: the stream is open and not used any more.
        unsafe { libc::fclose(self.stream) };
    }
}
