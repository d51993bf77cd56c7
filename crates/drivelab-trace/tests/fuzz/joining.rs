//! Lives joined with operations that nobody has made.

use crate::bytes::{any_number, is_rare, one_of};
use crate::lives::Dice;
use drivelab_trace::follow::Collected;
use drivelab_trace::join::{Extent, Kind, Layer, Operation, Stretch, Surroundings, Target, Work, join};
use drivelab_trace::read::ReadSummary;

/// A moment at which something was, or nearly so.
fn moment(dice: &mut Dice, lives: &Collected) -> u64 {
    if lives.bios.is_empty() || is_rare(dice, 10) {
        return any_number(dice);
    }
    let bio = &lives.bios[dice.roll(0, lives.bios.len() as u64) as usize];
    let known = [Some(bio.queued), bio.issued_first, bio.completed, bio.ended];
    one_of(dice, &known).unwrap_or(bio.queued).wrapping_add(dice.roll(0, 3)).wrapping_sub(1)
}

fn operation(dice: &mut Dice, lives: &Collected) -> Operation {
    let (start_ns, end_ns) = (moment(dice, lives), moment(dice, lives));
    let is_backward = is_rare(dice, 20);
    let (start_ns, end_ns) =
        if is_backward { (start_ns, end_ns) } else { (start_ns.min(end_ns), start_ns.max(end_ns)) };
    Operation {
        job: dice.roll(0, 3) as u32,
        thread: dice.roll(0, 4) as u32,
        kind: Kind::of(dice.roll(0, 5) as u8).expect("there are five"),
        start_ns,
        submitted_ns: if dice.is_true() { end_ns } else { moment(dice, lives) },
        end_ns,
        offset: any_number(dice),
        size: any_number(dice),
        is_synchronous: dice.is_true(),
        is_durable: is_rare(dice, 5),
        has_slept: [None, Some(false), Some(true)][dice.roll(0, 3) as usize],
    }
}

fn extent(dice: &mut Dice) -> Extent {
    Extent { offset: any_number(dice), device_offset: any_number(dice), length: any_number(dice) }
}

/// Devices of the trace as layers above each other, in any order.
fn layers(dice: &mut Dice, lives: &Collected) -> Vec<Layer> {
    let mut devices: Vec<u32> = lives.bios.iter().map(|bio| bio.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let count = dice.roll(0, 4) as usize;
    let below = |dice: &mut Dice| Stretch {
        device: one_of(dice, &devices),
        start: if dice.is_true() { 0 } else { any_number(dice) },
        end: any_number(dice),
    };
    devices
        .iter()
        .take(count)
        .map(|&device| Layer { device, below: vec![below(dice), below(dice)] })
        .collect()
}

fn surroundings(dice: &mut Dice, lives: &Collected, summary: &ReadSummary) -> Surroundings {
    let target = |dice: &mut Dice| Target {
        device: lives.bios.first().map_or(8 << 20, |bio| bio.device),
        extents: (0..dice.roll(0, 3)).map(|_| extent(dice)).collect(),
    };
    Surroundings {
        names: if dice.is_true() { summary.processes.clone() } else { [].into() },
        own_threads: if dice.is_true() { vec![1, 2] } else { vec![] },
        targets: (0..dice.roll(0, 4) as u32).map(|job| (job, target(dice))).collect(),
        layers: layers(dice, lives),
        remaps: lives.remaps.clone(),
        lost_events: summary.lost_total(),
    }
}

/// Every nanosecond of an operation is in one part, and every command and bio is somebody's or nobody's.
pub fn check(lives: &Collected, summary: &ReadSummary, dice: &mut Dice) {
    let count = if is_rare(dice, 20) { 500 } else { dice.roll(0, 30) };
    let operations: Vec<Operation> = (0..count).map(|_| operation(dice, lives)).collect();
    let around = surroundings(dice, lives, summary);
    let joined = join(&operations, &lives.bios, &lives.commands, &around);
    assert_eq!(joined.operations.len(), operations.len());
    assert_eq!((joined.bios.len(), joined.commands.len()), (lives.bios.len(), lives.commands.len()));
    let mut sum: Work = joined.unmatched;
    for (operation, explained) in operations.iter().zip(&joined.operations) {
        let latency = operation.end_ns.saturating_sub(operation.start_ns);
        assert_eq!(explained.parts.sum(), latency, "{operation:?} {explained:?}");
        sum += &explained.work;
    }
    assert!(joined.bios.iter().chain(&joined.commands).flatten().all(|owner| *owner < operations.len()));
    // what is counted is counted at drives, one without requests by its bios
    let is_at_drive = |device: u32| around.layers.iter().all(|layer| layer.device != device);
    let mut expected = Work::default();
    for bio in lives.bios.iter().filter(|bio| is_at_drive(bio.device)) {
        expected += &Work::of_bio(bio, false);
    }
    assert_eq!(sum.bios, expected.bios);
    for command in lives.commands.iter().filter(|command| is_at_drive(command.device)) {
        expected += &Work::of_command(command, false);
    }
    let of = |work: &Work| {
        (work.device_writes, work.device_reads, work.flushes, work.bytes_written, work.bytes_read)
    };
    // with a device for every job, what happens elsewhere is not counted
    let is_all =
        operations.iter().any(|operation| !around.targets.contains_key(&operation.job)) || count == 0;
    if is_all {
        assert_eq!(of(&sum), of(&expected));
    }
}
