//! The way of a recording: read, btt's table, lives, what they come to, and the join with operations.

use std::collections::HashSet;

use crate::bytes::is_rare;
use crate::campaign::Reached;
use crate::case::Case;
use crate::joining;
use crate::lives::Dice;
use crate::memory::measured;
use crate::on_disk;
use crate::stations;
use crate::told;
use drivelab_trace::compat::{Flavour, Table};
use drivelab_trace::follow::{Collected, Follower};
use drivelab_trace::lifetime::{Bio, Command, Sink};
use drivelab_trace::phases::{Options, report};
use drivelab_trace::read::{ReadOptions, ReadSummary, Recording};
use drivelab_trace::record::{Action, Record};
use drivelab_trace::traps::Traps;

/// The shortest record takes so many bytes.
const RECORD_BYTES: usize = 48;

/// What was read.
pub struct Read {
    pub records: Vec<Record>,
    /// Places before which records were lost.
    pub losses: Vec<usize>,
    pub summary: ReadSummary,
}

impl Read {
    /// Whether no record is earlier than the one before it.
    pub fn is_in_order(&self) -> bool {
        self.records.is_sorted_by_key(|record| record.time_ns)
    }
}

fn options(dice: &mut Dice) -> ReadOptions {
    ReadOptions { compat: dice.is_true(), without_duplicates: dice.is_true(), stops_at_gap: dice.is_true() }
}

fn opened(case: &Case, options: ReadOptions) -> Option<Recording> {
    Recording::from_bytes(case.sources(), options).ok()
}

fn read(case: &Case, options: ReadOptions) -> Option<Read> {
    let bytes = case.bytes();
    let ((), taken) = measured(|| {
        let Some(mut recording) = opened(case, options) else { return };
        let mut record = Record::default();
        while recording.next(&mut record) {}
    });
    // the files themselves, their buffers, and what is kept of notices
    let allowed = 3 * bytes + (case.files.len() << 19) + (4 << 20) + bytes * 8;
    assert!(taken.peak <= allowed, "{taken:?} of memory to read {bytes} bytes");
    let mut recording = opened(case, options)?;
    let (mut records, mut losses, mut record) = (Vec::new(), Vec::new(), Record::default());
    let mut known = 0;
    while recording.next(&mut record) {
        let _ = (record.action(), record.split_sector(), record.remapped_from(), record.end_sector());
        if recording.losses() != known {
            known = recording.losses();
            losses.push(records.len());
        }
        records.push(record.clone());
    }
    let summary = recording.summary();
    let most = bytes / RECORD_BYTES + case.files.len();
    assert!(records.len() <= most, "{} records in {bytes} bytes", records.len());
    assert_eq!(summary.records, records.len() as u64);
    assert!(summary.skipped_bytes <= bytes as u64);
    assert!(!options.without_duplicates || records.len() as u64 + summary.duplicates <= most as u64);
    told::is_json(&serde_json::to_string(&summary).expect("a summary is told"));
    Some(Read { records, losses, summary })
}

fn tables(read: &Read) {
    for flavour in [Flavour::V1_2, Flavour::Legacy] {
        let mut table = Table::new(flavour);
        read.records.iter().for_each(|record| table.push(record));
        let queued = read.records.iter().filter(|record| record.action() == Some(Action::Queue)).count();
        assert!(table.bios_completed() + table.outstanding() as u64 <= queued as u64);
        for row in table.rows() {
            assert!(row.n > 0 && row.min_ns <= row.max_ns);
            assert!(row.avg_s().is_finite() && row.min_s() <= row.max_s());
        }
        let text = table.text() + &table.per_device_text();
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        let of_devices: u64 = table.devices().flat_map(|(_, rows)| rows).map(|row| row.n).sum();
        let of_all: u64 = table.rows().iter().map(|row| row.n).sum();
        // from one Q to the next: each device has one time less
        assert!(of_devices <= of_all, "{of_devices} times of devices, {of_all} of all");
    }
}

/// Counts and forgets.
#[derive(Default)]
struct Counted {
    bios: u64,
    commands: u64,
}

impl Sink for Counted {
    fn bio(&mut self, _: Bio) {
        self.bios += 1;
    }

    fn command(&mut self, _: Command) {
        self.commands += 1;
    }
}

fn feed<S: Sink>(
    follower: &mut Follower,
    read: &Read,
    sink: &mut S,
    mut after: impl FnMut(&Follower, &mut S),
) {
    let mut losses = read.losses.iter().peekable();
    for (place, record) in read.records.iter().enumerate() {
        if losses.next_if_eq(&&place).is_some() {
            follower.mark_loss();
        }
        follower.push(record, sink);
        after(follower, sink);
    }
}

/// What is kept of I/O that has ended is nothing, and of I/O that is open some hundred bytes.
fn follow_in_little_memory(read: &Read) {
    let mut open_max = 0;
    let ((), taken) = measured(|| {
        let (mut follower, mut sink) = (Follower::new(), Counted::default());
        feed(&mut follower, read, &mut sink, |follower, sink| {
            let counts = follower.counts();
            let bios = counts.bios_opened - sink.bios;
            let commands = counts.commands_issued - sink.commands;
            // each piece of a bio has books of its own
            open_max = open_max.max(bios + commands + counts.splits + counts.orphan_issues);
            let (queued, in_flight) = follower.depths();
            assert!(u64::from(queued) <= bios, "{queued} of {bios} open bios wait");
            let unknown = counts.orphan_issues + counts.requeues;
            assert!(u64::from(in_flight) <= commands + unknown, "{in_flight} in flight of {commands}");
        });
    });
    let places: HashSet<_> = read.records.iter().map(|record| (record.device, record.cpu)).collect();
    let devices = places.len();
    let allowed = (1 << 20) + 2_000 * (open_max as usize + devices);
    assert!(taken.peak <= allowed, "{taken:?} for {open_max} open at once on {devices} devices and CPUs");
}

fn follow(read: &Read, is_lossy: bool) -> (Collected, serde_json::Value) {
    let mut follower = if is_lossy { Follower::of_lossy_trace() } else { Follower::new() };
    let mut lives = Collected::default();
    feed(&mut follower, read, &mut lives, |_, _| {});
    follower.finish(&mut lives);
    let counts = *follower.counts();
    assert_eq!(lives.bios.len() as u64, counts.bios_opened);
    assert_eq!(lives.commands.len() as u64, counts.commands_issued);
    let ended = lives.bios.iter().filter(|bio| bio.ended.is_some()).count() as u64;
    assert_eq!(ended, counts.bios_closed);
    let completed = lives.commands.iter().filter(|command| command.completed.is_some()).count() as u64;
    assert_eq!(completed, counts.commands_completed);
    stations::check(&lives, read.is_in_order());
    (lives, serde_json::to_value(counts).expect("counts are told"))
}

fn whole_report(
    case: &Case,
    read: &Read,
    options: ReadOptions,
    dice: &mut Dice,
) -> Option<serde_json::Value> {
    let mut recording = opened(case, options)?;
    let with_btt = dice.is_true();
    let told = report(&mut recording, Options { with_btt });
    told::check(&told);
    let (_, counts) = follow(read, false);
    assert_eq!(told["counts"], counts);
    Some(told)
}

fn magnitudes(reached: &mut Reached, group: u64, counts: impl Iterator<Item = u64>) {
    let named = counts.enumerate().filter(|(_, count)| *count > 0);
    reached.extend(named.map(|(place, count)| group << 32 | (place as u64) << 6 | u64::from(count.ilog2())));
}

/// Takes an input all the way.
pub fn check(case: &Case) -> Reached {
    let mut dice = Dice(case.seed);
    let options = options(&mut dice);
    let mut reached = Reached::new();
    if is_rare(&mut dice, 60) {
        on_disk::check_recording(case, options, &mut dice);
    }
    let Some(read) = read(case, options) else { return reached };
    let mut traps = Traps::default();
    read.records.iter().for_each(|record| traps.push(record));
    assert!(traps.with_cgroup <= read.summary.records);
    tables(&read);
    follow_in_little_memory(&read);
    let (lives, counts) = follow(&read, dice.is_true());
    if let Some(told) = whole_report(case, &read, options, &mut dice) {
        let warnings = told["warnings"].as_array().expect("a list");
        magnitudes(&mut reached, 3, std::iter::once(warnings.len() as u64));
    }
    joining::check(&lives, &read.summary, &mut dice);
    magnitudes(
        &mut reached,
        1,
        counts.as_object().expect("counts").values().filter_map(serde_json::Value::as_u64),
    );
    let damages = &read.summary.damage_counts;
    reached
        .extend(damages.iter().map(|(kind, count)| 2 << 32 | (*kind as u64) << 6 | u64::from(count.ilog2())));
    reached
}
