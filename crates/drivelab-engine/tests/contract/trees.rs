//! Operations on the files of a tree: what they leave in the directory, and what a run tells of them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use drivelab_engine::tree::DIRECTORY;
use drivelab_engine::workload::Workload;
use serde_json::{Value, json};

use crate::support::{Found, only, run_all, workload_json};

const MS: u64 = 1_000_000;

/// A directory of the test, removed at its end.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("tree-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir(&place).unwrap();
        Self(place)
    }

    pub fn files(&self) -> PathBuf {
        self.0.join(DIRECTORY).join("files")
    }

    fn json(&self, operations: Value, files: u64, changes: Value) -> Value {
        let tree = json!({"file_count": files, "directory_count": 0, "depth": 1, "file_bytes_min": 0,
            "file_bytes_max": 0});
        let mut all = workload_json("auto", self.0.to_str().unwrap(), json!({}));
        merge(&mut all, json!({"operations": operations, "access": {"kind": "sequential"}, "tree": tree}));
        merge(&mut all, changes);
        all
    }

    pub fn workload(&self, operations: Value, files: u64, changes: Value) -> Workload {
        Workload::from_json(&self.json(operations, files, changes).to_string()).unwrap()
    }

    pub fn run(&self, operation: &str, files: u64, changes: Value) -> Found {
        let found = run_all(self.workload(only(operation), files, changes)).unwrap();
        found.check_the_books();
        found
    }

    pub fn code(&self, operation: &str, changes: Value) -> &'static str {
        let read = Workload::from_json(&self.json(only(operation), 4, changes).to_string());
        let error = read.and_then(run_all).map(|_| ()).expect_err("it should have been refused");
        assert!(!error.what.is_empty() && !error.place.is_empty(), "{error:?}");
        error.code.as_str()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn merge(into: &mut Value, changes: Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, changes) => *into = changes,
    }
}

/// Every name below a directory with its path, sorted; directories end with a slash.
pub fn names(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            let name = entry.path().strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
            let is_directory = entry.file_type().unwrap().is_dir();
            found.push(if is_directory { format!("{name}/") } else { name });
            if is_directory {
                left.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// The numbers with which names begin.
fn numbers_of(names: &[String]) -> Vec<u64> {
    names.iter().map(|name| u64::from_str_radix(&name[..10], 16).unwrap()).collect()
}

fn count_and_end<'a>(found: &'a Found, operation: &str) -> (u64, &'a str) {
    (found.number("operations", operation, "count"), found.stopped_by())
}

#[test]
fn created_files_have_their_names_sizes_and_contents_of_their_own() {
    let place = Place::new();
    let sizes = json!({"tree": {"file_bytes_min": 100, "file_bytes_max": 9000}, "record_ios": true});
    let found = place.run("create", 300, sizes);
    assert_eq!(count_and_end(&found, "create"), (300, "range_end"));
    let expected = names(&place.files());
    assert_eq!(numbers_of(&expected), (0..300).collect::<Vec<_>>(), "their order is that of their numbers");
    let lengths: BTreeSet<_> = expected.iter().map(String::len).collect();
    assert_eq!((lengths.first(), lengths.last()), (Some(&10), Some(&22)));
    let contents: Vec<_> = expected.iter().map(|name| fs::read(place.files().join(name)).unwrap()).collect();
    let bytes: u64 = contents.iter().map(|data| data.len() as u64).sum();
    assert_eq!(found.number("operations", "create", "bytes"), bytes);
    assert!(contents.iter().all(|data| (100..=9000).contains(&data.len())), "sizes");
    assert!((300 * 4250..300 * 4850).contains(&bytes), "evenly spread: {bytes}");
    assert_eq!(contents.iter().map(|data| &data[..100]).collect::<BTreeSet<_>>().len(), 300);
    let records = found.records_of("create");
    assert!(
        records.iter().enumerate().all(|(at, one)| one.offset == at as u64 && one.result == one.size as i32)
    );
}

#[test]
fn every_file_has_its_turn_once_in_random_order_under_names_without_order() {
    let place = Place::new();
    let random = json!({"access": {"kind": "random"}, "record_ios": true});
    for operation in ["create", "stat", "read_file", "replace", "delete"] {
        let found = place.run(operation, 200, random.clone());
        assert_eq!(count_and_end(&found, operation), (200, "range_end"));
        let order: Vec<_> = found.records_of(operation).iter().map(|record| record.offset).collect();
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 200, "{operation}");
        assert!(!order.is_sorted(), "{operation}");
        if operation == "create" {
            let made = names(&place.files());
            let first: BTreeSet<_> = made.iter().map(|name| &name[..2]).collect();
            assert!(made.len() == 200 && first.len() > 90, "{first:?}");
        }
    }
    assert!(names(&place.files()).is_empty());
}

#[test]
fn what_one_run_left_serves_the_next_and_is_not_made_again() {
    let place = Place::new();
    place.run("create", 50, json!({}));
    let look = || -> Vec<_> {
        let found = names(&place.files());
        let facts = found.iter().map(|name| fs::metadata(place.files().join(name)).unwrap());
        facts.map(|found| (found.ino(), found.ctime_nsec(), found.len())).collect()
    };
    let made = look();
    for operation in ["stat", "read_file", "list"] {
        place.run(operation, 50, json!({}));
        assert_eq!(look(), made, "{operation}");
    }
    place.run("stat", 50, json!({"tree": {"file_bytes_min": 1, "file_bytes_max": 1}}));
    assert!(look().iter().all(|file| file.2 == 1), "other sizes need other files");
    assert_eq!(count_and_end(&place.run("delete", 50, json!({})), "delete"), (50, "range_end"));
    assert!(names(&place.files()).is_empty());
}

#[test]
fn jobs_have_directories_of_their_own_unless_they_share_them() {
    let place = Place::new();
    let own = json!({"job_count": 3, "tree": {"directory_count": 6, "depth": 2}});
    assert_eq!(count_and_end(&place.run("create", 100, own), "create"), (100, "range_end"));
    let made = names(&place.files());
    let is_file = |name: &&String| !name.ends_with('/');
    assert_eq!(made.iter().filter(is_file).count(), 100);
    let folders: BTreeSet<_> =
        made.iter().filter(is_file).map(|name| Path::new(name).parent().unwrap().to_owned()).collect();
    assert_eq!(folders.len(), 6);
    assert!(folders.iter().all(|folder| folder.components().count() == 2), "{folders:?}");
    for folder in &folders {
        let held = fs::read_dir(place.files().join(folder)).unwrap().count();
        assert!((16..=18).contains(&held), "{held} files in {folder:?}");
    }
    let shared = json!({"job_count": 3, "share_range": true});
    place.run("create", 100, shared.clone());
    assert_eq!(names(&place.files()).len(), 100, "all in one directory");
    assert_eq!(count_and_end(&place.run("delete", 100, shared), "delete"), (100, "range_end"));
}

#[test]
fn more_directories_than_can_be_held_open_are_reached_by_their_paths() {
    let place = Place::new();
    let many = json!({"tree": {"directory_count": 1100, "depth": 3}});
    assert_eq!(count_and_end(&place.run("create", 1100, many.clone()), "create"), (1100, "range_end"));
    assert_eq!(count_and_end(&place.run("stat", 1100, many.clone()), "stat"), (1100, "range_end"));
    assert_eq!(count_and_end(&place.run("list", 1100, many), "list"), (1100, "range_end"));
}

#[test]
fn names_change_and_come_back() {
    let place = Place::new();
    place.run("rename", 20, json!({}));
    assert!(names(&place.files()).iter().all(|name| name.ends_with('R')));
    place.run("rename", 20, json!({"limits": {"count": 40}}));
    assert!(names(&place.files()).iter().all(|name| !name.ends_with('R')));
}

#[test]
fn replaced_files_are_new_ones_of_the_same_name() {
    let place = Place::new();
    let sized = json!({"tree": {"file_bytes_min": 5000, "file_bytes_max": 5000}});
    place.run("create", 20, sized.clone());
    let read = |name: &String| fs::read(place.files().join(name)).unwrap();
    let before: Vec<_> = names(&place.files()).iter().map(read).collect();
    let found = place.run("replace", 20, json!({"tree": sized["tree"], "seed": 2}));
    assert_eq!(found.number("operations", "replace", "bytes"), 100_000);
    let after: Vec<_> = names(&place.files()).iter().map(read).collect();
    assert_eq!((after.len(), after.iter().filter(|data| data.len() == 5000).count()), (20, 20));
    assert!(before.iter().zip(&after).all(|(one, other)| one != other));
}

#[test]
fn updated_files_have_two_new_pages_and_no_journal_is_left() {
    let place = Place::new();
    let sized = json!({"tree": {"file_bytes_min": 20_000, "file_bytes_max": 20_000}});
    place.run("create", 3, sized.clone());
    let read = |name: &String| fs::read(place.files().join(name)).unwrap();
    let before: Vec<_> = names(&place.files()).iter().map(read).collect();
    let durable = json!({"method": "fdatasync", "every_writes": 1, "directory": true});
    let more = json!({"tree": sized["tree"], "seed": 2, "durability": durable, "limits": {"count": 7}});
    let found = place.run("update", 3, more);
    assert_eq!(count_and_end(&found, "update"), (7, "count"));
    assert_eq!(found.number("operations", "update", "bytes"), 7 * (8720 + 12 + 8192));
    let after: Vec<_> = names(&place.files()).iter().map(read).collect();
    assert_eq!(after.len(), 3, "journals are gone");
    for (old, new) in before.iter().zip(&after) {
        let changed =
            |page: &usize| old[page * 4096..].iter().zip(&new[page * 4096..]).take(3616).any(|(a, b)| a != b);
        assert_eq!(
            (0..5).filter(changed).collect::<Vec<_>>(),
            [0, 3],
            "the first page, and the last whole one"
        );
        assert_eq!(new.len(), 20_000);
    }
    assert_eq!(
        place.code("update", json!({"tree": {"file_bytes_min": 8191, "file_bytes_max": 9000}})),
        "E301"
    );
}

#[test]
fn directories_and_links_are_made_and_removed() {
    let place = Place::new();
    place.run("make_directory", 20, json!({}));
    assert_eq!(names(&place.files()).iter().filter(|name| name.ends_with('/')).count(), 20);
    place.run("remove_directory", 20, json!({"access": {"kind": "reverse"}}));
    assert!(names(&place.files()).is_empty());
    place.run("link", 20, json!({}));
    let made = names(&place.files());
    assert_eq!(made.len(), 40);
    assert!(made.iter().all(|name| fs::metadata(place.files().join(name)).unwrap().nlink() == 2));
    place.run("symlink", 20, json!({"tree": {"directory_count": 4}}));
    let links: Vec<_> = names(&place.files()).into_iter().filter(|name| name.ends_with('S')).collect();
    assert_eq!(links.len(), 20);
    assert!(
        links.iter().all(|name| fs::metadata(place.files().join(name)).unwrap().is_file()),
        "they lead to files"
    );
}

#[test]
fn what_uses_files_up_ends_with_the_last_and_the_rest_begins_again() {
    let place = Place::new();
    let longer = json!({"limits": {"runtime_ns": 60_000 * MS, "count": 1_000_000}});
    for operation in ["create", "delete", "make_directory"] {
        assert_eq!(count_and_end(&place.run(operation, 30, longer.clone()), operation), (30, "range_end"));
    }
    for operation in ["stat", "read_file", "rename", "replace", "list"] {
        let found = place.run(operation, 30, json!({"limits": {"count": 100}, "access": {"kind": "random"}}));
        assert_eq!(count_and_end(&found, operation), (100, "count"));
    }
    assert_eq!(place.run("stat", 30, json!({"limits": {"runtime_ns": 30 * MS}})).stopped_by(), "runtime");
    let sized = json!({"tree": {"file_bytes_min": 1000, "file_bytes_max": 1000}, "limits": {"bytes": 4500}});
    assert_eq!(count_and_end(&place.run("read_file", 30, sized), "read_file"), (5, "bytes"));
}

#[test]
fn in_a_mix_each_operation_finds_a_file_in_its_state() {
    let mix = json!([{"operation": "create", "weight": 30.0}, {"operation": "read_file", "weight": 40.0},
        {"operation": "delete", "weight": 20.0}, {"operation": "rename", "weight": 10.0}]);
    for access in ["sequential", "random"] {
        for jobs in [1, 3] {
            let place = Place::new();
            let changes = json!({"access": {"kind": access}, "job_count": jobs, "limits": {"count": 6000},
                "tree": {"file_bytes_min": 10, "file_bytes_max": 600}});
            let found = run_all(place.workload(mix.clone(), 600, changes)).unwrap();
            found.check_the_books();
            assert_eq!(found.summary["errors"], json!([]), "{access}");
            let done = |name| found.number("operations", name, "count");
            assert_eq!(done("create") + done("read_file") + done("delete") + done("rename"), 6000);
            let left = names(&place.files()).iter().filter(|name| !name.ends_with('/')).count() as u64;
            assert_eq!(left, 300 + done("create") - done("delete"), "{access}");
            assert!(done("delete") > 1000 && done("rename") > 400 && left > 500, "{}", found.summary);
            assert_eq!(found.number("operations", "read_file", "short"), 0);
        }
    }
}

#[test]
fn a_mix_ends_when_no_operation_finds_a_file() {
    let place = Place::new();
    let mix = json!([{"operation": "delete", "weight": 1.0}, {"operation": "stat", "weight": 1.0}]);
    let found = run_all(place.workload(mix, 40, json!({"limits": {"count": 100_000}}))).unwrap();
    found.check_the_books();
    assert_eq!(count_and_end(&found, "delete"), (40, "range_end"));
}

#[test]
fn one_call_in_the_end_makes_all_files_durable_and_is_told_apart() {
    let place = Place::new();
    let at_end = json!({"durability": {"method": "fsync", "at_end": true}, "job_count": 2});
    let found = place.run("create", 50, at_end);
    assert_eq!(found.number("operations", "sync", "count"), 2);
    assert_eq!(found.number("operations", "durable_write", "count"), 0);
    for method in ["o_dsync", "o_sync", "rwf_dsync", "fdatasync", "fsync", "sync_file_range"] {
        let durable = json!({"durability": {"method": method, "directory": true, "every_writes": 2},
            "tree": {"file_bytes_min": 100, "file_bytes_max": 100, "directory_count": 5}});
        let found = place.run("create", 10, durable);
        assert_eq!(
            (found.number("operations", "create", "count"), found.number("all_phases", "sync", "count")),
            (10, 0)
        );
    }
}
