//! Records of single I/Os: filled by the loop into chunks of fixed size, handed on full.
//!
//! A job owns one chunk at a time and gets empty ones back, so memory stays constant; when the reader
//! falls behind, the job waits for it and the wait is reported, because nothing measured may be lost.

use std::sync::mpsc::{Receiver, Sender};

use crate::clock::Clock;
use crate::run::Message;

/// Records per chunk.
pub const CHUNK_RECORDS: usize = 1 << 14;
/// Chunks of each job.
pub const CHUNKS_PER_JOB: usize = 4;

/// One I/O.
#[derive(Debug, Clone, Copy, Default)]
pub struct Record {
    /// Issue time in ticks.
    pub issue_ticks: u64,
    /// Where on the target.
    pub offset: u64,
    /// From issue to reaped completion, in ns.
    pub total_ns: u64,
    /// From intended issue to reaped completion, in ns; equal to `total_ns` in a closed loop.
    pub response_ns: u64,
    /// From issue to the return of the submitting call, in ns, at most `i32::MAX`.
    pub submission_ns: u32,
    /// Bytes asked for.
    pub size: u32,
    /// Bytes moved, or the negative errno.
    pub result: i32,
    /// Number of the operation.
    pub operation: u8,
}

/// Records of one job, at most [`CHUNK_RECORDS`].
#[derive(Debug)]
pub struct Chunk {
    /// The job.
    pub job: u32,
    /// Its records, in order of completion.
    pub records: Vec<Record>,
}

/// The writing end in a job.
#[derive(Debug)]
pub struct Recorder {
    chunk: Vec<Record>,
    job: u32,
    full: Sender<Message>,
    empty: Receiver<Vec<Record>>,
    rows: u64,
    stall_ns: u64,
}

impl Recorder {
    /// A recorder that sends full chunks to `full` and takes empty ones from `empty`.
    #[must_use]
    pub fn new(job: u32, full: Sender<Message>, empty: Receiver<Vec<Record>>) -> Self {
        let chunk = empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK_RECORDS));
        Self { chunk, job, full, empty, rows: 0, stall_ns: 0 }
    }

    /// Keeps one record.
    #[inline]
    pub fn push(&mut self, record: Record, clock: &Clock) {
        self.chunk.push(record);
        if self.chunk.len() == CHUNK_RECORDS {
            self.hand_on(clock);
        }
    }

    /// Hands on what is left; returns the number of rows and the time spent waiting for the reader.
    #[must_use]
    pub fn finish(mut self) -> (u64, u64) {
        self.rows += self.chunk.len() as u64;
        let records = std::mem::take(&mut self.chunk);
        // A reader that has gone away took the decision to lose the rest.
        let _ = self.full.send(Message::Records(Chunk { job: self.job, records }));
        (self.rows, self.stall_ns)
    }

    #[cold]
    fn hand_on(&mut self, clock: &Clock) {
        self.rows += self.chunk.len() as u64;
        let start = clock.ticks();
        // No chunk comes back only when the run was given up; what follows is then read by nobody.
        let next = self.empty.recv().unwrap_or_default();
        let records = std::mem::replace(&mut self.chunk, next);
        let _ = self.full.send(Message::Records(Chunk { job: self.job, records }));
        self.stall_ns += clock.nanoseconds(clock.ticks() - start);
    }
}
