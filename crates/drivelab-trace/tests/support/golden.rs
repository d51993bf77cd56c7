//! The recordings that the repository holds, with what btt says of them.

use super::bytes::{Form, append};
use drivelab_trace::read::{ReadOptions, Recording};
use drivelab_trace::record::Record;
use std::path::Path;

/// Their folder.
pub const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/blktrace");

/// The files of a case: name, CPU, bytes.
pub fn golden_files(case: &str) -> Vec<(String, Option<u32>, Vec<u8>)> {
    let folder = Path::new(GOLDEN).join(case);
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

/// A version 7 file of this machine's order, written in another form; decoded here and not by the crate.
pub fn rewritten(bytes: &[u8], form: Form) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while let Some(fixed) = rest.first_chunk::<48>() {
        let u32_at = |at: usize| u32::from_ne_bytes(fixed[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_ne_bytes(fixed[at..at + 8].try_into().expect("8 bytes"));
        let u16_at = |at: usize| u16::from_ne_bytes(fixed[at..at + 2].try_into().expect("2 bytes"));
        let end = 48 + usize::from(u16_at(46));
        let Some(payload) = rest.get(48..end) else { break };
        let record = Record {
            sequence: u32_at(4),
            time_ns: u64_at(8),
            sector: u64_at(16),
            bytes: u32_at(24),
            action_bits: (u32_at(28) & 0xffff) as u16,
            category: u32_at(28) >> 16,
            pid: u32_at(32),
            device: u32_at(36),
            cpu: u32_at(40),
            error: i32::from(u16_at(44) as i16),
            payload: payload.to_vec(),
            is_swapped: false,
        };
        append(&record, form, &mut out);
        rest = &rest[end..];
    }
    out
}

/// Everything that is read of some bytes, in order; None when they are no recording.
pub fn read_all(files: Vec<(String, Option<u32>, Vec<u8>)>, options: ReadOptions) -> Option<Vec<Record>> {
    let mut recording = Recording::from_bytes(files, options).ok()?;
    let (mut records, mut record) = (Vec::new(), Record::default());
    while recording.next(&mut record) {
        records.push(record.clone());
    }
    Some(records)
}
