//! What a follower has counted.

use serde::Serialize;

/// Counts of a trace; "orphan" is a record whose beginning the trace does not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Counts {
    /// Records that are no notices.
    pub records: u64,
    pub bios_opened: u64,
    pub bios_closed: u64,
    /// Bios that had not ended when the trace did.
    pub bios_open_at_end: u64,
    /// Of those the ones queued more than a second before its end: their end was lost.
    pub bios_stale: u64,
    pub commands_issued: u64,
    pub commands_completed: u64,
    pub commands_open_at_end: u64,
    /// Of those the ones issued more than a second before the end.
    pub commands_stale: u64,
    pub splits: u64,
    pub merges: u64,
    pub remaps: u64,
    pub requeues: u64,
    pub partial_completions: u64,
    /// Completions with an error.
    pub errors: u64,
    pub orphan_requests: u64,
    pub orphan_merges: u64,
    pub orphan_splits: u64,
    pub orphan_inserts: u64,
    pub orphan_issues: u64,
    pub orphan_requeues: u64,
    pub orphan_completions: u64,
    /// Commands that no file system made: SCSI and NVMe passthrough.
    pub passthrough: u64,
    /// Records without bytes that are no flush.
    pub without_bytes: u64,
    /// Actions that this program does not know.
    pub unknown_actions: u64,
    /// Records older than the one before.
    pub backward_times: u64,
    /// Places at which the numbering of a CPU, or a notice, says that records are missing.
    pub losses: u64,
    /// Lives given up because too many waited at one place.
    pub given_up: u64,
}
