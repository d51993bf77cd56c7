//! I/O stays where it was sent: in the range, in the job's own part, on the grid.

use serde_json::{Value, json};

use crate::support::{
    BACKENDS, CAN_TRIM, KIB, MIB, TestFile, WITH_DATA, depths, only, run_all, run_while, workload,
};

const GUARD: u64 = 64 * KIB;
const PATTERN: u8 = 0xA5;

fn accesses() -> Vec<Value> {
    vec![
        json!({"kind": "sequential"}),
        json!({"kind": "reverse"}),
        json!({"kind": "random"}),
        json!({"kind": "strided", "stride_bytes": 12_288}),
        json!({"kind": "zipf"}),
        json!({"kind": "hot_cold"}),
        json!({"kind": "pareto"}),
        json!({"kind": "normal"}),
        json!({"kind": "same"}),
        json!({"kind": "random", "covers_once": true, "run_blocks": 3}),
        json!({"kind": "random", "random_fraction": 0.5}),
    ]
}

#[test]
fn nothing_outside_the_range_is_touched() {
    for backend in WITH_DATA {
        for access in accesses() {
            for (size, shift, jobs) in
                [(MIB, 0, 1), (MIB + 1234, 512, 1), (MIB - 513, 100, 3), (24_576, 0, 3)]
            {
                let file = TestFile::filled(GUARD + size + GUARD, PATTERN);
                let changes = json!({"operations": only("write"), "access": access, "shift_bytes": shift,
                    "job_count": jobs, "queue_depth": depths(backend).last(), "limits": {"count": 500},
                    "contents": {"kind": "zeros"}, "target": {"offset_bytes": GUARD, "size_bytes": size},
                    "block_sizes": [{"bytes": 4096, "weight": 1.0}, {"bytes": 6144, "weight": 1.0}]});
                let found = run_all(workload(backend, file.path(), changes)).unwrap();
                assert_eq!(found.count(), 500);
                let bytes = file.bytes();
                let (start, end) = (GUARD as usize, (GUARD + size) as usize);
                let context = format!("{backend} {access} {size} {shift} {jobs}");
                assert!(bytes[..start].iter().all(|byte| *byte == PATTERN), "before the range: {context}");
                assert!(bytes[end..].iter().all(|byte| *byte == PATTERN), "after the range: {context}");
                assert_eq!(bytes.len(), end + start, "{context}");
                let shifted = &bytes[start..start + shift as usize];
                assert!(shifted.iter().all(|byte| *byte == PATTERN), "below the shift: {context}");
            }
        }
    }
}

#[test]
fn a_block_that_does_not_fit_into_a_jobs_part_is_refused() {
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, PATTERN);
        // 12288 B in two parts of 6144 B; on the grid of 4 KiB each has only 4096 B.
        let changes = json!({"job_count": 2, "limits": {"count": 10}, "target": {"size_bytes": 12_288},
            "block_sizes": [{"bytes": 4096, "weight": 1.0}, {"bytes": 6144, "weight": 1.0}]});
        let error = run_all(workload(backend, file.path(), changes)).err().unwrap();
        assert_eq!(error.code.as_str(), "E309", "{backend}: {error}");
    }
}

#[test]
fn a_trim_leaves_the_rest_alone() {
    for backend in CAN_TRIM.into_iter().filter(|name| *name != "null") {
        let file = TestFile::filled(GUARD + MIB + GUARD, PATTERN);
        let changes = json!({"operations": only("trim"), "limits": {"count": 200},
            "target": {"offset_bytes": GUARD, "size_bytes": MIB}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        assert_eq!(found.count(), 200, "{backend}: {}", found.summary);
        let bytes = file.bytes();
        let (start, end) = (GUARD as usize, (GUARD + MIB) as usize);
        assert!(bytes[..start].iter().chain(&bytes[end..]).all(|byte| *byte == PATTERN), "{backend}");
        assert!(bytes[start..end].contains(&0), "{backend}");
    }
}

#[test]
fn jobs_stay_in_their_own_parts() {
    for backend in BACKENDS {
        for access in accesses() {
            let file = TestFile::filled(4 * MIB, PATTERN);
            let (start, size, jobs) = (3 * 4096, 3 * MIB + 777, 3);
            let changes = json!({"access": access, "job_count": jobs, "limits": {"count": 900}, "record_ios": true,
                "target": {"offset_bytes": start, "size_bytes": size}});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            let part = size / jobs / 4096 * 4096;
            for (job, record) in &found.records {
                let first = start + part * u64::from(*job);
                let last = first + part - u64::from(record.size);
                assert!(
                    (first..=last).contains(&record.offset),
                    "{backend} {access}: job {job} at {}",
                    record.offset
                );
                assert_eq!((record.offset - first) % 4096, 0, "{backend} {access}");
            }
            let busy: std::collections::BTreeSet<_> = found.records.iter().map(|(job, _)| *job).collect();
            assert_eq!(busy.len(), 3, "{backend}");
        }
    }
}

#[test]
fn jobs_that_share_the_range_each_use_all_of_it() {
    for backend in BACKENDS {
        let file = TestFile::filled(4 * MIB, PATTERN);
        let changes = json!({"job_count": 3, "share_range": true, "limits": {"count": 900}, "record_ios": true,
            "target": {"size_bytes": 4 * MIB}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        for job in 0..3 {
            let offsets = found.records.iter().filter(|(of, _)| *of == job).map(|(_, record)| record.offset);
            let (low, high) = offsets.fold((u64::MAX, 0), |(low, high), at| (low.min(at), high.max(at)));
            assert!(low < MIB && high > 3 * MIB, "{backend}: job {job} used {low} to {high}");
        }
    }
}

#[test]
fn a_sequential_stream_covers_its_range_once_and_in_order() {
    for backend in BACKENDS {
        for (kind, is_down) in [("sequential", false), ("reverse", true)] {
            let file = TestFile::filled(MIB + 100, PATTERN);
            let changes =
                json!({"access": {"kind": kind}, "record_ios": true, "target": {"size_bytes": MIB + 100}});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            let mut expected: Vec<u64> = (0..256).map(|block| block * 4096).collect();
            if is_down {
                expected.reverse();
            }
            let offsets: Vec<u64> = found.records.iter().map(|(_, record)| record.offset).collect();
            assert_eq!(offsets, expected, "{backend} {kind}");
            assert_eq!(found.stopped_by(), "range_end");
        }
    }
}

#[test]
fn the_same_seed_repeats_the_same_stream_on_every_backend() {
    let stream = |backend: &str, seed: u64| -> Vec<(u64, u32, u8)> {
        let file = TestFile::filled(MIB, PATTERN);
        let changes = json!({"limits": {"count": 500}, "record_ios": true, "seed": seed, "target": {"size_bytes": MIB},
            "block_sizes": [{"bytes": 4096, "weight": 1.0}, {"bytes": 8192, "weight": 1.0}]});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        found.records.iter().map(|(_, record)| (record.offset, record.size, record.operation)).collect()
    };
    let reference = stream("null", 7);
    for backend in BACKENDS {
        assert_eq!(stream(backend, 7), reference, "{backend}");
        assert_ne!(stream(backend, 8), reference, "{backend}");
    }
}

#[test]
fn every_job_tells_the_id_that_the_kernel_knows_its_thread_by() {
    for backend in BACKENDS {
        let file = TestFile::filled(MIB, PATTERN);
        let limits = json!({"job_count": 3, "limits": {"runtime_ns": 250_000_000}});
        let mut seen = std::collections::BTreeSet::new();
        let look = |_: &_| {
            for thread in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
                let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
                if let Some(job) = name.trim_end().strip_prefix("drivelab-job-") {
                    let id: u64 = thread.file_name().to_str().unwrap().parse().unwrap();
                    seen.insert((job.parse::<u64>().unwrap(), id));
                }
            }
            true
        };
        let found =
            run_while(workload(backend, file.path(), limits), &std::sync::Arc::default(), look).unwrap();
        let told = found.summary["threads"].as_array().unwrap();
        let told = told.iter().map(|of| (of["job"].as_u64().unwrap(), of["thread_id"].as_u64().unwrap()));
        let told: Vec<_> = told.collect();
        assert_eq!(
            told.iter().map(|of| of.0).collect::<Vec<_>>(),
            [0, 1, 2],
            "{backend}: in order of the jobs"
        );
        // other tests of this process have jobs of their own
        assert!(told.iter().all(|of| seen.contains(of)), "{backend}: {told:?} of {seen:?}");
    }
}
