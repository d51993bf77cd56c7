//! Recordings are read whole, whatever their version, byte order and number of files.

mod support;

use drivelab_trace::read::{ReadOptions, ReadSummary, Recording};
use drivelab_trace::record::{Action, Record, category};
use drivelab_trace::write::RecordWriter;
use std::path::PathBuf;
use support::bytes::{Form, USUAL};
use support::plain::{GOLDEN, golden_files};
use support::{BlockTrace, DurableWrite, Io, SDA, SDB};

/// Everything that is read, in order.
fn read(files: Vec<(String, Option<u32>, Vec<u8>)>, options: ReadOptions) -> (Vec<Record>, ReadSummary) {
    let mut recording = Recording::from_bytes(files, options).expect("a recording");
    let (mut records, mut record) = (Vec::new(), Record::default());
    while recording.next(&mut record) {
        records.push(record.clone());
    }
    let summary = recording.summary();
    (records, summary)
}

fn per_cpu(files: Vec<Vec<u8>>) -> Vec<(String, Option<u32>, Vec<u8>)> {
    files.into_iter().zip(0..).map(|(bytes, cpu)| (format!("sda.blktrace.{cpu}"), Some(cpu), bytes)).collect()
}

/// A trace with everything in it.
fn sample() -> BlockTrace {
    let mut trace = BlockTrace::new(3);
    trace.process(10, 70, "fio", 0);
    trace.timestamp(20, 1_700_000_000_123_456_789, 1);
    trace.message(30, "hello", 2);
    let mut now = trace.io(1_000, &Io { sector: 8, error: -5, ..Io::default() });
    now = trace.flush(now + 7, 150_000);
    now = trace.merged_ios(now + 7, 100, &[4096, 8192, 512], false);
    now = trace.split_io(now + 7, 1_000, &[4096, 4096, 8192]);
    now = trace.requeued_io(now + 7, 5_000, 4096, 2);
    now = trace.durable_write(now + 7, &DurableWrite::default());
    now = trace.remapped_io(now + 7, &Io { sector: 16, ..Io::default() }, SDA + 1, 2048);
    trace.io(now + 7, &Io { device: Some(SDB), ..Io::default() });
    trace
}

/// What a record is, apart from the order of bytes that it came in.
fn in_native_order(records: Vec<Record>) -> Vec<Record> {
    records.into_iter().map(|record| Record { is_swapped: false, ..record }).collect()
}

#[test]
fn records_come_as_they_were_written() {
    let trace = sample();
    let (records, summary) = read(per_cpu(trace.files(USUAL)), ReadOptions::default());
    let expected: Vec<Record> =
        trace.numbered(true).into_iter().filter(|record| !record.is_notice()).collect();
    assert_eq!(records, expected);
    assert_eq!((summary.records, summary.notices, summary.is_whole()), (records.len() as u64, 3, true));
    assert_eq!(summary.processes[&70], "fio");
    assert_eq!(summary.messages[0].text, "hello");
    let realtime = summary.realtime.expect("a time of day");
    assert_eq!((realtime.monotonic_ns, realtime.realtime_ns), (20, 1_700_000_000_123_456_789));
    let devices: Vec<u32> = summary.devices.iter().map(|(device, _)| *device).collect();
    assert_eq!(devices, [SDA, SDB]);
    assert_eq!((summary.first_time_ns, summary.zero_ns), (Some(1_000), Some(30)));
}

#[test]
fn messages_of_a_merged_dump_are_of_another_clock() {
    let mut trace = BlockTrace::new(1);
    for index in 0..20 {
        trace.io(1_000 + index * 100_000, &Io::default());
    }
    let mut records = trace.numbered(true);
    let message = |time_ns| Record {
        time_ns,
        category: category::NOTIFY,
        action_bits: 2,
        payload: b"bfq: wr_busy 0".to_vec(),
        ..Record::default()
    };
    // blkparse -d lets all other times begin at 0
    records.insert(0, message(28_002_348_481_020));
    records.insert(40, message(28_002_348_999_999));
    let merged = support::bytes::stream(&records, USUAL);
    let (found, summary) = read(vec![("merged".to_owned(), None, merged)], ReadOptions::default());
    assert_eq!((found.len(), summary.notices), (records.len() - 2, 2));
    assert!(summary.is_whole(), "{:?}", summary.damages);
    assert_eq!(summary.messages[1].text, "bfq: wr_busy 0");
}

#[test]
fn versions_and_byte_orders_hold_the_same() {
    let trace = sample();
    let (expected, _) = read(per_cpu(trace.files(USUAL)), ReadOptions::default());
    for (version, is_swapped) in [(7, true), (8, false), (8, true)] {
        let form = Form { version, is_swapped, ..USUAL };
        let (records, summary) = read(per_cpu(trace.files(form)), ReadOptions::default());
        assert!(records.iter().all(|record| record.is_swapped == is_swapped));
        assert_eq!(in_native_order(records), expected, "version {version}, swapped {is_swapped}");
        assert_eq!((summary.versions, summary.has_other_byte_order), (vec![version], is_swapped));
        assert_eq!(summary.realtime.map(|realtime| realtime.realtime_ns), Some(1_700_000_000_123_456_789));
        assert_eq!(summary.lost, []);
    }
}

#[test]
fn a_cgroup_id_is_no_part_of_the_data() {
    let mut trace = BlockTrace::new(1);
    let split = trace.add(5, Action::Split, 8, 8192, category::WRITE, 0);
    split.action_bits |= drivelab_trace::record::CGROUP_BIT;
    split.payload = [1_u64.to_ne_bytes(), 16_u64.to_be_bytes()].concat();
    for is_swapped in [false, true] {
        let (records, _) = read(per_cpu(trace.files(Form { is_swapped, ..USUAL })), ReadOptions::default());
        assert_eq!((records[0].action(), records[0].split_sector()), (Some(Action::Split), Some(16)));
    }
}

#[test]
fn real_recordings_are_the_same_in_every_form() {
    for case in ["raw_over1", "relaylike", "xfs_append1"] {
        let files = golden_files(case);
        let (expected, summary) = read(files.clone(), ReadOptions::default());
        assert!(expected.len() > 1000 && summary.is_whole(), "{case}: {summary:?}");
        for (version, is_swapped) in [(7, true), (8, false), (8, true)] {
            let turned = files.iter().map(|(name, cpu, bytes)| {
                let form = Form { version, is_swapped, counts_sequence: true };
                (name.clone(), *cpu, support::golden::rewritten(bytes, form))
            });
            let (records, again) = read(turned.collect(), ReadOptions::default());
            assert!(
                in_native_order(records) == expected,
                "{case} in version {version}, swapped {is_swapped}"
            );
            assert_eq!((again.notices, &again.processes), (summary.notices, &summary.processes));
        }
    }
}

#[test]
fn the_writer_writes_what_the_reader_reads() {
    let directory = support::scratch("writer");
    let trace = sample();
    for is_swapped in [false, true] {
        let (records, _) = read(per_cpu(trace.files(Form { is_swapped, ..USUAL })), ReadOptions::default());
        let mut writer = RecordWriter::create(&directory, "sda", 2).expect("a directory");
        writer.set_device(SDA);
        writer.process(0, 70, "fio", 10).expect("a process");
        writer.timestamp(1, 20, 1_700_000_000_123_456_789).expect("a time");
        records.iter().for_each(|record| writer.write(record).expect("a record"));
        let paths = writer.finish().expect("files");
        assert_eq!(paths.len(), 3, "the file of CPU 2 is made when it is needed");
        let mut trace = trace.clone();
        trace.records.retain(|record| record.action_bits != 2 || !record.is_notice());
        let expected = trace.files(USUAL);
        for (path, bytes) in paths.iter().zip(expected) {
            assert!(std::fs::read(path).expect("a file") == bytes, "{} differs", path.display());
        }
    }
}

#[test]
fn the_writer_refuses_what_the_format_can_not_hold() {
    let directory = support::scratch("refused");
    let mut writer = RecordWriter::create(&directory, "sda", 1).expect("a directory");
    let long = Record { payload: vec![0; 65_536], ..Record::default() };
    assert!(writer.write(&long).is_err());
    assert!(writer.write(&Record { cpu: u32::MAX, ..Record::default() }).is_err());
    assert!(writer.timestamp(0, 0, u64::MAX).is_err());
    assert!(RecordWriter::create(&directory.join("absent"), "sda", 1).is_err());
}

#[test]
fn an_empty_file_is_an_empty_recording() {
    let (records, summary) = read(vec![("empty".to_owned(), None, Vec::new())], ReadOptions::default());
    assert!(records.is_empty() && summary.is_whole() && summary.first_time_ns.is_none());
    let mut recording =
        Recording::open(&[PathBuf::from(GOLDEN).join("empty/empty.bin")]).expect("an empty file");
    assert!(!recording.next(&mut Record::default()));
}
