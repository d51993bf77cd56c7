//! A commit with a rollback journal, as SQLite makes it: the pages that are going to change are kept in a new
//! file, which is made durable with its name; its header then says so; the pages are overwritten, and once
//! they are durable the journal goes.

use std::os::fd::RawFd;

use super::calls::{self, CallResult, Calls};
use super::file_data::FileData;
use super::layout::Variant;
use super::places::Places;

const PAGE: u64 = 4096;
/// A file has the two pages that are overwritten: its first, and its last.
pub const UPDATED_BYTES_MIN: u64 = 2 * PAGE;
/// Offset and size of the journal's writes: a header, and each page between its number and its checksum.
const JOURNAL: [(u64, u64); 7] =
    [(0, 512), (512, 4), (516, PAGE), (4612, 4), (4616, 4), (4620, PAGE), (8716, 4)];
/// How many pages the journal holds is written only once they are durable.
const PAGE_COUNT: (u64, u64) = (0, 12);
/// What all of that comes to.
pub const UPDATE_BYTES: u64 = 8720 + 12 + 2 * PAGE;

/// The file of a commit and the directory that it lies in.
pub struct Updated<'a> {
    /// Where it lies.
    pub places: &'a mut Places,
    /// Its number.
    pub number: u64,
    /// Its name now.
    pub variant: Variant,
    /// Whether the name of the journal is made durable.
    pub syncs_directory: bool,
}

impl Calls {
    /// Overwrites two pages of a file behind a journal that is gone afterwards; returns the bytes written.
    pub fn update(&mut self, updated: &mut Updated, data: &mut FileData) -> CallResult<u32> {
        let syncs = self.is_sync_due();
        let file = self.open(updated.places.name(updated.number, updated.variant), 0)?;
        let name = updated.places.name(updated.number, Variant::Journal);
        let written = self.open(name, libc::O_CREAT | libc::O_EXCL).and_then(|journal| {
            let written = self.write_behind(journal, file, updated, syncs, data);
            let closed = calls::close(journal);
            written.and(closed).and(calls::unlink(name, 0))
        });
        calls::close(file)?;
        written.map(|_| UPDATE_BYTES as u32)
    }

    fn write_behind(
        &self,
        journal: RawFd,
        file: RawFd,
        updated: &mut Updated,
        syncs: bool,
        data: &mut FileData,
    ) -> CallResult<()> {
        self.write_parts(journal, &JOURNAL, syncs, data)?;
        if updated.syncs_directory {
            updated.places.sync_directory_of(updated.number)?;
        }
        self.write_parts(journal, &[PAGE_COUNT], syncs, data)?;
        let last_page = (updated.places.file_bytes(updated.number) / PAGE - 1) * PAGE;
        self.write_parts(file, &[(0, PAGE), (last_page, PAGE)], syncs, data)
    }

    /// Writes parts of a file, and makes them durable.
    fn write_parts(
        &self,
        fd: RawFd,
        parts: &[(u64, u64)],
        syncs: bool,
        data: &mut FileData,
    ) -> CallResult<()> {
        for &(offset, size) in parts {
            self.write_all(fd, data.next(offset, size), offset)?;
        }
        self.sync(fd, syncs)
    }
}
