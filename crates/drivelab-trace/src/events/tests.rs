//! Events of made-up kernels.

use std::collections::HashMap;

use super::clock::ClockLine;
use super::convert::{Converted, Converter, Subject};
use super::layout::Layout;
use super::made_up::{DISK, Kernel, NEW, OLD, PARTITION, entry, two_words};
use crate::record::category::{
    COMPLETE, DISCARD, FLUSH, FS, ISSUE, META, PASSTHROUGH, QUEUE, READ, REQUEUE, SYNC, WRITE,
};
use crate::record::{Action, Record, notice};

fn subject() -> Subject {
    Subject {
        device: DISK,
        devices: HashMap::from([(DISK, DISK), (PARTITION, DISK)]),
        processes: HashMap::from([(90, "kworker/1:1H".to_owned())]),
        clock: ClockLine::same(),
    }
}

fn converted(kernel: &Kernel, pages: &[Vec<u8>]) -> (Vec<Record>, Vec<Record>, Converted) {
    let (layout, subject) = (kernel.layout(), subject());
    let mut converter = Converter::new(&layout, &subject, 1);
    let (mut records, mut notices) = (Vec::new(), Vec::new());
    for page in pages {
        let mut take = |record: &Record| {
            if record.is_notice() {
                notices.push(record.clone())
            } else {
                records.push(record.clone())
            }
            Ok::<(), ()>(())
        };
        converter.page(page, &mut take).unwrap();
    }
    (records, notices, converter.end())
}

fn bio(kernel: &Kernel, event: &str, device: u32, letters: &str) -> Vec<u8> {
    let numbers = [("dev", u64::from(device)), ("sector", 2048), ("nr_sector", 8)];
    kernel.event(event, 71, &numbers, &[("rwbs", letters), ("comm", "drivelab-job-0")])
}

#[test]
fn a_write_through_its_stations_on_a_new_and_on_an_old_kernel() {
    for kernel in [NEW, OLD] {
        let numbers = [("dev", u64::from(DISK)), ("sector", 2048), ("nr_sector", 8)];
        let issue = [&numbers[..], &[("bytes", 4096)]].concat();
        let complete = [
            &numbers[..],
            &[(if kernel.has_priority { "error" } else { "errors" }, (-5_i64).cast_unsigned())],
        ]
        .concat();
        let parts = [
            entry(0, &bio(&kernel, "block_bio_queue", PARTITION, "WSM")),
            entry(10, &bio(&kernel, "block_getrq", PARTITION, "WSM")),
            entry(5, &kernel.event("block_plug", 71, &[], &[("comm", "drivelab-job-0")])),
            entry(5, &kernel.event("block_unplug", 71, &[("nr_rq", 1)], &[("comm", "drivelab-job-0")])),
            entry(
                20,
                &kernel.event("block_rq_insert", 71, &issue, &[("rwbs", "WSM"), ("comm", "drivelab-job-0")]),
            ),
            entry(
                30,
                &kernel.event("block_rq_issue", 90, &issue, &[("rwbs", "WSM"), ("comm", "kworker/1:1H")]),
            ),
            entry(40, &kernel.event("block_rq_requeue", 90, &numbers, &[("rwbs", "WSM")])),
            entry(50, &kernel.event("block_rq_complete", 0, &complete, &[("rwbs", "WSM")])),
        ];
        let (records, notices, converted) = converted(&kernel, &[kernel.page(1_000_000, &parts, 0, &[])]);
        let bits = WRITE | SYNC | META;
        let expected = [
            (Action::Queue, 0, bits | QUEUE, 71),
            (Action::GetRequest, 10, bits | QUEUE, 71),
            (Action::Plug, 15, READ | QUEUE, 71),
            (Action::Unplug, 20, READ | QUEUE, 71),
            (Action::Insert, 40, bits | QUEUE | FS, 71),
            (Action::Issue, 70, bits | ISSUE | FS, 90),
            (Action::Requeue, 110, bits | REQUEUE | FS, 90),
            (Action::Complete, 160, bits | COMPLETE | FS, 0),
        ];
        assert_eq!(records.len(), expected.len());
        for (number, (record, (action, after, category, pid))) in records.iter().zip(expected).enumerate() {
            assert_eq!(record.action(), Some(action));
            assert_eq!(
                (record.time_ns, record.category, record.pid),
                (1_000_000 + after, category, pid),
                "{action:?}"
            );
            assert_eq!((record.device, record.cpu, record.sequence), (DISK, 1, number as u32 + 1));
            if !matches!(action, Action::Plug | Action::Unplug) {
                assert_eq!((record.sector, record.bytes), (2048, 4096), "{action:?}");
            }
        }
        assert_eq!(records[7].error, -5);
        assert_eq!(records[3].payload, 1_u64.to_be_bytes());
        let told: Vec<_> = notices.iter().map(|it| (it.pid, it.action_bits, it.payload.as_slice())).collect();
        assert_eq!(
            told,
            [
                (71, notice::PROCESS, &b"drivelab-job-0\0\0"[..]),
                (90, notice::PROCESS, &b"kworker/1:1H\0\0\0\0"[..]),
                (0, notice::PROCESS, &b"swapper\0\0\0\0\0\0\0\0\0"[..])
            ]
        );
        assert_eq!((converted.records, converted.foreign, converted.damaged_pages), (8, 0, 0));
        assert_eq!(converted.by_action[Action::Issue as usize], 1);
    }
}

#[test]
fn times_are_extended_replaced_and_padding_is_stepped_over() {
    let queue = bio(&NEW, "block_bio_queue", DISK, "R");
    // an event that is too long for its five bits has its length in the next word
    let big = [two_words(0, 7, queue.len() as u32 + 4), queue.clone()].concat();
    let padding = [two_words(29, 2, 12), vec![0xff; 8]].concat();
    let parts = [
        entry(1, &queue),
        two_words(30, 5, 1),
        entry(0, &queue),
        two_words(31, 3, 2),
        entry(4, &queue),
        padding,
        big,
        two_words(29, 0, 0),
        entry(9, &queue),
    ];
    let (records, _, converted) = converted(&NEW, &[NEW.page(1000, &parts, 0, &[])]);
    let times: Vec<u64> = records.iter().map(|record| record.time_ns).collect();
    let (extended, absolute) = ((1 << 27) + 5, (2 << 27) + 3);
    assert_eq!(times, [1001, 1001 + extended, absolute + 4, absolute + 4 + 2 + 7]);
    assert_eq!(converted.damaged_pages, 0);
}

#[test]
fn lost_events_leave_a_gap_in_the_numbers() {
    const MISSED: u64 = 1 << 31;
    const STORED: u64 = 1 << 30;
    for kernel in [NEW, OLD] {
        let queue = entry(0, &bio(&kernel, "block_bio_queue", DISK, "R"));
        let stored = 35_u64.to_le_bytes()[..kernel.long_bytes].to_vec();
        let pages = [
            kernel.page(1, std::slice::from_ref(&queue), 0, &[]),
            kernel.page(2, &[queue.clone(), queue.clone()], MISSED | STORED, &stored),
            kernel.page(3, &[queue], MISSED, &[]),
        ];
        let (records, _, converted) = converted(&kernel, &pages);
        let numbers: Vec<u32> = records.iter().map(|record| record.sequence).collect();
        assert_eq!(numbers, [1, 37, 38, 40]);
        assert_eq!(converted.lost, 36);
    }
}

#[test]
fn flushes_splits_remaps_discards_and_a_drivers_own_commands() {
    let place =
        |sector: u64, sectors: u64| [("dev", u64::from(DISK)), ("sector", sector), ("nr_sector", sectors)];
    let issue = |sectors, bytes| [&place(0, sectors)[..], &[("bytes", bytes)]].concat();
    let far = 5 << 32 | 100;
    let remap = [
        ("dev", u64::from(PARTITION)),
        ("sector", 2050),
        ("nr_sector", 8),
        ("old_dev", u64::from(PARTITION)),
        ("old_sector", 2),
    ];
    let split = [("dev", u64::from(DISK)), ("sector", far), ("new_sector", 164)];
    let parts = [
        entry(0, &NEW.event("block_rq_issue", 9, &issue(0, 0), &[("rwbs", "FF")])),
        entry(0, &NEW.event("block_rq_complete", 9, &place(u64::MAX, 0), &[("rwbs", "FF")])),
        entry(0, &NEW.event("block_split", 9, &split, &[("rwbs", "W")])),
        entry(0, &NEW.event("block_bio_remap", 9, &remap, &[("rwbs", "R")])),
        entry(0, &NEW.event("block_rq_issue", 9, &issue(64, 32768), &[("rwbs", "DS")])),
        entry(0, &NEW.event("block_rq_issue", 9, &issue(0, 36), &[("rwbs", "N")])),
        entry(0, &NEW.event("block_rq_issue", 9, &issue(8, 4096), &[("rwbs", "N")])),
    ];
    let (records, _, _) = converted(&NEW, &[NEW.page(1, &parts, 0, &[])]);
    let found: Vec<_> = records.iter().map(|it| (it.sector, it.bytes, it.category)).collect();
    assert_eq!(
        found,
        [
            (0, 0, READ | FLUSH | ISSUE | FS),
            (0, 0, READ | FLUSH | COMPLETE | FS),
            (far, 64 * 512, WRITE),
            (2050, 4096, READ | QUEUE),
            (0, 32768, WRITE | DISCARD | SYNC | ISSUE | FS),
            (0, 36, WRITE | ISSUE | PASSTHROUGH),
            (0, 4096, WRITE | ISSUE | FS),
        ]
    );
    assert_eq!(records[2].split_sector(), Some(5 << 32 | 164));
    assert_eq!(records[3].remapped_from(), Some((PARTITION, 2)));
}

#[test]
fn other_devices_and_unknown_events_are_left_out_and_counted() {
    let mut unknown = bio(&NEW, "block_bio_queue", DISK, "R");
    unknown[..2].copy_from_slice(&999_u16.to_ne_bytes());
    let plug = NEW.event("block_plug", 71, &[], &[]);
    let parts = [
        entry(0, &bio(&NEW, "block_bio_queue", 8 << 20, "R")),
        entry(0, &unknown),
        // without a request of ours before it, it is for another disk
        entry(0, &plug),
        entry(0, &NEW.event("block_unplug", 71, &[("nr_rq", 3)], &[])),
        entry(0, &bio(&NEW, "block_getrq", DISK, "R")),
        entry(0, &plug),
    ];
    let (records, _, converted) = converted(&NEW, &[NEW.page(1, &parts, 0, &[])]);
    let actions: Vec<_> = records.iter().filter_map(Record::action).collect();
    assert_eq!(actions, [Action::GetRequest, Action::Plug]);
    assert_eq!(converted.foreign, 4);
}

#[test]
fn a_damaged_page_costs_its_rest_only() {
    let queue = entry(0, &bio(&NEW, "block_bio_queue", DISK, "R"));
    let broken = NEW.page(1, &[queue.clone(), two_words(0, 0, u32::MAX), queue.clone()], 0, &[]);
    let too_long = NEW.page(1, std::slice::from_ref(&queue), 0x00ff_ffff, &[]);
    let (records, _, converted) =
        converted(&NEW, &[broken, too_long, vec![1, 2], NEW.page(5, &[queue], 0, &[])]);
    assert_eq!((records.len(), converted.damaged_pages), (2, 3));
}

#[test]
fn any_bytes_are_taken_without_a_panic() {
    use proptest::prelude::*;
    let layout = NEW.layout();
    let tracer = Layout::of_blk_tracer(&NEW.header_page()).unwrap();
    let subject = subject();
    proptest!(|(mut page in proptest::collection::vec(any::<u8>(), 0..300), length in 0_u16..300)| {
        if page.len() > 16 {
            page[8..16].copy_from_slice(&u64::from(length).to_ne_bytes());
        }
        for layout in [&layout, &tracer] {
            let mut converter = Converter::new(layout, &subject, 1);
            converter.page(&page, &mut |_| Ok::<(), ()>(())).unwrap();
        }
    });
}

#[test]
fn entries_of_the_blk_tracer_are_records_but_for_their_time() {
    let entry_of = |version: u32, cpu: u32| {
        let mut bytes = vec![0_u8; if version == 7 { 56 } else { 72 }];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let action = (WRITE | QUEUE) << 16 | Action::Split as u32;
        put(16, &4096_u64.to_ne_bytes());
        put(24, &512_u32.to_ne_bytes());
        if version == 7 {
            put(28, &action.to_ne_bytes());
            put(32, &71_u32.to_ne_bytes());
            put(36, &DISK.to_ne_bytes());
            put(40, &cpu.to_ne_bytes());
            put(46, &8_u16.to_ne_bytes());
            put(48, &4100_u64.to_be_bytes());
        } else {
            put(28, &71_u32.to_ne_bytes());
            put(32, &u64::from(action).to_ne_bytes());
            put(40, &DISK.to_ne_bytes());
            put(44, &cpu.to_ne_bytes());
            put(50, &8_u16.to_ne_bytes());
            put(64, &4100_u64.to_be_bytes());
        }
        bytes
    };
    let (layout, subject) = (Layout::of_blk_tracer(&NEW.header_page()).unwrap(), subject());
    for version in [7, 8] {
        let mut converter = Converter::new(&layout, &subject, 1);
        let parts = [entry(4, &entry_of(version, 1)), entry(4, &entry_of(version, 0)), entry(4, &[0; 20])];
        let mut records = Vec::new();
        let page = NEW.page(100, &parts, 0, &[]);
        let mut take = |record: &Record| {
            records.push(record.clone());
            Ok::<(), ()>(())
        };
        converter.page(&page, &mut take).unwrap();
        assert_eq!(records.len(), 1, "version {version}");
        let record = &records[0];
        assert_eq!((record.time_ns, record.sequence, record.sector, record.bytes), (104, 1, 4096, 512));
        assert_eq!((record.pid, record.category, record.split_sector()), (71, WRITE | QUEUE, Some(4100)));
        assert_eq!(converter.end().foreign, 2);
    }
}
