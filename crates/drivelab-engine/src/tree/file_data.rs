//! What the files of a tree hold: cut from memory that was filled once, stamped so that no two are alike.

use crate::address::{Random, random_for_job, unit};
use crate::buffer::{STAMP_DISTANCE, fill, stamp_offsets};
use crate::workload::{Contents, Workload};

/// Largest part that is written or read with one call.
const PART: usize = 1 << 20;
/// Memory beyond one part, through which the start of each file moves.
const SPREAD: usize = 2 << 20;
/// Least memory for the names of a directory: what the C library takes.
const LISTED: usize = 32 << 10;

/// Memory of one job for its files' contents.
#[derive(Debug)]
pub struct FileData {
    memory: Vec<u8>,
    /// What is read goes elsewhere: it must not come back as the contents of another file.
    read: Vec<u8>,
    part: usize,
    begin: usize,
    contents: Contents,
    random: Random,
}

impl FileData {
    /// The memory for one job of a workload with files up to this size.
    #[must_use]
    pub fn new(workload: &Workload, job: u32, file_bytes_max: u64) -> Self {
        let part =
            (file_bytes_max.min(PART as u64) as usize).next_multiple_of(STAMP_DISTANCE).max(STAMP_DISTANCE);
        let mut random = random_for_job(workload.seed, job ^ (1 << 30));
        let spread = if file_bytes_max == 0 { 16 * STAMP_DISTANCE } else { SPREAD };
        let mut memory = vec![0; part + spread];
        fill(&mut memory, &workload.contents, &mut random);
        let read = vec![0; (part + STAMP_DISTANCE).clamp(LISTED, PART)];
        Self { memory, read, part, begin: 0, contents: workload.contents.clone(), random }
    }

    /// The next contents: those at `offset` of a file of which so many bytes are missing.
    #[inline]
    pub fn next(&mut self, offset: u64, missing: u64) -> &[u8] {
        let size = missing.min(self.part as u64) as usize;
        let share = self.contents.duplicate_fraction;
        if share > 0.0 && unit(&mut self.random) < share {
            return &self.memory[..size];
        }
        self.begin += size.next_multiple_of(STAMP_DISTANCE);
        if self.begin + size > self.memory.len() {
            self.begin = 0;
        }
        let data = &mut self.memory[self.begin..self.begin + size];
        stamp_offsets(data, offset, &self.contents, &mut self.random);
        data
    }

    /// Memory to read into.
    #[inline]
    pub fn memory(&mut self) -> &mut [u8] {
        &mut self.read
    }
}
