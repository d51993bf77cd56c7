//! What ends a run, and what it keeps then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use drivelab_engine::run::Progress;
use serde_json::{Value, json};

use crate::support::{
    BACKENDS, CAN_APPEND, Found, MIB, TestFile, blocks_of, depths, only, run_all, run_while, run_with_looks,
    workload,
};

const MS: u64 = 1_000_000;

/// So long after the first arrival comes the second.
const ARRIVAL: Duration = Duration::from_secs(100);

fn reads(backend: &str, file: &TestFile, changes: Value) -> Found {
    let mut all = json!({"queue_depth": depths(backend).last(), "target": {"size_bytes": MIB}});
    all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let found = run_all(workload(backend, file.path(), all)).unwrap();
    found.check_the_books();
    found
}

/// What this process has written so far.
fn written_bytes() -> u64 {
    let counts = std::fs::read_to_string("/proc/self/io").unwrap();
    counts.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

#[test]
fn a_runtime_is_kept_to_within_an_interval() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let once = || reads(backend, &file, json!({"limits": {"runtime_ns": 95 * MS}, "job_count": 2}));
        let measured = |found: &Found| found.summary["measured_ns"].as_u64().unwrap();
        // What was under way at the end is measured to its end, which a busy machine may delay: not every time.
        let mut all = Vec::new();
        let found = (0..100).map(|_| once()).find(|found| {
            all.push(measured(found));
            measured(found) < 96 * MS
        });
        assert!(all.iter().all(|measured| *measured >= 95 * MS), "{backend}: {all:?}");
        let found = found.unwrap_or_else(|| panic!("{backend}: {all:?}"));
        assert_eq!(found.stopped_by(), "runtime", "{backend}");
        let last = found.outcome.interval_rows.last().unwrap();
        assert_eq!((last.interval, last.start_ns), (9, 90 * MS), "{backend}");
        assert!(
            last.duration_ns.abs_diff(5 * MS) < MS,
            "{backend}: the last interval is {} ns",
            last.duration_ns
        );
    }
}

#[test]
fn bytes_end_a_run_at_the_first_io_that_reaches_them() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        for jobs in [1, 3] {
            let found = reads(backend, &file, json!({"limits": {"bytes": 1_000_000}, "job_count": jobs}));
            let bytes = found.number("operations", "read", "bytes");
            assert!((1_000_000..1_000_000 + 4096 * jobs).contains(&bytes), "{backend}: {bytes}");
            assert_eq!((found.number("all_phases", "read", "bytes"), found.stopped_by()), (bytes, "bytes"));
        }
    }
}

#[test]
fn without_limits_a_range_is_covered_once() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let ordered = reads(backend, &file, json!({"access": {"kind": "sequential"}}));
        assert_eq!((ordered.count(), ordered.stopped_by()), (256, "range_end"), "{backend}");
        let random = reads(backend, &file, json!({}));
        assert_eq!((random.count(), random.stopped_by()), (256, "count"), "{backend}");
        let shared = reads(
            backend,
            &file,
            json!({"access": {"kind": "sequential"}, "job_count": 3, "share_range": true}),
        );
        assert_eq!(shared.count(), 3 * 256, "{backend}");
    }
}

#[test]
fn a_limit_lets_a_stream_begin_again_at_the_start() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let found =
            reads(backend, &file, json!({"access": {"kind": "sequential"}, "limits": {"count": 600}}));
        assert_eq!((found.count(), found.stopped_by()), (600, "count"), "{backend}");
    }
}

#[test]
fn an_append_ends_at_the_size_that_was_asked_for() {
    for backend in CAN_APPEND {
        let file = TestFile::filled(5000, 1);
        let found = reads(
            backend,
            &file,
            json!({"operations": only("write"), "access": {"kind": "sequential"}, "file_state": "append",
                "target": {"size_bytes": 100_000}}),
        );
        assert_eq!((found.count(), found.stopped_by()), (24, "range_end"), "{backend}");
        assert_eq!(file.bytes().len(), 5000 + 24 * 4096, "{backend}");
    }
}

#[test]
fn the_ramp_is_not_counted() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let changes = json!({"ramp_ns": 60 * MS, "limits": {"count": 1000}, "record_ios": true});
        let found = reads(backend, &file, changes);
        assert_eq!((found.count(), found.stopped_by()), (1000, "count"), "{backend}");
        assert!(found.number("all_phases", "read", "count") > 1000, "{backend}: {}", found.summary);
        assert_eq!(found.summary["ramp_ns"], 60 * MS);
        let is_right = |now: &Progress| now.is_ramping == (now.elapsed_ns < 60 * MS);
        assert!(found.progress.iter().all(is_right), "{backend}");
    }
}

#[test]
fn a_stop_in_the_ramp_leaves_nothing_measured() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let stop = Arc::new(AtomicBool::new(false));
        let changes =
            json!({"ramp_ns": 60_000 * MS, "limits": {"count": 1000}, "target": {"size_bytes": MIB}});
        let found =
            run_while(workload(backend, file.path(), changes), &stop, |now| now.elapsed_ns < 150 * MS)
                .unwrap();
        found.check_the_books();
        assert_eq!((found.count(), found.stopped_by()), (0, "caller"), "{backend}");
        assert_eq!(found.summary["measured_ns"], 0, "{backend}");
        assert!(found.number("all_phases", "read", "count") > 0, "{backend}");
    }
}

#[test]
fn a_stop_ends_a_run_of_an_hour_and_keeps_what_was_measured() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let stop = Arc::new(AtomicBool::new(false));
        let changes = json!({"limits": {"runtime_ns": 3_600_000 * MS}, "job_count": 3, "record_ios": true,
            "pacing": {"kind": "fixed", "rate_per_s": 3000.0}, "target": {"size_bytes": MIB}});
        let stopper = Arc::clone(&stop);
        let found = run_while(workload(backend, file.path(), changes), &stop, |now| {
            stopper.fetch_or(now.counts[0].0 > 20, Ordering::Relaxed);
            true
        })
        .unwrap();
        found.check_the_books();
        assert_eq!(found.stopped_by(), "caller", "{backend}");
        assert!(found.count() > 20, "{backend}: {}", found.summary);
    }
}

#[test]
fn a_stop_wakes_a_job_that_waits_for_a_distant_arrival() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let changes = json!({"limits": {"runtime_ns": 3_600_000 * MS}, "target": {"size_bytes": MIB},
            "pacing": {"kind": "fixed", "rate_per_s": 1.0 / ARRIVAL.as_secs_f64()}});
        let started = Instant::now();
        let found = run_while(workload(backend, file.path(), changes), &Arc::default(), |now| {
            now.elapsed_ns < 500 * MS
        })
        .unwrap();
        assert_eq!((found.count(), found.stopped_by()), (1, "caller"), "{backend}");
        assert!(started.elapsed() < ARRIVAL, "{backend}: {:?}", started.elapsed());
    }
}

#[test]
fn a_listener_that_says_no_ends_the_run_but_leaves_the_callers_flag_alone() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let stop = Arc::new(AtomicBool::new(false));
        let changes = json!({"limits": {"runtime_ns": 3_600_000 * MS}, "target": {"size_bytes": MIB}});
        let found =
            run_while(workload(backend, file.path(), changes), &stop, |now| now.counts[0].0 < 1000).unwrap();
        found.check_the_books();
        assert_eq!(found.stopped_by(), "caller", "{backend}");
        assert!(found.count() >= 1000, "{backend}");
        assert!(!stop.load(Ordering::Relaxed), "{backend}: the next run with this flag would end at once");
    }
}

#[test]
fn a_flag_that_is_set_already_lets_nothing_begin() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let stop = Arc::new(AtomicBool::new(true));
        let changes = json!({"limits": {"runtime_ns": 3_600_000 * MS}, "target": {"size_bytes": MIB}});
        let found = run_while(workload(backend, file.path(), changes), &stop, |_| true).unwrap();
        assert_eq!((found.count(), found.stopped_by()), (0, "caller"), "{backend}");
        assert_eq!(found.number("all_phases", "read", "count"), 0, "{backend}");
    }
}

#[test]
fn a_stop_also_ends_the_preparation_of_a_file_and_nothing_is_left_of_it() {
    let file = TestFile::missing();
    let changes = json!({"operations": only("write"), "limits": {"count": 1}, "block_sizes": blocks_of(4096),
        "target": {"create": true, "size_bytes": 2048 * MIB}});
    let before = written_bytes();
    let found = run_while(workload("sync", file.path(), changes), &Arc::default(), |_| false).unwrap();
    assert_eq!((found.count(), found.stopped_by()), (0, "caller"));
    assert!(!file.0.exists());
    assert!(written_bytes() - before < 2048 * MIB, "it was prepared to its end");
}

#[test]
fn a_look_ends_a_run_that_is_known_well_and_is_shown_whole_intervals() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let limits = json!({"runtime_ns": 100 * 1000 * MS, "looks_ns": [20 * MS, 25 * MS, 40 * MS, 60 * MS]});
        let asked = json!({"limits": limits, "interval_ns": 10 * MS, "target": {"size_bytes": MIB}});
        let mut seen = Vec::new();
        let found = run_with_looks(workload(backend, file.path(), asked), |rows, counted_ns| {
            let last = rows.iter().map(|row| row.interval).max().unwrap();
            seen.push((counted_ns, u64::from(last + 1) * 10 * MS));
            counted_ns < 40 * MS
        })
        .unwrap();
        found.check_the_books();
        assert_eq!(found.stopped_by(), "precision", "{backend}");
        assert!(seen.iter().all(|(counted_ns, rows_ns)| counted_ns == rows_ns), "{backend}: {seen:?}");
        assert!(seen.last().unwrap().0 >= 40 * MS && seen.len() <= 3, "{backend}: {seen:?}");
        assert!(found.summary["measured_ns"].as_u64().unwrap() >= 40 * MS);
    }
}

#[test]
fn looks_that_end_nothing_change_nothing() {
    let file = TestFile::filled(MIB, 1);
    let limits = json!({"count": 5000, "runtime_ns": 100 * 1000 * MS, "looks_ns": [MS]});
    let asked = json!({"limits": limits, "interval_ns": MS, "target": {"size_bytes": MIB}});
    let found = run_with_looks(workload("sync", file.path(), asked), |_, _| true).unwrap();
    found.check_the_books();
    assert_eq!((found.stopped_by(), found.count()), ("count", 5000));
}
