//! Whatever is asked for: the books balance, or it is refused with a code.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{BACKENDS, KIB, ONE_AT_A_TIME, TestFile, run_all, workload_json};
use drivelab_engine::workload::Workload;

const SIZES: [u64; 6] = [1, 16, 512, 4096, 6144, 32_768];
const OPERATIONS: [&str; 3] = ["read", "write", "trim"];
const ACCESSES: [&str; 9] =
    ["sequential", "reverse", "random", "strided", "zipf", "hot_cold", "pareto", "normal", "same"];
const METHODS: [&str; 7] =
    ["none", "o_dsync", "o_sync", "rwf_dsync", "fdatasync", "fsync", "sync_file_range"];
/// Refusals that a strange but well-formed workload may get.
const REFUSALS: [&str; 4] = ["E301", "E308", "E309", "E313"];

fn operations() -> impl Strategy<Value = Value> {
    prop::collection::vec((0_usize..3, 0.1..3.0_f64), 1..4).prop_map(|shares| {
        let share =
            |(operation, weight): (usize, f64)| json!({"operation": OPERATIONS[operation], "weight": weight});
        shares.into_iter().map(share).collect()
    })
}

fn block_sizes() -> impl Strategy<Value = Value> {
    prop::collection::vec((0_usize..SIZES.len(), 0.1..3.0_f64), 1..4).prop_map(|shares| {
        shares.into_iter().map(|(size, weight)| json!({"bytes": SIZES[size], "weight": weight})).collect()
    })
}

prop_compose! {
    fn workloads()(
        operations in operations(), block_sizes in block_sizes(), access in 0_usize..9,
        stride in 1_u64..100_000, method in 0_usize..7, every in 1_u64..9,
        queue_depth in 1_u32..40, jobs in 1_u32..4, share in any::<bool>(), shift in 0_u64..2000,
        offset in 0_u64..5000, size in 0_u64..200_000, count in 1_u64..300, bytes in 0_u64..2_000_000,
        ramp in 0_u64..2_000_000, seed in any::<u64>(), open in any::<bool>(), zeros in any::<bool>(),
        compressible in 0.0..1.0_f64, duplicate in prop_oneof![Just(0.0), 0.0..1.0_f64], direct in any::<bool>(),
        (run_blocks, random_fraction, once, at_end, rewritten) in (prop_oneof![Just(1_u64), 1..9_u64],
            prop_oneof![Just(1.0), 0.1..1.0_f64], any::<bool>(), any::<bool>(), prop_oneof![Just(0.0), 0.0..=1.0_f64]),
    ) -> Value {
        json!({
            "operations": operations, "block_sizes": block_sizes,
            "access": {"kind": ACCESSES[access], "stride_bytes": stride, "run_blocks": run_blocks,
                "random_fraction": random_fraction, "covers_once": once},
            "rewrite_fraction": rewritten,
            "durability": {"method": METHODS[method], "every_writes": every, "at_end": at_end},
            "queue_depth": queue_depth, "job_count": jobs, "share_range": share, "shift_bytes": shift,
            "target": {"offset_bytes": offset, "size_bytes": size},
            "limits": {"count": count, "bytes": bytes, "runtime_ns": 2_000_000_000_u64}, "ramp_ns": ramp, "seed": seed,
            "pacing": {"kind": if open { "poisson" } else { "closed" }, "rate_per_s": 50_000.0},
            "contents": {"kind": if zeros { "zeros" } else { "random" }, "compressible_fraction": compressible,
                "duplicate_fraction": duplicate},
            "direct": direct, "record_ios": true,
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_books_balance_whatever_is_asked_for(changes in workloads()) {
        for backend in BACKENDS {
            let file = TestFile::filled(256 * KIB, 3);
            let mut changes = changes.clone();
            if ONE_AT_A_TIME.contains(&backend) {
                changes["queue_depth"] = json!(1);
            }
            let text = workload_json(backend, file.path(), changes.clone()).to_string();
            let found = match Workload::from_json(&text).and_then(run_all) {
                Ok(found) => found,
                Err(error) => {
                    prop_assert!(REFUSALS.contains(&error.code.as_str()), "{}: {:?}", backend, error);
                    continue;
                }
            };
            found.check_the_books();
            // What was read and written back is one I/O of a limit.
            let ios = found.count() - found.number("operations", "rewrite", "count");
            prop_assert!(ios <= changes["limits"]["count"].as_u64().unwrap());
            prop_assert!(found.stopped_by() == "count" || found.stopped_by() == "bytes", "{}", found.summary);
            let (offset, size) = (&changes["target"]["offset_bytes"], &changes["target"]["size_bytes"]);
            let start = offset.as_u64().unwrap();
            let end = match size.as_u64().unwrap() { 0 => 256 * KIB, size => start + size };
            for (_, record) in &found.records {
                prop_assert!(backend == "null" && size == 0
                    || (start <= record.offset && record.offset + u64::from(record.size) <= end), "{:?}", record);
            }
            prop_assert_eq!(file.bytes().len() as u64, 256 * KIB);
        }
    }
}
