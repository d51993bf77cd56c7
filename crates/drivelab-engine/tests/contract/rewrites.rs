//! What follows an I/O: the write back of a block that was read, the last sync call, a pause.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{BACKENDS, MIB, TestFile, WITH_DATA, blocks_of, depths, only, run_all, workload};

const MS: u64 = 1_000_000;

#[test]
fn every_block_that_was_read_is_changed_and_written_back_to_its_place() {
    for backend in WITH_DATA {
        for block in [1_u64, 4096, 8192] {
            let file = TestFile::filled(MIB / 2, 0);
            // Stamps are in place, so that what is read can be verified before it is changed.
            let lay_out = json!({"operations": only("write"), "access": {"kind": "sequential"}, "seed": 7});
            run_all(workload("sync", file.path(), lay_out)).unwrap();
            let before = file.bytes();
            let changes = json!({"rewrite_fraction": 1.0, "block_sizes": blocks_of(block), "verify": block > 1,
                "access": {"kind": "sequential"}, "queue_depth": depths(backend).last(), "record_ios": true,
                "limits": {"count": 64}});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            found.check_the_books();
            for event in ["read", "write", "rewrite"] {
                assert_eq!(found.number("operations", event, "count"), 64, "{backend} {block}: {event}");
            }
            assert_eq!(found.number("operations", "rewrite", "bytes"), 0);
            let after = file.bytes();
            for (place, (old, new)) in
                before.chunks(block as usize).zip(after.chunks(block as usize)).enumerate()
            {
                let is_reached = (place as u64) < 64;
                assert_eq!(old != new, is_reached, "{backend}: block {place} of {block} B");
                assert_eq!(old.get(16..64), new.get(16..64), "{backend}: only the stamp is new");
            }
            let verified = json!({"verify": true, "access": {"kind": "sequential"}});
            assert_eq!(
                run_all(workload("sync", file.path(), verified)).unwrap().stopped_by() == "range_end",
                block > 1
            );
        }
    }
}

#[test]
fn a_part_of_the_reads_is_written_back_right_after_its_read() {
    for backend in WITH_DATA {
        let file = TestFile::filled(4 * MIB, 1);
        let changes = json!({"rewrite_fraction": 0.1, "limits": {"count": 8192}, "record_ios": true});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        found.check_the_books();
        let written = found.number("operations", "write", "count");
        assert_eq!(
            found.number("operations", "read", "count"),
            8192,
            "{backend}: a pair is one I/O of the limit"
        );
        // 4 standard deviations of the binomial law
        assert!(
            (written as f64 - 819.2).abs() < 4.0 * (8192.0 * 0.1 * 0.9_f64).sqrt(),
            "{backend}: {written}"
        );
        assert_eq!(found.number("operations", "rewrite", "count"), written);
        for pair in found.records.windows(2).filter(|pair| pair[1].1.operation == 1) {
            assert_eq!((pair[0].1.operation, pair[0].1.offset), (0, pair[1].1.offset), "{backend}");
        }
        let sum = |event| found.row(event, "total").unwrap().extremes.2;
        assert!(sum("rewrite") > sum("write"), "{backend}: it is the read and the write together");
        // What lies between the two is part of a pair, and a machine at work makes it as long as it likes.
        assert!(written < 8192, "{backend}: only some reads are part of one");
    }
}

#[test]
fn what_is_written_back_becomes_durable_as_any_write() {
    for backend in WITH_DATA {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"rewrite_fraction": 1.0, "limits": {"count": 60}, "record_ios": true,
            "queue_depth": depths(backend).last(), "durability": {"method": "fdatasync", "every_writes": 4}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        found.check_the_books();
        for (event, count) in
            [("read", 60), ("write", 60), ("rewrite", 60), ("sync", 15), ("durable_write", 15)]
        {
            assert_eq!(found.number("operations", event, "count"), count, "{backend} {event}");
        }
        let least = |event| found.row(event, "total").unwrap().extremes.0;
        assert!(least("durable_write") > least("sync") && least("rewrite") > least("write"), "{backend}");
    }
}

#[test]
fn zeros_that_are_written_back_stay_zeros() {
    for backend in WITH_DATA {
        let file = TestFile::filled(MIB, 0);
        let changes = json!({"rewrite_fraction": 1.0, "contents": {"kind": "zeros"}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        assert_eq!(found.number("operations", "rewrite", "count"), 256, "{backend}");
        assert!(file.bytes().iter().all(|byte| *byte == 0), "{backend}");
    }
}

#[test]
fn one_sync_call_follows_the_last_write_of_each_job_and_is_measured() {
    for backend in BACKENDS {
        // on a busy machine neither of two jobs may have written within less
        for limits in [json!({"count": 300}), json!({"runtime_ns": 400 * MS}), json!({"bytes": 999_999})] {
            let file = TestFile::filled(MIB, 1);
            let changes = json!({"job_count": 2, "queue_depth": depths(backend).last(), "record_ios": true,
                "operations": [{"operation": "write", "weight": 3.0}, {"operation": "read", "weight": 1.0}],
                "durability": {"method": "fdatasync", "every_writes": 2, "at_end": true}, "limits": limits,
                "target": {"size_bytes": MIB}});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            found.check_the_books();
            // Of two jobs on a busy machine, one may not get a turn in time.
            let writers: BTreeSet<_> = found
                .records
                .iter()
                .filter(|(_, record)| record.operation == 1)
                .map(|(job, _)| *job)
                .collect();
            assert!(!writers.is_empty(), "{backend} {limits}");
            let syncs = found.number("operations", "sync", "count");
            assert_eq!(syncs, writers.len() as u64, "{backend} {limits}");
            assert_eq!(found.number("all_phases", "durable_write", "count"), 0, "{backend}: no pair");
            let clock = drivelab_engine::clock::Clock::get();
            let begun = found.summary["started_monotonic_ns"].as_u64().unwrap();
            let ended = begun + found.summary["measured_ns"].as_u64().unwrap();
            for sync in found.records_of("sync") {
                let returned = clock.monotonic_ns(sync.issue_ticks) + sync.total_ns;
                assert!(returned <= ended + MS / 10, "{backend} {limits}: the call is measured to its end");
                let of_job = |record: &drivelab_engine::iolog::Record| record.issue_ticks <= sync.issue_ticks;
                assert!(found.records_of("write").iter().any(of_job));
            }
        }
    }
}

#[test]
fn a_job_that_wrote_nothing_or_was_stopped_makes_no_last_sync_call() {
    let at_end = json!({"method": "fdatasync", "every_writes": 1, "at_end": true});
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"durability": at_end, "target": {"size_bytes": MIB}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        assert_eq!((found.count(), found.number("all_phases", "sync", "count")), (256, 0), "{backend}");
        let changes = json!({"operations": only("write"), "durability": at_end, "target": {"size_bytes": MIB},
            "limits": {"runtime_ns": 60_000 * MS}});
        let workload = workload(backend, file.path(), changes);
        let found =
            crate::support::run_while(workload, &Default::default(), |now| now.counts[1].0 < 10).unwrap();
        assert_eq!(found.stopped_by(), "caller");
        assert_eq!(found.number("all_phases", "sync", "count"), 0, "{backend}");
    }
}

#[test]
fn a_pause_follows_every_few_ios_and_is_in_no_latency() {
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"pacing": {"think_ns": 5 * MS, "think_every": 4}, "limits": {"count": 40},
            "queue_depth": depths(backend).last(), "record_ios": true, "target": {"size_bytes": MIB}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        found.check_the_books();
        let measured = found.summary["measured_ns"].as_u64().unwrap();
        assert!(measured >= 9 * 5 * MS, "{backend}: nine pauses lie between ten times four I/Os: {measured}");
        let clock = drivelab_engine::clock::Clock::get();
        let issued = |n: usize| clock.monotonic_ns(found.records[n].1.issue_ticks);
        let ended = |n: usize| issued(n) + found.records[n].1.total_ns;
        for group in 0..9 {
            let last = (4 * group..4 * group + 4).map(ended).max().unwrap();
            let next = (4 * group + 4..4 * group + 8).map(issued).min().unwrap();
            assert!(next + MS / 20 >= last + 5 * MS, "{backend}: group {group}");
        }
        // A busy machine delays an I/O now and then, but not each of those that came after a pause.
        let paused = found.records.iter().skip(4).step_by(4).map(|(_, record)| record.total_ns);
        assert!(paused.min().unwrap() < 5 * MS, "{backend}: a pause is no part of a latency");
    }
}

#[test]
fn a_pause_ends_with_the_run() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let pause = Duration::from_secs(60);
        let changes = json!({"pacing": {"think_ns": pause.as_nanos() as u64}, "limits": {"runtime_ns": 500 * MS},
            "target": {"size_bytes": MIB}});
        let started = Instant::now();
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        assert_eq!((found.count(), found.stopped_by()), (1, "runtime"), "{backend}");
        assert!(started.elapsed() < pause, "{backend}");
    }
}

#[test]
fn an_operation_of_a_mix_has_its_own_block_sizes() {
    for backend in BACKENDS {
        let file = TestFile::filled(4 * MIB, 1);
        let changes = json!({"limits": {"count": 4000}, "record_ios": true, "target": {"size_bytes": 4 * MIB},
            "operations": [{"operation": "read", "weight": 3.0, "block_sizes": [{"bytes": 65_536, "weight": 1.0}]},
                {"operation": "write", "weight": 1.0}],
            "block_sizes": [{"bytes": 512, "weight": 1.0}, {"bytes": 2048, "weight": 1.0}]});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        found.check_the_books();
        let mut sizes: BTreeMap<(u8, u32), u64> = BTreeMap::new();
        for (_, record) in &found.records {
            *sizes.entry((record.operation, record.size)).or_default() += 1;
            let grid = if record.operation == 0 { 65_536 } else { 512 };
            assert!(record.offset.is_multiple_of(grid), "{backend}: {record:?}");
        }
        assert_eq!(
            sizes.keys().copied().collect::<Vec<_>>(),
            [(0, 65_536), (1, 512), (1, 2048)],
            "{backend}"
        );
        assert!(
            sizes[&(0, 65_536)].abs_diff(3000) < 150 && sizes[&(1, 512)].abs_diff(500) < 100,
            "{sizes:?}"
        );
    }
}

#[test]
fn every_block_comes_once_and_then_again_while_the_time_lasts() {
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"access": {"kind": "random", "covers_once": true}, "limits": {"count": 3 * 256},
            "record_ios": true, "target": {"size_bytes": MIB}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        for pass in found.records.chunks(256) {
            let mut blocks: Vec<_> = pass.iter().map(|(_, record)| record.offset / 4096).collect();
            blocks.sort_unstable();
            assert_eq!(blocks, (0..256).collect::<Vec<_>>(), "{backend}");
        }
    }
}

#[test]
fn what_the_c_library_held_back_is_in_the_file_and_in_the_time_when_a_run_ends() {
    let file = TestFile::missing();
    let changes = json!({"operations": only("write"), "access": {"kind": "sequential"}, "block_sizes": blocks_of(100),
        "limits": {"count": 1001}, "file_state": "append", "target": {"create": true}});
    let found = run_all(workload("stdio", file.path(), changes)).unwrap();
    assert_eq!((found.count(), fs::metadata(&file.0).unwrap().len()), (1001, 100_100));
    let inside = found.row("write", "total").unwrap().extremes.2;
    assert!(found.summary["measured_ns"].as_u64().unwrap() > inside);
}
