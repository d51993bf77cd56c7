//! A reader of version-7 files that is too simple to be wrong: the oracle of the real one's users.

#![allow(dead_code)]

use drivelab_trace::record::Record;
use std::path::{Path, PathBuf};

/// Recordings with btt's own output beside them.
pub fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/blktrace").join(case)
}

fn records_of(path: &Path) -> Vec<Record> {
    let bytes = std::fs::read(path).expect("a recording");
    let (mut records, mut at) = (Vec::new(), 0);
    while at + 48 <= bytes.len() {
        let word = |offset: usize| u32::from_le_bytes(bytes[at + offset..][..4].try_into().expect("4 bytes"));
        let long = |offset: usize| u64::from_le_bytes(bytes[at + offset..][..8].try_into().expect("8 bytes"));
        let payload_bytes = (word(44) >> 16) as usize;
        let Some(payload) = bytes.get(at + 48..at + 48 + payload_bytes) else { break };
        records.push(Record {
            sequence: word(4),
            time_ns: long(8),
            sector: long(16),
            bytes: word(24),
            action_bits: (word(28) & 0xffff) as u16,
            category: word(28) >> 16,
            pid: word(32),
            device: word(36),
            cpu: word(40),
            error: i32::from((word(44) & 0xffff) as i16),
            payload: payload.to_vec(),
            is_swapped: false,
        });
        at += 48 + payload_bytes;
    }
    records
}

/// All records of a case, merged by time.
pub fn recording(case: &str) -> Vec<Record> {
    let mut files: Vec<_> = std::fs::read_dir(golden(case))
        .expect("a case")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| {
            path.to_string_lossy().contains(".blktrace.") || path.extension().is_some_and(|end| end == "bin")
        })
        .collect();
    files.sort();
    let mut records: Vec<_> = files.iter().flat_map(|path| records_of(path)).collect();
    records.sort_by_key(|record| record.time_ns);
    records
}
