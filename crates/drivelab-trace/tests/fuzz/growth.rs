//! What would take time with the square of a trace's length, if nothing bounded it.

use std::time::Duration;

use crate::campaign::cpu_time;
use crate::support::BlockTrace;
use crate::support::bytes::{USUAL, stream};
use drivelab_trace::join::{Layer, Stretch, Surroundings, join};
use drivelab_trace::lifetime::{Bio, Remap};
use drivelab_trace::phases::{Options, report};
use drivelab_trace::read::{ReadOptions, Recording};
use drivelab_trace::record::{Action, Record, category};

/// So many I/Os of each kind.
const MANY: u64 = 20_000;
/// A record may take so many times as long as one of a sound trace.
const TIMES_LONGER: u32 = 100;

fn record(time_ns: u64, action: Action, sector: u64, bytes: u32, category: u32) -> Record {
    let (action_bits, device) = (action as u16, 8 << 20);
    Record { time_ns, sector, bytes, action_bits, category, device, ..Record::default() }
}

fn write(time_ns: u64, action: Action, sector: u64, bytes: u32) -> Record {
    record(time_ns, action, sector, bytes, category::WRITE)
}

/// One request of very many bios, put back again and again.
fn requeues() -> Vec<Record> {
    let bios = (0..MANY).flat_map(|at| [Action::Queue, Action::BackMerge].map(|it| write(at, it, at, 512)));
    let again = (0..MANY).flat_map(|at| {
        [Action::Issue, Action::Requeue].map(|action| write(MANY + at, action, 0, MANY as u32 * 512))
    });
    bios.chain(again).collect()
}

/// Many bios wait, and every command lies over all of them.
fn commands_over_all() -> Vec<Record> {
    let bios = (0..MANY).flat_map(|at| [Action::Queue, Action::Insert].map(|it| write(at, it, 8 * at, 4096)));
    bios.chain((0..MANY).map(|at| write(MANY + at, Action::Issue, 0, u32::MAX - 511))).collect()
}

/// Many bios wait at few sectors, and no command begins at any of them.
fn commands_beside_all() -> Vec<Record> {
    let bios = (0..MANY).map(|at| write(at, Action::Queue, 1 + at % 100, 512));
    bios.chain((0..MANY).map(|at| write(MANY + at, Action::Issue, 0, 4000 * 512))).collect()
}

/// Flushes that never end.
fn flushes() -> Vec<Record> {
    let bits = category::READ | category::FLUSH;
    (0..4 * MANY).map(|at| record(at, Action::Issue, 0, 0, bits)).collect()
}

/// No two records of one device.
fn devices() -> Vec<Record> {
    (0..2 * MANY).map(|at| Record { device: at as u32, ..write(at, Action::Queue, 8, 4096) }).collect()
}

fn time_of(records: &[Record]) -> Duration {
    let files = vec![("made".to_owned(), None, stream(records, USUAL))];
    let begun = cpu_time();
    let mut recording = Recording::from_bytes(files, ReadOptions::default()).expect("a recording");
    let told = report(&mut recording, Options { with_btt: true });
    assert_eq!(told["counts"]["records"], records.len());
    cpu_time() - begun
}

#[test]
fn no_record_takes_longer_because_there_are_many() {
    let mut sound = BlockTrace::new(1);
    sound.many_ios(MANY);
    let per_record = time_of(&sound.numbered(false)) / sound.records.len() as u32;
    let made = [requeues(), commands_over_all(), commands_beside_all(), flushes(), devices()];
    for (kind, records) in made.iter().enumerate() {
        let (took, count) = (time_of(records), records.len() as u32);
        let allowed = TIMES_LONGER * count * per_record;
        assert!(took < allowed, "kind {kind}: {took:?} for {count} records, {allowed:?} allowed");
    }
}

const LAYER: u32 = 9 << 20;

/// Bios that wait in a layer while as many are sent down from it; each is at one place or as long as can be.
fn waiting(bytes: u32) -> Vec<Bio> {
    (0..MANY)
        .map(|at| Bio {
            device: LAYER,
            sector: at,
            bytes,
            category: category::WRITE,
            queued: at,
            ..Bio::default()
        })
        .collect()
}

fn sent_down(direct: bool, bytes: u32) -> Vec<Remap> {
    let from_device = if direct { LAYER } else { LAYER + 1 };
    (0..MANY)
        .map(|at| Remap {
            device: 8 << 20,
            sector: at,
            from_device,
            from_sector: 2 * MANY,
            bytes,
            time_ns: MANY + at,
        })
        .collect()
}

fn time_of_join(bios: &[Bio], remaps: Vec<Remap>) -> Duration {
    let below = vec![Stretch { device: 8 << 20, start: 0, end: u64::MAX }];
    let layers = vec![Layer { device: LAYER, below: below.clone() }, Layer { device: LAYER + 1, below }];
    let around = Surroundings { layers, remaps, ..Surroundings::default() };
    let begun = cpu_time();
    assert_eq!(join(&[], bios, &[], &around).bios.len(), bios.len());
    cpu_time() - begun
}

#[test]
fn what_a_layer_sends_down_takes_no_longer_because_much_waits_in_it() {
    let usual = time_of_join(&waiting(512), sent_down(false, 512));
    let longest = u32::MAX - 511;
    for (waits, sent) in [(512, 512), (longest, 512), (512, 0), (longest, longest)] {
        let took = time_of_join(&waiting(waits), sent_down(true, sent));
        assert!(
            took < TIMES_LONGER / 4 * usual,
            "{waits} and {sent} bytes: {took:?}, {usual:?} without a bio"
        );
    }
}
