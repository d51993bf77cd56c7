//! A recorded load is issued as it was: order, places, sizes and starts, by every thread of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drivelab_engine::clock::Clock;
use drivelab_engine::iolog::Record;
use drivelab_engine::workload::Workload;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Found, TestFile, run_all, run_while, workload_json};

const RANGE: u64 = 1 << 20;
const QUEUES: [&str; 4] = ["uring", "aio", "posixaio", "null"];
/// Start in ns, operation, offset, size.
type Entry = (u64, u8, u64, u32);

/// The file of records, and the workload that issues them.
fn recorded(
    backend: &str,
    target: &TestFile,
    jobs: &[(u32, Vec<Entry>)],
    changes: Value,
) -> (TestFile, Value) {
    let records = TestFile::missing();
    let bytes: Vec<u8> = jobs.iter().flat_map(|(_, entries)| entries.iter().flat_map(bytes_of)).collect();
    std::fs::write(records.path(), bytes).unwrap();
    let operations: Vec<_> =
        ["read", "write", "trim"].map(|name| json!({"operation": name, "weight": 1.0})).into();
    let count: usize = jobs.iter().map(|(_, entries)| entries.len()).sum();
    let mut workload = workload_json(
        backend,
        target.path(),
        json!({
            "operations": operations, "block_sizes": [{"bytes": 65536, "weight": 1.0}], "share_range": true,
            "queue_depth": jobs.iter().map(|job| job.0).max(), "job_count": jobs.len(), "record_ios": true,
            "limits": {"count": count}, "pacing": {"kind": "recorded"},
        }),
    );
    let threads: Vec<_> =
        jobs.iter().map(|(depth, entries)| json!({"count": entries.len(), "queue_depth": depth})).collect();
    workload["recording"] = json!({"path": records.path(), "jobs": threads, "sync": "fdatasync"});
    for (key, value) in changes.as_object().unwrap() {
        workload[key] = value.clone();
    }
    (records, workload)
}

fn bytes_of(entry: &Entry) -> Vec<u8> {
    let (start, operation, offset, size) = *entry;
    let parts = [&start.to_le_bytes()[..], &offset.to_le_bytes(), &size.to_le_bytes(), &[operation, 0, 0, 0]];
    [parts.concat(), vec![255; 4], vec![0; 4]].concat()
}

fn found(workload: &Value) -> Found {
    let found = run_all(Workload::from_json(&workload.to_string()).unwrap()).unwrap();
    found.check_the_books();
    found
}

/// What a job issued, in the order in which it did.
fn issued_by(found: &Found, job: u32) -> Vec<Record> {
    let mut records: Vec<_> =
        found.records.iter().filter(|(of, _)| *of == job).map(|(_, record)| *record).collect();
    records.sort_by_key(|record| record.issue_ticks);
    records
}

fn entry_of(record: &Record) -> (u8, u64, u32) {
    (record.operation, record.offset, record.size)
}

fn entries(gaps: impl Strategy<Value = u64>) -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::vec((gaps, 0_u8..4, 0_u64..128, 1_u32..9), 1..30).prop_map(|drawn| {
        let mut now = 0;
        let entry = |(gap, operation, place, size): (u64, u8, u64, u32)| {
            now += gap;
            (now, operation, place * 4096, if operation == 3 { 0 } else { size * 4096 })
        };
        drawn.into_iter().map(entry).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn every_thread_issues_what_it_did_at_the_starts_that_it_had(
        jobs in prop::collection::vec((1_u32..9, entries(0_u64..400_000)), 1..4), queue in 0_usize..5,
        speed in prop_oneof![Just(1.0), Just(2.0), Just(0.5)],
    ) {
        // a backend of calls has one I/O outstanding for each thread
        let depth_of = |depth| if queue == 4 { 1 } else { depth };
        let jobs: Vec<_> = jobs.into_iter().map(|(depth, entries)| (depth_of(depth), entries)).collect();
        let backend = if queue == 4 { "sync" } else { QUEUES[queue] };
        let target = TestFile::filled(RANGE, 7);
        let pacing = json!({"pacing": {"kind": "recorded", "speed": speed}});
        let (_records, workload) = recorded(backend, &target, &jobs, pacing);
        let found = found(&workload);
        let clock = Clock::get();
        let begin = found.outcome.jobs.iter().map(|job| job.window_ticks.0).min().unwrap();
        for (job, (depth, entries)) in jobs.iter().enumerate() {
            let records = issued_by(&found, job as u32);
            let asked: Vec<_> = entries.iter().map(|entry| (entry.1, entry.2, entry.3)).collect();
            let order: Vec<_> = records.iter().map(entry_of).collect();
            if *depth == 1 {
                prop_assert_eq!(&order, &asked);
            }
            for (record, entry) in records.iter().zip(entries) {
                let (issued, asked) = (clock.nanoseconds(record.issue_ticks - begin), (entry.0 as f64 / speed) as u64);
                prop_assert!(issued + 2 >= asked, "issued after {issued} ns, recorded at {asked}");
                let late = record.response_ns - record.total_ns;
                prop_assert!((issued - late.min(issued)).abs_diff(asked) <= 3 || *depth > 1);
            }
            let sorted = |mut all: Vec<(u8, u64, u32)>| { all.sort_unstable(); all };
            prop_assert_eq!(sorted(order), sorted(asked));
        }
        let arrivals = &found.summary["arrivals"];
        let count: usize = jobs.iter().map(|job| job.1.len()).sum();
        prop_assert_eq!(&arrivals["issued"], &json!(count));
        prop_assert_eq!(&arrivals["missed"], &json!(0));
        let last = jobs.iter().map(|job| job.1.last().unwrap().0).max().unwrap() as f64 / speed;
        prop_assert!((arrivals["starts"]["asked_ns"].as_f64().unwrap() - last).abs() <= 2.0);
        prop_assert!(arrivals["starts"]["achieved_ns"].as_f64().unwrap() + 2.0 >= last);
        prop_assert_eq!(found.stopped_by(), "count");
    }

    #[test]
    fn as_fast_as_possible_keeps_the_order_and_no_start(entries in entries(1_000_000_000_u64..2_000_000_000)) {
        let target = TestFile::filled(RANGE, 7);
        let jobs = [(1, entries)];
        let (_records, workload) = recorded("sync", &target, &jobs, json!({"pacing": {"kind": "closed"}}));
        let found = found(&workload);
        let order: Vec<_> = issued_by(&found, 0).iter().map(entry_of).collect();
        let asked: Vec<_> = jobs[0].1.iter().map(|entry| (entry.1, entry.2, entry.3)).collect();
        prop_assert_eq!(order, asked);
        prop_assert!(found.summary["arrivals"].is_null());
    }
}

#[test]
fn no_more_is_outstanding_in_a_thread_than_there_was() {
    let target = TestFile::filled(RANGE, 7);
    let burst = |count: u64| (0..count).map(|place| (0, 0, place * 4096, 4096)).collect::<Vec<Entry>>();
    let jobs = [(3, burst(40)), (1, burst(20))];
    let (_records, workload) = recorded("uring", &target, &jobs, json!({}));
    let found = found(&workload);
    let most: Vec<_> = {
        let mut jobs = found.outcome.jobs.clone();
        jobs.sort_by_key(|job| job.job);
        jobs.iter().map(|job| job.outstanding_max).collect()
    };
    assert_eq!(most, [3, 1]);
}

#[test]
fn what_a_stopped_replay_still_had_to_do_is_missed_only_up_to_then() {
    let target = TestFile::filled(RANGE, 7);
    let hour = 3_600_000_000_000;
    let jobs = [(1, vec![(0, 1, 0, 4096), (hour, 0, 4096, 4096)])];
    let (_records, workload) = recorded("sync", &target, &jobs, json!({}));
    let stop = Arc::new(AtomicBool::new(false));
    let workload = Workload::from_json(&workload.to_string()).unwrap();
    let found = run_while(workload, &stop, |_| {
        // the first one is done once its data are there
        stop.store(target.bytes()[..4096] != [7; 4096], Ordering::Relaxed);
        true
    })
    .unwrap();
    assert_eq!(found.summary["arrivals"]["issued"], 1);
    assert_eq!(found.summary["arrivals"]["missed"], 0);
}

#[test]
fn a_recording_that_does_not_fit_its_workload_is_refused() {
    let target = TestFile::filled(RANGE, 7);
    let entry: Entry = (5, 0, 0, 4096);
    let refused = |jobs: &[(u32, Vec<Entry>)], changes: Value| {
        let (_records, workload) = recorded("sync", &target, jobs, changes);
        let error = Workload::from_json(&workload.to_string()).and_then(run_all).err().unwrap();
        (error.code.as_str(), error.what)
    };
    let cases = [
        (vec![(5, 0, 0, 4096), (4, 0, 0, 4096)], "E301", "order of their starts"),
        (vec![(5, 9, 0, 4096)], "E301", "no recorded operation"),
        (vec![(5, 0, 0, 0)], "E301", "no I/O has 0 bytes"),
        (vec![(5, 3, 0, 512)], "E301", "no I/O has 512 bytes"),
        (vec![(5, 0, 0, 1 << 20)], "E301", "no I/O has 1048576 bytes"),
        (vec![(5, 0, RANGE, 4096)], "E309", "goes up to 1052672 B"),
    ];
    for (entries, code, words) in cases {
        let (found, what) = refused(&[(1, entries)], json!({}));
        assert!(found == code && what.contains(words), "{found} {what}");
    }
    let whole = [(1, vec![entry])];
    for changes in [
        json!({"share_range": false}),
        json!({"limits": {"count": 2, "bytes": 0, "runtime_ns": 0}}),
        json!({"pacing": {"kind": "fixed", "rate_per_s": 5.0}}),
        json!({"pacing": {"kind": "recorded", "speed": 0.0}}),
        json!({"recording": null}),
        json!({"backend": "mmap"}),
    ] {
        assert_eq!(refused(&whole, changes.clone()).0, "E301", "{changes}");
    }
    let (records, workload) = recorded("sync", &target, &whole, json!({}));
    std::fs::write(records.path(), [0; 23]).unwrap();
    let error = Workload::from_json(&workload.to_string()).err().unwrap();
    assert!(error.what.contains("23 bytes are not 1 records"), "{error}");
}

#[test]
fn calls_on_files_go_to_their_places_and_what_is_written_behind_the_end_makes_them_grow() {
    const SPAN: u64 = 65536;
    for backend in ["sync", "uring"] {
        let targets = [4096, 100].map(|size| TestFile::filled(size, 7));
        let opened = targets
            .each_ref()
            .map(|file| std::fs::OpenOptions::new().read(true).write(true).open(&file.0).unwrap());
        let [first, second] = opened.each_ref().map(|file| {
            let held = crate::held::held(file).unwrap();
            json!({"descriptor": held.descriptor, "device": held.device, "inode": held.inode, "flags": 0})
        });
        // the last number of a sync call's place is the call
        let entries = vec![(0, 1, SPAN + 100, 50), (10, 3, SPAN + 2, 0), (20, 0, 512, 512), (30, 3, 1, 0)];
        let jobs = [(1, entries.clone()), (1, vec![(5, 1, SPAN + 8192, 10)])];
        let changes =
            json!({"job_files": {"count": 2, "order": "round_robin", "ios_per_turn": 1, "open_max": 0}});
        let (_records, mut workload) = recorded(backend, &targets[0], &jobs, changes);
        workload["recording"]["span_bytes"] = json!(SPAN);
        workload["target"]["held"] = first;
        workload["target"]["others"] = json!([second]);
        let found = found(&workload);
        let order: Vec<_> = issued_by(&found, 0).iter().map(entry_of).collect();
        assert_eq!(order, entries.iter().map(|entry| (entry.1, entry.2, entry.3)).collect::<Vec<_>>());
        let [first, second] = targets.each_ref().map(TestFile::bytes);
        assert_eq!(first, [7; 4096], "{backend}");
        assert_eq!((second.len(), &second[..100]), (8202, &[7; 100][..]), "{backend}");
        assert!(
            second[100..150].iter().any(|byte| *byte != 0) && second[150..8192].iter().all(|byte| *byte == 0)
        );
        workload["recording"]["span_bytes"] = json!(SPAN / 2);
        let error = Workload::from_json(&workload.to_string()).and_then(run_all).err().unwrap();
        assert!(error.what.contains("its files to 65536"), "{error}");
        workload["recording"]["span_bytes"] = json!(0);
        let error = Workload::from_json(&workload.to_string()).err().unwrap();
        assert!(error.what.contains("names its own"), "{error}");
    }
}

#[test]
fn what_waited_for_another_thread_waits_for_it_here_and_for_nobody_who_has_ended() {
    let target = TestFile::filled(RANGE, 7);
    // the first two of the second thread were asked for before the first thread was through
    let slow: Vec<Entry> = (0..20).map(|place| (2_000_000 * place, 1, place * 4096, 4096)).collect();
    let waiting = vec![(0, 0, 0, 4096), (10, 0, 0, 4096), (20, 0, 4096, 4096)];
    for pacing in [json!({"kind": "recorded"}), json!({"kind": "closed"})] {
        let jobs = [(1, slow.clone()), (1, waiting.clone())];
        let (records, workload) = recorded("sync", &target, &jobs, json!({"pacing": pacing}));
        let mut bytes = std::fs::read(records.path()).unwrap();
        let after = |number: usize| 32 * (slow.len() + number) + 24;
        bytes[after(1)..after(1) + 8].copy_from_slice(&[0, 0, 0, 0, 15, 0, 0, 0]);
        std::fs::write(records.path(), &bytes).unwrap();
        let found = found(&workload);
        let [first, second] = [0, 1].map(|job| issued_by(&found, job));
        assert_eq!((first.len(), second.len()), (20, 3));
        assert!(second[1].issue_ticks >= first[14].issue_ticks, "{pacing}");
        assert!(second[1].issue_ticks > second[0].issue_ticks);
        bytes[after(1) + 4] = 21;
        std::fs::write(records.path(), &bytes).unwrap();
        let error = Workload::from_json(&workload.to_string()).err().unwrap();
        assert!(error.what.contains("waits for one that does not come"), "{error}");
    }
}
