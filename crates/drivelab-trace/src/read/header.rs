//! The fixed part of a record: versions 7 and 8, in both byte orders.

use crate::record::{Action, CGROUP_BIT, Record, category, notice};

const MAGIC: u32 = 0x6561_7400;
/// Length of the fixed part in version 7, the shorter one.
pub(crate) const SHORTEST: usize = 48;
/// Length of the fixed part in version 8.
pub(crate) const LONGEST: usize = 64;
/// No machine that Linux runs on has more processors.
const CPUS_MAX: u32 = 1 << 16;

/// What the first four bytes of a record say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub version: u8,
    pub is_swapped: bool,
}

impl Head {
    /// What starts here; None when it is no record.
    #[inline]
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let magic = u32::from_ne_bytes(*bytes.first_chunk()?);
        let is_swapped = magic & !0xff != MAGIC;
        let magic = if is_swapped { magic.swap_bytes() } else { magic };
        (magic & !0xff == MAGIC).then_some(Self { version: (magic & 0xff) as u8, is_swapped })
    }

    /// What starts here; None when it is no record of a version that this program reads.
    pub(crate) fn readable(bytes: &[u8]) -> Option<Self> {
        Self::of(bytes).filter(|head| head.length().is_some())
    }

    /// Length of the fixed part; None for a version that this program does not know.
    #[inline]
    pub(crate) fn length(self) -> Option<usize> {
        match self.version {
            7 => Some(SHORTEST),
            8 => Some(LONGEST),
            _ => None,
        }
    }
}

/// Decodes a fixed part that is whole; gives the length of the payload. The payload of `record` is left as it is.
#[inline]
pub(crate) fn decode(head: Head, bytes: &[u8], record: &mut Record) -> Option<usize> {
    if head.is_swapped {
        decode_in::<true>(head.version, bytes, record)
    } else {
        decode_in::<false>(head.version, bytes, record)
    }
}

#[inline]
fn decode_in<const SWAPPED: bool>(version: u8, bytes: &[u8], record: &mut Record) -> Option<usize> {
    let short = bytes.first_chunk::<SHORTEST>()?;
    let u16_at = |at: usize, from: &[u8]| {
        let value = u16::from_ne_bytes([from[at], from[at + 1]]);
        if SWAPPED { value.swap_bytes() } else { value }
    };
    let u32_at = |at: usize, from: &[u8]| {
        let value = u32::from_ne_bytes([from[at], from[at + 1], from[at + 2], from[at + 3]]);
        if SWAPPED { value.swap_bytes() } else { value }
    };
    let u64_at = |at: usize, from: &[u8]| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&from[at..at + 8]);
        let value = u64::from_ne_bytes(eight);
        if SWAPPED { value.swap_bytes() } else { value }
    };
    record.is_swapped = SWAPPED;
    record.sequence = u32_at(4, short);
    record.time_ns = u64_at(8, short);
    record.sector = u64_at(16, short);
    record.bytes = u32_at(24, short);
    if version == 7 {
        let action = u32_at(28, short);
        record.action_bits = (action & 0xffff) as u16;
        record.category = action >> 16;
        record.pid = u32_at(32, short);
        record.device = u32_at(36, short);
        record.cpu = u32_at(40, short);
        record.error = i32::from(u16_at(44, short) as i16);
        return Some(usize::from(u16_at(46, short)));
    }
    let long = bytes.first_chunk::<LONGEST>()?;
    record.pid = u32_at(28, long);
    let action = u64_at(32, long);
    record.action_bits = (action & 0xffff) as u16;
    record.category = (action >> 16) as u32;
    record.device = u32_at(40, long);
    record.cpu = u32_at(44, long);
    record.error = i32::from(u16_at(48, long) as i16);
    Some(usize::from(u16_at(50, long)))
}

/// Whether a record holds what a kernel would write, as far as that can be told from it alone.
pub(crate) fn is_plausible(record: &Record) -> bool {
    let kind = record.action_bits & !CGROUP_BIT;
    let is_known = if record.category & category::NOTIFY != 0 {
        kind <= notice::MESSAGE
    } else {
        Action::from_bits(kind).is_some()
    };
    is_known && record.cpu < CPUS_MAX
}
