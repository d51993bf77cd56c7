//! Damaged recordings: each damage is named with its place, and everything around it is still read.

mod support;

use drivelab_trace::phases::Options;
use drivelab_trace::read::{
    DAMAGES_KEPT, Damage, DamageKind, ReadErrorKind, ReadOptions, ReadSummary, Recording,
};
use drivelab_trace::record::{Action, Record, category};
use support::bytes::{Form, USUAL, append, stream};
use support::{BlockTrace, Io};

const OURS: ReadOptions = ReadOptions { compat: false, without_duplicates: false, stops_at_gap: false };
const COMPAT: ReadOptions = ReadOptions { compat: true, ..OURS };

fn read(bytes: Vec<u8>, cpu: Option<u32>, options: ReadOptions) -> (Vec<Record>, ReadSummary) {
    read_files(vec![("file".to_owned(), cpu, bytes)], options)
}

fn read_files(
    files: Vec<(String, Option<u32>, Vec<u8>)>,
    options: ReadOptions,
) -> (Vec<Record>, ReadSummary) {
    let mut recording = Recording::from_bytes(files, options).expect("a recording");
    let (mut records, mut record) = (Vec::new(), Record::default());
    while recording.next(&mut record) {
        records.push(record.clone());
    }
    (records, recording.summary())
}

/// Records of one CPU, 1 us apart.
fn records(count: u64) -> Vec<Record> {
    let record = |number: u64| Record {
        sequence: number as u32 + 1,
        time_ns: 1_000 * (number + 1),
        sector: 8 * number,
        bytes: 4096,
        action_bits: Action::Queue as u16,
        category: category::WRITE | category::QUEUE,
        ..Record::default()
    };
    (0..count).map(record).collect()
}

fn kinds(summary: &ReadSummary) -> Vec<(DamageKind, u64)> {
    summary.damages.iter().map(|damage| (damage.kind, damage.offset)).collect()
}

#[test]
fn text_of_the_kernel_counts_as_loss() {
    let all = records(4);
    let text = b"CPU:0 [LOST 5244 EVENTS]\n";
    let bytes = [stream(&all[..2], USUAL), text.to_vec(), stream(&all[2..], USUAL)].concat();
    let (found, summary) = read(bytes.clone(), Some(0), OURS);
    assert_eq!(found, all);
    assert_eq!(kinds(&summary), [(DamageKind::LostEvents, 96)]);
    assert_eq!((summary.lost.as_slice(), summary.skipped_bytes), ([(0, 5244)].as_slice(), 0));
    assert_eq!(summary.damages[0].what, "the kernel lost 5244 events of CPU 0");
    let (found, summary) = read(bytes, Some(0), COMPAT);
    assert_eq!(found.len(), 2, "blkparse ends a file there");
    assert_eq!(summary.lost_total(), 5244);
}

#[test]
fn text_may_come_first_and_last() {
    let all = records(2);
    let (first, last) = (b"CPU:3 [LOST 7 EVENTS]\n".to_vec(), b"CPU:3 [LOST EVENTS]\n".to_vec());
    let (found, summary) = read([first, stream(&all, USUAL), last].concat(), None, OURS);
    assert_eq!((found, summary.lost), (all, vec![(3, 8)]));
}

#[test]
fn reading_goes_on_after_garbage() {
    let all = records(6);
    for garbage in
        [vec![0xab; 5], vec![0; 4096], b"\x07tae nothing of the kind".to_vec(), vec![0x61; 100_000]]
    {
        let length = garbage.len() as u64;
        let bytes = [stream(&all[..3], USUAL), garbage, stream(&all[3..], USUAL)].concat();
        let (found, summary) = read(bytes.clone(), Some(0), OURS);
        assert!(found == all, "{} records after {length} bytes of garbage: {summary:?}", found.len());
        assert_eq!(kinds(&summary), [(DamageKind::Garbage, 144)]);
        assert_eq!(summary.skipped_bytes, length);
        assert_eq!(
            summary.damages[0].what,
            format!("{length} bytes are no records; reading goes on at {}", 144 + length)
        );
    }
}

#[test]
fn a_torn_record_costs_no_other() {
    let all = records(6);
    for kept in 4..48 {
        let bytes =
            [stream(&all[..3], USUAL), stream(&all[3..4], USUAL)[..kept].to_vec(), stream(&all[4..], USUAL)]
                .concat();
        let (found, summary) = read(bytes, Some(0), OURS);
        assert_eq!(
            found.iter().map(|record| record.sequence).collect::<Vec<_>>(),
            [1, 2, 3, 5, 6],
            "{kept} bytes of it"
        );
        assert_eq!(summary.count(DamageKind::Garbage), 1);
    }
}

#[test]
fn a_payload_that_reaches_into_other_records_costs_one_record() {
    let mut all = records(8);
    all[2].payload = vec![7; 16];
    let mut bytes = stream(&all, USUAL);
    bytes[2 * 48 + 46..2 * 48 + 48].copy_from_slice(&100_u16.to_ne_bytes());
    let (found, summary) = read(bytes, Some(0), OURS);
    all.remove(2);
    assert_eq!(found, all);
    assert_eq!(kinds(&summary), [(DamageKind::Garbage, 96), (DamageKind::SequenceGap, 160)]);
    let mut bytes = stream(&records(8), USUAL);
    bytes[2 * 48 + 46..2 * 48 + 48].copy_from_slice(&u16::MAX.to_ne_bytes());
    let (found, _) = read(bytes, Some(0), OURS);
    assert_eq!(found.len(), 7, "a payload that reaches beyond the end of the file");
}

#[test]
fn a_recording_cut_anywhere_gives_what_is_whole() {
    let mut all = records(5);
    all[3].payload = vec![1; 24];
    for form in [USUAL, Form { version: 8, ..USUAL }, Form { is_swapped: true, ..USUAL }] {
        let bytes = stream(&all, form);
        let ends: Vec<usize> = (0..=5).map(|count| stream(&all[..count], form).len()).collect();
        for length in 48..bytes.len() {
            let whole = ends.iter().filter(|end| **end > 0 && **end <= length).count();
            for options in [OURS, COMPAT] {
                let (found, summary) = read(bytes[..length].to_vec(), Some(0), options);
                assert_eq!(found.len(), whole, "{length} bytes");
                let expected = if ends.contains(&length) {
                    vec![]
                } else {
                    vec![(DamageKind::Truncated, ends[whole] as u64)]
                };
                assert_eq!(kinds(&summary), expected, "{length} bytes");
            }
        }
    }
}

#[test]
fn btt_takes_zeros_for_what_a_last_record_lacks() {
    // btt 1.2.0 counts an I/O whose completion lacks its last nine bytes, and not one that lacks ten
    let all = records(3);
    let bytes = stream(&all, USUAL);
    for (lacking, count) in [(0, 3), (1, 3), (9, 3), (40, 3), (48, 2)] {
        let (found, summary) = read(bytes[..bytes.len() - lacking].to_vec(), None, COMPAT);
        assert_eq!((found.len(), summary.count(DamageKind::Truncated)), (count, u64::from(lacking % 48 > 0)));
    }
    let (found, _) = read(bytes[..144 - 9].to_vec(), None, COMPAT);
    assert_eq!(found[2], all[2]);
    // the 86th record begins 16 bytes before the end of the page
    let many = stream(&records(100), USUAL);
    assert_eq!(read(many[..4096].to_vec(), None, COMPAT).0.len(), 86);
    assert_eq!(read(many[..4096].to_vec(), None, OURS).0.len(), 85);
    assert_eq!(read(many[..4080].to_vec(), None, COMPAT).0.len(), 85);
    // the 257th begins a page, of which less than a record is there
    let pages = stream(&records(300), USUAL);
    assert_eq!(read(pages[..3 * 4096 + 47].to_vec(), None, COMPAT).0.len(), 256);
}

#[test]
fn foreign_files_are_refused_with_what_they_are() {
    for (bytes, what) in [
        (b"\x1f\x8b\x08\0\0\0\0\0".to_vec(), "gunzip"),
        (b"  8,0    1        1     0.000000000    70  Q  WS 8 + 8 [fio]\n".repeat(9), "text"),
        (vec![0; 1_000_000], "zeros"),
        (vec![1], "01"),
    ] {
        for options in [OURS, COMPAT] {
            let error = Recording::from_bytes(vec![("file".to_owned(), None, bytes.clone())], options)
                .err()
                .expect("an error");
            assert_eq!((error.kind, error.file.as_str()), (ReadErrorKind::Foreign, "file"));
            assert!(error.what.contains(what), "{error}");
        }
    }
}

#[test]
fn a_foreign_file_beside_a_recording_is_a_damage() {
    let all = records(3);
    let files = vec![
        ("text".to_owned(), None, b"some words\n".to_vec()),
        ("good".to_owned(), None, stream(&all, USUAL)),
    ];
    let (found, summary) = read_files(files, OURS);
    assert_eq!(found, all);
    let damage = &summary.damages[0];
    assert_eq!((damage.kind, damage.file.as_str(), damage.offset), (DamageKind::Foreign, "text", 0));
}

#[test]
fn unknown_versions_are_named() {
    let all = records(4);
    let mut bytes = stream(&all[..2], USUAL);
    append(&all[2], Form { version: 9, ..USUAL }, &mut bytes);
    append(&all[3], USUAL, &mut bytes);
    let (found, summary) = read(bytes, Some(0), OURS);
    assert_eq!(found.iter().map(|record| record.sequence).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(kinds(&summary), [(DamageKind::UnknownVersion, 96), (DamageKind::SequenceGap, 144)]);
    assert!(summary.damages[0].what.contains("version 9"), "{}", summary.damages[0].what);
    let unknown = stream(&all, Form { version: 4, ..USUAL });
    let error = Recording::from_bytes(vec![("old".to_owned(), None, unknown)], OURS).err().expect("an error");
    assert_eq!(error.kind, ReadErrorKind::UnknownVersion);
    assert!(error.to_string().contains("version 4"), "{error}");
}

#[test]
fn records_of_another_cpu_are_left_out_of_a_cpus_file() {
    let mut all = records(5);
    (all[1].cpu, all[1].sequence) = (6, 1);
    all[2..].iter_mut().for_each(|record| record.sequence -= 1);
    let (found, summary) = read(stream(&all, USUAL), Some(0), OURS);
    assert_eq!((found.len(), kinds(&summary)), (4, vec![(DamageKind::WrongCpu, 48)]));
    let (found, summary) = read(stream(&all, USUAL), None, OURS);
    assert_eq!((found.len(), summary.is_whole()), (5, true), "a merged dump has all CPUs");
}

#[test]
fn gaps_in_the_numbers_are_lost_records() {
    let all = records(10);
    let kept: Vec<Record> =
        all.iter().filter(|record| !(3..=5).contains(&record.sequence)).cloned().collect();
    let (found, summary) = read(stream(&kept, USUAL), Some(0), OURS);
    assert_eq!((found, kinds(&summary)), (kept, vec![(DamageKind::SequenceGap, 96)]));
    assert_eq!((summary.lost, summary.lost_by_device), (vec![(0, 3)], vec![(0, 3)]));
}

#[test]
fn records_out_of_their_order_are_not_lost() {
    let all = records(100);
    let mut shuffled: Vec<Record> = (0..100).map(|place| all[place * 37 % 100].clone()).collect();
    let (found, summary) = read(stream(&shuffled, USUAL), Some(0), OURS);
    assert_eq!((found.len(), summary.lost_total(), summary.count(DamageKind::SequenceGap)), (100, 0, 0));
    let report = |records: &[Record]| {
        let sources = vec![("sda".to_owned(), Some(0), stream(records, USUAL))];
        let mut recording = Recording::from_bytes(sources, OURS).expect("a recording");
        drivelab_trace::phases::report(&mut recording, Options::default())["warnings"].to_string()
    };
    assert!(!report(&shuffled).contains("lost_records"), "{}", report(&shuffled));
    shuffled.retain(|record| record.sequence != 50);
    assert!(report(&shuffled).contains("1 record lost, at 1 place."), "{}", report(&shuffled));
}

#[test]
fn records_from_the_past_are_counted_and_kept() {
    let mut all = records(4);
    all[2].time_ns = 1;
    let (found, summary) = read(stream(&all, USUAL), Some(0), OURS);
    assert_eq!((found, kinds(&summary)), (all, vec![(DamageKind::OutOfOrder, 96)]));
    assert_eq!(summary.damages[0].what, "this record is 1999 ns earlier than the one before it");
}

#[test]
fn a_change_of_the_byte_order_is_followed() {
    let all = records(6);
    let bytes = [stream(&all[..3], USUAL), stream(&all[3..], Form { is_swapped: true, ..USUAL })].concat();
    let (found, summary) = read(bytes, Some(0), OURS);
    assert_eq!(
        found.iter().map(|record| record.time_ns).collect::<Vec<_>>(),
        [1000, 2000, 3000, 4000, 5000, 6000]
    );
    assert_eq!(found.iter().filter(|record| record.is_swapped).count(), 3);
    assert_eq!(kinds(&summary), [(DamageKind::MixedByteOrder, 144)]);
}

#[test]
fn a_recording_fed_twice_is_seen_and_can_be_read_once() {
    let mut trace = BlockTrace::new(2);
    trace.many_ios(300);
    let once = trace.numbered(true);
    for times in [2_u64, 16] {
        let twice: Vec<Record> =
            once.iter().flat_map(|record| vec![record.clone(); times as usize]).collect();
        let (found, summary) = read(stream(&twice, USUAL), None, OURS);
        assert_eq!((found.len(), summary.duplicates), (twice.len(), once.len() as u64 * (times - 1)));
        let (found, summary) =
            read(stream(&twice, USUAL), None, ReadOptions { without_duplicates: true, ..OURS });
        assert_eq!(
            (found == once, summary.duplicates, summary.lost_total()),
            (true, once.len() as u64 * (times - 1), 0)
        );
    }
    // the same files under two names, merged as blkparse merges them
    let mut files = Vec::new();
    for name in ["sda", "copy"] {
        let numbered = trace.files(USUAL).into_iter().zip(0..);
        files.extend(numbered.map(|(bytes, cpu)| (format!("{name}.blktrace.{cpu}"), Some(cpu), bytes)));
    }
    let (found, _) = read_files(files, ReadOptions { without_duplicates: true, ..OURS });
    assert_eq!(found.len(), once.len());
}

#[test]
fn a_recording_without_duplicates_has_none() {
    let mut trace = BlockTrace::new(2);
    trace.many_ios(300);
    trace.io(99_000_000, &Io::default());
    let (_, summary) = read(trace.merged(Form { counts_sequence: false, ..USUAL }), None, OURS);
    assert_eq!((summary.duplicates, summary.records), (0, trace.records.len() as u64));
}

#[test]
fn thousands_of_damages_are_counted_and_only_the_first_kept() {
    let all = records(2_000);
    let mut bytes = Vec::new();
    for record in &all {
        append(record, USUAL, &mut bytes);
        bytes.extend(b"rubbish");
    }
    let (found, summary) = read(bytes, Some(0), OURS);
    assert_eq!((found.len(), summary.damages.len() as u64), (2_000, DAMAGES_KEPT + 1));
    assert_eq!(summary.count(DamageKind::Garbage), 1_999);
    assert_eq!(summary.damages.last().map(|Damage { kind, .. }| *kind), Some(DamageKind::Truncated));
}
