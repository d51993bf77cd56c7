//! A range in parts, one after the other: fio's `zonemode=strided`.

use crate::workload::Access;

/// The zones of a job's range.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    bytes: u64,
    io_bytes: u64,
    step: u64,
    first: u64,
    end: u64,
    /// Where the present one begins.
    start: u64,
    /// Bytes of the I/Os in it.
    moved: u64,
}

impl Turns {
    /// `None` where the order goes over the whole range.
    pub(super) fn of(access: &Access, start: u64, length: u64) -> Option<Self> {
        let bytes = access.zone_bytes;
        let step = bytes.saturating_add(access.zone_skip_bytes);
        let io_bytes = if access.zone_io_bytes == 0 { bytes } else { access.zone_io_bytes };
        let end = start + length;
        (0 < bytes && bytes < length).then_some(Self {
            bytes,
            io_bytes,
            step,
            first: start,
            end,
            start,
            moved: 0,
        })
    }

    /// Start of the zone in which the order begins anew with an I/O of `size` bytes: the next zone after so many bytes,
    /// the same one whenever as many as it has were moved; `None` where it goes on.
    pub(super) fn begun_by(&mut self, size: u64) -> Option<u64> {
        if self.moved >= self.io_bytes {
            self.moved = 0;
            self.start = self.start.saturating_add(self.step);
            if self.start.saturating_add(self.bytes) > self.end {
                self.start = self.first;
            }
        }
        let begins = self.moved.is_multiple_of(self.bytes);
        self.moved += size;
        begins.then_some(self.start)
    }
}
