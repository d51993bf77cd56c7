//! A load that somebody recorded: each of its I/Os with its start, in the order of its thread.
//!
//! It lies in a file of records of 32 bytes, those of one job after the other, and is read before the jobs start.

mod waits;

use std::fs;
use std::sync::Arc;

use serde::Deserialize;

use crate::clock::Clock;
use crate::error::{Code, EngineError, Result};
use crate::histogram::Histogram;
use crate::workload::{DurabilityMethod, Operation, Workload};

use self::waits::Progress;
pub use self::waits::Waits;

/// Bytes of a record: start in ns (8), offset (8), size (4), number of the operation (1), nothing (3), the job that it
/// waits for (4; [`NOBODY`] for none), and how many of its I/Os must have ended (4).
const RECORD_BYTES: usize = 32;
const NOBODY: u32 = u32::MAX;

/// What a workload says of its recording.
#[derive(Debug, Clone, Deserialize)]
pub struct Recording {
    /// The file of records.
    path: String,
    /// The jobs, in the order in which the file has them.
    pub jobs: Vec<RecordedJob>,
    /// The call that a recorded sync stands for.
    pub sync: DurabilityMethod,
    /// Where the I/Os are calls on files, which may grow: so many addresses are each file's, and the place of a
    /// sync call in them says which one it is ([`SyncCall`]). 0: all are for one target, as large as it is.
    #[serde(default)]
    pub span_bytes: u64,
    #[serde(skip)]
    entries: Vec<Arc<[Entry]>>,
    /// By job how far it is, where some wait for another.
    #[serde(skip)]
    progress: Option<Arc<[Progress]>>,
    /// First byte behind everything that is read, written or trimmed.
    #[serde(skip)]
    pub end: u64,
    /// Whether there are sync calls among the I/Os.
    #[serde(skip)]
    pub syncs: bool,
}

/// One thread of a recording.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct RecordedJob {
    /// Its I/Os.
    pub count: u64,
    /// The most that were outstanding at once: 1 where each waited for the one before.
    pub queue_depth: u32,
}

/// One I/O of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When it began, since the beginning of the recording.
    pub start_ns: u64,
    /// Where on the target.
    pub offset: u64,
    /// How many bytes; 0 for a sync call.
    pub size: u32,
    /// What it does.
    pub operation: Operation,
    /// A job, and how many of its I/Os must have ended before this one begins.
    pub after: Option<(u32, u32)>,
}

impl Recording {
    /// Reads the file; `largest` is the most bytes of a read or write, and of any I/O.
    ///
    /// # Errors
    ///
    /// [`Code::InvalidWorkload`] when it is not what the workload says, or not in order.
    pub fn load(&mut self, largest: [u64; 2]) -> Result<()> {
        let bytes = fs::read(&self.path)
            .map_err(|error| EngineError::from_os("read the recording", &self.path, &error))?;
        let count: u64 = self.jobs.iter().map(|job| job.count).sum();
        if bytes.len() as u64 != count.saturating_mul(RECORD_BYTES as u64) {
            return Err(refused(format!("{} bytes are not {count} records", bytes.len())));
        }
        let mut records = bytes.chunks_exact(RECORD_BYTES);
        for job in &self.jobs {
            let entries: Result<Vec<_>> =
                records.by_ref().take(job.count as usize).map(|bytes| entry(bytes, largest)).collect();
            let entries = entries?;
            if !entries.is_sorted_by_key(|entry| entry.start_ns) {
                return Err(refused("the I/Os of a job are not in the order of their starts".to_owned()));
            }
            for entry in &entries {
                self.end = self.end.max(entry.offset + u64::from(entry.size));
                self.syncs |= entry.operation == Operation::Sync;
            }
            self.entries.push(entries.into());
        }
        let mut after =
            self.entries.iter().flat_map(|entries| entries.iter()).filter_map(|entry| entry.after);
        if after
            .clone()
            .any(|(job, count)| self.jobs.get(job as usize).is_none_or(|job| job.count < u64::from(count)))
        {
            return Err(refused("an I/O waits for one that does not come".to_owned()));
        }
        if after.next().is_some() {
            self.progress = Some(self.jobs.iter().map(|_| Progress::default()).collect());
        }
        Ok(())
    }

    /// The I/Os of a job.
    #[must_use]
    pub fn of_job(&self, job: u32) -> Arc<[Entry]> {
        Arc::clone(&self.entries[job as usize])
    }

    /// Whether I/Os of one job wait for those of another.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.progress.is_some()
    }

    /// What lets a job wait for others; `None` where nobody waits.
    #[must_use]
    pub fn waits_of(&self, job: u32) -> Option<Waits> {
        self.progress.as_ref().map(|progress| Waits::new(self.of_job(job), job, Arc::clone(progress)))
    }
}

/// Which call a sync is: that of its workload, or, among recorded calls on files, what its place in its file says.
#[derive(Debug, Clone, Copy)]
pub struct SyncCall {
    of_all: DurabilityMethod,
    is_told: bool,
}

impl SyncCall {
    /// That of a workload.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        let is_told = workload.recording.as_ref().is_some_and(|recording| recording.span_bytes > 0);
        Self { of_all: workload.sync_call(), is_told }
    }

    /// The one at a place in its file.
    #[inline]
    #[must_use]
    pub fn at(self, place: u64) -> DurabilityMethod {
        match place {
            1 if self.is_told => DurabilityMethod::Fsync,
            2 if self.is_told => DurabilityMethod::Fdatasync,
            3 if self.is_told => DurabilityMethod::SyncFileRange,
            _ => self.of_all,
        }
    }
}

fn entry(bytes: &[u8], largest: [u64; 2]) -> Result<Entry> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let (start_ns, offset, last) = (number(0), number(8), number(16));
    let (size, code) = (last as u32, (last >> 32) as u8);
    let operation = match code {
        0 => Operation::Read,
        1 => Operation::Write,
        2 => Operation::Trim,
        3 => Operation::Sync,
        _ => return Err(refused(format!("{code} is the number of no recorded operation"))),
    };
    let most = largest[usize::from(operation == Operation::Trim)];
    let has_bytes = operation != Operation::Sync;
    if has_bytes != (size > 0) || u64::from(size) > most || offset > i64::MAX as u64 {
        return Err(refused(format!("no I/O has {size} bytes at {offset}")));
    }
    let after = number(24);
    let (job, count) = (after as u32, (after >> 32) as u32);
    Ok(Entry { start_ns, offset, size, operation, after: (job != NOBODY).then_some((job, count)) })
}

fn refused(what: String) -> EngineError {
    EngineError::new(Code::InvalidWorkload, what).at("recording")
}

/// What a job does next.
#[derive(Debug, Clone)]
pub struct RecordedPlaces {
    entries: Arc<[Entry]>,
    next: usize,
}

impl RecordedPlaces {
    /// From the first one on.
    #[must_use]
    pub fn new(entries: Arc<[Entry]>) -> Self {
        Self { entries, next: 0 }
    }

    /// How many have been issued.
    #[must_use]
    pub fn issued(&self) -> u64 {
        self.next as u64
    }

    /// The next operation, its place and its bytes; `None` behind the last.
    pub fn next_place(&mut self) -> Option<(Operation, u64, u32)> {
        let entry = self.entries.get(self.next)?;
        self.next += 1;
        Some((entry.operation, entry.offset, entry.size))
    }
}

/// How well a job kept to the starts of its recording.
#[derive(Clone, Default)]
pub struct Starts {
    /// From each intended start to the real one, in ns.
    pub errors: Histogram<u32>,
    /// From the beginning to the intended start of the last I/O that was issued, in ns.
    pub asked_ns: u64,
    /// The same, to its real start.
    pub achieved_ns: u64,
}

impl std::fmt::Debug for Starts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} starts in {} ns of {}", self.errors.count, self.achieved_ns, self.asked_ns)
    }
}

/// When a job issues its recorded I/Os, and when it did.
#[derive(Debug, Clone)]
pub struct RecordedStarts {
    entries: Arc<[Entry]>,
    ticks_per_ns: f64,
    clock: Clock,
    begin: u64,
    /// What is told in the end.
    pub starts: Box<Starts>,
}

impl RecordedStarts {
    /// The starts of a job that begins at the tick `begin`, `speed` times as fast as recorded.
    #[must_use]
    pub fn new(entries: Arc<[Entry]>, speed: f64, clock: &Clock, begin: u64) -> Self {
        let ticks_per_ns = clock.ticks_in(1_000_000_000) as f64 / 1e9 / speed;
        let mut starts = Box::<Starts>::default();
        starts.errors.fault_in();
        Self { entries, ticks_per_ns, clock: *clock, begin, starts }
    }

    /// Ticks from the beginning to the start of an I/O; infinity behind the last.
    #[must_use]
    pub fn ticks_to(&self, number: u64) -> f64 {
        let entry = self.entries.get(number as usize);
        entry.map_or(f64::INFINITY, |entry| entry.start_ns as f64 * self.ticks_per_ns)
    }

    /// Notes that what was intended so many ticks after the beginning was issued at `now`.
    pub fn note(&mut self, intended: f64, now: u64) {
        let after = now.saturating_sub(self.begin);
        let starts = &mut *self.starts;
        starts.errors.record(self.clock.nanoseconds(after.saturating_sub(intended.round() as u64)));
        starts.asked_ns = self.clock.nanoseconds(intended.round() as u64);
        starts.achieved_ns = self.clock.nanoseconds(after);
    }
}
