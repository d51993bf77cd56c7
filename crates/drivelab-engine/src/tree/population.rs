//! Which file has its turn next, and which operation it gets.
//!
//! A single operation turns to each file once, in order or at random, and those that leave the files as
//! they are begin again when a limit asks for more. In a mix with operations that make or remove files,
//! half of the files are there at first: what makes a file turns to one that is missing, everything else
//! to one that is there. In order that is a queue, as a spool is: the oldest file is removed first, and
//! the name that has been free for longest is used next. At random any of them is.

use crate::address::{Addresses, Random, below};
use crate::mix::Mix;
use crate::workload::{AccessKind, Operation, Workload};

/// How often an operation that finds no file is drawn again before a mix has come to its end.
const DRAWS: u32 = 1000;

/// The files of one job, and whose turn it is.
#[derive(Debug)]
pub struct Population {
    kind: Kind,
    count: u64,
    /// Turns that are left.
    turns: u64,
}

#[derive(Debug)]
enum Kind {
    /// All files are alike.
    Alike(Box<Addresses>),
    /// Files that are there begin at `first`, `present` of them; the others are missing.
    Queue { first: u64, present: u64, next: u64 },
    /// The first `present` of the places are of files that are there.
    Random { places: Vec<u32>, present: u64 },
}

impl Population {
    /// The files of a job that has `count` of them, or of directories when the workload only lists.
    #[must_use]
    pub fn new(workload: &Workload, count: u64, random: &mut Random) -> Self {
        let is_once = workload.covers_range_once();
        let consumes = workload.operations.iter().any(|share| is_consuming(share.operation));
        let turns = if is_once { count } else { u64::MAX };
        if !is_changing_mix(workload) {
            let mut addresses = Addresses::new(&workload.access, 0, count.max(1), 1);
            if is_once || consumes {
                addresses = addresses.each_once(1, random);
            }
            let turns = if consumes { count } else { turns };
            return Self { kind: Kind::Alike(Box::new(addresses)), count, turns };
        }
        let present = present_at_first(workload, count);
        let kind = match workload.access.kind {
            AccessKind::Random => Kind::Random { places: (0..count as u32).collect(), present },
            _ => Kind::Queue { first: 0, present, next: 0 },
        };
        Self { kind, count, turns }
    }

    /// The next operation and the file that has its turn; `None` when no operation finds one.
    #[inline]
    pub fn next(&mut self, mix: &mut Mix, random: &mut Random) -> Option<(Operation, u64)> {
        if self.turns == 0 || self.count == 0 {
            return None;
        }
        self.turns -= 1;
        if let Kind::Alike(addresses) = &mut self.kind {
            let operation = mix.draw(random).operation;
            return Some((operation, addresses.next(random, 1, 1)));
        }
        (0..DRAWS).find_map(|_| {
            let operation = mix.draw(random).operation;
            self.turn_to(operation, random).map(|place| (operation, place))
        })
    }

    fn turn_to(&mut self, operation: Operation, random: &mut Random) -> Option<u64> {
        let count = self.count;
        match &mut self.kind {
            Kind::Alike(_) => None,
            Kind::Queue { first, present, next } => match operation {
                Operation::Create => (*present < count).then(|| {
                    *present += 1;
                    (*first + *present - 1) % count
                }),
                _ if *present == 0 => None,
                Operation::Delete => {
                    let place = *first;
                    *first = (*first + 1) % count;
                    *present -= 1;
                    Some(place)
                }
                _ => {
                    *next += 1;
                    Some((*first + *next % *present) % count)
                }
            },
            Kind::Random { places, present } => match operation {
                Operation::Create => (*present < count).then(|| {
                    let chosen = *present + below(random, count - *present);
                    places.swap(chosen as usize, *present as usize);
                    *present += 1;
                    u64::from(places[*present as usize - 1])
                }),
                _ if *present == 0 => None,
                Operation::Delete => {
                    let chosen = below(random, *present);
                    *present -= 1;
                    places.swap(chosen as usize, *present as usize);
                    Some(u64::from(places[*present as usize]))
                }
                _ => Some(u64::from(places[below(random, *present) as usize])),
            },
        }
    }
}

/// Whether a file has only one turn of this operation.
#[must_use]
pub fn is_consuming(operation: Operation) -> bool {
    use Operation::{Create, Delete, Link, MakeDirectory, RemoveDirectory, Symlink};
    matches!(operation, Create | Delete | MakeDirectory | RemoveDirectory | Link | Symlink)
}

/// Whether files come and go while others are read.
#[must_use]
pub fn is_changing_mix(workload: &Workload) -> bool {
    workload.operations.len() > 1 && workload.operations.iter().any(|share| is_consuming(share.operation))
}

/// How many of a job's files are there when a mix begins.
#[must_use]
pub fn present_at_first(workload: &Workload, count: u64) -> u64 {
    if workload.uses(Operation::Create) { count / 2 } else { count }
}
