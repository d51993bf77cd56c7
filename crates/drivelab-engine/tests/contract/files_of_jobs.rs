//! Jobs with several files each: which of them an I/O goes to, and where in it.

use std::fs::{File, OpenOptions};

use drivelab_engine::workload::{Held, Workload};
use serde_json::{Value, json};

use crate::held::held;
use crate::support::{TestFile, depths, only, run_all, workload, workload_json};

const WITH_FILES: [&str; 3] = ["sync", "uring", "aio"];
const BLOCK: u64 = 4096;
/// A file's bytes: what is used of it comes after an offset.
const SPAN: u64 = 20 * BLOCK;
const OFFSET: u64 = 4 * BLOCK;
const BLOCKS: u64 = 16;

fn run_on(backend: &str, files: &[TestFile], changes: Value) -> crate::support::Found {
    let open = |file: &TestFile| OpenOptions::new().read(true).write(true).open(&file.0).unwrap();
    let opened: Vec<_> = files.iter().map(open).collect();
    let described = |file: &File| {
        let Held { descriptor, device, inode, .. } = held(file).unwrap();
        json!({"descriptor": descriptor, "device": device, "inode": inode})
    };
    let all: Vec<_> = opened.iter().map(described).collect();
    let mut changes = changes;
    changes["target"] = json!({"held": all[0], "others": all[1..], "offset_bytes": OFFSET,
        "size_bytes": BLOCKS * BLOCK});
    let found = run_all(workload(backend, files[0].path(), changes)).unwrap();
    found.check_the_books();
    found
}

fn files(count: usize) -> Vec<TestFile> {
    (0..count).map(|_| TestFile::filled(SPAN, 0)).collect()
}

fn asked(count: u64, order: &str) -> Value {
    json!({"count": count, "order": order, "ios_per_turn": 1, "open_max": 0})
}

#[test]
fn every_block_of_every_file_is_written_once_at_its_place_in_the_file() {
    for backend in WITH_FILES {
        for order in ["round_robin", "random", "sequential"] {
            for (kind, &depth) in ["sequential", "random"].iter().zip(depths(backend).iter().cycle().skip(1))
            {
                let targets = files(3);
                let limits = json!({"count": 3 * BLOCKS});
                let access = json!({"kind": kind, "covers_once": *kind == "random"});
                let changes = json!({"operations": only("write"), "queue_depth": depth, "limits": limits,
                    "access": access, "record_ios": true});
                let mut with_files = changes;
                with_files["job_files"] = asked(3, order);
                let found = run_on(backend, &targets, with_files);
                for (number, target) in targets.iter().enumerate() {
                    let bytes = target.bytes();
                    assert!(bytes[..OFFSET as usize].iter().all(|byte| *byte == 0), "{backend}");
                    let stamps = bytes[OFFSET as usize..]
                        .chunks(BLOCK as usize)
                        .map(|block| u64::from_le_bytes(block[8..16].try_into().unwrap()));
                    let begin = number as u64 * SPAN + OFFSET;
                    assert!(
                        stamps.eq((0..BLOCKS).map(|block| begin + block * BLOCK)),
                        "{backend} {order} {kind}"
                    );
                }
                let mut places: Vec<_> =
                    found.records_of("write").iter().map(|record| record.offset).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len() as u64, 3 * BLOCKS, "{backend} {order} {kind}");
            }
        }
    }
}

#[test]
fn what_was_written_is_found_again_by_reads_in_another_order() {
    for backend in WITH_FILES {
        let targets = files(4);
        let once = json!({"operations": only("write"), "access": {"kind": "sequential"},
            "job_files": asked(4, "sequential")});
        assert_eq!(run_on(backend, &targets, once).count(), 4 * BLOCKS);
        let again = json!({"verify": true, "job_files": asked(4, "random"), "limits": {"count": 300}});
        assert_eq!(run_on(backend, &targets, again).count(), 300, "{backend}");
    }
}

#[test]
fn jobs_have_files_of_their_own_or_share_all() {
    for backend in WITH_FILES {
        let targets = files(4);
        let changes = json!({"operations": only("write"), "job_count": 2, "access": {"kind": "sequential"},
            "job_files": asked(2, "round_robin")});
        assert_eq!(run_on(backend, &targets, changes).count(), 4 * BLOCKS, "{backend}");
        assert!(targets.iter().all(|target| target.bytes()[OFFSET as usize] != 0
            || target.bytes()[OFFSET as usize + 8..OFFSET as usize + 16] != [0; 8]));
        let changes = json!({"job_count": 2, "share_range": true, "access": {"kind": "sequential"},
            "verify": true, "job_files": asked(2, "round_robin")});
        assert_eq!(run_on(backend, &targets[..2], changes).count(), 4 * BLOCKS, "{backend}");
    }
}

#[test]
fn each_file_gets_a_sync_call_at_the_end() {
    for backend in WITH_FILES {
        let targets = files(3);
        let durability = json!({"method": "fsync", "at_end": true});
        let changes = json!({"operations": only("write"), "access": {"kind": "sequential"},
            "durability": durability, "job_files": asked(3, "round_robin")});
        let found = run_on(backend, &targets, changes);
        assert_eq!(found.number("operations", "sync", "count"), 3, "{backend}");
    }
}

#[test]
fn several_files_are_held_and_for_backends_that_know_them() {
    let held = json!({"descriptor": 0, "device": 0, "inode": 0});
    let two = json!({"others": [held]});
    let refused = |backend: &str, changes: Value| {
        let text = workload_json(backend, "", changes).to_string();
        Workload::from_json(&text).map(drop).map_err(|error| error.code.as_str().to_owned()).err()
    };
    assert_eq!(refused("sync", json!({"job_files": asked(2, "random"), "target": two})), None);
    let file = TestFile::filled(SPAN, 0);
    let one = run_all(workload("sync", file.path(), json!({"job_files": asked(2, "random")})));
    assert_eq!(one.map(drop).unwrap_err().code.as_str(), "E315");
    for (backend, changes) in [
        ("sync", json!({"job_files": asked(0, "random"), "target": two})),
        ("mmap", json!({"job_files": asked(2, "random"), "target": two})),
        ("sync", json!({"job_files": asked(2, "random"), "target": two, "access": {"kind": "same"}})),
        ("sync", json!({"job_files": asked(2, "random"), "target": two, "job_count": 2})),
    ] {
        assert_eq!(refused(backend, changes.clone()).as_deref(), Some("E301"), "{backend} {changes}");
    }
}
