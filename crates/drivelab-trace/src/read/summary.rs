//! What reading a recording has found beside its records.

use crate::record::{CGROUP_BIT, Record, category, notice};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Damages of one kind that are kept; the others are only counted.
pub const DAMAGES_KEPT: u64 = 50;
const MESSAGES_KEPT: usize = 1000;
const PROCESSES_KEPT: usize = 1 << 20;

/// What kind of damage; the order is that of tables, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DamageKind {
    /// The file could not be read to its end.
    Unreadable,
    /// It is not a recording.
    Foreign,
    /// Records of a version that this program does not know.
    UnknownVersion,
    /// Bytes between records that are none.
    Garbage,
    /// The kernel says in the stream that it lost events.
    LostEvents,
    /// Numbers of records are missing.
    SequenceGap,
    /// The file of a CPU is missing.
    MissingCpu,
    /// The last record is cut short.
    Truncated,
    /// A record of another CPU than the file's; it is left out, as blkparse does.
    WrongCpu,
    /// A record is earlier than the one before it in its file.
    OutOfOrder,
    /// A record in the other byte order than the file's first.
    MixedByteOrder,
}

/// One damage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file's path.
    pub file: String,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// What kind.
    pub kind: DamageKind,
    /// What is wrong, as a sentence without its end.
    pub what: String,
}

/// A text that was written into the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// When, in ns of CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// What it says.
    pub text: String,
}

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Realtime {
    /// ns of CLOCK_MONOTONIC.
    pub monotonic_ns: u64,
    /// ns since 1970.
    pub realtime_ns: u64,
}

/// What has been read so far; complete when the recording has come to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReadSummary {
    /// Records that were handed out.
    pub records: u64,
    /// Notices that were taken out of the stream: names of processes, times of day, messages.
    pub notices: u64,
    /// The first damages of each kind, in the order in which they were met.
    pub damages: Vec<Damage>,
    /// How many damages of each kind there are.
    pub damage_counts: BTreeMap<DamageKind, u64>,
    /// Lost events per CPU, from what the kernel wrote into the stream and from the numbers of records.
    pub lost: Vec<(u32, u64)>,
    /// Of these, records per device that are known from their numbers.
    pub lost_by_device: Vec<(u32, u64)>,
    /// Records that are equal in everything to another of the same time.
    pub duplicates: u64,
    /// Names of threads, by number.
    pub processes: HashMap<u32, String>,
    /// Texts in the trace; the first thousand.
    pub messages: Vec<Message>,
    /// The moment that ties the trace to the time of day.
    pub realtime: Option<Realtime>,
    /// Versions of the records: 7, 8.
    pub versions: Vec<u8>,
    /// Whether records came in the byte order of another machine.
    pub has_other_byte_order: bool,
    /// Numbers of CPUs whose file is missing although files of higher numbers are there.
    pub missing_cpus: Vec<u32>,
    /// Devices with the number of their records, the busiest first.
    pub devices: Vec<(u32, u64)>,
    /// Bytes that were passed over because they are no records.
    pub skipped_bytes: u64,
    /// Time of the first record that was handed out, in ns of CLOCK_MONOTONIC.
    pub first_time_ns: Option<u64>,
    /// Time of the last one.
    pub last_time_ns: Option<u64>,
    /// What blkparse calls 0: the time of the first record, or message, of the merged stream.
    pub zero_ns: Option<u64>,
    /// The files that were read.
    pub files: Vec<String>,
    /// What the user should know about the choice of the files.
    pub notes: Vec<String>,
}

impl ReadSummary {
    /// Lost events of all CPUs.
    #[must_use]
    pub fn lost_total(&self) -> u64 {
        self.lost.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Places at which records are missing.
    #[must_use]
    pub fn loss_places(&self) -> u64 {
        use DamageKind::{Garbage, LostEvents, SequenceGap};
        [LostEvents, SequenceGap, Garbage].map(|kind| self.count(kind)).iter().sum()
    }

    /// How many damages of this kind there are, kept or not.
    #[must_use]
    pub fn count(&self, kind: DamageKind) -> u64 {
        self.damage_counts.get(&kind).copied().unwrap_or(0)
    }

    /// Whether nothing was lost, left out or passed over.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.damage_counts.is_empty() && self.lost.is_empty()
    }
}

/// Gathers what all files of a recording tell.
#[derive(Default)]
pub(crate) struct Findings {
    pub damages: Vec<Damage>,
    pub damage_counts: BTreeMap<DamageKind, u64>,
    /// Places at which records may be missing, or only come later.
    pub losses: u64,
    pub lost_in_text: BTreeMap<u32, u64>,
    pub processes: HashMap<u32, String>,
    pub messages: Vec<Message>,
    pub notices: u64,
    pub realtime: Option<Realtime>,
    pub skipped_bytes: u64,
    /// In compat mode: the byte order of the first record, which blkparse expects of all files.
    pub expected_order: Option<bool>,
}

impl Findings {
    /// Counts a damage, and keeps it when there are few of its kind.
    #[cold]
    pub fn damage(&mut self, kind: DamageKind, file: &str, offset: u64, what: impl FnOnce() -> String) {
        let count = self.damage_counts.entry(kind).or_default();
        *count += 1;
        let is_loss = matches!(kind, DamageKind::LostEvents | DamageKind::Garbage);
        self.losses += u64::from(is_loss);
        if *count <= DAMAGES_KEPT {
            self.damages.push(Damage { file: file.to_owned(), offset, kind, what: what() });
        }
    }

    /// Takes in the name of a process or a time of day.
    #[cold]
    pub fn notice(&mut self, record: &Record) {
        self.notices += 1;
        let data = record.data();
        match record.action_bits & !CGROUP_BIT {
            notice::PROCESS
                if self.processes.len() < PROCESSES_KEPT || self.processes.contains_key(&record.pid) =>
            {
                self.processes.insert(record.pid, text_of(data));
            }
            notice::TIMESTAMP if self.realtime.is_none() => self.realtime = realtime_of(record),
            _ => {}
        }
    }

    /// Takes in a text.
    #[cold]
    pub fn message(&mut self, record: &Record) {
        self.notices += 1;
        if self.messages.len() < MESSAGES_KEPT {
            self.messages.push(Message { time_ns: record.time_ns, text: text_of(record.data()) });
        }
    }
}

/// Whether blkparse keeps this notice in the stream until its time has come.
pub(crate) fn is_message(record: &Record) -> bool {
    record.category == category::NOTIFY && record.action_bits & !CGROUP_BIT == notice::MESSAGE
}

fn realtime_of(record: &Record) -> Option<Realtime> {
    let words = record.data().first_chunk::<8>()?;
    let word = |at: usize| {
        let native = u32::from_ne_bytes([words[at], words[at + 1], words[at + 2], words[at + 3]]);
        u64::from(if record.is_swapped { native.swap_bytes() } else { native })
    };
    Some(Realtime { monotonic_ns: record.time_ns, realtime_ns: word(0) * 1_000_000_000 + word(4) })
}

fn text_of(data: &[u8]) -> String {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    String::from_utf8_lossy(&data[..end]).into_owned()
}
