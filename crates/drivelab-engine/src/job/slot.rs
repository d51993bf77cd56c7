//! The slots of a job's queue, and what is outstanding in each.

/// What is outstanding in a slot, or was last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slot {
    pub(super) issued: u64,
    pub(super) intended: u64,
    /// Start of the command that is outstanding: `issued`, or the start of the sync call.
    pub(super) command_issued: u64,
    /// When the submitting call had returned; 0 where that was not timed.
    pub(super) submitted: u64,
    pub(super) offset: u64,
    pub(super) size: u32,
    /// What is outstanding, as a position in [`crate::series::EVENTS`].
    pub(super) event: u8,
    pub(super) phase: Phase,
}

/// Which part of an I/O is outstanding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// The I/O itself.
    #[default]
    Whole,
    /// The block that was read goes back to its place.
    WriteBack,
    /// The sync call after it.
    Sync,
    /// A sync call with a place of its own in the queue, the first one since the last write was issued.
    SyncOfLast,
    /// One that belongs to no write: another one since then, or that at the end of the job.
    OwnSync,
}

impl Phase {
    pub(super) fn is_own_sync(self) -> bool {
        matches!(self, Self::SyncOfLast | Self::OwnSync)
    }
}
