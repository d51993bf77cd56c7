//! What an operation makes the drive do. Commands are counted from D, bios from Q.

use std::ops::AddAssign;

use serde::Serialize;

use super::Explained;
use super::carried::is_without_requests;
use crate::lifetime::{Bio, Class, Command};
use crate::record::category;

/// Counts of commands and of bios, and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Commands that wrote data, those of the journal included.
    pub device_writes: u32,
    /// Those of them that carried a bio of the journal, as far as the layers between say so.
    pub journal_writes: u32,
    /// Commands that read data.
    pub device_reads: u32,
    /// Commands that emptied the write cache.
    pub flushes: u32,
    /// Bios with Force Unit Access.
    pub fua_writes: u32,
    /// Bios with data and a flush before them.
    pub preflush_writes: u32,
    /// By `device_writes`.
    pub bytes_written: u64,
    /// By `device_reads`.
    pub bytes_read: u64,
    /// By `journal_writes`.
    pub journal_bytes: u64,
    /// Bios.
    pub bios: u32,
}

impl Work {
    /// What one command is.
    #[must_use]
    pub fn of_command(command: &Command, is_journal: bool) -> Self {
        let bytes = u64::from(command.bytes);
        match Class::of(command.category, command.bytes) {
            Class::Flush => Self { flushes: 1, ..Self::default() },
            Class::Read => Self { device_reads: 1, bytes_read: bytes, ..Self::default() },
            Class::Write | Class::FuaWrite | Class::Metadata if bytes > 0 => Self {
                device_writes: 1,
                bytes_written: bytes,
                journal_writes: u32::from(is_journal),
                journal_bytes: if is_journal { bytes } else { 0 },
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    /// What one bio is; one that the driver took as it was is a command, too.
    #[must_use]
    pub fn of_bio(bio: &Bio, is_journal: bool) -> Self {
        let has = |bits: u32| bio.category & bits != 0;
        let writes = bio.bytes > 0 && has(category::WRITE) && !has(category::DISCARD);
        let command = Command { bytes: bio.bytes, category: bio.category, ..Command::default() };
        let taken = is_without_requests(bio).then(|| Self::of_command(&command, is_journal));
        Self {
            bios: 1,
            fua_writes: u32::from(writes && has(category::FUA)),
            preflush_writes: u32::from(writes && has(category::FLUSH)),
            ..taken.unwrap_or_default()
        }
    }
}

impl AddAssign<&Work> for Work {
    fn add_assign(&mut self, other: &Work) {
        self.device_writes += other.device_writes;
        self.journal_writes += other.journal_writes;
        self.device_reads += other.device_reads;
        self.flushes += other.flushes;
        self.fua_writes += other.fua_writes;
        self.preflush_writes += other.preflush_writes;
        self.bytes_written += other.bytes_written;
        self.bytes_read += other.bytes_read;
        self.journal_bytes += other.journal_bytes;
        self.bios += other.bios;
    }
}

/// Books work to an operation, or to nobody: never twice.
pub fn book(operations: &mut [Explained], unmatched: &mut Work, operation: Option<usize>, work: &Work) {
    match operation {
        Some(index) => operations[index].work += work,
        None => *unmatched += work,
    }
}
