//! What I/O is issued: the same structure, field by field, as the Python package's `model/workload.py`.

mod access;
mod backend;
mod contents;
mod durability;
mod files;
mod pacing;
mod target;
mod tree;
mod validate;
mod zoned;

pub use access::{Access, AccessKind, CacheAdvice, Zone};
pub use backend::BackendName;
pub use contents::{Check, Contents, ContentsKind, OFFSET_SIZE};
pub use durability::{Durability, DurabilityMethod, LastSync, SyncOrder};
pub use files::{FileOrder, JobFiles};
pub use pacing::{Pacing, PacingKind};
use serde::Deserialize;
pub use target::{Held, TargetRange};
pub use tree::Tree;
pub use zoned::ZonedDrive;

use crate::buffer::{STAMP_DISTANCE, STAMP_SIZE};
use crate::error::{Code, EngineError, Result};
use crate::recording::Recording;

/// What an I/O does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Operation {
    /// Data from the target.
    Read = 0,
    /// Data to the target.
    Write = 1,
    /// The range's contents are no longer needed.
    Trim = 2,
    /// The call that makes earlier writes durable; never asked for by itself.
    #[serde(skip)]
    Sync = 3,
    /// A new file with its contents. Operations on a tree follow; 4 is a write with its sync call.
    Create = 5,
    /// The attributes of a file.
    Stat = 6,
    /// All of a file: open, read, close.
    ReadFile = 7,
    /// A file removed.
    Delete = 8,
    /// A file under another name.
    Rename = 9,
    /// A new file in the place of an old one: created under another name, then renamed.
    Replace = 10,
    /// A new directory.
    MakeDirectory = 11,
    /// An empty directory removed.
    RemoveDirectory = 12,
    /// A second name of a file.
    Link = 13,
    /// A symbolic link to a file.
    Symlink = 14,
    /// All names in a directory.
    List = 15,
    /// Pages of a file overwritten, behind a journal of the old ones; 16 is a read with its write back.
    Update = 17,
}

impl Operation {
    /// Whether it works on the files of a tree, not on the blocks of one target.
    #[must_use]
    pub fn is_on_tree(self) -> bool {
        self as u8 >= Self::Create as u8
    }
}

/// An operation and its share of the mix.
#[derive(Debug, Clone, Deserialize)]
pub struct OperationShare {
    /// The operation.
    pub operation: Operation,
    /// Its weight among all shares.
    pub weight: f64,
    /// Its own block sizes; without any it has the workload's.
    #[serde(default)]
    pub block_sizes: Vec<BlockSizeShare>,
    /// Its own order of addresses, which goes on from its own last place; without it, the workload's.
    #[serde(default)]
    pub access: Option<Access>,
    /// Whether its turn is drawn, with its place, and nothing is issued: what a mix wrote is read back so.
    #[serde(default)]
    pub drawn_only: bool,
}

/// A block size and its share of the mix.
#[derive(Debug, Clone, Deserialize)]
pub struct BlockSizeShare {
    /// Bytes of one I/O.
    pub bytes: u64,
    /// Its weight among all shares.
    pub weight: f64,
}

/// State of a file before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// Every byte was written before.
    Overwrite,
    /// Writes extend the file.
    Append,
    /// Space is reserved, nothing was written.
    Preallocated,
    /// A size, and no space.
    Sparse,
}

/// When the measured window ends; 0 is no limit.
#[derive(Debug, Clone, Deserialize)]
pub struct Limits {
    /// Length of the window.
    pub runtime_ns: u64,
    /// Bytes moved by reads, writes and trims over all jobs.
    pub bytes: u64,
    /// I/Os over all jobs, sync calls not included.
    pub count: u64,
    /// Moments of the window at which the caller is shown what was counted, and may end it; in order.
    #[serde(default)]
    pub looks_ns: Vec<u64>,
}

/// Of which I/Os the submission is timed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubmissionLatency {
    /// Of a sample where a call can send and wait at once, else of all.
    #[default]
    Sampled,
    /// Of all; a call only sends then.
    All,
}

/// One workload.
#[derive(Debug, Clone, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Workload {
    /// Where I/O is sent.
    pub target: TargetRange,
    /// How it is issued.
    pub backend: BackendName,
    /// The mix of operations.
    pub operations: Vec<OperationShare>,
    /// The mix of block sizes.
    pub block_sizes: Vec<BlockSizeShare>,
    /// Order of addresses.
    pub access: Access,
    /// Added to every aligned offset.
    pub shift_bytes: u64,
    /// I/Os kept outstanding by each job.
    pub queue_depth: u32,
    /// I/Os that are sent with one call, at most; 0 is as many as there are.
    #[serde(default)]
    pub submission_batch: u32,
    /// I/Os that are taken with one look, at most; 0 is as many as have ended.
    #[serde(default)]
    pub completion_batch: u32,
    /// I/Os that a look which waits takes at least, where so many are outstanding; 0 is one.
    #[serde(default)]
    pub completion_batch_min: u32,
    /// Once all slots were in use they are filled again when so few I/Os are outstanding; 0 is at once.
    #[serde(default)]
    pub refill_depth: u32,
    /// Of which I/Os the submission is timed.
    #[serde(default)]
    pub submission_latency: SubmissionLatency,
    /// Jobs side by side.
    pub job_count: u32,
    /// All jobs use the whole range.
    pub share_range: bool,
    /// Bypass the page cache.
    pub direct: bool,
    /// What the kernel is told of the order of addresses.
    #[serde(default)]
    pub cache_advice: CacheAdvice,
    /// Give up what the page cache holds of the range whenever an order of addresses begins again.
    #[serde(default)]
    pub drop_cache_each_pass: bool,
    /// Ask for the file's attributes before each write; by synchronous calls only.
    #[serde(default)]
    pub stat_before_write: bool,
    /// How writes become durable.
    pub durability: Durability,
    /// State of the file before the writes.
    pub file_state: FileState,
    /// What is written.
    pub contents: Contents,
    /// When the next I/O is issued.
    pub pacing: Pacing,
    /// When the window ends.
    pub limits: Limits,
    /// Wait before the first I/O, from the moment at which all that run together begin.
    #[serde(default)]
    pub start_delay_ns: u64,
    /// I/O before the window.
    pub ramp_ns: u64,
    /// Length of an interval of the series.
    pub interval_ns: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Keep a record of every I/O.
    pub record_ios: bool,
    /// Keep what each job counts, beside the sum.
    #[serde(default)]
    pub record_jobs: bool,
    /// Processors to pin the jobs to, in turn.
    pub pin_cpus: Vec<usize>,
    /// Poll for completions instead of waiting for interrupts.
    pub polled_completion: bool,
    /// Let a kernel thread pick up submissions.
    pub polled_submission: bool,
    /// Check the stamps, the pattern or the headers of blocks that are read.
    #[serde(default)]
    pub verify: bool,
    /// Part of the reads that are written back, changed, to the same place right after.
    #[serde(default)]
    pub rewrite_fraction: f64,
    /// Files that the operations work on, when they are operations on a tree.
    #[serde(default)]
    pub tree: Option<Tree>,
    /// Files of each job.
    #[serde(default)]
    pub job_files: JobFiles,
    /// How the zones of the target are used, where it has or is to have any.
    #[serde(default)]
    pub zoned_drive: Option<ZonedDrive>,
    /// What was recorded, and is issued in place of the operations, sizes and addresses above, which sum it up.
    #[serde(default)]
    pub recording: Option<Recording>,
}

impl Workload {
    /// Reads a workload from JSON.
    ///
    /// # Errors
    ///
    /// [`Code::InvalidWorkload`] when the text is not a workload or a value makes no sense.
    pub fn from_json(text: &str) -> Result<Self> {
        let mut workload: Self = serde_json::from_str(text)
            .map_err(|error| EngineError::new(Code::InvalidWorkload, format!("not a workload: {error}")))?;
        workload.zoned_drive.take_if(|zoned| !zoned.is_used);
        workload.validate()?;
        let largest = [workload.largest_moved(), workload.largest_block()];
        if let Some(recording) = &mut workload.recording {
            recording.load(largest)?;
        }
        if workload.tree.is_some() {
            // The place of a file is its number: places are 1 apart.
            workload.block_sizes = vec![BlockSizeShare { bytes: 1, weight: 1.0 }];
            workload.operations.iter_mut().for_each(|share| share.block_sizes.clear());
        }
        Ok(workload)
    }

    /// I/Os that a job keeps outstanding at most.
    #[must_use]
    pub fn depth_of(&self, job: u32) -> u32 {
        self.recording.as_ref().map_or(self.queue_depth, |recording| recording.jobs[job as usize].queue_depth)
    }

    /// Whether its time stands still while the caller looks at what was counted: a virtual one can.
    #[must_use]
    pub fn waits_at_looks(&self) -> bool {
        self.target.simulated.is_some() && !self.limits.looks_ns.is_empty()
    }

    /// The call that makes earlier writes durable.
    #[must_use]
    pub fn sync_call(&self) -> DurabilityMethod {
        self.recording.as_ref().map_or(self.durability.method, |recording| recording.sync)
    }

    /// Block sizes of an operation of the mix: its own, or else the workload's.
    #[must_use]
    pub fn sizes_of<'a>(&'a self, share: &'a OperationShare) -> &'a [BlockSizeShare] {
        if share.block_sizes.is_empty() { &self.block_sizes } else { &share.block_sizes }
    }

    /// The order of addresses that operations share, then those that an operation has of its own.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        let own = self.operations.iter().filter_map(|share| share.access.as_ref());
        std::iter::once(&self.access).chain(own)
    }

    /// Every block size that is issued.
    pub fn issued_sizes(&self) -> impl Iterator<Item = u64> {
        self.operations.iter().flat_map(|share| self.sizes_of(share)).map(|size| size.bytes)
    }

    /// Whether a sample of submissions is enough: no record of each I/O tells of it, calls are not limited to a part
    /// of what waits, and nothing but completions is waited for.
    #[must_use]
    pub fn samples_submission(&self) -> bool {
        self.submission_latency == SubmissionLatency::Sampled
            && !self.record_ios
            && self.submission_batch == 0
            && self.pacing.kind == PacingKind::Closed
    }

    /// Smallest block size of the mix.
    #[must_use]
    pub fn smallest_block(&self) -> u64 {
        self.issued_sizes().min().unwrap_or(0)
    }

    /// Largest block size of the mix.
    #[must_use]
    pub fn largest_block(&self) -> u64 {
        self.issued_sizes().max().unwrap_or(0)
    }

    /// Largest block that is read or written; a discard needs no memory.
    #[must_use]
    pub fn largest_moved(&self) -> u64 {
        let moved = self.operations.iter().filter(|share| share.operation != Operation::Trim);
        moved.flat_map(|share| self.sizes_of(share)).map(|size| size.bytes).max().unwrap_or(1)
    }

    /// The workload as each target of it has it: those of a job are for all jobs, or each has its own.
    pub fn on_each_target(&self) -> impl Iterator<Item = Self> {
        let others = self.target.others.iter().map(|held| {
            let mut other = self.clone();
            other.target.held = Some(*held);
            other
        });
        std::iter::once(self.clone()).chain(others)
    }

    /// Number of parts that the range of a target is divided into.
    #[must_use]
    pub fn jobs_with_own_range(&self) -> u64 {
        let is_whole = self.share_range || !self.target.others.is_empty();
        if is_whole { 1 } else { u64::from(self.job_count) }
    }

    /// Whether blocks are written back after they were read.
    #[must_use]
    pub fn rewrites(&self) -> bool {
        self.rewrite_fraction > 0.0
    }

    /// Whether the mix holds an operation.
    #[must_use]
    pub fn uses(&self, operation: Operation) -> bool {
        self.operations.iter().any(|share| share.operation == operation)
    }

    /// Whether the target's contents change.
    #[must_use]
    pub fn changes_target(&self) -> bool {
        use Operation::{List, Read, ReadFile, Stat};
        let changes = |share: &OperationShare| !matches!(share.operation, Read | Stat | ReadFile | List);
        self.rewrites() || self.operations.iter().any(changes)
    }

    /// Whether each write carries stamps, by which a read can tell whether a block is where it belongs.
    #[must_use]
    pub fn has_stamps(&self) -> bool {
        self.contents.has_stamps() && self.smallest_block() >= STAMP_SIZE as u64
    }

    /// Whether stamps that this very workload writes are where its reads look for them.
    fn can_verify(&self) -> bool {
        let on_stamps = |bytes: u64| bytes.is_multiple_of(STAMP_DISTANCE as u64);
        let sizes_agree = self.smallest_block() == self.largest_block() || self.issued_sizes().all(on_stamps);
        !self.contents.has_stamps_or_nothing()
            || self.has_stamps() && self.contents.duplicate_fraction == 0.0 && sizes_agree
    }

    /// The most bytes that a run moves, as far as its limits say; a ramp and a runtime say nothing.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        let by_count = self.limits.count.saturating_mul(self.largest_block());
        let limits = [by_count, self.limits.bytes];
        let least = limits.into_iter().filter(|&limit| limit > 0).min();
        least.filter(|_| self.ramp_ns == 0).unwrap_or(u64::MAX)
    }

    /// After how many bytes the page cache is given up where no order begins again: as many as the range has.
    #[must_use]
    pub fn bytes_of_pass(&self, length: u64) -> u64 {
        let is_endless = self.accesses().all(Access::is_endless) && !self.covers_range_once();
        if is_endless { length } else { u64::MAX }
    }

    /// Whether nothing but the range limits the run.
    #[must_use]
    pub fn covers_range_once(&self) -> bool {
        self.limits.runtime_ns == 0 && self.limits.bytes == 0 && self.limits.count == 0
    }
}
