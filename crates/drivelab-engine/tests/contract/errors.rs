//! Every way to refuse a workload or a target: its code, and nothing left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use drivelab_engine::workload::Workload;
use serde_json::{Value, json};

use crate::support::{
    BACKENDS, CAN_BE_DIRECT, MIB, TestFile, WITH_DATA, blocks_of, depths, only, run_all, workload,
    workload_json,
};

fn code_of(backend: &str, path: &str, changes: Value) -> &'static str {
    let read = Workload::from_json(&workload_json(backend, path, changes).to_string());
    match read.and_then(run_all) {
        Ok(found) => panic!("{backend} should have refused: {}", found.summary),
        Err(error) => {
            assert!(!error.what.is_empty() && (path.is_empty() || !error.place.is_empty()), "{error:?}");
            error.code.as_str()
        }
    }
}

#[test]
fn values_that_make_no_sense_are_refused_before_anything_is_touched() {
    let absurd = [
        json!({"operations": []}),
        json!({"block_sizes": []}),
        json!({"operations": [{"operation": "read", "weight": 0.0}]}),
        json!({"operations": [{"operation": "sync", "weight": 1.0}]}),
        json!({"block_sizes": blocks_of(0)}),
        json!({"block_sizes": blocks_of(1 << 31)}),
        json!({"queue_depth": 0}),
        json!({"queue_depth": 5000}),
        json!({"queue_depth": -1}),
        json!({"job_count": 0}),
        json!({"job_count": 2000}),
        json!({"interval_ns": 10}),
        json!({"interval_ns": u64::MAX}),
        json!({"limits": {"runtime_ns": u64::MAX}}),
        json!({"ramp_ns": u64::MAX}),
        json!({"durability": {"every_writes": 0}}),
        json!({"pacing": {"kind": "fixed", "rate_per_s": 0.0}}),
        json!({"pacing": {"kind": "poisson", "rate_per_s": 1e300}}),
        json!({"access": {"kind": "strided", "stride_bytes": 0}}),
        json!({"access": {"kind": "zipf", "zipf_theta": -3.0}}),
        json!({"access": {"kind": "hot_cold", "hot_range_fraction": 0.0}}),
        json!({"contents": {"compressible_fraction": -1.0}}),
        json!({"contents": {"duplicate_fraction": 2.0}}),
        json!({"file_state": "append", "access": {"kind": "sequential"}, "limits": {"count": 1}}),
        json!({"file_state": "append", "operations": only("write"), "limits": {"count": 1}}),
        json!({"file_state": "append", "operations": only("write"), "access": {"kind": "sequential"}}),
        json!({"file_state": "append", "operations": only("write"), "access": {"kind": "sequential"},
            "limits": {"count": 1}, "job_count": 2}),
        json!({"verify": true, "contents": {"kind": "zeros"}}),
        json!({"contents": {"kind": "pattern"}}),
        json!({"contents": {"kind": "pattern", "pattern": "abc"}}),
        json!({"contents": {"kind": "pattern", "pattern": "%p"}}),
        json!({"contents": {"kind": "pattern", "pattern": "00".repeat(4097)}}),
        json!({"contents": {"kind": "pattern", "pattern": "00"}, "rewrite_fraction": 0.5}),
        json!({"contents": {"check": "md5", "check_bytes": 56}}),
        json!({"contents": {"check": "md5", "check_bytes": 1000}}),
        json!({"contents": {"check": "md5", "check_offset": 55}}),
        json!({"contents": {"check": "md5", "check_offset": 4050}}),
        json!({"verify": true, "contents": {"duplicate_fraction": 0.5}}),
        json!({"verify": true, "block_sizes": blocks_of(8)}),
        json!({"verify": true, "block_sizes": [{"bytes": 512, "weight": 1.0}, {"bytes": 4096, "weight": 1.0}]}),
        json!({"access": {"kind": "pareto", "pareto_h": 1.0}}),
        json!({"access": {"kind": "normal", "normal_deviation": 0.0}}),
        json!({"access": {"run_blocks": 0}}),
        json!({"access": {"random_fraction": 0.0}}),
        json!({"access": {"kind": "sequential", "run_blocks": 2}}),
        json!({"access": {"kind": "same", "random_fraction": 0.5}}),
        json!({"access": {"kind": "zipf", "covers_once": true}}),
        json!({"rewrite_fraction": 1.5}),
        json!({"rewrite_fraction": 0.5, "operations": only("write")}),
        json!({"pacing": {"kind": "fixed", "rate_per_s": 10.0, "think_ns": 5}}),
        json!({"pacing": {"think_every": 0}}),
        json!({"pacing": {"think_ns": u64::MAX}}),
        json!({"operations": [{"operation": "read", "weight": 1.0, "block_sizes": blocks_of(0)}]}),
        json!({"backend": "libaio"}),
        json!({"pin_cpus": [-1]}),
    ];
    for changes in absurd {
        let text = workload_json("sync", "/nonexistent", changes.clone()).to_string();
        let error = Workload::from_json(&text).expect_err(&changes.to_string());
        assert_eq!(error.code.as_str(), "E301", "{changes}");
    }
    assert_eq!(Workload::from_json("{}").unwrap_err().code.as_str(), "E301");
    assert_eq!(Workload::from_json("not JSON").unwrap_err().code.as_str(), "E301");
}

#[test]
fn a_processor_that_does_not_exist_is_refused() {
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, 1);
        assert_eq!(code_of(backend, file.path(), json!({"pin_cpus": [0, 100_000], "job_count": 2})), "E301");
    }
}

#[test]
fn a_missing_target_is_missing_and_is_not_made() {
    for backend in WITH_DATA {
        let file = TestFile::missing();
        assert_eq!(code_of(backend, file.path(), json!({})), "E302");
        assert_eq!(code_of(backend, file.path(), json!({"operations": only("write")})), "E302");
        assert_eq!(code_of(backend, file.path(), json!({"target": {"create": true}})), "E302");
        assert_eq!(code_of(backend, &format!("{}/x", file.path()), json!({})), "E302");
        assert!(!file.0.exists());
    }
    assert_eq!(code_of("sync", "", json!({})), "E302");
    assert_eq!(code_of("sync", "/dev/null/x", json!({})), "E302");
}

#[test]
fn what_is_neither_file_nor_block_device_is_refused() {
    for path in ["/", "/dev/null", "/dev/zero"] {
        for backend in WITH_DATA {
            assert_eq!(code_of(backend, path, json!({"limits": {"count": 1}})), "E313", "{path}");
        }
    }
}

#[test]
fn a_range_beyond_the_target_is_refused() {
    let file = TestFile::filled(10_000, 1);
    for backend in WITH_DATA {
        for changes in [
            json!({"target": {"size_bytes": 10_001}}),
            json!({"target": {"offset_bytes": 9000}}),
            json!({"target": {"offset_bytes": 20_000}}),
            json!({"target": {"offset_bytes": u64::MAX, "size_bytes": u64::MAX}}),
            json!({"target": {"offset_bytes": 1, "size_bytes": u64::MAX}}),
            json!({"block_sizes": blocks_of(16_384)}),
            json!({"job_count": 3}),
            json!({"shift_bytes": 8000}),
            json!({"shift_bytes": u64::MAX}),
        ] {
            assert_eq!(code_of(backend, file.path(), changes.clone()), "E309", "{backend} {changes}");
        }
    }
    assert_eq!(code_of("null", "", json!({"target": {"size_bytes": 100}})), "E309");
    assert_eq!(code_of("null", "", json!({"target": {"offset_bytes": u64::MAX, "size_bytes": 9}})), "E309");
}

#[test]
fn a_stride_beyond_everything_stays_in_the_range() {
    let file = TestFile::filled(MIB, 1);
    for backend in BACKENDS {
        let changes = json!({"access": {"kind": "strided", "stride_bytes": u64::MAX}, "limits": {"count": 10},
            "target": {"size_bytes": MIB}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        assert_eq!((found.count(), found.stopped_by()), (10, "count"), "{backend}: {}", found.summary);
    }
}

#[test]
fn direct_io_needs_whole_blocks() {
    let file = TestFile::filled(MIB + 100, 1);
    for backend in CAN_BE_DIRECT {
        for changes in [
            json!({"block_sizes": blocks_of(1000)}),
            json!({"shift_bytes": 100}),
            json!({"target": {"offset_bytes": 100}}),
            json!({"access": {"kind": "strided", "stride_bytes": 5000}}),
            json!({"operations": only("write"), "file_state": "append", "access": {"kind": "sequential"}}),
        ] {
            let mut all = json!({"direct": true, "limits": {"count": 10}});
            all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            assert_eq!(code_of(backend, file.path(), all), "E308", "{backend} {changes}");
        }
        // A size that is no multiple of a block is no obstacle, in whatever order the blocks come.
        for kind in ["sequential", "reverse", "random", "zipf", "hot_cold"] {
            let changes = json!({"direct": true, "access": {"kind": kind}, "limits": {"count": 300}});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            assert_eq!(found.stopped_by(), "count", "{backend} {kind}: {}", found.summary);
        }
    }
    assert_eq!(file.bytes().len() as u64, MIB + 100);
}

#[test]
fn what_a_backend_cannot_do_is_refused() {
    let file = TestFile::filled(MIB, 1);
    let sync_calls = json!({"method": "fdatasync"});
    for (backend, changes) in [
        ("sync", json!({"queue_depth": 2})),
        ("sync", json!({"polled_submission": true})),
        ("aio", json!({"polled_submission": true})),
        ("null", json!({"polled_submission": true})),
        ("null", json!({"verify": true})),
        ("aio", json!({"polled_completion": true})),
        ("aio", json!({"operations": only("write"), "durability": {"method": "sync_file_range"}})),
        ("posixaio", json!({"polled_submission": true})),
        ("posixaio", json!({"polled_completion": true})),
        ("posixaio", json!({"operations": only("write"), "durability": {"method": "sync_file_range"}})),
        ("posixaio", json!({"operations": only("write"), "durability": {"method": "rwf_dsync"}})),
        ("uring", json!({"polled_completion": true})),
        ("uring", json!({"polled_completion": true, "direct": true, "durability": sync_calls})),
        ("auto", json!({"polled_completion": true, "queue_depth": 8})),
        ("mmap", json!({"queue_depth": 2})),
        ("mmap", json!({"direct": true})),
        ("mmap", json!({"polled_completion": true})),
        ("mmap", json!({"polled_submission": true})),
        ("mmap", json!({"operations": only("write"), "durability": {"method": "o_dsync"}})),
        (
            "mmap",
            json!({"operations": only("write"), "file_state": "append", "access": {"kind": "sequential"},
            "limits": {"count": 1}}),
        ),
        ("stdio", json!({"queue_depth": 2})),
        ("stdio", json!({"direct": true})),
        ("stdio", json!({"polled_completion": true})),
        ("stdio", json!({"polled_submission": true})),
        ("stdio", json!({"operations": only("trim")})),
        ("stdio", json!({"operations": only("write"), "durability": {"method": "rwf_dsync"}})),
        ("splice", json!({"operations": only("write"), "durability": {"method": "rwf_dsync"}})),
    ] {
        assert_eq!(code_of(backend, file.path(), changes.clone()), "E313", "{backend} {changes}");
    }
}

#[test]
fn buffers_that_do_not_fit_into_memory_are_refused_before_a_file_is_made() {
    for backend in BACKENDS {
        let file = TestFile::missing();
        let changes = json!({"operations": only("write"), "block_sizes": blocks_of(1 << 30), "job_count": 1024,
            "target": {"create": true, "size_bytes": 1_u64 << 41}});
        assert_eq!(code_of(backend, file.path(), changes), "E312", "{backend}");
        assert!(!file.0.exists());
    }
}

#[test]
fn a_run_that_cannot_begin_leaves_files_as_they_were() {
    for backend in WITH_DATA {
        let missing = TestFile::missing();
        let short = TestFile::filled(1000, 7);
        for changes in [
            json!({"pin_cpus": [100_000], "target": {"create": true, "size_bytes": MIB}}),
            json!({"direct": true, "block_sizes": blocks_of(1000), "target": {"create": true, "size_bytes": MIB}}),
            json!({"job_count": 400, "target": {"create": true, "size_bytes": MIB}}),
            json!({"target": {"create": true, "size_bytes": 1_u64 << 60}}),
        ] {
            let mut all = json!({"operations": only("write"), "limits": {"count": 1}});
            all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            code_of(backend, missing.path(), all.clone());
            assert!(!missing.0.exists(), "{backend} {changes}");
            code_of(backend, short.path(), all);
            assert_eq!(short.bytes(), vec![7; 1000], "{backend} {changes}");
        }
    }
}

#[test]
fn a_disk_is_not_filled_to_find_out_that_it_is_too_small() {
    for state in ["overwrite", "preallocated"] {
        let file = TestFile::missing();
        let changes = json!({"operations": only("write"), "file_state": state, "limits": {"count": 1},
            "target": {"create": true, "size_bytes": 1_u64 << 55}});
        assert_eq!(code_of("sync", file.path(), changes), "E306", "{state}");
        assert!(!file.0.exists());
    }
}

#[test]
fn a_file_that_may_not_be_written_can_still_be_read() {
    let file = TestFile::filled(MIB, 1);
    fs::set_permissions(&file.0, fs::Permissions::from_mode(0o400)).unwrap();
    for backend in WITH_DATA {
        let found = run_all(workload(backend, file.path(), json!({}))).unwrap();
        assert_eq!(found.count(), 256, "{backend}");
    }
}

#[test]
fn reading_beyond_a_file_that_has_shrunk_is_an_error_of_the_run() {
    for backend in WITH_DATA {
        let file = TestFile::filled(MIB, 1);
        let path = file.0.clone();
        let changes = json!({"limits": {"runtime_ns": 60_000_000_000_u64}, "queue_depth": depths(backend).last(),
            "record_ios": true, "job_count": 2});
        let mut is_cut = false;
        let found =
            crate::support::run_while(workload(backend, file.path(), changes), &Default::default(), |now| {
                if now.counts[0].0 > 1000 && !is_cut {
                    is_cut = true;
                    fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
                }
                true
            })
            .unwrap();
        found.check_the_books();
        assert_eq!(found.stopped_by(), "error", "{backend}");
        assert!(found.count() > 1000, "{backend}: what was measured before is kept");
        let error = &found.summary["errors"][0];
        assert_eq!((error["operation"].as_str(), error["name"].as_str()), (Some("read"), Some("ENODATA")));
        assert!(found.number("operations", "read", "errors") > 0, "{backend}: {}", found.summary);
    }
}

#[test]
fn a_workload_that_an_older_version_wrote_is_still_one() {
    let mut workload = workload_json("null", "", json!({"limits": {"count": 10}}));
    let of = |workload: &mut Value, table: &str, keys: &[&str]| {
        let table = if table.is_empty() { workload } else { &mut workload[table] };
        keys.iter().for_each(|key| assert!(table.as_object_mut().unwrap().remove(*key).is_some(), "{key}"));
    };
    let access = ["pareto_h", "normal_deviation", "run_blocks", "random_fraction", "covers_once"];
    of(&mut workload, "access", &access);
    of(&mut workload, "durability", &["at_end"]);
    of(&mut workload, "pacing", &["think_ns", "think_every"]);
    of(&mut workload, "", &["rewrite_fraction", "verify"]);
    let found = run_all(Workload::from_json(&workload.to_string()).unwrap()).unwrap();
    assert_eq!((found.count(), found.stopped_by()), (10, "count"));
}
