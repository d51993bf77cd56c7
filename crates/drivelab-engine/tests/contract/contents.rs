//! What was written is what a read finds, and it is what was asked for.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use serde_json::json;

use crate::support::{
    CAN_APPEND, CAN_BE_DIRECT, KIB, MIB, TestFile, WITH_DATA, blocks_of, depths, only, run_all, workload,
};

fn word(bytes: &[u8], at: u64) -> u64 {
    u64::from_le_bytes(bytes[at as usize..at as usize + 8].try_into().unwrap())
}

#[test]
fn every_4_kib_of_what_was_written_names_its_own_offset_and_is_unique() {
    for backend in WITH_DATA {
        for (block, shift, direct) in
            [(4096, 0, true), (16_384, 0, true), (4096, 512, true), (10_000, 7, false)]
        {
            let file = TestFile::filled(4 * MIB, 0);
            let changes = json!({"operations": only("write"), "access": {"kind": "sequential"}, "job_count": 2,
                "block_sizes": blocks_of(block), "shift_bytes": shift, "queue_depth": depths(backend).last(),
                "direct": direct && CAN_BE_DIRECT.contains(&backend), "record_ios": true});
            let found = run_all(workload(backend, file.path(), changes)).unwrap();
            let bytes = file.bytes();
            let mut numbers = HashSet::new();
            let mut stamps = 0;
            for (_, record) in &found.records {
                for at in (record.offset..record.offset + block - 15).step_by(4096) {
                    assert_eq!(word(&bytes, at + 8), at, "{backend} {block} {shift}");
                    numbers.insert(word(&bytes, at));
                    stamps += 1;
                }
            }
            assert!(stamps > 4 * MIB / block / 2);
            assert_eq!(numbers.len() as u64, stamps, "{backend}: data that a drive could deduplicate");
        }
    }
}

#[test]
fn what_was_written_passes_verification_until_one_byte_changes() {
    for backend in WITH_DATA {
        for (block, shift) in [(4096, 0), (512, 0), (65_536, 512)] {
            let file = TestFile::filled(MIB, 0);
            let common = json!({"access": {"kind": "sequential"}, "block_sizes": blocks_of(block),
                "shift_bytes": shift, "queue_depth": depths(backend).last(), "record_ios": true});
            let with = |more: serde_json::Value| {
                let mut changes = common.clone();
                changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                run_all(workload(backend, file.path(), changes)).unwrap()
            };
            let written = with(json!({"operations": only("write")}));
            let intact = with(json!({"verify": true}));
            assert_eq!(
                (intact.count(), intact.stopped_by()),
                (written.count(), "range_end"),
                "{backend} {block}"
            );
            let damaged_at = shift + 3 * block + 11;
            OpenOptions::new().write(true).open(&file.0).unwrap().write_at(&[0xEE], damaged_at).unwrap();
            let damaged = with(json!({"verify": true}));
            damaged.check_the_books();
            assert_eq!(damaged.stopped_by(), "error", "{backend} {block}");
            let error = &damaged.summary["errors"][0];
            assert_eq!(
                (error["name"].as_str(), error["count"].as_u64()),
                (Some("EILSEQ"), Some(1)),
                "{backend}"
            );
            assert_eq!(error["first_offset_bytes"], shift + 3 * block, "{backend} {block}");
            assert_eq!(damaged.number("operations", "read", "errors"), 1);
            let failed = damaged.records.iter().find(|(_, record)| record.result < 0).unwrap().1;
            assert_eq!((failed.result, failed.offset), (-libc::EILSEQ, shift + 3 * block));
        }
    }
}

#[test]
fn a_prepared_file_passes_verification_also_while_it_is_overwritten() {
    for backend in WITH_DATA {
        let file = TestFile::missing();
        let changes = json!({"verify": true, "limits": {"count": 5000}, "queue_depth": depths(backend).last(),
            "target": {"create": true, "size_bytes": 2 * MIB + 8192},
            "operations": [{"operation": "read", "weight": 1.0}, {"operation": "write", "weight": 1.0}],
            "block_sizes": [{"bytes": 4096, "weight": 1.0}, {"bytes": 16_384, "weight": 1.0}]});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        assert_eq!((found.count(), found.stopped_by()), (5000, "count"), "{backend}: {}", found.summary);
    }
}

#[test]
fn writes_between_reads_of_zeros_stay_incompressible() {
    for backend in WITH_DATA {
        let file = TestFile::filled(4 * MIB, 0);
        let changes = json!({"limits": {"count": 3000}, "queue_depth": depths(backend).last(), "record_ios": true,
            "operations": [{"operation": "read", "weight": 1.0}, {"operation": "write", "weight": 1.0}]});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        let bytes = file.bytes();
        for record in found.records_of("write") {
            let block = &bytes[record.offset as usize..][..4096];
            let zeros = block.iter().filter(|byte| **byte == 0).count();
            assert!(zeros < 100, "{backend}: {zeros} zeros in a block of random data at {}", record.offset);
        }
    }
}

#[test]
fn zeros_stay_zeros_between_reads_of_random_data() {
    for backend in WITH_DATA {
        let file = TestFile::filled(MIB, 0x5A);
        let changes = json!({"limits": {"count": 1000}, "contents": {"kind": "zeros"}, "record_ios": true,
            "operations": [{"operation": "read", "weight": 1.0}, {"operation": "write", "weight": 1.0}]});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        let bytes = file.bytes();
        for record in found.records_of("write") {
            assert!(bytes[record.offset as usize..][..4096].iter().all(|byte| *byte == 0), "{backend}");
        }
    }
}

#[test]
fn compressible_and_duplicate_data_are_so_to_the_asked_extent() {
    for backend in WITH_DATA {
        let file = TestFile::filled(4 * MIB, 0);
        let changes = json!({"operations": only("write"), "access": {"kind": "sequential"},
            "contents": {"compressible_fraction": 0.5}});
        run_all(workload(backend, file.path(), changes)).unwrap();
        let bytes = file.bytes();
        let zeros = bytes.iter().filter(|byte| **byte == 0).count() as f64 / bytes.len() as f64;
        assert!((zeros - 0.5).abs() < 0.01, "{backend}: {zeros} of the bytes are zeros");

        let changes = json!({"operations": only("write"), "access": {"kind": "sequential"}, "job_count": 2,
            "contents": {"duplicate_fraction": 0.4}, "queue_depth": depths(backend).last()});
        run_all(workload(backend, file.path(), changes)).unwrap();
        let bytes = file.bytes();
        let distinct: HashSet<_> = bytes.chunks(4096).collect();
        let repeated = 1.0 - distinct.len() as f64 / 1024.0;
        assert!((repeated - 0.4).abs() < 0.07, "{backend}: {repeated} of the blocks repeat another one");
    }
}

#[test]
fn single_bytes_can_be_written_where_the_page_cache_allows_it() {
    for backend in WITH_DATA {
        let file = TestFile::filled(KIB, 0xFF);
        let changes = json!({"operations": only("write"), "access": {"kind": "sequential"},
            "block_sizes": blocks_of(1), "contents": {"kind": "zeros"}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        assert_eq!((found.count(), file.bytes()), (KIB, vec![0; KIB as usize]), "{backend}");
    }
}

#[test]
fn an_appended_file_grows_from_its_end_and_keeps_what_it_had() {
    for backend in CAN_APPEND {
        let file = TestFile::filled(10_000, 0xA5);
        let changes = json!({"operations": only("write"), "access": {"kind": "sequential"}, "file_state": "append",
            "limits": {"count": 100}, "queue_depth": depths(backend).last(), "record_ios": true,
            "durability": {"method": "fdatasync"}});
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        let bytes = file.bytes();
        assert_eq!(bytes.len(), 10_000 + 100 * 4096, "{backend}");
        assert!(bytes[..10_000].iter().all(|byte| *byte == 0xA5), "{backend}");
        let mut offsets: Vec<_> = found.records_of("write").iter().map(|record| record.offset).collect();
        offsets.sort_unstable();
        assert!(
            offsets.iter().enumerate().all(|(n, offset)| *offset == 10_000 + n as u64 * 4096),
            "{backend}"
        );
    }
}

#[test]
fn a_file_is_brought_into_the_state_that_was_asked_for() {
    use std::os::unix::fs::MetadataExt;
    for (state, has_space) in [("overwrite", true), ("preallocated", true), ("sparse", false)] {
        let file = TestFile::missing();
        let changes = json!({"operations": only("write"), "file_state": state, "limits": {"count": 1},
            "target": {"create": true, "offset_bytes": 4096, "size_bytes": 3 * MIB}});
        run_all(workload("sync", file.path(), changes)).unwrap();
        let metadata = fs::metadata(&file.0).unwrap();
        assert_eq!(metadata.len(), 3 * MIB + 4096, "{state}");
        assert_eq!(metadata.blocks() * 512 >= 3 * MIB, has_space, "{state}");
        let zeros = file.bytes().iter().filter(|byte| **byte == 0).count() as u64;
        assert_eq!(zeros > 2 * MIB, state != "overwrite", "{state}: {zeros} zeros");
    }
}

#[test]
fn blocks_beyond_4_gib_land_where_they_should() {
    const SIZE: u64 = 64 << 30;
    for backend in WITH_DATA {
        let file = TestFile::missing();
        let changes = json!({"operations": only("write"), "file_state": "sparse", "limits": {"count": 60},
            "queue_depth": depths(backend).last(), "record_ios": true, "durability": {"method": "sync_file_range"},
            "target": {"create": true, "offset_bytes": 4096, "size_bytes": SIZE}});
        let mut changes = changes;
        if backend.ends_with("aio") {
            changes["durability"]["method"] = json!("fdatasync");
        }
        let found = run_all(workload(backend, file.path(), changes)).unwrap();
        let records = found.records_of("write");
        assert!(
            records.iter().filter(|record| record.offset > u64::from(u32::MAX)).count() > 50,
            "{backend}"
        );
        let reader = fs::File::open(&file.0).unwrap();
        for record in records {
            let mut stamp = [0; 16];
            reader.read_exact_at(&mut stamp, record.offset).unwrap();
            assert_eq!(word(&stamp, 8), record.offset, "{backend}");
        }
    }
}
