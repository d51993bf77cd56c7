//! Recordings of real operations, beside the times that the program took itself.

use std::path::{Path, PathBuf};

use drivelab_trace::follow::{Collected, Follower};
use drivelab_trace::join::{Joined, Kind, Operation, Parts, Surroundings, Work, join};
use drivelab_trace::read::Recording;
use drivelab_trace::record::Record;
use serde_json::Value;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/blktrace")
}

/// The program's own log: `#pid N`, then index, call, return of the write, return of fdatasync in ns.
fn operations(case: &str) -> Vec<Operation> {
    let text = std::fs::read_to_string(golden().join(case).join("user_ops.txt")).unwrap();
    let mut lines = text.lines();
    let thread = lines.next().and_then(|line| line.strip_prefix("#pid ")).unwrap().parse().unwrap();
    let operation = |line: &str| {
        let numbers: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        Operation {
            job: 0,
            thread,
            kind: Kind::DurableWrite,
            start_ns: numbers[1],
            submitted_ns: numbers[3],
            end_ns: numbers[3],
            offset: 0,
            size: 1,
            is_synchronous: true,
            is_durable: false,
            has_slept: None,
        }
    };
    lines.map(operation).collect()
}

fn lives(case: &str) -> Collected {
    let mut recording = Recording::open(&[golden().join(case)]).unwrap();
    let (mut follower, mut collected, mut record) =
        (Follower::new(), Collected::default(), Record::default());
    while recording.next(&mut record) {
        follower.push(&record, &mut collected);
    }
    follower.finish(&mut collected);
    collected
}

fn truth(case: &str) -> Value {
    let text = std::fs::read_to_string(golden().join("manifest.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[case]["io_truth"].clone()
}

struct Case {
    operations: Vec<Operation>,
    lives: Collected,
    joined: Joined,
    truth: Value,
}

impl Case {
    fn of(name: &str) -> Self {
        let (operations, lives) = (operations(name), lives(name));
        let joined = join(&operations, &lives.bios, &lives.commands, &Surroundings::default());
        Self { operations, lives, joined, truth: truth(name) }
    }

    fn true_count(&self, name: &str) -> u64 {
        self.truth.get(name).map_or(0, |count| count.as_u64().unwrap())
    }

    fn work(&self) -> Work {
        let mut sum = Work::default();
        self.joined.operations.iter().for_each(|operation| sum += &operation.work);
        sum
    }

    fn mean_us(&self, of: impl Fn(&Parts) -> u64) -> f64 {
        let sum: u64 = self.joined.operations.iter().map(|operation| of(&operation.parts)).sum();
        sum as f64 / self.operations.len() as f64 / 1000.0
    }
}

const CASES: [&str; 4] = ["raw_over1", "ext4_append1", "xfs_append1", "wt_raw_over1"];

#[test]
fn parts_sum_to_every_operation_and_to_the_mean_that_was_measured() {
    for name in CASES {
        let case = Case::of(name);
        assert_eq!(case.operations.len() as u64, case.true_count("ops"), "{name}");
        for (operation, explained) in case.operations.iter().zip(&case.joined.operations) {
            assert_eq!(explained.parts.sum(), operation.end_ns - operation.start_ns, "{name}");
            assert!(!explained.is_shared && !explained.is_partial, "{name}");
        }
        let mean_us = case.truth["mean_op_us"].as_f64().unwrap();
        assert!((case.mean_us(Parts::sum) - mean_us).abs() < 0.0005, "{name}");
    }
}

#[test]
fn the_work_inside_the_operations_is_the_one_that_was_counted() {
    for name in CASES {
        let case = Case::of(name);
        let (work, counted) = (case.work(), |what: &str| case.true_count(what));
        assert_eq!(u64::from(work.device_writes), counted("write_requests"), "{name}");
        assert_eq!(work.bytes_written, counted("write_bytes"), "{name}");
        assert_eq!(u64::from(work.flushes), counted("device_flushes"), "{name}");
        assert_eq!(u64::from(work.fua_writes), counted("fua_bios"), "{name}");
        assert_eq!(u64::from(work.preflush_writes), counted("preflush_bios"), "{name}");
        let bios = counted("write_bios") + counted("read_bios") + counted("flush_bios");
        assert_eq!(u64::from(work.bios), bios, "{name}");
        assert_eq!(work.journal_bytes, counted("meta_write_bytes"), "{name}");
    }
}

#[test]
fn every_bio_of_the_programs_own_thread_lies_in_an_operation_of_its_own() {
    for name in CASES {
        let case = Case::of(name);
        let thread = case.operations[0].thread;
        let own: Vec<_> =
            case.lives.bios.iter().zip(&case.joined.bios).filter(|(bio, _)| bio.pid == thread).collect();
        let inside = own.iter().filter(|(bio, charge)| {
            let operation = &case.operations[charge.unwrap()];
            operation.start_ns <= bio.queued && bio.queued <= operation.end_ns
        });
        assert_eq!(inside.count() as u64, case.true_count("own_Q_inside_own_op_window"), "{name}");
        assert_eq!(own.len() as u64, case.true_count("own_Q"), "{name}");
    }
}

/// What the recordings' maker found another way: device, flush and everything else, in us.
#[test]
fn the_mean_parts_are_those_that_were_measured() {
    let measured = [
        ("raw_over1", [34.0, 157.0, 126.0]),
        ("ext4_append1", [137.0, 684.0, 319.0]),
        ("xfs_append1", [90.0, 321.0, 203.0]),
        ("wt_raw_over1", [26.0, 0.0, 74.0]),
    ];
    for (name, expected) in measured {
        let case = Case::of(name);
        let (device, flush) = (case.mean_us(|parts| parts.device_ns), case.mean_us(|parts| parts.flush_ns));
        let found = [device, flush, case.mean_us(Parts::sum) - device - flush];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 0.6, "{name}: {found} us instead of {expected} us");
        }
    }
}

#[test]
fn a_drive_that_says_it_has_no_cache_is_not_flushed() {
    let case = Case::of("wt_raw_over1");
    assert_eq!(case.mean_us(|parts| parts.flush_ns), 0.0);
    assert!(case.mean_us(|parts| parts.device_ns) > 20.0);
}
