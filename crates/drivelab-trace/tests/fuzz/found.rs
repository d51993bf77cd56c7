//! What hostile input has brought to light, as small as it gets.

use std::collections::HashMap;

use crate::made_up::kernel::{DISK, NEW, entry};
use crate::memory::measured;
use crate::support::bytes::{USUAL, stream};
use crate::told;
use drivelab_trace::events::clock::ClockLine;
use drivelab_trace::events::convert::{Converter, Subject};
use drivelab_trace::follow::{Collected, Follower};
use drivelab_trace::phases::{Options, report};
use drivelab_trace::read::{ReadOptions, ReadSummary, Recording};
use drivelab_trace::record::{Action, Record, category};
use serde_json::Value;

fn write(time_ns: u64, action: Action, sector: u64, bytes: u32) -> Record {
    let (action_bits, device, category) = (action as u16, 8 << 20, category::WRITE);
    Record { time_ns, sector, bytes, action_bits, category, device, ..Record::default() }
}

fn recording(bytes: Vec<u8>) -> Recording {
    Recording::from_bytes(vec![("made".to_owned(), None, bytes)], ReadOptions::default())
        .expect("a recording")
}

fn reported(records: &[Record]) -> Value {
    let told = report(&mut recording(stream(records, USUAL)), Options::default());
    told::check(&told);
    told
}

fn summary(bytes: Vec<u8>) -> ReadSummary {
    let (mut recording, mut record) = (recording(bytes), Record::default());
    while recording.next(&mut record) {}
    recording.summary()
}

#[test]
fn times_may_reach_the_largest_number() {
    let mut records = vec![write(0, Action::Queue, 8, 4096)];
    for sector in 0..1000 {
        records.push(write(1, Action::Queue, 8 * sector, 4096));
        records.push(write(2, Action::Issue, 8 * sector, 4096));
    }
    records.extend((0..1000).map(|sector| write(u64::MAX, Action::Complete, 8 * sector, 4096)));
    let told = reported(&records);
    assert_eq!(told["all"]["D2C"]["n"], 1000);
    assert_eq!(told["all"]["D2C"]["max_ns"], u64::MAX - 2);
}

#[test]
fn a_record_from_before_the_first_does_not_make_a_device_busier_than_always() {
    let told = reported(&[
        write(5_000, Action::GetRequest, 8, 4096),
        write(1_000, Action::Queue, 8, 4096),
        write(2_000, Action::Issue, 8, 4096),
        write(6_000, Action::Complete, 8, 4096),
    ]);
    assert_eq!(told["start_ns"], 1_000);
    assert!(told["load"]["8:0"]["active_share"].as_f64() <= Some(1.0));
}

#[test]
fn counts_of_lost_events_stay_at_the_largest_number() {
    let numbered = |sequence| Record { sequence, ..write(1, Action::Queue, 8, 4096) };
    let mut bytes = stream(&[numbered(1)], USUAL);
    bytes.extend(format!("CPU:0 [LOST {} EVENTS]\n", u64::MAX).into_bytes());
    bytes.extend(stream(&[numbered(9)], USUAL));
    assert_eq!(summary(bytes).lost, [(0, u64::MAX)]);
}

#[test]
fn after_the_largest_number_of_a_record_nothing_is_missing() {
    let numbered = |sequence| Record { sequence, ..write(1, Action::Queue, 8, 4096) };
    let records = [u32::MAX - 1, u32::MAX, 0, 1, 2].map(numbered);
    assert!(summary(stream(&records, USUAL)).is_whole());
    let mut follower = Follower::new();
    records.iter().for_each(|record| follower.push(record, &mut Collected::default()));
    assert_eq!(follower.counts().losses, 0);
}

#[test]
fn a_bio_does_not_end_before_its_last_piece() {
    let mut split = write(2, Action::Split, 0, 8192);
    split.payload = 8_u64.to_be_bytes().to_vec();
    let mut records = [
        write(1, Action::Queue, 0, 8192),
        split,
        write(3, Action::Issue, 0, 4096),
        write(4, Action::Complete, 0, 4096),
        // its D is not in the trace
        write(9, Action::Complete, 8, 4096),
    ];
    // who asked for a flush before its data may be told after them
    records[0].category |= category::FLUSH;
    let (mut follower, mut lives) = (Follower::new(), Collected::default());
    records.iter().for_each(|record| follower.push(record, &mut lives));
    follower.finish(&mut lives);
    assert_eq!(lives.bios.len(), 1);
    assert_eq!((lives.bios[0].completed, lives.bios[0].ended), (Some(9), Some(9)));
}

#[test]
fn the_number_of_a_cpu_or_a_device_takes_no_memory() {
    let far = |number: u32| Record {
        cpu: 65_535 - number % 8,
        device: number,
        sequence: 1,
        ..write(u64::from(number), Action::Queue, 8, 4096)
    };
    let records: Vec<Record> = (0..2_000).map(far).collect();
    let ((), taken) = measured(|| {
        let mut follower = Follower::new();
        records.iter().for_each(|record| follower.push(record, &mut Collected::default()));
    });
    assert!(taken.peak < 8 << 20, "{taken:?}");
    let (told, taken) = measured(|| reported(&records));
    assert!(taken.peak < 200 << 20, "{taken:?}");
    assert!(told["devices"]["other"].is_object());
}

#[test]
fn numbers_of_events_may_be_the_largest() {
    let layout = NEW.layout();
    let clock = ClockLine::through((0, 0), (1, u64::MAX)).expect("apart");
    let subject =
        Subject { device: DISK, devices: HashMap::from([(DISK, DISK)]), processes: HashMap::new(), clock };
    let split = [("dev", u64::from(DISK)), ("sector", 0), ("new_sector", u64::MAX)];
    let parts = [entry(0, &NEW.event("block_split", 9, &split, &[("rwbs", "W")]))];
    // both say that all events there could be were lost before them
    let pages = [3 << 30, 3 << 30].map(|flags| NEW.page(u64::MAX, &parts, flags, &u64::MAX.to_ne_bytes()));
    let (mut converter, mut records) = (Converter::new(&layout, &subject, 0), Vec::new());
    for page in &pages {
        let taken = converter.page(page, &mut |record: &Record| {
            records.push(record.clone());
            Ok::<(), ()>(())
        });
        assert_eq!(taken, Ok(()));
    }
    assert_eq!((converter.lost(), records.len()), (u64::MAX, 2));
    assert_eq!((records[0].bytes, records[0].time_ns), (u32::MAX, u64::MAX));
}
