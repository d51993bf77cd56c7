//! The notices that stand among records: names of threads, and texts.

use std::collections::HashMap;

use super::convert::Subject;
use crate::record::{Record, category, notice};

const NAME_BYTES: usize = 16;
const IDLE: &str = "swapper";

/// Names of threads, told once before the first record of each, and again when a name has changed.
pub(super) struct Notices<'a> {
    subject: &'a Subject,
    told: HashMap<u32, [u8; NAME_BYTES]>,
    record: Record,
}

impl<'a> Notices<'a> {
    pub fn new(subject: &'a Subject, cpu: u32) -> Self {
        Self { subject, told: HashMap::new(), record: empty(subject.device, cpu, notice::PROCESS) }
    }

    /// The notice that has to stand before a record; None where its thread's name was told, or nobody knows it.
    pub fn before(&mut self, record: &Record, process: Option<&[u8]>) -> Option<&Record> {
        let told = self.told.get(&record.pid);
        let name = match (process, told) {
            (Some(name), _) => padded(name),
            (None, Some(_)) => return None,
            (None, None) if record.pid == 0 => padded(IDLE.as_bytes()),
            (None, None) => {
                padded(self.subject.processes.get(&record.pid).map_or(b"", |name| name.as_bytes()))
            }
        };
        if told == Some(&name) {
            return None;
        }
        self.told.insert(record.pid, name);
        if name[0] == 0 {
            return None;
        }
        self.record.pid = record.pid;
        self.record.time_ns = record.time_ns;
        self.record.payload.clear();
        self.record.payload.extend(name);
        Some(&self.record)
    }
}

/// A text for people.
#[must_use]
pub fn message(device: u32, cpu: u32, monotonic_ns: u64, text: &str) -> Record {
    let mut record = empty(device, cpu, notice::MESSAGE);
    record.time_ns = monotonic_ns;
    record.payload.extend(text.as_bytes());
    record
}

fn empty(device: u32, cpu: u32, kind: u16) -> Record {
    Record { device, cpu, action_bits: kind, category: category::NOTIFY, ..Record::default() }
}

fn padded(name: &[u8]) -> [u8; NAME_BYTES] {
    let mut padded = [0; NAME_BYTES];
    // the last byte ends the text
    let length = name.len().min(NAME_BYTES - 1);
    padded[..length].copy_from_slice(&name[..length]);
    padded
}
