//! By which call, and how often, what is written is made durable.

use serde::Deserialize;

/// How a write is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DurabilityMethod {
    /// Not at all.
    None,
    /// The file is opened with O_DSYNC.
    ODsync,
    /// The file is opened with O_SYNC.
    OSync,
    /// Each write carries RWF_DSYNC.
    RwfDsync,
    /// fdatasync after every N writes.
    Fdatasync,
    /// fsync after every N writes.
    Fsync,
    /// sync_file_range after every N writes: starts write-out and waits, makes nothing durable.
    SyncFileRange,
}

/// When sync calls between writes are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncOrder {
    /// When so many writes have ended: the last of them keeps its place in the queue until the call has ended, too.
    #[default]
    AfterWrite,
    /// Before another I/O, once so many writes were issued, and again until what ended last is a sync call: as fio does
    /// until 3.37. Linux asynchronous I/O waits for its calls, and what has ended is taken one by one.
    BeforeNext,
}

/// Whether a sync call follows the last write of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastSync {
    /// Where one is due after it.
    #[default]
    Due,
    /// Always, and apart from it.
    Always,
}

/// How and how often writes are made durable.
#[derive(Debug, Clone, Deserialize)]
pub struct Durability {
    /// The method.
    pub method: DurabilityMethod,
    /// Writes per sync call.
    pub every_writes: u64,
    /// No call between writes, and one after the last of each job.
    #[serde(default)]
    pub at_end: bool,
    /// Whether a call follows the last write of each job, where there are calls between them.
    #[serde(default)]
    pub last: LastSync,
    /// When calls between writes are due.
    #[serde(default)]
    pub order: SyncOrder,
    /// Operations on a tree: the directory is made durable, too.
    #[serde(default)]
    pub directory: bool,
}

impl Durability {
    /// Whether a separate call follows the writes.
    #[must_use]
    pub fn needs_sync_call(&self) -> bool {
        use DurabilityMethod::{Fdatasync, Fsync, SyncFileRange};
        matches!(self.method, Fdatasync | Fsync | SyncFileRange)
    }

    /// Whether a call follows writes that have ended, and has their place in the queue.
    #[must_use]
    pub fn syncs_after_writes(&self) -> bool {
        self.needs_sync_call() && !self.at_end && self.order == SyncOrder::AfterWrite
    }

    /// Whether calls are due before the next I/O.
    #[must_use]
    pub fn syncs_before_next(&self) -> bool {
        self.needs_sync_call() && !self.at_end && self.order == SyncOrder::BeforeNext
    }

    /// Whether a call of its own follows the last write of each job.
    #[must_use]
    pub fn syncs_last(&self) -> bool {
        self.needs_sync_call() && (self.at_end || self.last == LastSync::Always)
    }
}
