//! The ways that lead over files: recordings that are opened by name, and pages that were collected.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::bytes::{any_number, is_rare};
use crate::case::Case;
use crate::lives::Dice;
use crate::made_up::kernel::DISK;
use crate::support::scratch;
use drivelab_trace::collect::{Collector, Kind, Options};
use drivelab_trace::events::format::PageFormat;
use drivelab_trace::events::recording::{Description, Source, write};
use drivelab_trace::read::{ReadOptions, Recording};
use drivelab_trace::read_ahead::{Next, ReadAhead};
use drivelab_trace::record::Record;

fn opened(case: &Case, options: ReadOptions, dice: &mut Dice) -> Option<Recording> {
    let folder = scratch(&format!("fuzz-{}", case.campaign));
    let mut paths: Vec<PathBuf> = Vec::new();
    for (number, file) in case.files.iter().enumerate() {
        let name = file.cpu.map_or(format!("dump{number}.bin"), |cpu| format!("any.blktrace.{cpu}"));
        paths.push(folder.join(name));
        std::fs::write(&paths[number], &file.bytes).expect("a writable folder");
    }
    if is_rare(dice, 3) {
        paths = vec![folder.clone()];
    } else if is_rare(dice, 3) {
        paths = vec![folder.join("any")];
    }
    Recording::open_with(&paths, options).ok()
}

/// Opens files by name, and reads them in a thread of their own: records come as without it.
pub fn check_recording(case: &Case, options: ReadOptions, dice: &mut Dice) {
    let rolled = dice.clone();
    let Some(mut recording) = opened(case, options, dice) else { return };
    let (mut expected, mut record) = (Vec::new(), Record::default());
    while recording.next(&mut record) {
        expected.push(record.clone());
    }
    let again = opened(case, options, &mut rolled.clone()).expect("it was opened before");
    let ahead = ReadAhead::start(again, 0_usize, |shown, _| *shown += 1).expect("a thread");
    let mut found = Vec::new();
    loop {
        match ahead.next(Duration::from_secs(100)) {
            Next::Batch(batch) => {
                found.extend(batch.iter().map(|(record, _)| record.clone()));
                ahead.give_back(batch);
            }
            Next::Nothing => panic!("the reader stands still"),
            Next::End => break,
        }
    }
    let (again, shown) = ahead.finish();
    assert!(expected == found && shown == found.len());
    assert_eq!(again.summary(), recording.summary());
}

/// Pages are collected and written as a recording, which is read again.
pub fn check_pages(case: &Case, header_page: &str, formats: &[&str], dice: &mut Dice) {
    let Ok(page_format) = PageFormat::parse(header_page) else { return };
    if page_format.page_bytes == 0 {
        return;
    }
    let folder = scratch("fuzz-pages");
    let pages = case.files.iter().filter(|file| file.name == "page");
    let bytes: Vec<u8> = pages.flat_map(|page| page.bytes.clone()).collect();
    std::fs::write(folder.join("pages"), bytes).expect("a writable folder");
    let options = Options {
        kind: Kind::Pages(page_format),
        interval: Duration::from_millis(1),
        buffer_bytes: 1 << 20,
        memory_limit_bytes: 1 << 24,
        spill_directory: None,
    };
    let mut raw = Collector::start(&[(0, folder.join("pages"))], options).expect("a thread").stop();
    let description = Description {
        source: if dice.is_true() { Source::Events } else { Source::BlkTracer },
        header_page: header_page.to_owned(),
        formats: formats.iter().map(|&text| text.to_owned()).collect(),
        device: DISK,
        partitions: vec![],
        stack: vec![],
        processes: HashMap::new(),
        markers: vec![],
        began_ns: (any_number(dice), dice.roll(0, 1 << 61)),
        lost: HashMap::from([(0, any_number(dice))]),
    };
    let Ok(written) = write(&mut raw, &description, &folder.join("any")) else { return };
    let mut recording = Recording::open(&written.files).expect("it was just written");
    let (mut count, mut record) = (0, Record::default());
    while recording.next(&mut record) {
        count += 1;
    }
    let summary = recording.summary();
    assert_eq!((Some(count), summary.skipped_bytes), (written.records, 0), "{:?}", summary.damages);
}
