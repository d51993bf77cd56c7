//! The order of the time stamps of one I/O, and of one job.

use drivelab_engine::clock::{Clock, monotonic_ns};
use drivelab_engine::workload::Workload;
use serde_json::json;

use crate::support::{
    BACKENDS, CAN_BE_DIRECT, MIB, ONE_AT_A_TIME, TestFile, depths, only, run_all, workload, workload_json,
};

/// How far the processor's counter and the kernel's clock may lie apart at one moment.
const CLOCK_SLACK_NS: u64 = 50_000;

#[test]
fn submission_and_completion_add_up_to_the_total() {
    for backend in ["uring", "aio", "posixaio", "null"] {
        for &depth in depths(backend) {
            let file = TestFile::filled(MIB, 1);
            let changes = json!({"limits": {"count": 2000}, "queue_depth": depth, "record_ios": true,
                "target": {"size_bytes": MIB}});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            let sum = |latency| found.row("read", latency).unwrap().extremes.2;
            assert_eq!(sum("submission") + sum("completion"), sum("total"), "{backend} {depth}");
            for (_, record) in &found.records {
                assert!(u64::from(record.submission_ns) <= record.total_ns, "{backend}: {record:?}");
            }
        }
    }
}

#[test]
fn one_in_64_calls_that_send_and_wait_is_timed_in_its_parts() {
    for (depth, changes, is_sampled) in [
        (1, json!({}), true),
        (32, json!({}), true),
        (
            32,
            json!({"operations": only("write"), "durability": {"method": "fdatasync", "every_writes": 7}}),
            true,
        ),
        (32, json!({"submission_latency": "all"}), false),
        (32, json!({"submission_batch": 8}), false),
        (32, json!({"pacing": {"kind": "fixed", "rate_per_s": 1e6}}), false),
        (32, json!({"polled_submission": true}), false),
    ] {
        let file = TestFile::filled(MIB, 1);
        let mut asked = workload_json("uring", file.path(), changes.clone());
        (asked["queue_depth"], asked["limits"]["count"]) = (json!(depth), json!(6400));
        let found = run_all(Workload::from_json(&asked.to_string()).unwrap()).unwrap();
        found.check_the_books();
        for event in ["read", "write", "sync"] {
            let Some(total) = found.row(event, "total") else { continue };
            let (total, count) = (total.extremes.2, total.counts.count);
            let parts = ["submission", "completion"].map(|latency| found.row(event, latency));
            let timed = parts.map(|row| row.map_or(0, |row| row.counts.count));
            let sum: u64 = parts.iter().flatten().map(|row| row.extremes.2).sum();
            assert_eq!(timed[0], timed[1], "{event} {depth} {changes}");
            if is_sampled {
                assert!(timed[0] < count && sum < total, "{event} {depth} {changes}: {timed:?} of {count}");
            } else {
                assert_eq!((timed[0], sum), (count, total), "{event} {depth} {changes}");
            }
            if is_sampled && depth == 1 {
                assert_eq!(timed[0], count / 64, "{event} {depth} {changes}");
            }
        }
        assert!(found.row("read", "submission").or(found.row("write", "submission")).is_some(), "{depth}");
    }
}

#[test]
fn one_call_per_io_has_no_submission_latency() {
    for backend in ONE_AT_A_TIME {
        let file = TestFile::filled(MIB, 1);
        let found = run_all(workload(backend, file.path(), json!({"limits": {"count": 100}}))).unwrap();
        assert!(found.row("read", "submission").is_none() && found.row("read", "completion").is_none());
        assert_eq!(found.row("read", "total").unwrap().counts.count, 100, "{backend}");
    }
}

#[test]
fn issue_times_are_those_of_the_kernels_clock() {
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"limits": {"count": 500}, "job_count": 2, "queue_depth": depths(backend).last(),
            "record_ios": true, "target": {"size_bytes": MIB}});
        let workload = workload(backend, file.path(), changes);
        let before = monotonic_ns();
        let found = run_all(workload).unwrap();
        let after = monotonic_ns();
        let clock = Clock::get();
        for (_, record) in &found.records {
            let issued = clock.monotonic_ns(record.issue_ticks);
            assert!(issued + CLOCK_SLACK_NS >= before && issued + record.total_ns <= after + CLOCK_SLACK_NS);
        }
        let started = found.summary["started_monotonic_ns"].as_u64().unwrap();
        let measured = found.summary["measured_ns"].as_u64().unwrap();
        assert!(
            started + CLOCK_SLACK_NS >= before && started + measured <= after + CLOCK_SLACK_NS,
            "{backend}"
        );
    }
}

#[test]
fn one_io_at_a_time_is_issued_after_the_one_before_has_ended() {
    let clock = Clock::get();
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"limits": {"count": 1000}, "job_count": 2, "record_ios": true,
            "operations": only("write"), "durability": {"method": "fdatasync", "every_writes": 5},
            "target": {"size_bytes": MIB}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        for job in 0..2 {
            let of_job: Vec<_> = found.records.iter().filter(|(of, _)| *of == job).map(|(_, r)| *r).collect();
            for pair in of_job.windows(2) {
                let ended = pair[0].issue_ticks + clock.ticks_in(pair[0].total_ns);
                assert!(pair[1].issue_ticks + clock.ticks_in(2) >= ended, "{backend}: {pair:?}");
            }
        }
    }
}

#[test]
fn an_open_loop_keeps_its_rate_and_response_includes_total() {
    for backend in BACKENDS {
        for pacing in ["fixed", "poisson"] {
            let file = TestFile::filled(MIB, 1);
            let changes = json!({"pacing": {"kind": pacing, "rate_per_s": 4000.0}, "job_count": 2, "record_ios": true,
                "limits": {"runtime_ns": 250_000_000}, "queue_depth": depths(backend).last(),
                "target": {"size_bytes": MIB}});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            found.check_the_books();
            let arrivals = &found.summary["arrivals"];
            let number = |key: &str| arrivals[key].as_u64().unwrap();
            assert_eq!(number("scheduled"), number("issued") + number("missed"), "{backend} {pacing}");
            let spread = if pacing == "fixed" { 1.0 } else { 5.0 * 1000_f64.sqrt() };
            assert!((number("scheduled") as f64 - 1000.0).abs() <= spread, "{backend} {pacing}: {arrivals}");
            assert!(number("late") <= number("issued"));
            let (total, response) =
                (found.row("read", "total").unwrap(), found.row("read", "response").unwrap());
            assert_eq!(total.counts.count, response.counts.count);
            assert!(response.extremes.2 >= total.extremes.2);
            assert!(found.records.iter().all(|(_, record)| record.response_ns >= record.total_ns));
        }
    }
}

#[test]
fn a_schedule_is_met_from_its_first_arrival_on() {
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"pacing": {"kind": "fixed", "rate_per_s": 100.0}, "record_ios": true,
            "limits": {"runtime_ns": 5_000_000}, "target": {"size_bytes": MIB}});
        // The machine may be busy with something else; once in a hundred it is not.
        let is_early = |_| {
            let found = run_all(workload(backend, file.path(), changes.clone())).unwrap();
            // A thread that comes too late for all of the 5 ms issues nothing.
            assert!(found.records.len() <= 1, "{backend}");
            found.records.len() == 1 && found.summary["arrivals"]["late"] == 0
        };
        assert!((0..100).any(is_early), "{backend}: the first arrival is always late");
    }
}

#[test]
fn queue_depth_is_reached_and_its_mean_obeys_littles_law() {
    for backend in CAN_BE_DIRECT {
        let depth = *depths(backend).last().unwrap();
        let file = TestFile::filled(4 * MIB, 1);
        let changes = json!({"limits": {"count": 3000}, "queue_depth": depth, "direct": true});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        let achieved = &found.summary["achieved"];
        assert_eq!(achieved["queue_depth_max"], depth, "{backend}");
        let mean = achieved["queue_depth_mean"].as_f64().unwrap();
        assert!(mean > 0.3 * f64::from(depth) && mean <= 1.001 * f64::from(depth), "{backend}: {mean}");
    }
}

#[test]
fn processor_time_is_at_most_the_time_that_passed() {
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, 1);
        let changes = json!({"limits": {"runtime_ns": 60_000_000}, "queue_depth": depths(backend).last(),
            "target": {"size_bytes": MIB}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        let cpu = |key: &str| found.summary["cpu"][key].as_u64().unwrap();
        let measured = found.summary["measured_ns"].as_u64().unwrap();
        assert!(cpu("user_ns") + cpu("system_ns") <= measured * 11 / 10, "{backend}: {}", found.summary);
        // No I/O takes less, however little of the processor a busy machine gave to the run.
        assert!(cpu("total_ns") > 20 * found.count(), "{backend}: {}", found.summary);
    }
}

#[test]
fn each_io_is_submitted_by_a_call_of_its_own_where_that_is_asked_for() {
    for backend in ["uring", "aio", "posixaio", "null"] {
        for (batch, is_alone) in [(1, true), (0, false), (8, false)] {
            let file = TestFile::filled(MIB, 1);
            let changes = json!({"queue_depth": 32, "submission_batch": batch, "limits": {"count": 2000},
                "operations": [{"operation": "read", "weight": 1.0}, {"operation": "write", "weight": 1.0}],
                "durability": {"method": "fdatasync", "every_writes": 5}, "record_ios": true});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            found.check_the_books();
            let clock = Clock::get();
            let mut spans: Vec<_> =
                found.records.iter().map(|(_, io)| (io.issue_ticks, io.submission_ns)).collect();
            spans.sort_unstable();
            // Two I/Os of one call have most of their submission in common.
            let is_shared = |pair: &[(u64, u32)]| {
                let end = pair[0].0 + clock.ticks_in(u64::from(pair[0].1));
                let common = end.saturating_sub(pair[1].0);
                pair[0].1 > 0 && 2 * common > clock.ticks_in(u64::from(pair[1].1))
            };
            let shared = spans.windows(2).filter(|pair| is_shared(pair)).count();
            assert_eq!(shared == 0, is_alone, "{backend} {batch}: {shared} of {}", spans.len());
            assert_eq!(found.outcome.jobs[0].outstanding_max, 32, "{backend} {batch}: the queue is filled");
        }
    }
}
