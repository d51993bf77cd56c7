//! Joins operations of a program with the bios and commands of a block trace: the parts of each
//! operation's latency, which sum exactly to it, and the device work that it caused.
//!
//! Everything is on one clock. Rules:
//!
//! - A bio that an operation's own thread queued within the operation's window is the operation's.
//! - What threads of the kernel queue (journal, log, writeback) is charged to an operation that was waiting
//!   then: time to every one of them, work once, to the one that began to wait first. Only operations that must be
//!   durable wait so, and synchronous ones that slept ([`waits`]); a read waits for the kernel's reads alone. What
//!   a thread of the program itself writes into the journal (XFS, btrfs) takes their time in the same way.
//! - Plain data that threads of the kernel other than the journal's write or discard outside of the program's
//!   bytes, where these are known, are charged to nobody: writeback of other files ([`places`]).
//! - A command is charged through the bios that it carries; a flush through the bios that asked for it.
//! - Other programs are charged to nobody: behind their commands an operation's bio waits as it waits.
//! - An asynchronous operation, one of several of its thread, is charged its own bios alone ([`flights`]).
//! - What a layer between program and drive sends down is charged to those that it was for ([`layers`]); what is in
//!   a layer and in none below it is that layer's own time. Commands are counted at the drives; they are the journal's
//!   where the layers say that its bios became them.
//! - Time counts in every window that it overlaps, work in the window in which it was queued.
//! - At every instant the first of flush, device, queue that goes on is charged, then the layer furthest down in
//!   which something is, otherwise software.

mod carried;
mod charge;
mod flights;
mod layers;
mod parts;
mod places;
mod timeline;
mod waits;
mod who;
mod work;

use std::collections::HashMap;

use serde::Deserialize;

use self::layers::Layers;
use crate::lifetime::{Bio, Command, Remap};

pub use layers::{Layer, Stretch};
pub use parts::Parts;
pub use timeline::LAYERS;
pub use work::Work;

/// What an operation does; the numbers are those of the stored records, and one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Reads data.
    Read = 0,
    /// Writes data.
    Write = 1,
    /// Discards data.
    Trim = 2,
    /// Makes earlier writes durable.
    Sync = 3,
    /// A write together with its sync call.
    DurableWrite = 4,
}

impl Kind {
    /// The kind of a number; None for an unknown one.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        [Self::Read, Self::Write, Self::Trim, Self::Sync, Self::DurableWrite]
            .get(usize::from(number))
            .copied()
    }
}

/// One operation of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Number of the job.
    pub job: u32,
    /// The kernel's id of its thread.
    pub thread: u32,
    /// What it does.
    pub kind: Kind,
    /// The call, in ns of CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Return of the submitting call; of a synchronous operation its end. Not after `start_ns`: not known.
    pub submitted_ns: u64,
    /// When it was done. The window is from `start_ns` up to and without this.
    pub end_ns: u64,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub size: u64,
    /// Whether its thread does nothing else meanwhile.
    pub is_synchronous: bool,
    /// Whether it ends only when its data are durable. Sync calls and durable writes always do.
    pub is_durable: bool,
    /// Whether its thread slept meanwhile; None where that is not known.
    pub has_slept: Option<bool>,
}

impl Operation {
    fn waits_for_durability(&self) -> bool {
        self.is_durable || matches!(self.kind, Kind::Sync | Kind::DurableWrite)
    }
}

/// Where a piece of a job's file or device lies on the traced device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Extent {
    /// First byte in the file.
    pub offset: u64,
    /// First byte on the traced device.
    pub device_offset: u64,
    /// Length.
    pub length: u64,
}

/// What a job does its I/O to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Target {
    /// `major << 20 | minor` of the traced device.
    pub device: u32,
    /// Where its bytes lie; empty when that is not known.
    pub extents: Vec<Extent>,
}

/// What else is known.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// Names of threads, by id.
    pub names: HashMap<u32, String>,
    /// Threads of the program beside those of its operations.
    pub own_threads: Vec<u32>,
    /// By job. When a job has none, every device may be its target.
    pub targets: HashMap<u32, Target>,
    /// Devices between the program and its drives, each before all that it lies on.
    pub layers: Vec<Layer>,
    /// What they sent on, as the trace tells it.
    #[serde(skip)]
    pub remaps: Vec<Remap>,
    /// Events that the trace lost: then every operation may lack something.
    pub lost_events: u64,
}

/// Why a bio or a command is charged to no operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Another program's.
    Foreign,
    /// The program's, but queued within no operation.
    Outside,
    /// The kernel's, while nobody waited for it.
    Background,
    /// On a device that no operation is sent to.
    OtherDevice,
}

impl Reason {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Foreign, Self::Outside, Self::Background, Self::OtherDevice];

    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Foreign => "foreign",
            Self::Outside => "outside",
            Self::Background => "background",
            Self::OtherDevice => "other_device",
        }
    }
}

/// The operation that a bio or a command is charged to, by its index, or why there is none.
pub type Charge = Result<usize, Reason>;

/// What became of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explained {
    /// Where its time went; sums to its latency.
    pub parts: Parts,
    /// What it made the drive do.
    pub work: Work,
    /// Whether others waited with it for the same bios or commands.
    pub is_shared: bool,
    /// Whether something in its window is not known to its end, or was lost.
    pub is_partial: bool,
}

/// The answer: one entry for each operation, bio and command, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joined {
    /// Of every operation.
    pub operations: Vec<Explained>,
    /// Of every bio.
    pub bios: Vec<Charge>,
    /// Of every command.
    pub commands: Vec<Charge>,
    /// Work that is charged to nobody.
    pub unmatched: Work,
    /// Bios of threads whose name is not known.
    pub unnamed: usize,
}

/// Everything on the devices that some operations share.
struct Pool<'a> {
    operations: Vec<(usize, &'a Operation)>,
    bios: Vec<(usize, &'a Bio)>,
    commands: Vec<(usize, &'a Command)>,
}

/// Charges bios and commands to operations and takes their latencies apart, in O((n + m) log (n + m)).
///
/// # Examples
///
/// ```
/// use drivelab_trace::join::{Kind, Operation, Surroundings, join};
/// use drivelab_trace::lifetime::{Bio, Command};
/// use drivelab_trace::record::category::WRITE;
/// let write = Operation {
///     job: 0, thread: 7, kind: Kind::Write, start_ns: 100, submitted_ns: 190, end_ns: 190,
///     offset: 0, size: 4096, is_synchronous: true, is_durable: false,
///     has_slept: None,
/// };
/// let (queued, issued, completed) = (110, 125, 180);
/// let bio = Bio {
///     bytes: 4096, category: WRITE, pid: 7, queued, issued_first: Some(issued), issued_last: Some(issued),
///     completed: Some(completed), ended: Some(completed), fragments: 1, ..Bio::default()
/// };
/// let command = Command {
///     bytes: 4096, category: WRITE, pid: 7, issued, completed: Some(completed), ..Command::default()
/// };
/// let joined = join(&[write], &[bio], &[command], &Surroundings::default());
/// let parts = &joined.operations[0].parts;
/// assert_eq!((parts.fs_in_ns, parts.queue_ns, parts.device_ns, parts.return_ns), (10, 15, 55, 10));
/// assert_eq!(parts.sum(), 90);
/// ```
#[must_use]
pub fn join(operations: &[Operation], bios: &[Bio], commands: &[Command], around: &Surroundings) -> Joined {
    let mut joined = Joined {
        operations: vec![Explained::default(); operations.len()],
        bios: vec![Err(Reason::OtherDevice); bios.len()],
        commands: vec![Err(Reason::OtherDevice); commands.len()],
        ..Joined::default()
    };
    let who = who::Who::new(operations, bios, commands, around);
    joined.unnamed = who.unnamed;
    for pool in pools(operations, bios, commands, around) {
        join_pool(&pool, &who, around, &mut joined);
    }
    let layers = Layers::new(&around.layers);
    for (index, bio) in bios.iter().enumerate().filter(|(_, bio)| layers.rank(bio.device).is_none()) {
        let work = Work::of_bio(bio, who.is_journal(bio));
        work::book(&mut joined.operations, &mut joined.unmatched, joined.bios[index].ok(), &work);
    }
    joined
}

/// A pool for each device, when it is known of every job; otherwise one of everything.
fn pools<'a>(
    operations: &'a [Operation],
    bios: &'a [Bio],
    commands: &'a [Command],
    around: &Surroundings,
) -> Vec<Pool<'a>> {
    let device_of = |operation: &Operation| around.targets.get(&operation.job).map(|target| target.device);
    let mut devices: Vec<Option<u32>> = operations.iter().map(device_of).collect();
    devices.sort_unstable();
    devices.dedup();
    if devices.is_empty() || devices.contains(&None) || !around.layers.is_empty() {
        devices = vec![None];
    }
    let is_on = |device: u32, wanted: Option<u32>| wanted.is_none_or(|wanted| wanted == device);
    let pool = |wanted: Option<u32>| Pool {
        operations: operations
            .iter()
            .enumerate()
            .filter(|(_, operation)| wanted.is_none() || device_of(operation) == wanted)
            .collect(),
        bios: bios.iter().enumerate().filter(|(_, bio)| is_on(bio.device, wanted)).collect(),
        commands: commands.iter().enumerate().filter(|(_, command)| is_on(command.device, wanted)).collect(),
    };
    devices.into_iter().map(pool).collect()
}

fn join_pool(pool: &Pool<'_>, who: &who::Who, around: &Surroundings, joined: &mut Joined) {
    let layers = Layers::new(&around.layers);
    let carried = carried::carried(pool);
    let lone: Vec<usize> = (0..pool.commands.len()).filter(|&at| carried.of(at).is_empty()).collect();
    let is_kernel = |pid: u32| who.of(pid) == who::Thread::Kernel;
    let above = layers::above(pool, &layers, &around.remaps, &lone, is_kernel);
    let waits = waits::waits(pool, who, &above);
    let owners = charge::charge(pool, &waits, who, around, &layers, &above);
    let command_owners = charge::charge_commands(pool, &waits, who, &owners, &carried, &above);
    let mut is_journal: Vec<bool> = pool.bios.iter().map(|(_, bio)| who.is_journal(bio)).collect();
    for at in above.sent(pool, &layers) {
        let from = above.of_bio(at).filter(|_| above.is_told(at)).unwrap_or_default();
        is_journal[at] = from.iter().any(|&from| is_journal[from]);
    }
    for (at, &(index, _)) in pool.bios.iter().enumerate() {
        joined.bios[index] = owners[at].charge.map(|local| pool.operations[local].0);
    }
    for (at, &(index, command)) in pool.commands.iter().enumerate() {
        let charge = command_owners[at].charge.map(|local| pool.operations[local].0);
        joined.commands[index] = charge;
        if layers.rank(command.device).is_some() {
            continue;
        }
        let is_journal = carried.of(at).iter().any(|&bio| is_journal[bio]);
        let work = Work::of_command(command, is_journal);
        work::book(&mut joined.operations, &mut joined.unmatched, charge.ok(), &work);
    }
    let lives = parts::Lives { pool, waits: &waits, carried: &carried, layers: &layers, above: &above };
    parts::explain(&lives, (owners, command_owners), around.lost_events, joined);
}
