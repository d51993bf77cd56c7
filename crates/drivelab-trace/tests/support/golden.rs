//! The recordings that the repository holds, in other forms, and as the crate reads them.

use super::bytes::{Form, append};
use super::plain::records_of;
use drivelab_trace::read::{ReadOptions, Recording};
use drivelab_trace::record::Record;

/// A recording that the repository holds, written in another form; decoded by `plain` and not by the crate.
pub fn rewritten(bytes: &[u8], form: Form) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records_of(bytes) {
        append(&record, form, &mut out);
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
