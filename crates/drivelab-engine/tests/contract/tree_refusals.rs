//! Operations on the files of a tree that cannot be done, and what is left of them.

use std::fs;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use drivelab_engine::run::prepare;
use drivelab_engine::tree::{DIRECTORY, remove_own_tree};
use serde_json::json;

use crate::support::{only, run_all, run_while};
use crate::trees::{Place, names};

#[test]
fn a_file_that_is_gone_is_an_error_with_its_number() {
    let place = Place::new();
    place.run("create", 20, json!({}));
    fs::remove_file(place.files().join(&names(&place.files())[7])).unwrap();
    let found = run_all(place.workload(only("stat"), 20, json!({}))).unwrap();
    found.check_the_books();
    assert_eq!(found.stopped_by(), "error");
    let error = &found.summary["errors"][0];
    assert_eq!(
        (&error["operation"], &error["name"], &error["first_offset_bytes"]),
        (&json!("stat"), &json!("ENOENT"), &json!(7))
    );
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let place = Place::new();
    let file = place.0.join("file");
    fs::write(&file, "mine").unwrap();
    let missing = place.0.join("missing");
    assert_eq!(place.code("create", json!({"target": {"path": file.to_str()}})), "E316");
    assert_eq!(place.code("create", json!({"target": {"path": missing.to_str()}})), "E302");
    let foreign = place.0.join(DIRECTORY);
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("letters"), "mine").unwrap();
    assert_eq!(place.code("create", json!({})), "E318");
    assert_eq!(
        (names(&place.0).len(), fs::read_to_string(foreign.join("letters")).unwrap().as_str()),
        (3, "mine")
    );
    fs::remove_file(foreign.join("letters")).unwrap();
    place.run("create", 4, json!({}));
    fs::write(&file, "mine").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn files_of_another_process_are_made_anew_and_those_in_use_are_refused() {
    let place = Place::new();
    place.run("create", 4, json!({}));
    fs::write(place.files().join("left-over"), "").unwrap();
    place.run("create", 4, json!({}));
    assert_eq!(names(&place.files()).len(), 4);
    let mark = fs::File::open(place.0.join(DIRECTORY).join("made-by-drivelab")).unwrap();
    mark.lock().unwrap();
    assert_eq!(place.code("stat", json!({})), "E307");
}

#[test]
fn a_stop_ends_the_making_of_files_and_none_is_left() {
    let place = Place::new();
    let workload = place.workload(only("stat"), 1_000_000, json!({}));
    let mut asked = 0;
    let stop = AtomicBool::new(false);
    let mut on_tick = || {
        asked += 1;
        asked < 2
    };
    assert!(!prepare(&workload, &stop, &mut on_tick).unwrap());
    assert!(!place.files().exists());
    let found = run_while(workload, &Arc::default(), |_| false).unwrap();
    assert_eq!((found.stopped_by(), place.files().exists()), ("caller", false));
}

#[test]
fn too_many_files_for_the_file_system_are_refused_before_one_is_made() {
    let place = Place::new();
    let huge =
        json!({"tree": {"file_count": 2_000_000_000, "file_bytes_min": 1 << 30, "file_bytes_max": 1 << 30}});
    let code = place.code("create", huge);
    assert!(["E306", "E317"].contains(&code), "{code}");
    assert!(!place.files().exists());
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let place = Place::new();
    let absurd = [
        json!({"tree": null}),
        json!({"tree": {"file_count": 0}}),
        json!({"tree": {"depth": 0}}),
        json!({"tree": {"file_bytes_min": 2}}),
        json!({"tree": {"file_bytes_max": 1_u64 << 31}}),
        json!({"operations": only("read")}),
        json!({"operations": [{"operation": "create", "weight": 1.0}, {"operation": "write", "weight": 1.0}]}),
        json!({"operations": [{"operation": "link", "weight": 1.0}, {"operation": "stat", "weight": 1.0}]}),
        json!({"access": {"kind": "zipf"}}),
        json!({"job_count": 5}),
        json!({"direct": true}),
        json!({"file_state": "append", "limits": {"count": 1}}),
    ];
    for changes in absurd {
        assert_eq!(place.code("create", changes.clone()), "E301", "{changes}");
    }
    assert_eq!(place.code("create", json!({"queue_depth": 2})), "E313");
    assert_eq!(place.code("create", json!({"backend": "uring"})), "E313");
}

#[test]
fn a_tree_is_removed_and_nothing_that_its_links_lead_to() {
    let place = Place::new();
    let kept = Place::new();
    fs::write(kept.0.join("kept"), "").unwrap();
    let top = place.0.join("top");
    fs::create_dir_all(top.join("a/b")).unwrap();
    fs::write(top.join("a/b/file"), "x").unwrap();
    std::os::unix::fs::symlink(&kept.0, top.join("a/link")).unwrap();
    let below = fs::File::open(&place.0).unwrap();
    let remove =
        |going_on: bool| drivelab_engine::tree::remove_tree(below.as_fd(), c"top", &top, &mut || going_on);
    assert!(!remove(false).unwrap());
    assert!(top.exists());
    assert!(remove(true).unwrap());
    assert!(!top.exists() && kept.0.join("kept").exists());
    assert!(remove(true).unwrap(), "what isn't there is removed");
    fs::write(&top, "").unwrap();
    assert_eq!(remove(true).unwrap_err().code.as_str(), "E302");
}

#[test]
fn only_what_a_run_made_and_uses_no_more_is_removed_with_its_directory() {
    let place = Place::new();
    let remove = || remove_own_tree(&place.0, &mut || true).unwrap();
    place.run("create", 4, json!({}));
    let ours = place.0.join(DIRECTORY);
    let mark = fs::File::open(ours.join("made-by-drivelab")).unwrap();
    mark.lock().unwrap();
    assert!(remove() && place.files().exists(), "somebody works on them");
    mark.unlock().unwrap();
    fs::write(ours.join("letters"), "theirs").unwrap();
    assert!(remove() && !place.files().exists() && ours.join("letters").exists());
    fs::remove_file(ours.join("letters")).unwrap();
    assert!(remove() && !ours.exists());
    fs::create_dir(&ours).unwrap();
    assert!(remove() && ours.exists(), "it has no mark of ours");
}
