//! What a trace tells about one bio and about one command of a device: when it passed each station.
//!
//! A *bio* is what a file system or a program hands to the block layer; a *command* is what a driver hands
//! to the device. Several bios can become one command (merges), and one bio several commands (splits).

/// A moment that may never have come, in ns of CLOCK_MONOTONIC.
pub type Moment = Option<u64>;

/// The life of one bio, followed through splits: it has ended when its last fragment has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bio {
    /// `major << 20 | minor` of the traced device.
    pub device: u32,
    /// First sector.
    pub sector: u64,
    /// Length in bytes as queued; 0 for a flush without data.
    pub bytes: u32,
    /// Category bits of its Q: [`crate::record::category`].
    pub category: u32,
    /// Thread that queued it.
    pub pid: u32,
    /// Q.
    pub queued: u64,
    /// First A: it was sent on to a lower device.
    pub remapped: Moment,
    /// S: it had to wait for a free request (old kernels).
    pub slept: Moment,
    /// G of its first fragment.
    pub got_request: Moment,
    /// C of the flush that had to end before its data could be sent; None without one.
    pub preflushed: Moment,
    /// First I after its G (with a flush before the data: after that flush).
    pub inserted: Moment,
    /// M or F: it went into the request of another bio.
    pub merged: Moment,
    /// First D of any fragment.
    pub issued_first: Moment,
    /// Last D of any fragment.
    pub issued_last: Moment,
    /// C of its last fragment with data.
    pub completed: Moment,
    /// When the submitter was told: later than `completed` where a flush follows the data.
    pub ended: Moment,
    /// Fragments that splits made of it; 1 without a split.
    pub fragments: u32,
    /// How often a request that held it was put back.
    pub requeues: u32,
    /// 0, or an errno of either sign.
    pub error: i32,
}

/// A device says that it sends something on to one below it: the next Q there, at this place, is that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remap {
    /// `major << 20 | minor` of the lower device.
    pub device: u32,
    /// First sector there.
    pub sector: u64,
    /// The device that it comes from; the same one where a partition becomes its disk.
    pub from_device: u32,
    /// First sector there.
    pub from_sector: u64,
    /// Length in bytes; 0 for a flush.
    pub bytes: u32,
    /// A.
    pub time_ns: u64,
}

/// The life of one command of the device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// `major << 20 | minor` of the traced device.
    pub device: u32,
    /// First sector; of a flush it means nothing.
    pub sector: u64,
    /// Length in bytes; 0 for a flush.
    pub bytes: u32,
    /// Category bits of its D.
    pub category: u32,
    /// Thread that was running when it was issued; for a flush that is often a kernel worker.
    pub pid: u32,
    /// D; the last one after a requeue.
    pub issued: u64,
    /// C that completed its last byte; None when the trace ends before.
    pub completed: Moment,
    /// How often it was put back.
    pub requeues: u32,
    /// 0, or an errno of either sign.
    pub error: i32,
}

/// What a command is, for tables. The order is that of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Reads that carry data.
    Read,
    /// Writes of data, without FUA.
    Write,
    /// Writes with Force Unit Access.
    FuaWrite,
    /// Writes of the file system's own: journal, log, tree.
    Metadata,
    /// Flushes of the write cache.
    Flush,
    /// Discards.
    Discard,
    /// Passthrough and whatever else.
    Other,
}

impl Class {
    /// What a bio or a command with these category bits and this length is.
    #[must_use]
    pub fn of(category: u32, bytes: u32) -> Self {
        use crate::record::category as bits;
        let has = |bit: u32| category & bit != 0;
        if has(bits::PASSTHROUGH) {
            Self::Other
        } else if has(bits::DISCARD) {
            Self::Discard
        } else if has(bits::FLUSH) && bytes == 0 {
            // the direction bit of a flush says read
            Self::Flush
        } else if has(bits::WRITE) && has(bits::FUA) {
            Self::FuaWrite
        } else if has(bits::WRITE) && has(bits::META) {
            Self::Metadata
        } else if has(bits::WRITE) {
            Self::Write
        } else if has(bits::READ) && bytes > 0 {
            Self::Read
        } else {
            Self::Other
        }
    }

    /// Its name in tables and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::FuaWrite => "fua_write",
            Self::Metadata => "metadata_write",
            Self::Flush => "flush",
            Self::Discard => "discard",
            Self::Other => "other",
        }
    }
}

/// Takes the lives that a [`crate::follow::Follower`] has seen to their end, in the order of their ends.
pub trait Sink {
    /// A bio has ended (or the trace has: then stations are missing).
    fn bio(&mut self, bio: Bio);
    /// A command has ended (or the trace has).
    fn command(&mut self, command: Command);
    /// Something was sent on to a lower device; told at once.
    fn remap(&mut self, _remap: Remap) {}
}
