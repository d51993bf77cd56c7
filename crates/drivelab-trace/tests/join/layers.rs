//! Stacks of devices whose own times are known: what the join tells of them has to be that.

use std::collections::HashMap;

use drivelab_trace::join::{Joined, Kind, Layer, Operation, Reason, Stretch, Surroundings, join};
use drivelab_trace::lifetime::{Bio, Command, Remap};
use drivelab_trace::record::category::{FLUSH, META, READ, WRITE};
use proptest::prelude::*;

pub const JOB: u32 = 100;
pub const WORKER: u32 = 201;
const STRANGER: u32 = 300;
/// Layers have the numbers from here on, from above to below; drives those from 50 on.
pub const TOP: u32 = 10;
pub const DRIVE: u32 = 50;
/// The lowest layer begins so many sectors into its drives.
pub const SHIFT: u64 = 2048;

/// One operation of a thread: a bio goes down through the layers and comes back.
#[derive(Debug, Clone)]
struct Trip {
    thread: u32,
    is_flush: bool,
    is_read: bool,
    before: u64,
    /// Of every layer, on the way down and on the way up.
    layers: Vec<(u64, u64)>,
    /// Of every drive, waiting and working.
    drives: Vec<(u64, u64)>,
    after: u64,
    pids: Vec<u32>,
}

/// What the trace tells, and what is true.
#[derive(Debug, Default)]
struct Told {
    operations: Vec<Operation>,
    bios: Vec<Bio>,
    commands: Vec<Command>,
    remaps: Vec<Remap>,
    /// Of every operation: software before, by layer, queue, at the drive, software after.
    truth: Vec<(u64, Vec<u64>, u64, u64, u64)>,
}

impl Told {
    fn trip(&mut self, at: &mut u64, sector: u64, trip: &Trip) {
        let start = *at;
        let mut now = start + trip.before;
        let category = if trip.is_flush {
            WRITE | FLUSH
        } else if trip.is_read {
            READ
        } else {
            WRITE
        };
        let bytes = if trip.is_flush { 0 } else { 4096 };
        let mut open = Vec::new();
        let sector = if trip.is_flush { 0 } else { sector };
        for (height, &(down, _)) in trip.layers.iter().enumerate() {
            let device = TOP + height as u32;
            let pid = if height == 0 { trip.thread } else { trip.pids[height] };
            open.push(self.bios.len());
            self.bios.push(Bio {
                device,
                sector,
                bytes,
                category,
                pid,
                queued: now,
                fragments: 1,
                ..Bio::default()
            });
            now += down;
            if height + 1 < trip.layers.len() {
                self.sent(device + 1, sector, device, sector, bytes, now);
            }
        }
        let (end, waiting, working) = self.at_drives(now, sector, category, bytes, trip);
        now = end;
        for (height, &(_, up)) in trip.layers.iter().enumerate().rev() {
            now += up;
            let bio = &mut self.bios[open[height]];
            (bio.completed, bio.ended) = (Some(now), Some(now));
        }
        let own = trip.layers.iter().map(|&(down, up)| down + up).collect();
        self.truth.push((trip.before, own, waiting, working, trip.after));
        let end_ns = now + trip.after;
        let kind = if trip.is_read { Kind::Read } else { Kind::DurableWrite };
        self.operations.push(Operation {
            job: 0,
            thread: trip.thread,
            kind,
            start_ns: start,
            submitted_ns: end_ns,
            end_ns,
            offset: 0,
            size: 4096,
            is_synchronous: true,
            is_durable: false,
            has_slept: None,
        });
        *at = end_ns + 1;
    }

    /// Every drive has the same to do; its end, and for how long something waited or was at work.
    fn at_drives(
        &mut self,
        now: u64,
        sector: u64,
        category: u32,
        bytes: u32,
        trip: &Trip,
    ) -> (u64, u64, u64) {
        let lowest = TOP + trip.layers.len() as u32 - 1;
        let mut at_drives: HashMap<u64, bool> = HashMap::new();
        let mut end = now;
        for (number, &(waits, works)) in trip.drives.iter().enumerate() {
            let (device, from) = (DRIVE + number as u32, sector);
            let there = if trip.is_flush { 0 } else { sector + SHIFT };
            self.sent(device, there, lowest, from, bytes, now);
            let (issued, done) = (now + waits, now + waits + works);
            let pid = trip.pids[number];
            self.bios.push(Bio {
                device,
                sector: there,
                bytes,
                category,
                pid,
                queued: now,
                got_request: Some(now),
                issued_first: Some(issued),
                issued_last: Some(issued),
                completed: Some(done),
                ended: Some(done),
                fragments: 1,
                ..Bio::default()
            });
            let category = if trip.is_flush { READ | FLUSH } else { category };
            self.commands.push(Command {
                device,
                sector: there,
                bytes,
                category,
                pid: WORKER,
                issued,
                completed: Some(done),
                ..Command::default()
            });
            (now..issued).for_each(|moment| {
                at_drives.entry(moment).or_default();
            });
            (issued..done).for_each(|moment| {
                at_drives.insert(moment, true);
            });
            end = end.max(done);
        }
        let working = at_drives.values().filter(|&&works| works).count() as u64;
        (end, at_drives.len() as u64 - working, working)
    }

    fn sent(
        &mut self,
        device: u32,
        sector: u64,
        from_device: u32,
        from_sector: u64,
        bytes: u32,
        time_ns: u64,
    ) {
        self.remaps.push(Remap { device, sector, from_device, from_sector, bytes, time_ns });
    }
}

pub fn around(layers: usize, drives: usize, remaps: Vec<Remap>) -> Surroundings {
    let names =
        [(JOB, "drivelab-job-0"), (JOB + 1, "drivelab-job-1"), (WORKER, "kworker/0:1"), (STRANGER, "fio")];
    let stretch = |device: u32, start: u64| Stretch { device, start, end: 1 << 40 };
    let below = |height: usize| -> Vec<Stretch> {
        if height + 1 < layers {
            return vec![stretch(TOP + height as u32 + 1, 0)];
        }
        (0..drives).map(|number| stretch(DRIVE + number as u32, SHIFT)).collect()
    };
    let layer = |height: usize| Layer { device: TOP + height as u32, below: below(height) };
    Surroundings {
        names: names.into_iter().map(|(pid, name)| (pid, name.to_owned())).collect(),
        layers: (0..layers).map(layer).collect(),
        remaps,
        ..Surroundings::default()
    }
}

fn joined(told: &Told, layers: usize, drives: usize) -> Joined {
    join(&told.operations, &told.bios, &told.commands, &around(layers, drives, told.remaps.clone()))
}

prop_compose! {
    fn trip(layers: usize, drives: usize)(
        is_flush in prop::bool::weighted(0.3), is_read in any::<bool>(), before in 0_u64..9,
        own in prop::collection::vec((0_u64..9, 0_u64..9), layers),
        times in prop::collection::vec((0_u64..9, 1_u64..30), drives), after in 0_u64..9,
        pids in prop::collection::vec(prop::sample::select(vec![JOB, WORKER, STRANGER]), layers.max(drives)),
    ) -> Trip {
        Trip {
            thread: JOB, is_flush, is_read: is_read && !is_flush, before, layers: own, drives: times, after, pids,
        }
    }
}

fn stack() -> impl Strategy<Value = (usize, usize, Vec<Trip>)> {
    (1_usize..5, 1_usize..4).prop_flat_map(|(layers, drives)| {
        (Just(layers), Just(drives), prop::collection::vec(trip(layers, drives), 1..20))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layer_has_its_own_time_whoever_sends_its_bios_down((layers, drives, trips) in stack()) {
        let mut told = Told::default();
        let mut at = 1000;
        for (number, trip) in trips.iter().enumerate() {
            told.trip(&mut at, 8 * (number as u64 % 5), trip);
        }
        let found = joined(&told, layers, drives);
        for (operation, (before, own, waiting, working, after)) in found.operations.iter().zip(&told.truth) {
            let parts = &operation.parts;
            let from_above: Vec<u64> = parts.layers_ns[..layers].iter().rev().copied().collect();
            prop_assert_eq!(&from_above, own);
            prop_assert_eq!((parts.fs_in_ns, parts.queue_ns, parts.return_ns), (*before, *waiting, *after));
            prop_assert_eq!(parts.device_ns + parts.flush_ns, *working);
            let work = &operation.work;
            prop_assert_eq!((work.device_writes + work.device_reads + work.flushes) as usize, drives);
            prop_assert!(!operation.is_partial);
        }
    }

    #[test]
    fn of_two_threads_at_once_each_has_what_was_sent_down_for_it(
        (layers, drives, trips) in stack(), others in prop::collection::vec(trip(1, 1), 1..10),
    ) {
        let mut told = Told::default();
        let (mut at, mut at_the_same_time) = (1000, 1003);
        for (number, trip) in trips.iter().filter(|trip| trip.is_read).enumerate() {
            told.trip(&mut at, 8 * (number as u64 % 5), trip);
        }
        for (number, other) in others.iter().enumerate() {
            let times = trips[number % trips.len()].clone();
            let second = Trip { thread: JOB + 1, is_read: true, is_flush: false, before: other.before, ..times };
            told.trip(&mut at_the_same_time, 800 + 8 * (number as u64 % 5), &second);
        }
        let found = joined(&told, layers, drives);
        for (operation, (_, own, waiting, working, _)) in found.operations.iter().zip(&told.truth) {
            let from_above: Vec<u64> = operation.parts.layers_ns[..layers].iter().rev().copied().collect();
            prop_assert_eq!(&from_above, own);
            prop_assert_eq!((operation.parts.queue_ns, operation.parts.device_ns), (*waiting, *working));
        }
    }
}

pub fn bio(
    device: u32,
    pid: u32,
    sector: u64,
    category: u32,
    (queued, issued, done): (u64, u64, u64),
) -> Bio {
    let issue = (device >= DRIVE).then_some(issued);
    Bio {
        device,
        sector,
        bytes: 4096,
        category,
        pid,
        queued,
        got_request: issue.map(|_| queued),
        issued_first: issue,
        issued_last: issue,
        completed: Some(done),
        ended: Some(done),
        fragments: 1,
        ..Bio::default()
    }
}

pub fn command(device: u32, sector: u64, category: u32, issued: u64, done: u64) -> Command {
    Command {
        device,
        sector,
        bytes: 4096,
        category,
        pid: WORKER,
        issued,
        completed: Some(done),
        ..Command::default()
    }
}

pub fn write(start_ns: u64, end_ns: u64) -> Operation {
    Operation {
        job: 0,
        thread: JOB,
        kind: Kind::DurableWrite,
        start_ns,
        submitted_ns: end_ns,
        end_ns,
        offset: 0,
        size: 4096,
        is_synchronous: true,
        is_durable: false,
        has_slept: None,
    }
}

#[test]
fn what_a_layer_sends_down_of_its_own_accord_is_for_who_waits_in_it() {
    // parity and its old data: a loop device and a thin pool say of nothing where it came from
    let bios = [
        bio(TOP, JOB, 8, WRITE, (10, 0, 90)),
        bio(DRIVE, WORKER, SHIFT, READ, (20, 25, 40)),
        bio(DRIVE, WORKER, SHIFT, WRITE | META, (50, 55, 80)),
        // beside what the layer lies on: another file system of this disk
        bio(DRIVE, WORKER, 8, WRITE, (30, 35, 85)),
        // while nothing is in the layer
        bio(DRIVE, WORKER, SHIFT, WRITE, (95, 96, 99)),
    ];
    let commands = [
        command(DRIVE, SHIFT, READ, 25, 40),
        command(DRIVE, SHIFT, WRITE, 55, 80),
        command(DRIVE, 8, WRITE, 35, 85),
        command(DRIVE, SHIFT, WRITE, 96, 99),
    ];
    let joined = join(&[write(0, 100)], &bios, &commands, &around(1, 1, vec![]));
    let parts = &joined.operations[0].parts;
    assert_eq!((parts.fs_in_ns, parts.layers_ns[0], parts.queue_ns), (10, 10 + 10 + 10, 5 + 5));
    assert_eq!((parts.device_ns, parts.return_ns), (15 + 25, 10));
    let nobody = Err(Reason::Background);
    assert_eq!(joined.bios, [Ok(0), Ok(0), Ok(0), nobody, nobody]);
    assert_eq!(joined.commands, [Ok(0), Ok(0), nobody, nobody]);
}

#[test]
fn what_is_written_below_while_only_a_read_waits_above_is_nobodys() {
    // the file of a loop device lies on a disk that others write to
    let read = Operation { kind: Kind::Read, ..write(0, 100) };
    let bios = [
        bio(TOP, JOB, 8, READ, (10, 0, 90)),
        bio(DRIVE, WORKER, SHIFT, READ, (20, 25, 40)),
        bio(DRIVE, WORKER, SHIFT + 64, WRITE, (50, 55, 80)),
    ];
    let commands = [command(DRIVE, SHIFT, READ, 25, 40), command(DRIVE, SHIFT + 64, WRITE, 55, 80)];
    let joined = join(&[read], &bios, &commands, &around(1, 1, vec![]));
    assert_eq!(joined.bios, [Ok(0), Ok(0), Err(Reason::Background)]);
    assert_eq!(joined.commands, [Ok(0), Err(Reason::Background)]);
    let found = &joined.operations[0];
    assert_eq!((found.work.device_reads, found.work.device_writes), (1, 0));
    assert_eq!((found.parts.queue_ns, found.parts.device_ns, found.parts.layers_ns[0]), (5, 15, 10 + 50));
}

#[test]
fn what_goes_on_below_when_the_layer_has_answered_is_nobodys_wait() {
    let (first, second) = (bio(TOP, JOB, 8, WRITE, (10, 0, 40)), bio(TOP, JOB, 16, WRITE, (60, 0, 90)));
    // a set that answers before its slow member has
    let bios = [first, second, bio(DRIVE, WORKER, SHIFT + 8, WRITE, (15, 20, 80))];
    let remap = Remap {
        device: DRIVE,
        sector: SHIFT + 8,
        from_device: TOP,
        from_sector: 8,
        bytes: 4096,
        time_ns: 15,
    };
    let commands = [command(DRIVE, SHIFT + 8, WRITE, 20, 80)];
    let joined = join(&[write(0, 50), write(50, 100)], &bios, &commands, &around(1, 1, vec![remap]));
    let (one, other) = (&joined.operations[0].parts, &joined.operations[1].parts);
    assert_eq!((one.layers_ns[0], one.queue_ns, one.device_ns, one.return_ns), (5, 5, 20, 10));
    assert_eq!((other.fs_in_ns, other.layers_ns[0], other.device_ns, other.return_ns), (10, 30, 0, 10));
}

#[test]
fn commands_of_a_layer_with_requests_are_its_own_time_and_no_work_of_a_drive() {
    // a loop device: its queue and its driver are the layer's, but for what the file below waits for
    let bios = [bio(TOP, JOB, 8, WRITE, (10, 0, 90)), bio(DRIVE, WORKER, SHIFT, WRITE, (30, 35, 70))];
    let commands = [command(TOP, 8, WRITE, 15, 88), command(DRIVE, SHIFT, WRITE, 35, 70)];
    let joined = join(&[write(0, 100)], &bios, &commands, &around(1, 1, vec![]));
    let found = &joined.operations[0];
    assert_eq!((found.parts.layers_ns[0], found.parts.queue_ns, found.parts.device_ns), (20 + 20, 5, 35));
    assert_eq!((found.work.device_writes, found.work.bios), (1, 1));
}

#[test]
fn a_layer_may_have_the_largest_number() {
    let bio =
        |device: u32| Bio { device, bytes: 512, category: WRITE, pid: WORKER, queued: 5, ..Bio::default() };
    let below = vec![Stretch { device: DRIVE, start: 0, end: 8 }];
    let around = Surroundings { layers: vec![Layer { device: u32::MAX, below }], ..around(0, 0, Vec::new()) };
    let found = join(&[], &[bio(u32::MAX), Bio { queued: 6, ..bio(DRIVE) }], &[], &around);
    assert_eq!(found.bios.len(), 2);
}
