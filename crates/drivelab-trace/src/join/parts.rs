//! The parts of each operation's latency, from what goes on in its window.

use std::collections::HashMap;

use super::carried::{Carried, end_of, is_flush, is_without_requests};
use super::charge::{Charged, Owner};
use super::layers::{Above, Layers, matters_until};
use super::timeline::{Interval, LEVELS, Level, Timeline, at_least_two};
use super::waits::Waits;
use super::{Joined, Operation, Pool};
use crate::lifetime::Bio;

/// Where the time of one operation went, in ns. All of them sum to its latency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// From the call until its first bio; all of it when there is none.
    pub fs_in_ns: u64,
    /// A bio waits for the driver.
    pub queue_ns: u64,
    /// A command with data is at the device.
    pub device_ns: u64,
    /// A flush is at the device.
    pub flush_ns: u64,
    /// Neither, between the first bio and the last end.
    pub between_ns: u64,
    /// From the last end until the call returns.
    pub return_ns: u64,
    /// A bio is in a layer above the drives, and in none below that: by the layers' height, the lowest first;
    /// those beyond [`super::LAYERS`] are the last's. One number for each layer of the trace, so none without layers.
    pub layers_ns: Vec<u64>,
}

impl Parts {
    /// The latency that they make up.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let layers: u64 = self.layers_ns.iter().sum();
        self.fs_in_ns
            + layers
            + self.queue_ns
            + self.device_ns
            + self.flush_ns
            + self.between_ns
            + self.return_ns
    }
}

/// The bios and commands of a pool.
pub struct Lives<'a> {
    pub pool: &'a Pool<'a>,
    pub waits: &'a [Waits],
    pub carried: &'a Carried,
    pub layers: &'a Layers<'a>,
    pub above: &'a Above,
}

/// What goes on for somebody, and since when something goes on whose end is not known.
#[derive(Debug)]
struct Goings {
    intervals: Vec<Interval>,
    open_since: u64,
}

impl Default for Goings {
    fn default() -> Self {
        Self { intervals: Vec::new(), open_since: u64::MAX }
    }
}

impl Goings {
    fn add(&mut self, intervals: &[Interval], open_since: Option<u64>) {
        self.intervals.extend_from_slice(intervals);
        self.open_since = self.open_since.min(open_since.unwrap_or(u64::MAX));
    }
}

/// The same as a line.
#[derive(Debug, Default)]
struct Line {
    line: Timeline,
    open_since: u64,
}

impl Line {
    fn of(goings: Option<Goings>) -> Self {
        goings.map_or_else(
            || Self { line: Timeline::default(), open_since: u64::MAX },
            |goings| Self { line: Timeline::of(goings.intervals), open_since: goings.open_since },
        )
    }
}

/// What goes on for everybody who waits for the kernel, and when several do.
#[derive(Debug)]
struct Kernel {
    reads: Line,
    all: Line,
    shared_reads: Vec<(u64, u64)>,
    shared_all: Vec<(u64, u64)>,
}

/// Takes the latency of every operation of a pool apart, by whose its bios and commands are, which are charged already.
pub fn explain(
    lives: &Lives<'_>,
    (bios, commands): (Vec<Charged>, Vec<Charged>),
    lost_events: u64,
    joined: &mut Joined,
) {
    let mut goings = goings_on(lives, &bios, &commands);
    drop((bios, commands));
    let kernel = kernel_of(lives, &mut goings);
    let lines: HashMap<Owner, Line> = threads_of(lives.pool, &mut goings);
    let layers = lives.layers.told_apart();
    let nothing = Line::of(None);
    for (place, &(index, operation)) in lives.pool.operations.iter().enumerate() {
        let alone;
        let own = if operation.is_synchronous {
            lines.get(&Owner::Thread(operation.thread)).unwrap_or(&nothing)
        } else {
            alone = Line::of(goings.remove(&Owner::Operation(place as u32)));
            &alone
        };
        let kernels = match lives.waits[place] {
            Waits::Own => &nothing,
            Waits::Reads => &kernel.reads,
            Waits::All => &kernel.all,
        };
        let answer = &mut joined.operations[index];
        answer.parts = parts_of(operation, &own.line, &kernels.line, layers);
        answer.is_partial = lost_events > 0 || own.open_since.min(kernels.open_since) < operation.end_ns;
        answer.is_shared = is_shared(operation, lives.waits[place], &kernel);
    }
    mark_shared_commands(lives, joined);
}

/// The instants of a window, each charged to the first level of either line.
fn parts_of(operation: &Operation, own: &Timeline, kernel: &Timeline, layers: usize) -> Parts {
    let (start, end) = (operation.start_ns, operation.end_ns.max(operation.start_ns));
    let mut sums = [0_u64; LEVELS];
    let mut add = |from: u64, until: u64, level: Option<Level>| {
        let mut rest = until - from;
        for (before, length) in kernel.lengths(from, until).into_iter().enumerate() {
            if level.is_none_or(|level| before < level.index()) {
                sums[before] += length;
                rest -= length;
            }
        }
        if let Some(level) = level {
            sums[level.index()] += rest;
        }
    };
    let mut now = start;
    for piece in own.pieces(start, end) {
        add(now, piece.start, None);
        add(piece.start, piece.end, Some(piece.level));
        now = piece.end;
    }
    add(now, end, None);
    let first = [own.first_in(start, end), kernel.first_in(start, end)].into_iter().flatten().min();
    let last = [own.last_in(start, end), kernel.last_in(start, end)].into_iter().flatten().max();
    let (first, last) = (first.unwrap_or(end), last.unwrap_or(end));
    let of = |level: Level| sums[level.index()];
    let (queue_ns, device_ns, flush_ns) = (of(Level::Queue), of(Level::Device), of(Level::Flush));
    let layers_ns: Vec<u64> = (0..layers).map(|height| of(Level::Layer(height as u8))).collect();
    Parts {
        fs_in_ns: first - start,
        queue_ns,
        device_ns,
        flush_ns,
        between_ns: (last - first) - queue_ns - device_ns - flush_ns - layers_ns.iter().sum::<u64>(),
        return_ns: end - last,
        layers_ns,
    }
}

/// What goes on, by those in whose windows it counts.
fn goings_on(lives: &Lives<'_>, bios: &[Charged], commands: &[Charged]) -> HashMap<Owner, Goings> {
    let ends = lives.pool.operations.iter().map(|(_, operation)| operation.end_ns);
    let horizon = ends.max().unwrap_or(0);
    let mut goings: HashMap<Owner, Goings> = HashMap::new();
    let mut first_issue: Vec<Option<u64>> = vec![None; lives.pool.bios.len()];
    let untils: Vec<u64> =
        (0..lives.pool.bios.len()).map(|at| matters_until(lives.pool, lives.above.of_bio(at))).collect();
    for (at, (_, command)) in lives.pool.commands.iter().enumerate() {
        if lives.layers.rank(command.device).is_some() {
            continue;
        }
        let level = if is_flush(command) { Level::Flush } else { Level::Device };
        let until = lives.carried.of(at).iter().map(|&bio| untils[bio]).max();
        let until = until.unwrap_or_else(|| matters_until(lives.pool, lives.above.of_command(at)));
        let end = command.completed.unwrap_or(horizon).min(until);
        let interval = Interval { start: command.issued, end, level };
        let open_since = command.completed.is_none().then_some(command.issued);
        for owner in commands[at].owners() {
            goings.entry(owner).or_default().add(&[interval], open_since);
        }
        for &bio in lives.carried.of(at) {
            first_issue[bio] =
                Some(first_issue[bio].map_or(command.issued, |issue| issue.min(command.issued)));
        }
    }
    for (at, &(_, bio)) in lives.pool.bios.iter().enumerate() {
        let open_since = end_of(bio).is_none().then_some(bio.queued);
        let end = end_of(bio).unwrap_or(horizon).min(untils[at]);
        let intervals = match lives.layers.rank(bio.device) {
            Some(rank) => {
                let level = Level::Layer(lives.layers.height(rank));
                [Interval { start: bio.queued, end, level }; 2]
            }
            None => intervals_of(bio, first_issue[at], end),
        };
        for owner in bios[at].owners() {
            goings.entry(owner).or_default().add(&intervals, open_since);
        }
    }
    goings
}

/// A bio is open until it ends, and queued until its last D. A driver without requests (a bio that never got
/// one) has no queue: the bio is at the device at once. What an empty flush waits for is issued in its name.
fn intervals_of(bio: &Bio, first_issue: Option<u64>, end: u64) -> [Interval; 2] {
    let issue = bio.issued_last.or(bio.issued_first).or(if bio.bytes == 0 { first_issue } else { None });
    let level = match is_without_requests(bio) && first_issue.is_none() {
        true if bio.bytes == 0 => Level::Flush,
        true => Level::Device,
        false => Level::Queue,
    };
    let waits_until = issue.unwrap_or(end).min(end);
    [
        Interval { start: bio.queued, end, level: Level::Open },
        Interval { start: bio.queued, end: waits_until, level },
    ]
}

/// The kernel's lines: its reads, and all of it; and the moments at which several operations wait for them.
fn kernel_of(lives: &Lives<'_>, goings: &mut HashMap<Owner, Goings>) -> Kernel {
    let reads = goings.remove(&Owner::Kernel { is_read: true });
    let mut all = goings.remove(&Owner::Kernel { is_read: false }).unwrap_or_default();
    if let Some(reads) = &reads {
        all.add(&reads.intervals, Some(reads.open_since));
    }
    let (reads, all) = (Line::of(reads), Line::of(Some(all)));
    let windows = |wanted: &[Waits]| -> Vec<(u64, u64)> {
        let operations = lives.pool.operations.iter().zip(lives.waits);
        let waiting = operations.filter(|(_, waits)| wanted.contains(waits));
        waiting.map(|((_, operation), _)| (operation.start_ns, operation.end_ns)).collect()
    };
    let meet = |windows: &[(u64, u64)], line: &Timeline| -> Vec<(u64, u64)> {
        let stretches = at_least_two(windows);
        let pieces = stretches.iter().flat_map(|&(start, end)| line.pieces(start, end));
        pieces.map(|piece| (piece.start, piece.end)).collect()
    };
    let shared_reads = meet(&windows(&[Waits::Reads, Waits::All]), &reads.line);
    let shared_all = meet(&windows(&[Waits::All]), &all.line);
    Kernel { reads, all, shared_reads, shared_all }
}

/// Lines of the threads that have synchronous operations; what they are made of is gone then.
fn threads_of(pool: &Pool<'_>, goings: &mut HashMap<Owner, Goings>) -> HashMap<Owner, Line> {
    let mut lines = HashMap::new();
    for (_, operation) in pool.operations.iter().filter(|(_, operation)| operation.is_synchronous) {
        let owner = Owner::Thread(operation.thread);
        lines.entry(owner).or_insert_with(|| Line::of(goings.remove(&owner)));
    }
    lines
}

fn is_shared(operation: &Operation, waits: Waits, kernel: &Kernel) -> bool {
    let meets = |stretches: &[(u64, u64)]| {
        let before = stretches.partition_point(|stretch| stretch.0 < operation.end_ns);
        operation.start_ns < operation.end_ns && before > 0 && stretches[before - 1].1 > operation.start_ns
    };
    match waits {
        Waits::Own => false,
        Waits::Reads => meets(&kernel.shared_reads),
        Waits::All => meets(&kernel.shared_reads) || meets(&kernel.shared_all),
    }
}

/// A command that carries bios of several operations is shared by them.
fn mark_shared_commands(lives: &Lives<'_>, joined: &mut Joined) {
    let charge_of = |bio: usize| joined.bios[lives.pool.bios[bio].0].ok();
    for at in 0..lives.pool.commands.len() {
        let mut operations: Vec<usize> =
            lives.carried.of(at).iter().filter_map(|&bio| charge_of(bio)).collect();
        operations.sort_unstable();
        operations.dedup();
        if operations.len() > 1 {
            operations.iter().for_each(|&index| joined.operations[index].is_shared = true);
        }
    }
}
