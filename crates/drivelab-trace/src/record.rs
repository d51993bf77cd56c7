//! One record of a block trace, in the words of `include/uapi/linux/blktrace_api.h`.

/// What happened: the low 16 bits of a record's action, without the bit that says that a cgroup id follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Action {
    /// A bio was handed to the block layer.
    Queue = 1,
    /// It was merged behind a request.
    BackMerge = 2,
    /// It was merged before a request.
    FrontMerge = 3,
    /// It got a request.
    GetRequest = 4,
    /// It sleeps until a request is free.
    SleepRequest = 5,
    /// A request was put back.
    Requeue = 6,
    /// A request was handed to the driver.
    Issue = 7,
    /// A request, or a part of it, was completed.
    Complete = 8,
    /// A queue was plugged.
    Plug = 9,
    /// It was unplugged.
    Unplug = 10,
    /// It was unplugged by a timer.
    UnplugTimer = 11,
    /// A request was inserted into a scheduler or the flush machine.
    Insert = 12,
    /// A bio was split; the payload has the first sector of what is left.
    Split = 13,
    /// A bio was copied into memory that the device can reach.
    Bounce = 14,
    /// A bio was sent to another place; the payload says from where.
    Remap = 15,
    /// A request was given up.
    Abort = 16,
    /// Data of a driver.
    DriverData = 17,
}

impl Action {
    /// The action of these bits; None for one that this program does not know.
    #[must_use]
    pub fn from_bits(bits: u16) -> Option<Self> {
        use Action::{
            Abort, BackMerge, Bounce, Complete, DriverData, FrontMerge, GetRequest, Insert, Issue, Plug,
            Queue, Remap, Requeue, SleepRequest, Split, Unplug, UnplugTimer,
        };
        const ALL: [Action; 17] = [
            Queue,
            BackMerge,
            FrontMerge,
            GetRequest,
            SleepRequest,
            Requeue,
            Issue,
            Complete,
            Plug,
            Unplug,
            UnplugTimer,
            Insert,
            Split,
            Bounce,
            Remap,
            Abort,
            DriverData,
        ];
        ALL.get(usize::from(bits).checked_sub(1)?).copied()
    }
}

/// In the low 16 bits of the action: an 8-byte cgroup id stands before the payload.
pub const CGROUP_BIT: u16 = 0x100;

/// Bits of the category: the high 16 bits of a 32-bit action.
pub mod category {
    #![allow(missing_docs)]
    pub const READ: u32 = 1;
    pub const WRITE: u32 = 1 << 1;
    pub const FLUSH: u32 = 1 << 2;
    pub const SYNC: u32 = 1 << 3;
    pub const QUEUE: u32 = 1 << 4;
    pub const REQUEUE: u32 = 1 << 5;
    pub const ISSUE: u32 = 1 << 6;
    pub const COMPLETE: u32 = 1 << 7;
    pub const FS: u32 = 1 << 8;
    pub const PASSTHROUGH: u32 = 1 << 9;
    pub const NOTIFY: u32 = 1 << 10;
    pub const AHEAD: u32 = 1 << 11;
    pub const META: u32 = 1 << 12;
    pub const DISCARD: u32 = 1 << 13;
    pub const DRIVER_DATA: u32 = 1 << 14;
    pub const FUA: u32 = 1 << 15;
}

/// What a notice (a record with [`category::NOTIFY`]) says.
pub mod notice {
    #![allow(missing_docs)]
    pub const PROCESS: u16 = 0;
    pub const TIMESTAMP: u16 = 1;
    pub const MESSAGE: u16 = 2;
}

/// One record, decoded into the byte order of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Number on its CPU and device, from 1; 0 where the source does not count.
    pub sequence: u32,
    /// Time in ns of CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// First sector of 512 bytes on the whole device.
    pub sector: u64,
    /// Length in bytes; of a completion what was completed by this call.
    pub bytes: u32,
    /// The low 16 bits of the action as recorded ([`Action`], [`CGROUP_BIT`], or the number of a [`notice`]).
    pub action_bits: u16,
    /// Category bits: [`category`].
    pub category: u32,
    /// Thread that ran.
    pub pid: u32,
    /// `major << 20 | minor` of the traced device.
    pub device: u32,
    /// Processor.
    pub cpu: u32,
    /// 0, or an errno of either sign.
    pub error: i32,
    /// What follows the record, as it stands in the file (a cgroup id included).
    pub payload: Vec<u8>,
    /// Whether the file it came from has the other byte order (payloads in native order have to be turned).
    pub is_swapped: bool,
}

impl Record {
    /// What happened; None for a notice, and for an action that this program does not know.
    #[must_use]
    pub fn action(&self) -> Option<Action> {
        if self.is_notice() { None } else { Action::from_bits(self.action_bits & !CGROUP_BIT) }
    }

    /// Whether it tells about the trace and not about I/O.
    #[must_use]
    pub fn is_notice(&self) -> bool {
        self.has(category::NOTIFY)
    }

    /// Whether all of these category bits are set.
    #[must_use]
    pub fn has(&self, bits: u32) -> bool {
        self.category & bits == bits
    }

    /// First sector after the extent.
    #[must_use]
    pub fn end_sector(&self) -> u64 {
        self.sector.wrapping_add(u64::from(self.bytes >> 9))
    }

    /// The payload without the cgroup id.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        let skipped = if self.action_bits & CGROUP_BIT != 0 { 8 } else { 0 };
        self.payload.get(skipped..).unwrap_or_default()
    }

    /// Of a split: first sector of what is left. None for other records.
    #[must_use]
    pub fn split_sector(&self) -> Option<u64> {
        let data = self.data().first_chunk::<8>()?;
        (self.action() == Some(Action::Split)).then(|| u64::from_be_bytes(*data))
    }

    /// Of a remap: device and sector that it came from. None for other records.
    #[must_use]
    pub fn remapped_from(&self) -> Option<(u32, u64)> {
        let data = self.data().first_chunk::<16>()?;
        let (device, sector) = (data[..4].try_into().ok()?, data[8..].try_into().ok()?);
        (self.action() == Some(Action::Remap))
            .then(|| (u32::from_be_bytes(device), u64::from_be_bytes(sector)))
    }
}

/// Major number of a device.
#[must_use]
pub fn major(device: u32) -> u32 {
    device >> 20
}

/// Minor number of a device.
#[must_use]
pub fn minor(device: u32) -> u32 {
    device & 0xf_ffff
}
