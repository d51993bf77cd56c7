//! The order of records is blkparse's, record by record.

mod support;

use drivelab_trace::read::{ReadOptions, Recording};
use drivelab_trace::record::{Action, Record, category, notice};
use drivelab_trace::write::RecordWriter;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::bytes::{Form, USUAL, append, stream};
use support::plain::{GOLDEN, golden_files};
use support::{BlockTrace, Io, SDA, SDB, scratch};

const COMPAT: ReadOptions = ReadOptions { compat: true, without_duplicates: false, stops_at_gap: false };

/// Whether blkparse can be asked; without it such a test proves nothing, and says so.
fn has_blkparse() -> bool {
    let is_there =
        Command::new("blkparse").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    let is_required = std::env::var("DRIVELAB_REQUIRE_ALL").is_ok_and(|value| value == "1");
    assert!(
        is_there || !is_required,
        "blkparse is not installed (package blktrace), and DRIVELAB_REQUIRE_ALL is set"
    );
    if !is_there {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: blkparse is not installed (package blktrace)");
    }
    is_there
}

/// The records of blkparse's dump, without notices.
fn dumped_by_blkparse(directory: &Path, names: &[&str]) -> Vec<Record> {
    let dump = directory.join("dump.bin");
    let _ = std::fs::remove_file(&dump);
    let mut command = Command::new("blkparse");
    names.iter().for_each(|name| {
        command.args(["-i", name]);
    });
    let command = command.args(["-q", "-O", "-d", "dump.bin"]).current_dir(directory);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("blkparse");
    // it fails when there is no file to read, but must not have died
    assert!(status.code().is_some());
    records_of(&std::fs::read(&dump).unwrap_or_default())
}

/// The records of a merged dump, taken apart by nothing but their lengths.
fn records_of(bytes: &[u8]) -> Vec<Record> {
    let (mut rest, mut records) = (bytes, Vec::new());
    while rest.len() >= 48 {
        let end = 48 + usize::from(u16::from_ne_bytes([rest[46], rest[47]]));
        let file = vec![("one".to_owned(), None, rest[..end].to_vec())];
        records.extend(support::golden::read_all(file, ReadOptions::default()).expect("a record"));
        rest = &rest[end..];
    }
    records
}

fn read(paths: &[PathBuf], options: ReadOptions) -> Vec<Record> {
    let mut recording = Recording::open_with(paths, options).expect("a recording");
    let (mut records, mut record) = (Vec::new(), Record::default());
    while recording.next(&mut record) {
        // blkparse turns all but the payload into this machine's order
        records.push(Record { is_swapped: false, ..record.clone() });
    }
    records
}

fn assert_same(ours: &[Record], theirs: &[Record], what: &str) {
    let differing = ours.iter().zip(theirs).position(|(our, their)| our != their);
    if let Some(at) = differing {
        panic!("{what}: record {at} is {:?}, but {:?} for blkparse", ours[at], theirs[at]);
    }
    assert_eq!(ours.len(), theirs.len(), "{what}");
}

#[test]
fn real_recordings_come_in_blkparses_order() {
    if !has_blkparse() {
        return;
    }
    for case in ["raw_over1", "ext4_append1", "xfs_append1", "wt_raw_over1", "relaylike"] {
        let directory = scratch(&format!("real_{case}"));
        for (name, _, bytes) in golden_files(case) {
            std::fs::write(directory.join(name), bytes).expect("a file");
        }
        let theirs = dumped_by_blkparse(&directory, &[case]);
        assert!(theirs.len() > 500, "{case}");
        assert_same(&read(&[directory.join(case)], COMPAT), &theirs, case);
        let accurate = read(&[directory], ReadOptions::default());
        let zero = accurate[0].time_ns;
        let rebased: Vec<Record> =
            accurate.into_iter().map(|record| Record { time_ns: record.time_ns - zero, ..record }).collect();
        assert_same(&rebased, &theirs, case);
    }
    assert!(Path::new(GOLDEN).join("manifest.json").exists());
}

#[test]
fn two_devices_are_merged_as_blkparse_does() {
    if !has_blkparse() {
        return;
    }
    let directory = scratch("two_devices");
    for (name, device, first) in [("sda", SDA, 1_000), ("sdb", SDB, 1_000)] {
        let mut trace = BlockTrace::new(2);
        trace.device = device;
        for index in 0..2_000 {
            trace.io(first + index * 1_000, &Io { sector: index * 8, ..Io::default() });
        }
        trace.write(&directory, name, USUAL);
    }
    let theirs = dumped_by_blkparse(&directory, &["sda", "sdb"]);
    assert_eq!(theirs.len(), 28_000);
    assert_same(&read(std::slice::from_ref(&directory), COMPAT), &theirs, "a directory of two devices");
    let names = [directory.join("sda"), directory.join("sdb.blktrace.1")];
    assert_same(&read(&names, COMPAT), &theirs, "two names");
}

#[test]
fn what_the_writer_writes_is_read_by_blkparse() {
    if !has_blkparse() {
        return;
    }
    let directory = scratch("written");
    let mut trace = BlockTrace::new(2);
    trace.many_ios(200);
    trace.split_io(90_000_000, 0, &[4096, 4096]);
    let records = trace.numbered(true);
    let mut writer = RecordWriter::create(&directory, "sda", 2).expect("a directory");
    writer.process(1, 70, "fio", 10).expect("a process");
    writer.timestamp(0, 20, 1_700_000_000_123_456_789).expect("a time");
    records.iter().for_each(|record| writer.write(record).expect("a record"));
    let paths = writer.finish().expect("files");
    let theirs = dumped_by_blkparse(&directory, &["sda"]);
    assert_eq!(theirs.len(), records.len());
    assert_same(&read(&paths, COMPAT), &theirs, "written by ourselves");
}

#[test]
fn blkparse_gives_up_a_file_with_a_batch_of_another_cpu() {
    if !has_blkparse() {
        return;
    }
    let directory = scratch("batch");
    for (before, foreign) in
        [(0, 512), (0, 511), (300, 1_000), (512, 512), (100, 923), (100, 924), (512, 511)]
    {
        let record = |time_ns: u64, cpu: u32| Record {
            time_ns,
            cpu,
            action_bits: Action::Queue as u16,
            category: category::WRITE | category::QUEUE,
            bytes: 4096,
            ..Record::default()
        };
        let own = (0..before).map(|time| record(time, 0));
        let others = (0..foreign).map(|time| record(before + time, 7));
        let after = (0..10).map(|time| record(before + foreign + time, 0));
        let all: Vec<Record> = own.chain(others).chain(after).collect();
        std::fs::write(directory.join("sda.blktrace.0"), stream(&all, USUAL)).expect("a file");
        let theirs = dumped_by_blkparse(&directory, &["sda"]);
        assert_same(&read(&[directory.join("sda")], COMPAT), &theirs, &format!("{before} then {foreign}"));
    }
}

/// One thing in a CPU's file.
#[derive(Debug, Clone)]
enum Entry {
    Record { gap_ns: u8, sector: u8, cpu: Option<u8>, payload: u8 },
    Earlier { ns: u8 },
    Process { pid: u8 },
    Message { gap_ns: u8 },
    Bytes(Vec<u8>),
    OtherVersion,
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let entry = prop_oneof![
        60 => (0..3_u8, any::<u8>(), prop::option::weighted(0.02, 0..4_u8), 0..9_u8)
            .prop_map(|(gap_ns, sector, cpu, payload)| Entry::Record { gap_ns, sector, cpu, payload }),
        2 => (0..6_u8).prop_map(|ns| Entry::Earlier { ns }),
        3 => any::<u8>().prop_map(|pid| Entry::Process { pid }),
        2 => (0..3_u8).prop_map(|gap_ns| Entry::Message { gap_ns }),
        1 => prop::collection::vec(any::<u8>(), 1..100).prop_map(Entry::Bytes),
        1 => Just(Entry::OtherVersion),
    ];
    prop::collection::vec(entry, 0..120)
}

/// The bytes of a CPU's file.
fn composed(entries: &[Entry], cpu: u32, form: Form) -> Vec<u8> {
    let (mut bytes, mut now) = (Vec::new(), 100_u64);
    for entry in entries {
        let mut record = Record {
            cpu,
            action_bits: Action::Queue as u16,
            category: category::WRITE | category::QUEUE,
            bytes: 4096,
            device: SDA,
            ..Record::default()
        };
        let mut form = form;
        match entry {
            Entry::Record { gap_ns, sector, cpu: other, payload } => {
                now += u64::from(*gap_ns);
                record.sector = u64::from(*sector);
                record.cpu = other.map_or(cpu, u32::from);
                record.payload = vec![0; usize::from(payload.saturating_sub(6)) * 8];
            }
            Entry::Earlier { ns } => now = now.saturating_sub(u64::from(*ns)),
            Entry::Process { pid } => {
                record.pid = u32::from(*pid);
                (record.category, record.action_bits) = (category::NOTIFY, notice::PROCESS);
                record.payload = b"a name\0\0\0\0\0\0\0\0\0\0".to_vec();
            }
            Entry::Message { gap_ns } => {
                now += u64::from(*gap_ns);
                (record.category, record.action_bits) = (category::NOTIFY, notice::MESSAGE);
                record.payload = b"text".to_vec();
            }
            Entry::Bytes(stray) => {
                bytes.extend(stray);
                continue;
            }
            Entry::OtherVersion => form.version = 5,
        }
        record.time_ns = now;
        append(&record, form, &mut bytes);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Equal times, records from the past, notices, other CPUs, damage, short files, missing files.
    #[test]
    fn made_up_files_come_in_blkparses_order(
        files in prop::collection::vec((entries(), 0..60_usize), 1..5),
        is_swapped in any::<bool>(),
        absent in prop::option::weighted(0.2, 0..5_usize),
        is_damaged in any::<bool>(),
    ) {
        if !has_blkparse() {
            return Ok(());
        }
        let directory = scratch("made_up");
        for (cpu, (entries, cut)) in files.iter().enumerate() {
            let is_kept = |entry: &&Entry| is_damaged || !matches!(entry, Entry::Bytes(_) | Entry::OtherVersion);
            let kept: Vec<Entry> = entries.iter().filter(is_kept).cloned().collect();
            let mut bytes = composed(&kept, cpu as u32, Form { is_swapped, ..USUAL });
            if is_damaged {
                bytes.truncate(bytes.len().saturating_sub(*cut));
            }
            if absent != Some(cpu) {
                std::fs::write(directory.join(format!("sda.blktrace.{cpu}")), bytes).expect("a file");
            }
        }
        let theirs = dumped_by_blkparse(&directory, &["sda"]);
        let ours = match Recording::open_with(&[directory.join("sda")], COMPAT) {
            Ok(_) => read(&[directory.join("sda")], COMPAT),
            Err(_) => Vec::new(),
        };
        let differing = ours.iter().zip(&theirs).position(|(our, their)| our != their);
        prop_assert_eq!(differing.map(|at| (at, &ours[at], &theirs[at])), None);
        prop_assert_eq!(ours.len(), theirs.len());
    }
}
