//! Any bytes at all are read without a panic, and a damage costs no more than the records that it touches.
//!
//! `DRIVELAB_FUZZ_SECONDS` says how long each test goes on; 3 unless it is set.

mod support;

use drivelab_trace::read::{ReadOptions, Recording};
use drivelab_trace::record::Record;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};
use std::time::{Duration, Instant};
use support::bytes::{Form, USUAL};
use support::golden::{read_all, rewritten};
use support::plain::golden_files;

const OURS: ReadOptions = ReadOptions { compat: false, without_duplicates: false, stops_at_gap: false };

/// Tries examples until the time is over; they differ from run to run, and a failing one is shown made small.
fn fuzz<S: Strategy>(strategy: &S, check: impl Fn(S::Value) -> TestCaseResult) {
    let seconds = std::env::var("DRIVELAB_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut cases = 0;
    while cases == 0 || Instant::now() < end {
        let config = Config { cases: 20, failure_persistence: None, ..Config::default() };
        cases += config.cases;
        if let Err(failure) = TestRunner::new(config).run(strategy, &check) {
            panic!("{failure}");
        }
    }
}

fn options() -> impl Strategy<Value = ReadOptions> {
    (any::<bool>(), any::<bool>()).prop_map(|(compat, without_duplicates)| ReadOptions {
        compat,
        without_duplicates,
        ..OURS
    })
}

/// Bytes that look like a recording more or less.
fn rubble() -> impl Strategy<Value = Vec<u8>> {
    let head = (any::<bool>(), 5..10_u32).prop_map(|(is_swapped, version)| {
        let magic = 0x6561_7400 | version;
        (if is_swapped { magic.swap_bytes() } else { magic }).to_ne_bytes().to_vec()
    });
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        head,
        Just(b"CPU:0 [LOST 12 EVENTS]\n".to_vec()),
        (0..80_usize).prop_map(|length| vec![0; length]),
        (any::<u16>(), any::<bool>()).prop_map(|(sector, is_swapped)| {
            let record =
                Record { sector: u64::from(sector), action_bits: 1, bytes: 512, ..Record::default() };
            support::bytes::stream([&record], Form { is_swapped, ..USUAL })
        }),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

#[test]
fn rubble_is_read_to_its_end() {
    let files = prop::collection::vec((rubble(), prop::option::of(0..3_u32)), 1..4);
    fuzz(&(files, options()), |(files, options)| {
        let total: usize = files.iter().map(|(bytes, _)| bytes.len()).sum();
        let named = files.into_iter().map(|(bytes, cpu)| ("rubble".to_owned(), cpu, bytes)).collect();
        let Ok(mut recording) = Recording::from_bytes(named, options) else { return Ok(()) };
        let (mut count, mut record) = (0, Record::default());
        while recording.next(&mut record) {
            count += 1;
            let _ = (record.action(), record.split_sector(), record.remapped_from(), record.end_sector());
        }
        let summary = recording.summary();
        // a last record may be made whole with zeros, as btt does
        prop_assert!(count * 48 <= total + 3 * 48, "{count} records in {total} bytes");
        prop_assert!(summary.skipped_bytes <= total as u64);
        prop_assert_eq!(summary.records, count as u64);
        Ok(())
    });
}

/// What is done to a file at a place that is given in thousandths of its length.
#[derive(Debug, Clone)]
enum Change {
    Set(Vec<u8>),
    Insert(Vec<u8>),
    Remove(usize),
}

fn changes() -> impl Strategy<Value = (usize, Change)> {
    let change = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..2).prop_map(Change::Set),
        prop::collection::vec(any::<u8>(), 1..70).prop_map(Change::Set),
        prop::collection::vec(any::<u8>(), 1..70).prop_map(Change::Insert),
        (1..200_usize).prop_map(Change::Remove),
    ];
    (any::<prop::sample::Index>(), change).prop_map(|(place, change)| (place.index(7_000), change))
}

/// Start and end of each record.
fn extents(bytes: &[u8]) -> Vec<(usize, usize)> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let end = at + 48 + usize::from(u16::from_ne_bytes([bytes[at + 46], bytes[at + 47]]));
        found.push((at, end));
        at = end;
    }
    found
}

#[test]
fn a_change_costs_only_the_records_that_it_touches() {
    let (name, cpu, bytes) = golden_files("wt_raw_over1").swap_remove(1);
    let extents = extents(&bytes);
    let whole = read_all(vec![(name.clone(), cpu, bytes.clone())], OURS).expect("a recording");
    assert_eq!(whole.len(), extents.len());
    fuzz(&changes(), |(place, change)| {
        let mut changed = bytes.clone();
        let touched = match &change {
            Change::Set(new) => {
                changed[place..place + new.len()].copy_from_slice(new);
                new.len()
            }
            Change::Insert(new) => {
                changed.splice(place..place, new.iter().copied());
                0
            }
            Change::Remove(count) => {
                changed.drain(place..place + count);
                *count
            }
        };
        let found = read_all(vec![(name.clone(), cpu, changed)], OURS).expect("a recording still");
        let before = extents.iter().filter(|(_, end)| *end <= place).count();
        let after = extents.iter().filter(|(start, _)| *start >= place + touched).count();
        prop_assert!(found.len() >= before + after, "{} records of {} and {}", found.len(), before, after);
        prop_assert_eq!(&found[..before], &whole[..before]);
        prop_assert_eq!(&found[found.len() - after..], &whole[whole.len() - after..]);
        Ok(())
    });
}

#[test]
fn real_recordings_with_many_changes_are_read_to_their_end() {
    let files = golden_files("wt_raw_over1");
    let form = (prop_oneof![Just(7_u8), Just(8)], any::<bool>());
    let many = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40);
    fuzz(&(form, many, options()), |((version, is_swapped), changes, options)| {
        let form = Form { version, is_swapped, counts_sequence: true };
        let mut turned: Vec<_> =
            files.iter().map(|(name, cpu, bytes)| (name.clone(), *cpu, rewritten(bytes, form))).collect();
        for (place, byte) in changes {
            let file = &mut turned[usize::from(byte) % 2].2;
            let at = place.index(file.len());
            file[at] = byte;
        }
        let total: usize = turned.iter().map(|(_, _, bytes)| bytes.len()).sum();
        let found = read_all(turned, options).unwrap_or_default();
        prop_assert!(found.len() <= total / 48 + 2);
        Ok(())
    });
}

#[test]
fn a_real_recording_cut_at_every_byte_gives_what_is_whole() {
    let (name, cpu, bytes) = golden_files("wt_raw_over1").swap_remove(1);
    let extents = extents(&bytes);
    let whole = read_all(vec![(name.clone(), cpu, bytes.clone())], OURS).expect("a recording");
    for length in (0..bytes.len()).filter(|length| *length == 0 || *length >= 4) {
        let found = read_all(vec![(name.clone(), cpu, bytes[..length].to_vec())], OURS).expect("a recording");
        let count = extents.iter().filter(|(_, end)| *end <= length).count();
        assert!(found == whole[..count], "{length} bytes");
    }
}
