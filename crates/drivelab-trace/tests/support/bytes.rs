//! Records as bytes, written apart from the crate's own writer so that the two can be compared.

use super::BlockTrace;
use drivelab_trace::record::{CGROUP_BIT, Record, notice};
use std::path::{Path, PathBuf};

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// 7 or 8.
    pub version: u8,
    /// Whether in the byte order that this machine has not.
    pub is_swapped: bool,
    /// Whether records are numbered.
    pub counts_sequence: bool,
}

/// What blktrace writes here.
pub const USUAL: Form = Form { version: 7, is_swapped: false, counts_sequence: true };

fn put(bytes: &mut Vec<u8>, native: &[u8], is_swapped: bool) {
    if is_swapped { bytes.extend(native.iter().rev()) } else { bytes.extend(native) }
}

fn payload_of(record: &Record, is_swapped: bool) -> Vec<u8> {
    let mut payload = record.payload.clone();
    if record.is_swapped != is_swapped {
        let skipped = if record.action_bits & CGROUP_BIT == 0 { 0 } else { 8.min(payload.len()) };
        payload[..skipped].reverse();
        if record.is_notice() && record.action_bits & !CGROUP_BIT == notice::TIMESTAMP {
            payload[skipped..].chunks_mut(4).for_each(<[u8]>::reverse);
        }
    }
    payload
}

/// Appends one record and its payload.
pub fn append(record: &Record, form: Form, bytes: &mut Vec<u8>) {
    let swapped = form.is_swapped;
    let payload = payload_of(record, swapped);
    let action = record.category << 16 | u32::from(record.action_bits);
    put(bytes, &(0x6561_7400 | u32::from(form.version)).to_ne_bytes(), swapped);
    put(bytes, &record.sequence.to_ne_bytes(), swapped);
    put(bytes, &record.time_ns.to_ne_bytes(), swapped);
    put(bytes, &record.sector.to_ne_bytes(), swapped);
    put(bytes, &record.bytes.to_ne_bytes(), swapped);
    if form.version == 8 {
        let action = u64::from(record.category) << 16 | u64::from(record.action_bits);
        put(bytes, &record.pid.to_ne_bytes(), swapped);
        put(bytes, &action.to_ne_bytes(), swapped);
    } else {
        put(bytes, &action.to_ne_bytes(), swapped);
        put(bytes, &record.pid.to_ne_bytes(), swapped);
    }
    put(bytes, &record.device.to_ne_bytes(), swapped);
    put(bytes, &record.cpu.to_ne_bytes(), swapped);
    put(bytes, &(record.error as u16).to_ne_bytes(), swapped);
    put(bytes, &u16::try_from(payload.len()).expect("short payload").to_ne_bytes(), swapped);
    if form.version == 8 {
        bytes.extend([0; 12]);
    }
    bytes.extend(payload);
}

/// Records as one stream.
pub fn stream<'a>(records: impl IntoIterator<Item = &'a Record>, form: Form) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        append(record, form, &mut bytes);
    }
    bytes
}

impl BlockTrace {
    /// The bytes of each CPU's file.
    pub fn files(&self, form: Form) -> Vec<Vec<u8>> {
        let records = self.numbered(form.counts_sequence);
        (0..self.cpus).map(|cpu| stream(records.iter().filter(|record| record.cpu == cpu), form)).collect()
    }

    /// All records in the order of time as one stream.
    pub fn merged(&self, form: Form) -> Vec<u8> {
        stream(&self.numbered(form.counts_sequence), form)
    }

    /// Writes `directory`/`name`.blktrace.0, .1, ...
    pub fn write(&self, directory: &Path, name: &str, form: Form) -> Vec<PathBuf> {
        let numbered = self.files(form).into_iter().enumerate();
        numbered
            .map(|(cpu, bytes)| {
                let path = directory.join(format!("{name}.blktrace.{cpu}"));
                std::fs::write(&path, bytes).expect("a writable directory");
                path
            })
            .collect()
    }
}
