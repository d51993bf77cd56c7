//! A reader of the recordings that the repository holds, too simple to be wrong: the oracle of the real one's users.

#![allow(dead_code)]

use drivelab_trace::record::Record;
use std::path::{Path, PathBuf};

/// The folder of recordings with btt's own output beside them.
pub const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/blktrace");

/// The folder of a case.
pub fn golden(case: &str) -> PathBuf {
    Path::new(GOLDEN).join(case)
}

/// The files of a case: name, CPU, bytes.
pub fn golden_files(case: &str) -> Vec<(String, Option<u32>, Vec<u8>)> {
    let folder = golden(case);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            let cpu = name.rsplit_once(".blktrace.").and_then(|(_, number)| number.parse().ok());
            let is_dump = path.extension().is_some_and(|extension| extension == "bin");
            (cpu.is_some() || is_dump).then(|| (name, cpu, std::fs::read(&path).expect("a file")))
        })
        .collect();
    files.sort();
    files
}

/// The whole records of a version 7 file of a little-endian machine.
pub fn records_of(bytes: &[u8]) -> Vec<Record> {
    let (mut records, mut rest) = (Vec::new(), bytes);
    while let Some(fixed) = rest.first_chunk::<48>() {
        let u16_at = |at: usize| u16::from_le_bytes(fixed[at..at + 2].try_into().expect("2 bytes"));
        let u32_at = |at: usize| u32::from_le_bytes(fixed[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(fixed[at..at + 8].try_into().expect("8 bytes"));
        let end = 48 + usize::from(u16_at(46));
        let Some(payload) = rest.get(48..end) else { break };
        records.push(Record {
            sequence: u32_at(4),
            time_ns: u64_at(8),
            sector: u64_at(16),
            bytes: u32_at(24),
            action_bits: u16_at(28),
            category: u32::from(u16_at(30)),
            pid: u32_at(32),
            device: u32_at(36),
            cpu: u32_at(40),
            error: i32::from(u16_at(44) as i16),
            payload: payload.to_vec(),
            is_swapped: false,
        });
        rest = &rest[end..];
    }
    records
}

/// All records of a case, merged by time.
pub fn recording(case: &str) -> Vec<Record> {
    let mut records: Vec<_> = golden_files(case).iter().flat_map(|(_, _, bytes)| records_of(bytes)).collect();
    records.sort_by_key(|record| record.time_ns);
    records
}
