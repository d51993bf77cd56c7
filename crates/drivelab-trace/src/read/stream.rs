//! One file of a recording: its records one after the other, whatever stands between them.

use super::header::{self, Head, LONGEST, SHORTEST};
use super::sequence::Tallies;
use super::summary::{DamageKind, Findings, is_message};
use super::window::Window;
use crate::record::{Record, category};

/// blkparse reads so many records of a file at once.
const BATCH: u32 = 512;

/// So many bytes tell what comes after a record.
const FOLLOWER: usize = 4;

/// Whose rules are followed where a file is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Everything that can be read is.
    Ours,
    /// blkparse's on a CPU's file: the first thing that is no record ends it.
    Blkparse,
    /// btt's on a merged dump: as ours, but what a last record lacks are zeros.
    Btt,
}

/// Records of blkparse's current batch: one without a record that it keeps ends the file.
#[derive(Default)]
struct Batch {
    read: u32,
    kept: u32,
}

/// What one step through the file has come to.
pub(super) enum Step {
    /// A record stands in `head`.
    Record,
    /// Nothing yet.
    Again,
    /// The file has come to its end.
    End,
}

/// A file that is being read.
pub(crate) struct Stream {
    pub(super) window: Window,
    pub(super) file: String,
    pub(super) rules: Rules,
    /// The CPU that its name says; None for a merged dump.
    pub(super) cpu: Option<u32>,
    /// The record that comes next.
    pub head: Record,
    /// For a look at what may be a record.
    pub(super) scratch: Record,
    last_time_ns: u64,
    pub tallies: Tallies,
    is_swapped: Option<bool>,
    pub has_other_byte_order: bool,
    has_version: [bool; 2],
    batch: Batch,
    /// Whether anything in it was a record.
    pub(super) has_records: bool,
    /// Whether it turned out to be no recording.
    pub is_foreign: bool,
}

impl Stream {
    pub(crate) fn new(window: Window, file: String, cpu: Option<u32>, rules: Rules) -> Self {
        Self {
            window,
            file,
            rules,
            cpu,
            head: Record::default(),
            scratch: Record::default(),
            last_time_ns: 0,
            tallies: Tallies::default(),
            is_swapped: None,
            has_other_byte_order: false,
            has_version: [false; 2],
            batch: Batch::default(),
            has_records: false,
            is_foreign: false,
        }
    }

    /// Whether it is one CPU's file.
    pub(crate) fn is_of_a_cpu(&self) -> bool {
        self.cpu.is_some()
    }

    /// Versions of the records so far.
    pub(crate) fn versions(&self) -> impl Iterator<Item = u8> {
        [7, 8].into_iter().zip(self.has_version).filter_map(|(version, has)| has.then_some(version))
    }

    /// Goes to the next record that belongs into the merged stream; false at the end of the file.
    #[inline]
    pub(crate) fn advance(&mut self, findings: &mut Findings) -> bool {
        loop {
            match self.step(findings) {
                Step::Record => return true,
                Step::Again => {}
                Step::End => return self.end(findings),
            }
        }
    }

    #[cold]
    fn end(&mut self, findings: &mut Findings) -> bool {
        if let Some(error) = self.window.take_failure() {
            let at = self.window.offset();
            findings
                .damage(DamageKind::Unreadable, &self.file, at, || format!("it can't be read on: {error}"));
        }
        false
    }

    #[inline]
    fn step(&mut self, findings: &mut Findings) -> Step {
        let bytes = self.window.look(LONGEST + FOLLOWER);
        let Some(head) = Head::of(bytes) else {
            return if bytes.is_empty() { Step::End } else { self.stray(findings) };
        };
        let Some(length) = head.length() else { return self.unknown_version(head.version, findings) };
        if bytes.len() < length {
            return self.short(head, findings);
        }
        if self.is_swapped != Some(head.is_swapped) && !self.takes_order(head, findings) {
            return Step::End;
        }
        let bytes = self.window.bytes();
        let Some(payload) = header::decode(head, bytes, &mut self.head) else { return Step::End };
        self.has_version[usize::from(head.version == 8)] = true;
        let at = self.window.offset();
        self.head.payload.clear();
        let whole = length + payload;
        let bytes = if payload > 0 { self.window.look(whole + FOLLOWER) } else { self.window.bytes() };
        let is_sound =
            bytes.len() >= whole && payload < SHORTEST && super::recovery::may_follow(&bytes[whole..]);
        if !is_sound && let Some(step) = self.doubtful(length, whole, findings) {
            return step;
        }
        if payload > 0 {
            self.head.payload.extend_from_slice(&self.window.bytes()[length..whole]);
        }
        self.window.skip(whole);
        self.accept(at, findings)
    }

    /// Takes note of the byte order; false when the file ends here for blkparse.
    #[cold]
    fn takes_order(&mut self, head: Head, findings: &mut Findings) -> bool {
        let at = self.window.offset();
        if self.rules == Rules::Blkparse {
            let expected = *findings.expected_order.get_or_insert(head.is_swapped);
            if expected != head.is_swapped {
                findings.damage(DamageKind::MixedByteOrder, &self.file, at, || {
                    "the byte order is not that of the first file, so blkparse reads no further here"
                        .to_owned()
                });
                return false;
            }
        }
        if self.is_swapped.is_some() {
            findings.damage(DamageKind::MixedByteOrder, &self.file, at, || {
                "from here on the byte order is another; it is read".to_owned()
            });
        }
        self.is_swapped = Some(head.is_swapped);
        self.has_other_byte_order |= head.is_swapped;
        self.has_records = true;
        true
    }

    /// Decides what becomes of a record that is whole.
    #[inline]
    pub(super) fn accept(&mut self, at: u64, findings: &mut Findings) -> Step {
        if self.cpu.is_some_and(|cpu| cpu != self.head.cpu) {
            return self.wrong_cpu(at, findings);
        }
        if self.head.category & category::NOTIFY != 0 {
            if !is_message(&self.head) {
                findings.notice(&self.head);
                return Step::Again;
            }
            if self.cpu.is_none() {
                // blkparse -d leaves the times of messages as they were, and lets those of all else begin at 0
                findings.message(&self.head);
                return Step::Again;
            }
        }
        if self.rules == Rules::Blkparse {
            self.batch.kept += 1;
            self.count_batch();
        }
        let time_ns = self.head.time_ns;
        if time_ns < self.last_time_ns {
            let earlier_ns = self.last_time_ns - time_ns;
            findings.damage(DamageKind::OutOfOrder, &self.file, at, || {
                format!("this record is {earlier_ns} ns earlier than the one before it")
            });
        }
        self.last_time_ns = time_ns;
        if self.head.category & category::NOTIFY == 0 {
            let (cpu, device, sequence) = (self.head.cpu, self.head.device, self.head.sequence);
            // they may still come
            findings.losses += u64::from(self.tallies.count(cpu, device, sequence, at));
        }
        Step::Record
    }

    #[cold]
    fn wrong_cpu(&mut self, at: u64, findings: &mut Findings) -> Step {
        let (cpu, file_cpu) = (self.head.cpu, self.cpu.unwrap_or_default());
        findings.damage(DamageKind::WrongCpu, &self.file, at, || {
            format!("a record of CPU {cpu} in the file of CPU {file_cpu} is left out")
        });
        let ends = self.rules == Rules::Blkparse && self.count_batch();
        if ends { Step::End } else { Step::Again }
    }

    /// Counts a record of blkparse's batch; whether the batch is over and held none that is kept.
    fn count_batch(&mut self) -> bool {
        self.batch.read += 1;
        if self.batch.read < BATCH {
            return false;
        }
        let is_empty = self.batch.kept == 0;
        self.batch = Batch::default();
        is_empty
    }
}
