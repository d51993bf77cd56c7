//! Zones of a made-up target, written and read by several jobs: what a drive would take, and nothing else.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use proptest::prelude::*;

use super::device::Model;
use super::place::{Step, Wish};
use super::state::{NOBODY, Zones};
use super::{Next, OwnZones, ZoneTable};
use crate::address::{Addresses, random_for_job};
use crate::mix::Drawn;
use crate::workload::{Operation, Workload, ZonedDrive};

const ZONE: u64 = 64 << 10;
const CAPACITY: u64 = 48 << 10;
const BLOCK: u64 = 4 << 10;
const COUNT: u64 = 8;

fn asked() -> ZonedDrive {
    ZonedDrive {
        is_used: true,
        zone_size_bytes: ZONE,
        zone_capacity_bytes: CAPACITY,
        max_open_zones: 0,
        job_max_open_zones: 0,
        ignores_drive_limit: false,
        reads_beyond_write_pointer: false,
        reset_threshold: 0.0,
        reset_frequency: 0.0,
    }
}

fn wish(offset: u64, is_random: bool) -> Wish {
    let range = (0, COUNT * ZONE);
    Wish {
        offset,
        size: BLOCK,
        least: BLOCK,
        is_random,
        job: 1,
        range,
        keeps: false,
        is_alone: true,
        is_judged: false,
    }
}

fn zones(asked: &ZonedDrive) -> Zones {
    let mut zones = Zones::made_up(COUNT * ZONE, asked).unwrap();
    zones.max_open = asked.max_open_zones;
    zones
}

/// Writes so many blocks to the start of a zone.
fn fill(zones: &mut Zones, number: u64, blocks: u64) {
    for _ in 0..blocks {
        let Step::At(offset, size) = zones.place_write(&mut wish(number * ZONE, true), &asked()) else {
            panic!("zone {number} has no room");
        };
        zones.ended(Operation::Write, offset, size);
    }
}

#[test]
fn writes_go_to_the_write_pointer_wherever_in_a_zone_they_would_like_to_be() {
    let mut zones = zones(&asked());
    for block in 0..CAPACITY / BLOCK {
        let step = zones.place_write(&mut wish(2 * ZONE + 5 * BLOCK, true), &asked());
        assert_eq!(step, Step::At(2 * ZONE + block * BLOCK, BLOCK));
        zones.ended(Operation::Write, 2 * ZONE + block * BLOCK, BLOCK);
    }
    assert_eq!(zones.place_write(&mut wish(2 * ZONE, true), &asked()), Step::Reset(2));
    zones.was_reset(2);
    assert_eq!(zones.write_to(2, &wish(2 * ZONE, true)), Step::At(2 * ZONE, BLOCK));
}

#[test]
fn a_full_zone_is_reset_when_nothing_of_it_is_outstanding() {
    let mut zones = zones(&asked());
    fill(&mut zones, 0, CAPACITY / BLOCK);
    let mut early = Wish { is_alone: false, ..wish(0, true) };
    assert_eq!(zones.place_write(&mut early, &asked()), Step::WaitForOwn);
    let read = Wish { job: 2, ..wish(0, true) };
    assert!(matches!(zones.place_read(&read, &asked()), Step::At(_, BLOCK)));
    assert_eq!(zones.place_write(&mut wish(0, true), &asked()), Step::WaitForOthers);
    zones.ended(Operation::Read, 0, BLOCK);
    assert_eq!(zones.place_write(&mut wish(0, true), &asked()), Step::Reset(0));
}

#[test]
fn what_is_to_be_verified_is_not_reset_and_another_zone_is_written_until_all_are_full() {
    for max_open_zones in [0, 1, 3] {
        let asked = ZonedDrive { max_open_zones, ..asked() };
        let mut zones = zones(&asked);
        let mut written = 0;
        // outstanding writes fill zones that are closed only when they end
        let mut outstanding = Vec::new();
        while let step @ (Step::At(..) | Step::WaitForOwn) = zones.place_write(
            &mut Wish {
                keeps: true,
                is_alone: outstanding.is_empty(),
                ..wish(written * 7 % (COUNT * ZONE), true)
            },
            &asked,
        ) {
            match step {
                Step::At(offset, size) => {
                    written += size;
                    outstanding.push((offset, size));
                }
                _ => {
                    outstanding.drain(..).for_each(|(offset, size)| {
                        zones.ended(Operation::Write, offset, size);
                    });
                }
            }
        }
        assert_eq!(written, COUNT * CAPACITY, "with {max_open_zones} open zones");
    }
}

#[test]
fn a_zone_has_one_write_outstanding_of_its_own_job_too() {
    let mut zones = zones(&asked());
    assert_eq!(zones.place_write(&mut wish(0, true), &asked()), Step::At(0, BLOCK));
    let mut early = Wish { is_alone: false, ..wish(0, true) };
    assert_eq!(zones.place_write(&mut early, &asked()), Step::WaitForOwn);
    // another zone is free
    let mut beside = Wish { is_alone: false, ..wish(ZONE, true) };
    assert_eq!(zones.place_write(&mut beside, &asked()), Step::At(ZONE, BLOCK));
    zones.ended(Operation::Write, 0, BLOCK);
    assert_eq!(zones.place_write(&mut early, &asked()), Step::At(BLOCK, BLOCK));
}

#[test]
fn another_job_waits_until_the_writes_in_a_zone_have_ended() {
    let mut zones = zones(&asked());
    assert_eq!(zones.place_write(&mut wish(0, true), &asked()), Step::At(0, BLOCK));
    let mut other = Wish { job: 2, ..wish(0, true) };
    assert_eq!(zones.place_write(&mut other, &asked()), Step::WaitForOthers);
    zones.ended(Operation::Write, 0, BLOCK);
    assert_eq!(zones.place_write(&mut other, &asked()), Step::At(BLOCK, BLOCK));
}

#[test]
fn what_is_left_of_a_zone_and_less_than_a_block_is_given_up() {
    let mut zones = zones(&asked());
    fill(&mut zones, 0, CAPACITY / BLOCK - 1);
    let mut large = Wish { size: 2 * BLOCK, least: 2 * BLOCK, ..wish(0, true) };
    assert_eq!(zones.place_write(&mut large, &asked()), Step::Finish(0));
    zones.was_finished(0);
    assert_eq!(zones.list[0].room(), 0);
}

#[test]
fn reads_go_where_something_was_written() {
    let mut zones = zones(&asked());
    assert_eq!(zones.place_read(&wish(3 * ZONE, true), &asked()), Step::Nowhere);
    fill(&mut zones, 5, 3);
    assert_eq!(zones.place_read(&wish(0, false), &asked()), Step::At(5 * ZONE, BLOCK));
    assert_eq!(zones.place_read(&wish(5 * ZONE + BLOCK, false), &asked()), Step::At(5 * ZONE + BLOCK, BLOCK));
    assert_eq!(zones.place_read(&wish(5 * ZONE + 3 * BLOCK, false), &asked()), Step::Nowhere);
    for offset in (0..COUNT * ZONE).step_by(BLOCK as usize) {
        let Step::At(offset, size) = zones.place_read(&wish(offset, true), &asked()) else {
            panic!("nothing to read at {offset}");
        };
        assert!(5 * ZONE <= offset && offset + size <= 5 * ZONE + 3 * BLOCK);
    }
    let beyond = ZonedDrive { reads_beyond_write_pointer: true, ..asked() };
    assert_eq!(zones.place_read(&wish(ZONE, true), &beyond), Step::At(ZONE, BLOCK));
}

#[test]
fn a_trim_resets_a_zone_and_a_random_one_the_nearest_that_holds_data() {
    let mut zones = zones(&asked());
    fill(&mut zones, 5, 3);
    assert_eq!(zones.place_trim(&wish(2 * ZONE, false)), Step::At(2 * ZONE, BLOCK));
    assert!(!zones.ended(Operation::Trim, 2 * ZONE, ZONE), "it held nothing");
    assert_eq!(zones.place_trim(&wish(2 * ZONE, true)), Step::At(5 * ZONE, BLOCK));
    assert_eq!(
        zones.place_write(&mut Wish { job: 2, ..wish(5 * ZONE, true) }, &asked()),
        Step::WaitForOthers
    );
    assert!(zones.ended(Operation::Trim, 5 * ZONE, ZONE));
    assert_eq!(zones.list[5].filled(), 0);
    assert_eq!(zones.place_trim(&wish(2 * ZONE, true)), Step::Nowhere);
}

#[test]
fn zones_that_the_drive_has_open_count_among_those_that_are_written_to() {
    let limited = ZonedDrive { max_open_zones: 2, ..asked() };
    let mut zones = zones(&limited);
    for number in [1, 2] {
        zones.list[number].is_in_use = true;
    }
    let range = (0, COUNT * ZONE);
    zones.open_those_in_use(range, 1, &limited).unwrap();
    let Step::At(offset, _) = zones.place_write(&mut wish(7 * ZONE, true), &limited) else { panic!() };
    assert_eq!(offset, 2 * ZONE, "one of the two that are open");
    zones.list[5].is_in_use = true;
    let error = zones.open_those_in_use(range, 1, &limited).unwrap_err();
    assert!(error.what.contains("open"), "{}", error.what);
}

#[test]
fn a_zone_is_reset_before_its_end_as_often_as_was_asked() {
    let often = ZonedDrive { reset_threshold: 0.1, reset_frequency: 0.25, ..asked() };
    let mut zones = zones(&often);
    zones.open_those_in_use((0, COUNT * ZONE), 1, &often).unwrap();
    let mut resets = 0;
    for turn in 0..400 {
        let mut wish = wish(turn % COUNT * ZONE, true);
        let mut step = zones.place_write(&mut wish, &often);
        if let Step::Reset(number) = step {
            let is_full = zones.list[number].room() == 0;
            zones.was_reset(number);
            resets += u64::from(!is_full);
            step = zones.write_to(number, &wish);
        }
        let Step::At(offset, size) = step else { panic!("{step:?}") };
        zones.ended(Operation::Write, offset, size);
    }
    // the threshold lets the first tenth of the range pass
    let before = (COUNT * ZONE).div_ceil(10).div_ceil(BLOCK);
    assert!(resets <= (400 - before).div_ceil(4) && resets > 60, "{resets}");
}

#[test]
fn a_range_is_made_of_whole_zones() {
    let zones = zones(&asked());
    assert_eq!(zones.whole_zones((BLOCK, 3 * ZONE), true).unwrap(), (ZONE, 2 * ZONE));
    assert_eq!(zones.whole_zones((BLOCK, 3 * ZONE), false).unwrap(), (BLOCK, 3 * ZONE - BLOCK));
    assert!(zones.whole_zones((BLOCK, ZONE), true).is_err());
}

proptest! {
    #[test]
    fn whatever_jobs_write_at_the_same_time_a_drive_would_take(
        turns in prop::collection::vec((0_u32..3, 0..COUNT * ZONE / BLOCK, 1_u64..4, any::<bool>()), 1..400),
        max_open in 0_u32..4, job_max_open in 0_u32..3,
    ) {
        let job_max_open = if max_open == 0 { 0 } else { job_max_open };
        let asked = ZonedDrive { max_open_zones: max_open, job_max_open_zones: job_max_open, ..asked() };
        let mut zones = zones(&asked);
        let mut pointers: Vec<u64> = (0..COUNT).map(|number| number * ZONE).collect();
        let mut outstanding: VecDeque<(u32, u64, u64)> = VecDeque::new();
        for (job, block, blocks, ends) in turns {
            let job = job + 1;
            if ends && let Some((_, offset, size)) = outstanding.pop_front() {
                zones.ended(Operation::Write, offset, size);
            }
            let is_alone = outstanding.iter().all(|&(of, _, _)| of != job);
            let mut wish = Wish { job, is_alone, size: blocks * BLOCK, ..wish(block * BLOCK, true) };
            let mut step = zones.place_write(&mut wish, &asked);
            match step {
                Step::Reset(number) => {
                    prop_assert!(outstanding.iter().all(|&(_, offset, _)| zones.at(offset) != number));
                    pointers[number] = number as u64 * ZONE;
                    zones.was_reset(number);
                    step = zones.write_to(number, &wish);
                }
                Step::WaitForOwn => prop_assert!(!is_alone),
                Step::WaitForOthers => prop_assert!(outstanding.iter().any(|&(of, _, _)| of != job)),
                Step::Finish(number) => zones.was_finished(number),
                _ => {}
            }
            if let Step::At(offset, size) = step {
                let number = zones.at(offset);
                prop_assert_eq!(offset, pointers[number]);
                pointers[number] += size;
                prop_assert!(pointers[number] <= number as u64 * ZONE + CAPACITY);
                prop_assert!(outstanding.iter().all(|&(_, at, _)| zones.at(at) != number));
                outstanding.push_back((job, offset, size));
            }
            if max_open > 0 {
                let begun = (0..COUNT as usize).filter(|&number| {
                    let start = number as u64 * ZONE;
                    start < pointers[number] && pointers[number] < start + CAPACITY
                });
                prop_assert!(begun.count() <= max_open as usize);
                let of_job = |job| zones.list.iter().filter(|zone| zone.opened_by == job).count();
                prop_assert!(job_max_open == 0 || (1..4).all(|job| of_job(job) <= job_max_open as usize));
                prop_assert!(zones.open.iter().all(|&number| zones.list[number].opened_by != NOBODY));
            }
        }
    }
}

/// A workload of random writes to zones.
fn random_writes() -> Workload {
    let text = r#"{
        "target": {"path": "", "offset_bytes": 0, "size_bytes": 0, "create": false, "exclusive": false},
        "backend": "null", "operations": [{"operation": "write", "weight": 1.0}],
        "block_sizes": [{"bytes": 4096, "weight": 1.0}], "access": {"kind": "random", "stride_bytes": 0,
        "zipf_theta": 0.99, "hot_range_fraction": 0.1, "hot_access_fraction": 0.9}, "shift_bytes": 0,
        "polled_completion": false, "polled_submission": false, "queue_depth": 1, "job_count": 1,
        "share_range": false, "direct": true,
        "durability": {"method": "none", "every_writes": 1}, "file_state": "overwrite",
        "contents": {"kind": "random", "compressible_fraction": 0.0, "duplicate_fraction": 0.0},
        "pacing": {"kind": "closed"}, "limits": {"runtime_ns": 0, "bytes": 0, "count": 100},
        "ramp_ns": 0, "interval_ns": 10000000, "seed": 1, "record_ios": false, "pin_cpus": []
    }"#;
    Workload::from_json(text).unwrap()
}

#[test]
fn a_zone_that_one_job_resets_has_no_write_of_another_before_that_job_s_own_has_ended() {
    const TURNS: u32 = 100_000;
    // so small that every write but the first of a zone resets it
    let asked = ZonedDrive { zone_capacity_bytes: BLOCK, ..asked() };
    let table = Arc::new(ZoneTable {
        model: Model::MadeUp,
        zones: Mutex::new(zones(&asked)),
        asked,
        changed: Condvar::new(),
        jobs: AtomicU32::new(1),
    });
    let outstanding: [AtomicU32; COUNT as usize] = Default::default();
    let is_broken = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for job in 1..=4 {
            let (table, outstanding, is_broken) = (Arc::clone(&table), &outstanding, &is_broken);
            scope.spawn(move || {
                let workload = random_writes();
                let access = workload.accesses().next().unwrap();
                let mut addresses = Addresses::new(access, 0, COUNT * ZONE, BLOCK);
                let mut random = random_for_job(7, job);
                let range = ((0, COUNT * ZONE), COUNT * ZONE);
                let mut own = OwnZones::new(table, -1, job, range, &workload);
                let size = BLOCK as u32;
                let drawn =
                    Drawn { operation: Operation::Write, size, unit: size, access: 0, is_issued: true };
                for _ in 0..TURNS {
                    if is_broken.load(Ordering::Relaxed) {
                        return;
                    }
                    match own.next(drawn, &mut addresses, &mut random, true).unwrap() {
                        Next::At(offset, size) => {
                            let zone = &outstanding[(offset / ZONE) as usize];
                            is_broken.fetch_or(zone.fetch_add(1, Ordering::SeqCst) > 0, Ordering::Relaxed);
                            std::hint::spin_loop();
                            zone.fetch_sub(1, Ordering::SeqCst);
                            own.ended(Operation::Write, offset, size);
                        }
                        Next::WaitForOthers => std::thread::yield_now(),
                        _ => is_broken.store(true, Ordering::Relaxed),
                    }
                }
            });
        }
    });
    assert!(!is_broken.load(Ordering::Relaxed), "two writes in a zone, or a write without a place");
}
