//! Targets that the caller holds open: what their names lead to meanwhile does not matter.

use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use drivelab_engine::error::EngineError;
use drivelab_engine::tree::{DIRECTORY, remove_own_tree};
use drivelab_engine::workload::{Held, Workload};
use serde_json::json;

use crate::support::{MIB, TestFile, WITH_DATA, only, run_all, run_while, workload};
use crate::trees::Place;

pub fn held(file: &File) -> Option<Held> {
    let found = file.metadata().unwrap();
    Some(Held { descriptor: file.as_raw_fd(), device: found.dev(), inode: found.ino(), flags: 0 })
}

fn writing(backend: &str, path: &str, file: &File) -> Workload {
    let changes = json!({"operations": only("write"), "limits": {"count": 16},
        "target": {"size_bytes": MIB, "create": true}});
    let mut asked = workload(backend, path, changes);
    asked.target.held = held(file);
    asked
}

#[test]
fn what_is_held_is_written_and_not_what_was_put_in_its_place() {
    for backend in WITH_DATA {
        let (victim, ours) = (TestFile::filled(4096, 7), TestFile::filled(0, 0));
        let open = OpenOptions::new().read(true).write(true).open(&ours.0).unwrap();
        let away = TestFile::missing();
        fs::rename(&ours.0, &away.0).unwrap();
        symlink(&victim.0, &ours.0).unwrap();
        run_all(writing(backend, ours.path(), &open)).unwrap().check_the_books();
        assert_eq!(victim.bytes(), vec![7; 4096], "{backend}");
        assert_eq!(away.bytes().len() as u64, MIB, "{backend}");
        fs::remove_file(&away.0).unwrap();
        assert!(!away.0.exists(), "and nothing is made under its name");
        run_all(writing(backend, ours.path(), &open)).unwrap();
        assert_eq!((victim.bytes().len(), away.0.exists()), (4096, false), "{backend}");
    }
}

#[test]
fn a_descriptor_that_means_another_file_by_now_is_refused_before_a_byte_is_written() {
    let (ours, other) = (TestFile::filled(0, 0), TestFile::filled(4096, 7));
    let open = OpenOptions::new().read(true).write(true).open(&other.0).unwrap();
    let mut asked = writing("sync", ours.path(), &open);
    asked.target.held =
        held(&File::open(&ours.0).unwrap()).map(|held| Held { descriptor: open.as_raw_fd(), ..held });
    assert_eq!(run_all(asked).map(drop).unwrap_err().code.as_str(), "E315");
    assert_eq!(other.bytes(), vec![7; 4096]);
}

#[test]
fn a_tree_lies_in_the_directory_that_is_held() {
    let (place, kept) = (Place::new(), Place::new());
    let open = File::open(&place.0).unwrap();
    let away = place.0.with_extension("away");
    fs::rename(&place.0, &away).unwrap();
    symlink(&kept.0, &place.0).unwrap();
    let mut asked = place.workload(only("create"), 4, json!({}));
    asked.target.held = held(&open);
    run_all(asked).unwrap().check_the_books();
    assert_eq!(fs::read_dir(&kept.0).unwrap().count(), 0);
    assert_eq!(fs::read_dir(away.join(DIRECTORY).join("files")).unwrap().count(), 4);
    fs::remove_file(&place.0).unwrap();
    fs::rename(&away, &place.0).unwrap();
}

#[test]
fn a_link_in_the_place_of_our_directory_or_of_what_is_in_it_is_followed_nowhere() {
    let (place, kept) = (Place::new(), Place::new());
    fs::write(kept.0.join("made-by-drivelab"), "").unwrap();
    fs::create_dir(kept.0.join("files")).unwrap();
    fs::write(kept.0.join("files/letters"), "theirs").unwrap();
    symlink(&kept.0, place.0.join(DIRECTORY)).unwrap();
    assert_eq!(place.code("create", json!({})), "E318");
    assert!(remove_own_tree(&place.0, &mut || true).unwrap());
    fs::remove_file(place.0.join(DIRECTORY)).unwrap();
    place.run("create", 4, json!({}));
    fs::remove_dir_all(place.files()).unwrap();
    symlink(kept.0.join("files"), place.files()).unwrap();
    let refused: Result<_, EngineError> = run_all(place.workload(only("create"), 4, json!({})));
    assert!(refused.is_err(), "a link is no directory of files");
    assert_eq!(fs::read_to_string(kept.0.join("files/letters")).unwrap(), "theirs");
}

#[test]
fn files_of_a_tree_that_became_links_are_not_read_through() {
    let place = Place::new();
    let victim = TestFile::filled(64, 7);
    place.run("create", 1, json!({}));
    let name = fs::read_dir(place.files()).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(&name).unwrap();
    symlink(&victim.0, &name).unwrap();
    let found = run_all(place.workload(only("read_file"), 1, json!({}))).unwrap();
    assert_eq!(found.summary["errors"][0]["name"], json!("ELOOP"));
}

#[test]
fn each_job_has_a_file_of_its_own_where_several_are_held() {
    for backend in WITH_DATA {
        let files = [TestFile::filled(0, 0), TestFile::filled(0, 0), TestFile::filled(0, 0)];
        let opened =
            files.each_ref().map(|file| OpenOptions::new().read(true).write(true).open(&file.0).unwrap());
        let changes = json!({"operations": only("write"), "job_count": 3, "limits": {"count": 3 * 256},
            "access": {"kind": "sequential"}, "file_state": "sparse", "record_ios": true,
            "target": {"size_bytes": MIB, "create": true}});
        let mut asked = workload(backend, files[0].path(), changes);
        asked.target.held = held(&opened[0]);
        asked.target.others = opened[1..].iter().filter_map(held).collect();
        let found = run_all(asked.clone()).unwrap();
        found.check_the_books();
        // All of each file was written, by one job and from its own begin.
        assert!(
            files
                .iter()
                .all(|file| file.bytes().chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)))
        );
        let begins = found.records.iter().filter(|(_, record)| record.offset == 0).count();
        assert_eq!((begins, found.count()), (3, 768), "{backend}");
        // One that cannot be brought into its state leaves none of the others changed.
        asked.target.size_bytes = 2 * MIB;
        asked.target.others[1].inode += 1;
        assert_eq!(run_all(asked).map(drop).unwrap_err().code.as_str(), "E315", "{backend}");
        assert!(files.iter().all(|file| file.bytes().len() as u64 == MIB), "{backend}");
    }
}

/// How many times a file is open besides `ours`. A flag that matters to none of them is set in each and found again in
/// its copies.
fn times_open(path: &str, ours: RawFd, flags: i32) -> usize {
    let names = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let leads_there = |link: PathBuf| link.as_os_str() == path;
    let found = names.filter(|entry| fs::read_link(entry.path()).is_ok_and(leads_there));
    let descriptors = found.map(|entry| entry.file_name().to_str().unwrap().parse().unwrap());
    let is_unmarked = |fd: &RawFd| {
        // SAFETY: the calls touch no memory.
        let found = unsafe { libc::fcntl(*fd, libc::F_GETFL) };
        assert_eq!(found & flags, flags, "descriptor {fd}");
        // SAFETY: as above.
        found & libc::O_NOATIME == 0
            && unsafe { libc::fcntl(*fd, libc::F_SETFL, found | libc::O_NOATIME) } == 0
    };
    descriptors.filter(|fd| *fd != ours).filter(is_unmarked).count()
}

#[test]
fn each_job_opens_the_file_itself_so_that_read_ahead_and_position_are_its_own() {
    for backend in WITH_DATA {
        let file = TestFile::filled(MIB, 7);
        let open = OpenOptions::new().read(true).write(true).open(&file.0).unwrap();
        let (durability, flags) = if backend == "mmap" { ("none", 0) } else { ("o_dsync", libc::O_DSYNC) };
        let changes = json!({"operations": only("write"), "job_count": 3, "durability": {"method": durability},
                "limits": {"runtime_ns": 60_000_000_000_u64}});
        for held in [None, held(&open)] {
            let mut asked = workload(backend, file.path(), changes.clone());
            asked.target.held = held;
            let mut found = None;
            let run = run_while(asked, &Arc::default(), |now| {
                if found.is_none() && now.counts.iter().any(|(count, _)| *count > 0) {
                    found = Some(times_open(file.path(), open.as_raw_fd(), flags));
                }
                found.is_none()
            });
            run.unwrap().check_the_books();
            assert_eq!(found, Some(3), "{backend}");
        }
    }
}

#[test]
fn there_is_one_file_for_all_jobs_or_one_for_each() {
    let held = json!({"descriptor": 0, "device": 0, "inode": 0});
    let changes = json!({"job_count": 3, "target": {"others": [held]}});
    let text = crate::support::workload_json("sync", "", changes).to_string();
    assert_eq!(Workload::from_json(&text).map(drop).unwrap_err().code.as_str(), "E301");
}
