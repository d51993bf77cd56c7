//! What a path means: a directory, a base name, a CPU's file, a merged dump; each file is read once.

mod support;

use drivelab_trace::read::{DamageKind, ReadErrorKind, ReadOptions, ReadSummary, Recording};
use drivelab_trace::record::Record;
use std::path::{Path, PathBuf};
use support::bytes::USUAL;
use support::{BlockTrace, SDB, scratch};

/// Four CPUs, 60 records each of them.
fn trace() -> BlockTrace {
    let mut trace = BlockTrace::new(4);
    trace.many_ios(40);
    trace
}

fn read(paths: &[PathBuf], options: ReadOptions) -> (usize, ReadSummary) {
    let mut recording = Recording::open_with(paths, options).expect("a recording");
    let (mut count, mut record) = (0, Record::default());
    while recording.next(&mut record) {
        count += 1;
    }
    (count, recording.summary())
}

fn names(summary: &ReadSummary) -> Vec<String> {
    let name = |file: &String| Path::new(file).file_name().expect("a name").to_string_lossy().into_owned();
    summary.files.iter().map(name).collect()
}

fn error(path: &Path) -> (ReadErrorKind, String) {
    let error = Recording::open(&[path.to_owned()]).err().expect("an error");
    (error.kind, error.to_string())
}

#[test]
fn a_directory_a_base_name_and_a_cpus_file_mean_the_recording() {
    let directory = scratch("means");
    trace().write(&directory, "sda", USUAL);
    std::fs::write(directory.join("notes.txt"), "not part of it").expect("a file");
    std::fs::write(directory.join("sda.blktrace.old"), "not part of it").expect("a file");
    for path in [directory.clone(), directory.join("sda"), directory.join("sda.blktrace.2")] {
        let (count, summary) = read(&[path], ReadOptions::default());
        assert_eq!((count, names(&summary).len()), (240, 4));
        assert!(summary.is_whole());
    }
    let notes = |name: &str| read(&[directory.join(name)], ReadOptions::default()).1.notes;
    assert!(notes("sda").is_empty());
    assert!(
        notes("sda.blktrace.2")[0].ends_with("is a part of a recording: the files of all 4 CPUs are read")
    );
}

#[test]
fn naming_every_file_reads_none_twice() {
    let directory = scratch("every");
    let paths = trace().write(&directory, "sda", USUAL);
    for options in [ReadOptions::default(), ReadOptions { compat: true, ..ReadOptions::default() }] {
        let (count, summary) = read(&paths, options);
        assert_eq!((count, summary.duplicates), (240, 0));
        assert!(
            summary.notes[0].starts_with("4 of the names belong to one recording"),
            "{:?}",
            summary.notes
        );
    }
}

#[test]
fn two_names_of_one_file_are_one_file() {
    let directory = scratch("links");
    let merged = directory.join("merged.bin");
    std::fs::write(&merged, trace().merged(USUAL)).expect("a file");
    std::fs::hard_link(&merged, directory.join("hard")).expect("a link");
    std::os::unix::fs::symlink(&merged, directory.join("soft")).expect("a link");
    let paths = ["merged.bin", "hard", "soft", "merged.bin"].map(|name| directory.join(name));
    let (count, summary) = read(&paths, ReadOptions::default());
    assert_eq!((count, summary.files.len(), summary.notes.len()), (240, 1, 3));
}

#[test]
fn several_devices_of_a_directory_are_merged() {
    let directory = scratch("devices");
    trace().write(&directory, "sda", USUAL);
    let mut other = trace();
    other.device = SDB;
    other.records.iter_mut().for_each(|record| record.device = SDB);
    other.write(&directory, "sdb", USUAL);
    let (count, summary) = read(std::slice::from_ref(&directory), ReadOptions::default());
    assert_eq!((count, summary.devices.len(), summary.duplicates), (480, 2, 0));
    assert_eq!(names(&summary)[3..5], ["sda.blktrace.3", "sdb.blktrace.0"]);
}

#[test]
fn a_missing_cpu_is_named_and_the_others_are_read() {
    let directory = scratch("missing");
    trace().write(&directory, "sda", USUAL);
    std::fs::remove_file(directory.join("sda.blktrace.2")).expect("the file of CPU 2");
    std::fs::write(directory.join("sda.blktrace.1"), "").expect("an empty file");
    let (count, summary) = read(&[directory.join("sda")], ReadOptions::default());
    assert_eq!((count, summary.missing_cpus.as_slice()), (120, [2].as_slice()));
    assert_eq!((summary.damages[0].kind, summary.count(DamageKind::MissingCpu)), (DamageKind::MissingCpu, 1));
    assert!(summary.damages[0].file.ends_with("sda.blktrace.2"));
    for options in [
        ReadOptions { stops_at_gap: true, ..ReadOptions::default() },
        ReadOptions { compat: true, ..ReadOptions::default() },
    ] {
        let (count, summary) = read(&[directory.join("sda")], options);
        assert_eq!(
            (count, names(&summary)),
            (60, vec!["sda.blktrace.0".to_owned(), "sda.blktrace.1".to_owned()])
        );
    }
}

#[test]
fn a_name_as_far_as_a_shell_completes_it_means_the_recording() {
    let directory = scratch("completed");
    trace().write(&directory, "sda", USUAL);
    for name in ["sda.blktrace", "sda.blktrace."] {
        assert_eq!(read(&[directory.join(name)], ReadOptions::default()).0, 240, "{name}");
    }
    assert_eq!(error(&directory.join(".blktrace.")).0, ReadErrorKind::NotFound);
}

#[test]
fn what_is_not_there_is_said() {
    let directory = scratch("absent");
    let (kind, text) = error(&directory.join("sdz"));
    assert_eq!(kind, ReadErrorKind::NotFound);
    assert!(text.contains("sdz.blktrace.0"), "{text}");
    assert_eq!(error(&directory).0, ReadErrorKind::NoRecording);
    assert_eq!(error(&directory.join("sdz/sda")).0, ReadErrorKind::NotFound);
    std::fs::write(directory.join("sda.blktrace.0"), "words").expect("a file");
    let (kind, text) = error(&directory.join("sda"));
    assert_eq!(kind, ReadErrorKind::Foreign);
    assert!(text.contains("sda.blktrace.0: not a block trace"), "{text}");
}

#[test]
fn a_directory_without_files_may_be_the_base_name_of_some() {
    let directory = scratch("beside");
    trace().write(&directory, "sda", USUAL);
    std::fs::create_dir(directory.join("sda")).expect("a directory");
    assert_eq!(read(&[directory.join("sda")], ReadOptions::default()).0, 240);
}
