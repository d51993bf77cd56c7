//! Charges every bio, and then every command, to an operation: one sweep through time.

use std::collections::{BTreeSet, HashMap};

use super::carried::{Carried, is_flush};
use super::flights::{Flights, Progress};
use super::layers::{Above, Layers};
use super::places::Places;
use super::waits::Waits;
use super::who::{Thread, Who};
use super::{Charge, Pool, Reason, Surroundings};
use crate::lifetime::{Bio, Class};

/// In whose windows the time of a bio or a command counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Of all synchronous operations of a thread.
    Thread(u32),
    /// Of one asynchronous operation, by its place in the pool.
    Operation(u32),
    /// Of all that wait for the kernel; those that only read wait only for its reads.
    Kernel {
        /// Whether it reads.
        is_read: bool,
    },
    /// Of nobody.
    Nobody,
}

/// Whose a bio or a command is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charged {
    /// Whose work it is, by the operation's place in the pool.
    pub charge: Charge,
    /// In whose windows its time counts: of a command everyone's whose bios it carries; of what an own thread
    /// writes into the journal its own, and that of all who wait for the kernel.
    owner: Owner,
    /// Most have but one, which needs no memory of its own.
    others: Vec<Owner>,
}

impl Charged {
    /// In whose windows its time counts.
    pub fn owners(&self) -> impl Iterator<Item = Owner> + '_ {
        let first = Some(self.owner).filter(|owner| *owner != Owner::Nobody);
        first.into_iter().chain(self.others.iter().copied())
    }
}

// ends come before starts: a window is up to and without its end
const END: u8 = 0;
const SUBMITTED: u8 = 1;
const START: u8 = 2;
const BIO: u8 = 3;
const COMMAND: u8 = 4;

/// What is open at one moment of the sweep.
struct Sweep<'a> {
    pool: &'a Pool<'a>,
    waits: &'a [Waits],
    around: &'a Surroundings,
    places: Places,
    /// Synchronous operations by thread, in the order of their starts.
    synchronous: HashMap<u32, BTreeSet<(u64, usize)>>,
    flights: HashMap<u32, Flights>,
    progress: Vec<Progress>,
    waiting_for_all: BTreeSet<(u64, usize)>,
    waiting_for_reads: BTreeSet<(u64, usize)>,
}

impl<'a> Sweep<'a> {
    fn new(pool: &'a Pool<'a>, waits: &'a [Waits], around: &'a Surroundings) -> Self {
        Self {
            pool,
            waits,
            around,
            places: Places::of(pool, around),
            synchronous: HashMap::new(),
            flights: HashMap::new(),
            progress: vec![Progress::default(); pool.operations.len()],
            waiting_for_all: BTreeSet::new(),
            waiting_for_reads: BTreeSet::new(),
        }
    }

    fn step(&mut self, step: u8, place: usize) {
        let operation = self.pool.operations[place].1;
        let key = (operation.start_ns, place);
        let target = self.around.targets.get(&operation.job);
        if !operation.is_synchronous {
            let flights = self.flights.entry(operation.thread).or_default();
            match step {
                START => flights.start(place, operation, target, &mut self.progress),
                SUBMITTED => flights.submitted(place, operation, &mut self.progress),
                _ => flights.end(place, operation, target, &mut self.progress),
            }
        }
        let waiting = match self.waits[place] {
            Waits::All => Some(&mut self.waiting_for_all),
            Waits::Reads => Some(&mut self.waiting_for_reads),
            Waits::Own => None,
        };
        let synchronous =
            operation.is_synchronous.then(|| self.synchronous.entry(operation.thread).or_default());
        for set in waiting.into_iter().chain(synchronous) {
            let _ = match step {
                START => set.insert(key),
                END => set.remove(&key),
                _ => false,
            };
        }
    }

    /// What this thread's synchronous operation is; the one that began last, should clocks make two overlap.
    fn synchronous_of(&self, thread: u32) -> Option<usize> {
        self.synchronous.get(&thread)?.last().map(|key| key.1)
    }

    /// Who has waited longest for the kernel.
    fn longest_waiting(&self, is_read: bool) -> Option<usize> {
        let reader = self.waiting_for_reads.first().filter(|_| is_read);
        reader.into_iter().chain(self.waiting_for_all.first()).min().map(|key| key.1)
    }

    fn kernel(&self, is_read: bool) -> Charged {
        charged(self.longest_waiting(is_read).ok_or(Reason::Background), Owner::Kernel { is_read })
    }

    fn bio(&mut self, bio: &Bio, who: &Who) -> Charged {
        let thread = match who.of(bio.pid) {
            Thread::Foreign => return charged(Err(Reason::Foreign), Owner::Nobody),
            Thread::Kernel if self.places.is_elsewhere(bio) && !who.is_journal_thread(bio.pid) => {
                return charged(Err(Reason::Background), Owner::Nobody);
            }
            Thread::Kernel => return self.kernel(Class::of(bio.category, bio.bytes) == Class::Read),
            Thread::Own(thread) => thread,
        };
        let mut found = if let Some(place) = self.synchronous_of(thread) {
            charged(Ok(place), Owner::Thread(thread))
        } else {
            match self.flights.get_mut(&thread).and_then(|flights| flights.choose(bio, &mut self.progress)) {
                Some(place) => charged(Ok(place), Owner::Operation(place as u32)),
                None => charged(Err(Reason::Outside), Owner::Thread(thread)),
            }
        };
        if who.is_journal(bio) {
            found.others.push(Owner::Kernel { is_read: false });
        }
        found
    }

    /// A command of which no bio is known: charged by the thread that issued it.
    fn command(&self, pid: u32, is_read: bool, who: &Who) -> Charged {
        match who.of(pid) {
            Thread::Foreign => charged(Err(Reason::Foreign), Owner::Nobody),
            Thread::Kernel => self.kernel(is_read),
            Thread::Own(thread) => {
                let charge = self.synchronous_of(thread).ok_or(Reason::Outside);
                charged(charge, Owner::Thread(thread))
            }
        }
    }
}

/// The moments at which an operation begins, has been submitted and ends.
fn steps_of(pool: &Pool<'_>) -> Vec<(u64, u8, usize)> {
    let mut steps = Vec::with_capacity(3 * pool.operations.len());
    for (place, (_, operation)) in pool.operations.iter().enumerate() {
        if operation.start_ns >= operation.end_ns {
            continue;
        }
        steps.push((operation.start_ns, START, place));
        steps.push((operation.end_ns, END, place));
        if !operation.is_synchronous && operation.submitted_ns > operation.start_ns {
            steps.push((operation.submitted_ns.min(operation.end_ns), SUBMITTED, place));
        }
    }
    steps
}

fn charged(charge: Charge, owner: Owner) -> Charged {
    Charged { charge, owner, others: Vec::new() }
}

/// Charges the bios of a pool: what a layer sent down to those that it was for.
pub fn charge(
    pool: &Pool<'_>,
    waits: &[Waits],
    who: &Who,
    around: &Surroundings,
    layers: &Layers<'_>,
    above: &Above,
) -> Vec<Charged> {
    let mut steps = steps_of(pool);
    let first = (0..pool.bios.len()).filter(|&at| above.of_bio(at).is_none());
    steps.extend(first.map(|at| (pool.bios[at].1.queued, BIO, at)));
    steps.sort_unstable();
    let mut sweep = Sweep::new(pool, waits, around);
    let mut found = vec![charged(Err(Reason::Foreign), Owner::Nobody); pool.bios.len()];
    for (_, step, at) in steps {
        if step == BIO {
            found[at] = sweep.bio(pool.bios[at].1, who);
        } else {
            sweep.step(step, at);
        }
    }
    for at in above.sent(pool, layers) {
        found[at] = of_bios(&found, above.of_bio(at).unwrap_or_default()).unwrap_or_else(nobodys);
    }
    found
}

/// What a layer sends down while nothing waits in it.
fn nobodys() -> Charged {
    charged(Err(Reason::Background), Owner::Nobody)
}

/// Charges the commands of a pool through their bios.
pub fn charge_commands(
    pool: &Pool<'_>,
    waits: &[Waits],
    who: &Who,
    bios: &[Charged],
    carried: &Carried,
    above: &Above,
) -> Vec<Charged> {
    let of = |at: usize| of_bios(bios, carried.of(at));
    let sent =
        |at: usize| above.of_command(at).map(|bios_above| of_bios(bios, bios_above).unwrap_or_else(nobodys));
    let mut found: Vec<Charged> =
        (0..pool.commands.len()).map(|at| of(at).or_else(|| sent(at)).unwrap_or_else(nobodys)).collect();
    let mut steps = steps_of(pool);
    let unknown =
        (0..pool.commands.len()).filter(|&at| carried.of(at).is_empty() && above.of_command(at).is_none());
    steps.extend(unknown.map(|at| (pool.commands[at].1.issued, COMMAND, at)));
    steps.sort_unstable();
    let around = Surroundings::default();
    let mut sweep = Sweep::new(pool, waits, &around);
    for (_, step, at) in steps {
        if step == COMMAND {
            let command = pool.commands[at].1;
            let is_read = !is_flush(command) && Class::of(command.category, command.bytes) == Class::Read;
            found[at] = sweep.command(command.pid, is_read, who);
        } else {
            sweep.step(step, at);
        }
    }
    found
}

/// Work goes to the operation whose own bio is the first, else to that of the first bio; time to all. Of no bio
/// nothing is known.
fn of_bios(bios: &[Charged], carried: &[usize]) -> Option<Charged> {
    let charged = || carried.iter().map(|&at| &bios[at]);
    let is_own = |bio: &&Charged| !matches!(bio.owner, Owner::Kernel { .. });
    let with_operation = || charged().filter(|bio| bio.charge.is_ok());
    let first =
        with_operation().find(is_own).or_else(|| with_operation().next()).or_else(|| charged().next())?;
    let mut found = self::charged(first.charge, Owner::Nobody);
    for owner in charged().flat_map(Charged::owners) {
        if found.owner == Owner::Nobody {
            found.owner = owner;
        } else if found.owners().all(|known| known != owner) {
            found.others.push(owner);
        }
    }
    Some(found)
}
