//! Workloads on a simulated drive, in virtual time.

use drivelab_engine::address::random_for_job;
use drivelab_engine::buffer::Buffers;
use drivelab_engine::simulated::SimulatedDrive;
use drivelab_engine::workload::Workload;
use serde_json::{Value, json};

use crate::support::{Found, MIB, blocks_of, only, run_all, run_with_looks, workload};

const SECOND_NS: u64 = 1_000_000_000;

fn drive() -> SimulatedDrive {
    let model = json!({
        "size_bytes": 64 * MIB, "command_ns": 1000, "read_latency_ns": 9000, "write_latency_ns": 9000,
        "cache": {"size_bytes": MIB, "is_volatile": true, "flush_ns": 300_000},
        "flash": {"raw_bytes": 80 * MIB, "page_bytes": 4096, "block_bytes": MIB / 2, "collection": "greedy",
            "units": 8, "read_ns": 50_000, "program_ns": 100_000, "erase_ns": 3_000_000, "reads_first": true},
    });
    SimulatedDrive::new(&model.to_string(), 1).unwrap()
}

/// What a workload found, its books checked.
fn finish(workload: Workload) -> Found {
    let found = run_all(workload).unwrap();
    found.check_the_books();
    found
}

fn on(drive: &SimulatedDrive, changes: Value) -> Workload {
    let mut workload = workload("auto", "sim:test", changes);
    workload.target.simulated = Some(drive.clone());
    workload
}

/// A drive on which every page was written.
fn filled() -> SimulatedDrive {
    let drive = drive();
    let changes = json!({"operations": only("write"), "block_sizes": blocks_of(MIB / 8),
        "access": {"kind": "sequential"}});
    finish(on(&drive, changes));
    drive
}

fn for_seconds(seconds: u64, changes: Value) -> Value {
    let mut all = json!({"limits": {"runtime_ns": seconds * SECOND_NS}, "interval_ns": SECOND_NS});
    all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    all
}

fn count(found: &Found, operation: &str) -> u64 {
    found.summary["operations"][operation]["count"].as_u64().unwrap()
}

#[test]
fn the_counts_are_those_of_the_time_that_passed_for_the_drive() {
    let drive = filled();
    let found = finish(on(&drive, for_seconds(120, json!({"ramp_ns": SECOND_NS}))));
    // a read takes 60 us, one after the other
    let expected = 120 * SECOND_NS / 60_000;
    assert!(count(&found, "read").abs_diff(expected) <= 2, "{}", count(&found, "read"));
    assert_eq!(found.summary["clock"]["source"], "virtual");
    assert_eq!(found.summary["backend"]["name"], "simulated");
    let measured_ns = found.summary["measured_ns"].as_u64().unwrap();
    assert!(measured_ns.abs_diff(120 * SECOND_NS) < 60_000, "{measured_ns}");
}

#[test]
fn the_same_workload_on_a_new_drive_does_the_same_again() {
    let run = || {
        let changes = json!({
            "operations": [{"operation": "read", "weight": 1.0}, {"operation": "write", "weight": 2.0}],
            "queue_depth": 8, "job_count": 3, "share_range": true});
        let found = finish(on(&filled(), for_seconds(5, changes)));
        (count(&found, "read"), count(&found, "write"), found.summary["operations"].clone())
    };
    assert_eq!(run(), run());
}

#[test]
fn jobs_share_the_drive() {
    let rate = |jobs: u32| {
        let changes = json!({"queue_depth": 1, "job_count": jobs, "share_range": true});
        count(&finish(on(&filled(), for_seconds(2, changes))), "read")
    };
    let (one, eight, many) = (rate(1), rate(8), rate(64));
    // 8 units do 160,000 reads a second
    assert!(eight > 4 * one && (280_000..=320_001).contains(&many), "{one} {eight} {many}");
}

#[test]
fn an_open_loop_keeps_its_rate_and_sees_what_waits() {
    let pacing = |rate: f64| json!({"pacing": {"kind": "poisson", "rate_per_s": rate}, "queue_depth": 64});
    let found = finish(on(&filled(), for_seconds(20, pacing(1000.0))));
    assert!(count(&found, "read").abs_diff(20_000) < 600);
    assert_eq!(found.summary["arrivals"]["late"], 0);
    let too_fast = finish(on(&filled(), for_seconds(2, pacing(1_000_000.0))));
    assert!(too_fast.summary["arrivals"]["missed"].as_u64().unwrap() > 0);
}

#[test]
fn pauses_and_syncs_take_virtual_time() {
    let changes = json!({"operations": only("write"), "durability": {"method": "fdatasync"},
        "pacing": {"think_ns": SECOND_NS, "think_every": 1}});
    let found = finish(on(&filled(), for_seconds(100, changes)));
    assert!((99..=101).contains(&count(&found, "write")), "{}", count(&found, "write"));
    assert_eq!(count(&found, "write"), count(&found, "sync"));
}

#[test]
fn what_a_drive_holds_and_its_time_stay_from_run_to_run() {
    let drive = filled();
    let (now, written) = (drive.time().now(), drive.lock().counters().bytes[1]);
    assert_eq!(written, 64 * MIB);
    finish(on(&drive, for_seconds(1, json!({}))));
    assert!(drive.time().now() >= now + SECOND_NS);
}

#[test]
fn a_job_pauses_after_so_much_time_and_the_drive_is_idle_meanwhile() {
    let drive = filled();
    let pacing = json!({"kind": "closed", "think_ns": 3 * SECOND_NS, "think_every": 1,
        "think_after_ns": 2 * SECOND_NS});
    let found = finish(on(
        &drive,
        for_seconds(
            20,
            json!({"queue_depth": 4, "pacing": pacing,
        "record_ios": true}),
        ),
    ));
    let mut per_second = vec![0_u64; 20];
    let ticks = || found.records.iter().map(|(_, record)| record.issue_ticks);
    let (first, last) = (ticks().min().unwrap(), ticks().max().unwrap());
    // the last of four times of work ends after 17 s
    for at in ticks() {
        per_second[(17.0 * (at - first) as f64 / (last + 1 - first) as f64) as usize] += 1;
    }
    let busy = |second: usize| second % 5 < 2;
    assert!((0..20).all(|second| (per_second[second] > 10) == busy(second)), "{per_second:?}");
}

#[test]
fn a_look_ends_a_run_in_virtual_time_at_the_same_moment_every_time() {
    let end = || {
        let changes = json!({"job_count": 3, "queue_depth": 4, "interval_ns": SECOND_NS / 10,
            "limits": {"runtime_ns": 600 * SECOND_NS, "looks_ns": [2 * SECOND_NS, 3 * SECOND_NS, 5 * SECOND_NS]}});
        let mut looks = Vec::new();
        let found = run_with_looks(on(&filled(), changes), |rows, counted_ns| {
            looks.push((counted_ns, rows.iter().map(|row| row.counts.count).sum::<u64>()));
            counted_ns < 3 * SECOND_NS
        })
        .unwrap();
        found.check_the_books();
        assert_eq!(found.stopped_by(), "precision");
        (looks, found.summary["measured_ns"].as_u64().unwrap(), found.count())
    };
    let first = end();
    assert_eq!(first.0.iter().map(|look| look.0).collect::<Vec<_>>(), [2 * SECOND_NS, 3 * SECOND_NS]);
    // what was under way then takes some reads' time, no more
    assert!(first.1 - 3 * SECOND_NS < SECOND_NS / 100, "{}", first.1);
    assert_eq!(first, end());
}

#[test]
fn no_data_are_made_for_a_drive_that_keeps_none() {
    let changes = json!({"operations": only("write"), "queue_depth": 4});
    let is_stamped = |workload: &Workload| {
        let mut buffers = Buffers::new(workload, 0).unwrap();
        buffers.stamp(0, MIB, 4096, &mut random_for_job(1, 0))
    };
    assert!(!is_stamped(&on(&drive(), changes.clone())));
    assert!(is_stamped(&workload("auto", "/data", changes)));
}
