//! The drive that is served: its time, what it holds, and what it has answered.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drivelab_histogram::Histogram;
use drivelab_sim::{Command, Done, Drive, Operation};

use crate::protocol::{Asked, Export, Request};

/// An answer that leaves later than this is counted as late.
pub const LATE_NS: u64 = 100_000;

/// What is counted for itself.
pub const KINDS: [&str; 5] = ["read", "write", "forced_write", "trim", "flush"];

/// What was answered to one kind of command.
#[derive(Default)]
pub struct Answers {
    /// Bytes moved.
    pub bytes: u64,
    /// How many failed, because the model said so.
    pub errors: u64,
    /// From the arrival of a command to its end, as the model says.
    pub latency_ns: Histogram<u32>,
    /// From that end to the moment at which the answer left.
    pub late_ns: Histogram<u32>,
    /// How many left more than [`LATE_NS`] late.
    pub late_count: u64,
}

/// What happened while a drive was served.
#[derive(Default)]
pub struct Tally {
    /// Of each of [`KINDS`].
    pub answers: [Answers; 5],
    /// Requests that were refused, as makes no sense: beyond the end, too long, unknown.
    pub refused_requests: u64,
    /// Connections that were ended because what came over them was no NBD.
    pub broken_connections: u64,
    /// Connections in all.
    pub connections: u64,
    /// Commands whose data could not be kept or read, which is not the model's doing.
    pub failed_contents: u64,
}

/// A drive with its time.
pub struct ServedDrive {
    drive: Arc<Mutex<Drive>>,
    contents: File,
    export: Export,
    /// The moment at which the drive's time was `begin_ns`.
    begin: Instant,
    begin_ns: u64,
    tally: Mutex<Tally>,
}

/// When a command arrived and when it ends, in the drive's time.
#[derive(Debug, Clone, Copy)]
pub struct Accepted {
    /// One of [`KINDS`].
    pub kind: usize,
    /// When it came.
    pub at_ns: u64,
    /// How it ends.
    pub done: Done,
}

impl ServedDrive {
    /// A drive whose time goes on from now.
    ///
    /// # Errors
    ///
    /// The file for its contents cannot have its size.
    pub fn new(drive: Arc<Mutex<Drive>>, begin_ns: u64, contents: File, export: Export) -> io::Result<Self> {
        contents.set_len(export.size_bytes)?;
        Ok(Self { drive, contents, export, begin: Instant::now(), begin_ns, tally: Mutex::default() })
    }

    /// What clients are told.
    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// The drive's time.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.begin_ns + self.begin.elapsed().as_nanos() as u64
    }

    /// How long it is until a moment of the drive's time.
    #[must_use]
    pub fn until(&self, at_ns: u64) -> Duration {
        Duration::from_nanos(at_ns.saturating_sub(self.now()))
    }

    /// What was counted.
    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a request to the model, now.
    pub fn accept(&self, request: &Request) -> Accepted {
        let (kind, operation) = match request.asked {
            Asked::Read => (0, Operation::Read),
            Asked::Write if request.is_forced => (2, Operation::Write),
            Asked::Write => (1, Operation::Write),
            Asked::Trim => (3, Operation::Trim),
            _ => (4, Operation::Flush),
        };
        let command = Command {
            operation,
            offset: request.offset,
            bytes: u64::from(request.bytes),
            is_forced: request.is_forced,
            stored_share: 1.0,
        };
        let mut drive = self.drive.lock().unwrap_or_else(PoisonError::into_inner);
        // read under the lock: the drive's time never goes back
        let at_ns = self.now();
        Accepted { kind, at_ns, done: drive.submit(at_ns, &command) }
    }

    /// Does with the contents what a request that succeeds does.
    ///
    /// # Errors
    ///
    /// The file system of the contents is full, or fails.
    pub fn move_data(&self, request: &Request, data: &mut [u8]) -> io::Result<()> {
        match request.asked {
            Asked::Read => self.contents.read_exact_at(data, request.offset),
            Asked::Write => self.contents.write_all_at(data, request.offset),
            Asked::Trim if request.bytes > 0 => self.forget(request.offset, u64::from(request.bytes)),
            _ => Ok(()),
        }
    }

    /// Counts an answer that leaves now.
    pub fn count(&self, accepted: &Accepted) {
        let late_ns = self.now().saturating_sub(accepted.done.at_ns);
        let mut tally = self.tally();
        let answers = &mut tally.answers[accepted.kind];
        answers.latency_ns.record(accepted.done.at_ns - accepted.at_ns);
        answers.late_ns.record(late_ns);
        answers.late_count += u64::from(late_ns > LATE_NS);
        answers.bytes += accepted.done.result.max(0) as u64;
        answers.errors += u64::from(accepted.done.result < 0);
    }

    fn forget(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: the descriptor is open as long as `self`, and nothing is written to memory
        let done = unsafe {
            libc::fallocate(self.contents.as_raw_fd(), how, offset as libc::off_t, bytes as libc::off_t)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
