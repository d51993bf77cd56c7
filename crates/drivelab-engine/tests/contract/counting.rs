//! Every I/O is accounted for, once, in every place that counts.

use drivelab_engine::clock::Clock;
use serde_json::{Value, json};

use crate::support::{
    BACKENDS, CAN_TRIM, MIB, ONE_AT_A_TIME, TestFile, WITH_DATA, depths, only, run_all, workload,
};

/// A prime: no queue depth, job count or chunk divides it.
const PRIME: u64 = 10_007;

#[test]
fn a_prime_number_of_ios_is_counted_exactly() {
    let file = TestFile::filled(4 * MIB, 1);
    for backend in BACKENDS {
        for &depth in depths(backend) {
            for jobs in [1, 3] {
                let changes = json!({"queue_depth": depth, "job_count": jobs, "limits": {"count": PRIME},
                    "target": {"size_bytes": 4 * MIB}, "record_ios": true});
                let found = run_all(workload(backend, file.path(), changes)).unwrap();
                let context = format!("{backend}, queue depth {depth}, {jobs} jobs");
                assert_eq!(found.count(), PRIME, "{context}");
                assert_eq!(found.number("operations", "read", "bytes"), PRIME * 4096, "{context}");
                assert_eq!(found.number("all_phases", "read", "count"), PRIME, "{context}");
                assert_eq!(found.records.len() as u64, PRIME, "{context}");
                assert_eq!(found.stopped_by(), "count", "{context}");
                assert!(found.summary["achieved"]["queue_depth_max"].as_u64().unwrap() <= u64::from(depth));
                found.check_the_books();
            }
        }
    }
}

#[test]
fn a_mix_of_operations_and_block_sizes_is_counted_exactly() {
    for backend in BACKENDS {
        for &depth in depths(backend) {
            let file = TestFile::filled(4 * MIB, 1);
            let changes = json!({"queue_depth": depth, "job_count": 2, "limits": {"count": PRIME},
                "target": {"size_bytes": 4 * MIB}, "record_ios": true,
                "operations": [{"operation": "read", "weight": 2.0}, {"operation": "write", "weight": 1.0}],
                "block_sizes": [{"bytes": 512, "weight": 1.0}, {"bytes": 4096, "weight": 2.0},
                    {"bytes": 16384, "weight": 1.0}]});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            found.check_the_books();
            assert_eq!(found.count(), PRIME, "{backend} {depth}");
            let (reads, writes) =
                (found.records_of("read").len() as f64, found.records_of("write").len() as f64);
            assert!((reads / writes - 2.0).abs() < 0.15, "{backend}: {reads} reads, {writes} writes");
            let small = found.records.iter().filter(|(_, record)| record.size == 512).count() as f64;
            assert!((small / PRIME as f64 - 0.25).abs() < 0.02, "{backend}: {small} of the smallest size");
        }
    }
}

#[test]
fn trims_are_counted_with_their_bytes() {
    for (backend, &depth) in
        CAN_TRIM.iter().flat_map(|name| depths(name).iter().map(move |depth| (*name, depth)))
    {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"operations": only("trim"), "access": {"kind": "sequential"}, "record_ios": true,
            "queue_depth": depth, "target": {"size_bytes": MIB}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        found.check_the_books();
        assert_eq!(found.number("operations", "trim", "bytes"), MIB, "{backend}");
        assert_eq!(found.stopped_by(), "range_end", "{backend}");
        let expected = u8::from(backend == "null");
        assert!(file.bytes().iter().all(|byte| *byte == expected), "{backend}");
    }
}

#[test]
fn there_is_a_sync_call_after_every_n_writes() {
    for backend in WITH_DATA {
        for (method, every) in [("fdatasync", 1), ("fsync", 7), ("sync_file_range", 3)] {
            if backend.ends_with("aio") && method == "sync_file_range" {
                continue;
            }
            for &depth in depths(backend) {
                let file = TestFile::filled(MIB, 1);
                let changes = json!({"operations": only("write"), "limits": {"count": 210}, "queue_depth": depth,
                    "durability": {"method": method, "every_writes": every}, "record_ios": true});
                let found = run_all(workload(backend, file.path(), changes)).unwrap();
                found.check_the_books();
                assert_eq!(found.number("operations", "write", "count"), 210);
                assert_eq!(
                    found.number("operations", "sync", "count"),
                    210 / every,
                    "{backend} {method} {depth}"
                );
                let (sync, durable) =
                    (found.row("sync", "total").unwrap(), found.row("durable_write", "total").unwrap());
                assert_eq!(durable.counts.count, 210 / every);
                assert!(
                    durable.extremes.2 > sync.extremes.2,
                    "a durable write takes longer than its sync call"
                );
                assert!(durable.extremes.0 > sync.extremes.0 && durable.extremes.1 > sync.extremes.1);
            }
        }
    }
}

#[test]
fn the_last_write_has_a_sync_call_or_none_as_asked() {
    for backend in WITH_DATA {
        for &depth in depths(backend) {
            for (last, every, calls) in [("due", 7, 30), ("always", 7, 31), ("always", 8, 27)] {
                let file = TestFile::filled(MIB, 1);
                let changes = json!({"operations": only("write"), "limits": {"count": 210}, "queue_depth": depth,
                    "durability": {"method": "fsync", "every_writes": every, "last": last}});
                let found = run_all(workload(backend, file.path(), changes)).unwrap();
                found.check_the_books();
                let of_writes = if last == "always" { calls - 1 } else { calls };
                let counts = ["sync", "durable_write"].map(|name| found.number("operations", name, "count"));
                assert_eq!(counts, [calls, of_writes], "{backend} {depth} {last} {every}");
            }
        }
    }
}

#[test]
fn a_sync_call_is_due_before_the_next_io_as_long_as_fio_takes_it_to_be() {
    for backend in WITH_DATA {
        for &depth in depths(backend) {
            for (last, every, think_ns) in [("due", 7, 0), ("due", 1, 1000), ("always", 7, 0)] {
                let file = TestFile::filled(MIB, 1);
                let changes = json!({"operations": only("write"), "limits": {"count": 210}, "queue_depth": depth,
                    "record_ios": true, "pacing": {"think_ns": think_ns, "think_every": 5},
                    "durability": {"method": "fsync", "every_writes": every, "last": last, "order": "before_next"}});
                let found = run_all(workload(backend, file.path(), changes)).unwrap();
                found.check_the_books();
                let context = format!("{backend} {depth} {last} {every}");
                let [writes, syncs, pairs] =
                    ["write", "sync", "durable_write"].map(|name| found.number("operations", name, "count"));
                let (between, at_end) = (209 / every, u64::from(last == "always"));
                assert_eq!(writes, 210, "{context}");
                if depth == 1 {
                    assert_eq!([syncs, pairs], [between + at_end, between], "{context}");
                } else {
                    // None is due as long as no I/O has ended since the last one, and several are where none has.
                    assert!(
                        0 < pairs && pairs <= between && syncs >= pairs + at_end,
                        "{context}: {pairs} {syncs}"
                    );
                }
            }
        }
    }
}

#[test]
fn reads_between_writes_make_a_sync_call_due_again() {
    let operations = json!([{"operation": "read", "weight": 1.0}, {"operation": "write", "weight": 1.0}]);
    for backend in WITH_DATA {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"operations": operations, "limits": {"count": 400}, "record_ios": true,
            "durability": {"method": "fsync", "every_writes": 4, "order": "before_next"}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        found.check_the_books();
        let mut expected = 0;
        let mut writes = 0;
        let ios: Vec<_> = found.records.iter().filter(|(_, record)| record.operation != 3).collect();
        for (position, (_, record)) in ios.iter().enumerate() {
            writes += u64::from(record.operation == 1);
            expected += u64::from(position + 1 < ios.len() && writes > 0 && writes.is_multiple_of(4));
        }
        assert_eq!(found.number("operations", "sync", "count"), expected, "{backend}");
        let pairs = found.number("operations", "durable_write", "count");
        assert!(pairs == writes / 4 || pairs + 1 == writes / 4, "{backend}: {pairs} of {writes} writes");
    }
}

#[test]
fn each_sync_record_follows_its_write() {
    for backend in WITH_DATA {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"operations": only("write"), "limits": {"count": 100}, "record_ios": true,
            "durability": {"method": "fdatasync", "every_writes": 1}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        for pair in found.records.chunks(2) {
            let (write, sync) = (pair[0].1, pair[1].1);
            assert_eq!((write.operation, sync.operation), (1, 3), "{backend}");
            assert_eq!((write.offset, 0), (sync.offset, sync.result), "{backend}");
            assert!(sync.issue_ticks >= write.issue_ticks, "{backend}");
        }
    }
}

#[test]
fn jobs_whose_share_of_a_limit_is_nothing_do_not_hide_the_reason() {
    for backend in BACKENDS {
        for (limits, reason) in [(json!({"count": 2}), "count"), (json!({"bytes": 2}), "bytes")] {
            let file = TestFile::filled(MIB, 1);
            let changes = json!({"job_count": 5, "limits": limits, "target": {"size_bytes": MIB}});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            assert_eq!((found.count(), found.stopped_by()), (2, reason), "{backend}");
        }
    }
}

#[test]
fn a_kernel_thread_that_picks_up_submissions_loses_none() {
    for depth in [1, 8, 32] {
        let file = TestFile::filled(4 * MIB, 1);
        let changes = json!({"polled_submission": true, "queue_depth": depth, "limits": {"count": PRIME},
            "operations": [{"operation": "read", "weight": 3.0}, {"operation": "write", "weight": 1.0}],
            "durability": {"method": "fdatasync", "every_writes": 50}, "record_ios": true, "job_count": 2});
        let found = run_all(workload("uring", file.path(), changes)).unwrap();
        found.check_the_books();
        assert_eq!((found.count(), found.stopped_by()), (PRIME, "count"), "queue depth {depth}");
    }
}

#[test]
fn failures_of_several_jobs_are_one_entry() {
    for backend in WITH_DATA {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"job_count": 3, "verify": true, "share_range": true, "limits": {"count": 3000}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        found.check_the_books();
        assert_eq!(found.summary["errors"].as_array().unwrap().len(), 1, "{backend}: {}", found.summary);
        assert_eq!((found.count(), found.stopped_by()), (0, "error"), "{backend}");
    }
}

#[test]
fn a_discard_beside_other_ios_has_a_total_latency_alone() {
    for backend in CAN_TRIM {
        for &depth in depths(backend) {
            let file = TestFile::filled(MIB, 1);
            let changes = json!({"limits": {"count": 600}, "queue_depth": depth, "record_ios": true,
                "operations": [{"operation": "trim", "weight": 1.0}, {"operation": "write", "weight": 3.0}]});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            found.check_the_books();
            assert_eq!((found.count(), found.stopped_by()), (600, "count"), "{backend} {depth}");
            assert!(found.row("trim", "submission").is_none() && found.row("trim", "completion").is_none());
            let has_parts = !ONE_AT_A_TIME.contains(&backend);
            assert_eq!(found.row("write", "submission").is_some(), has_parts, "{backend}");
        }
    }
}

#[test]
fn no_discard_is_charged_with_another_one() {
    // 32 discards queued behind each other would take 16 times as long as one, on average.
    for backend in ["uring", "aio", "posixaio"] {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"operations": only("trim"), "limits": {"count": 500}, "queue_depth": 32,
            "record_ios": true});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        let mut end = 0;
        for trim in found.records_of("trim") {
            assert!(trim.issue_ticks >= end, "{backend}: one was issued before the one before it had ended");
            end = trim.issue_ticks + Clock::get().ticks_in(trim.total_ns) * 99 / 100;
        }
    }
}

#[test]
fn a_look_takes_no_more_completions_than_asked_for() {
    for backend in ["uring", "aio", "posixaio"] {
        let file = TestFile::filled(MIB, 1);
        let levels = |taken: u32| {
            let changes = json!({"queue_depth": 8, "submission_batch": 1, "completion_batch": taken,
                "limits": {"count": 500}});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            found.check_the_books();
            found.summary["achieved"].clone()
        };
        let one = levels(1);
        // After the first ones each is sent as soon as one has been taken, whatever else has ended.
        assert_eq!(one["outstanding_levels"], json!([1, 2, 4, 493, 0, 0, 0]), "{backend}");
        assert_eq!(one["found_levels"][1], json!(500), "{backend}");
        let looks: u64 = (1..7).map(|level| levels(3)["found_levels"][level].as_u64().unwrap()).sum();
        assert!(looks >= 500_u64.div_ceil(3), "{backend}: {looks}");
    }
}

#[test]
fn a_look_waits_for_as_many_completions_as_asked_for_and_slots_for_their_refill() {
    for backend in ["uring", "aio", "posixaio"] {
        let file = TestFile::filled(MIB, 1);
        let levels = |changes: Value| {
            let mut all = json!({"queue_depth": 8, "submission_batch": 1, "limits": {"count": 500}});
            all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            let found = run_all(workload(backend, file.path(), all)).unwrap();
            found.check_the_books();
            found.summary["achieved"].clone()
        };
        let count = |found: &Value, kind: &str, level: usize| found[kind][level].as_u64().unwrap();
        // Levels are 1 to 4, 5 to 8: only what is left at the end is less.
        let least = levels(json!({"completion_batch_min": 5}));
        assert!(count(&least, "found_levels", 1) <= 2, "{backend}: {least}");
        // Slots that are full empty until two are left, and then all are filled: at most one in six is the eighth.
        let refilled = levels(json!({"refill_depth": 2}));
        assert!(
            (1..=500 / 6 + 1).contains(&count(&refilled, "outstanding_levels", 3)),
            "{backend}: {refilled}"
        );
    }
}
