//! One run: starts the jobs, gathers what they count, tells the caller how it goes, and sums up.

mod crew;
mod gathered;
mod start_gate;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use self::crew::{Crew, START_DELAY_NS};
use self::gathered::Gathered;
use self::start_gate::ShutsAtEnd;
pub use self::start_gate::StartGate;
use crate::backend::choose::{Choice, choose};
use crate::buffer::refuse_more_than_memory;
use crate::clock::Clock;
use crate::error::Result;
use crate::iolog::Chunk;
use crate::job::JobOutcome;
use crate::series::{DURABLE_WRITE, EVENTS, Interval, REWRITE, Row, Shape, Sum};
use crate::target::Target;
use crate::wake;
use crate::workload::{BackendName, ContentsKind, Operation, PacingKind, Workload};
use crate::zones::ZoneTable;

/// What a job tells the thread that started the run.
pub enum Message {
    /// The job can begin, or cannot.
    Ready(Result<()>),
    /// An interval has ended.
    Interval {
        /// The job.
        job: u32,
        /// Number of the interval.
        index: u32,
        /// Number of the interval that the job counts now; `u32::MAX` when it has ended.
        next_index: u32,
        /// What was counted.
        interval: Box<Interval>,
    },
    /// Some I/Os were recorded.
    Records(Chunk),
    /// The job has ended.
    Done(u32, Box<Result<JobOutcome>>),
}

/// How a run stands, for whoever watches it.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Time since the jobs began, in ns; 0 while a file is prepared.
    pub elapsed_ns: u64,
    /// Whether nothing is counted yet.
    pub is_ramping: bool,
    /// The time in which they were counted, in ns: whole intervals.
    pub counted_ns: u64,
    /// Counted so far, by event: I/Os and bytes.
    pub counts: [(u64, u64); EVENTS.len()],
    /// Median and largest total latency so far, by event, in ns; 0 when there is none.
    pub latencies_ns: [(u64, u64); EVENTS.len()],
}

impl Progress {
    const PREPARING: Self = Self {
        elapsed_ns: 0,
        is_ramping: true,
        counted_ns: 0,
        counts: [(0, 0); EVENTS.len()],
        latencies_ns: [(0, 0); EVENTS.len()],
    };
}

/// What the caller wants to hear while a run goes on.
pub struct Listener<'a> {
    /// Called about once an interval, at least every 0.2 s; false ends the run.
    pub on_progress: &'a mut dyn FnMut(&Progress) -> bool,
    /// Called at each look of the workload's limits with the rows of all intervals so far, and the time that they are;
    /// false ends the run, because that is known well enough.
    pub on_look: &'a mut dyn FnMut(&[Row], u64) -> bool,
    /// Called with each chunk of records.
    pub on_records: &'a mut dyn FnMut(&Chunk, &Clock) -> Result<()>,
}

/// Everything a run found.
pub struct Outcome {
    /// The backend and why.
    pub choice: Choice,
    /// Whether direct I/O was used, and what is known about it.
    pub direct: (bool, String),
    /// What each job did.
    pub jobs: Vec<JobOutcome>,
    /// Whether a look ended it.
    pub is_known_well: bool,
    /// Jobs whose I/O did not come back after a stop.
    pub abandoned_jobs: u32,
    /// The same of each job alone, in their order, where the workload keeps it.
    pub apart: Vec<Outcome>,
    /// Sum over the window.
    pub sum: Sum,
    /// Latencies of the whole window.
    pub histogram_rows: Vec<Row>,
    /// Latencies by interval, without gaps.
    pub interval_rows: Vec<Row>,
    /// Start of the window in ns of CLOCK_MONOTONIC.
    pub started_monotonic_ns: u64,
    /// From the first job's start to the last job's end of the window, in ns.
    pub measured_ns: u64,
    /// From the end of the window until nothing was outstanding any more, in ns.
    pub drain_ns: u64,
}

/// How often somebody who watches is asked while a file is prepared.
const PREPARING_TICK: Duration = Duration::from_millis(100);

/// Runs a workload.
///
/// `stop` is only read: a listener that ends a run leaves it as it is.
///
/// # Errors
///
/// Everything that keeps a run from starting, and failures of a backend's interface. Failed I/Os
/// end the run and are part of its outcome.
pub fn run(workload: Workload, stop: &Arc<AtomicBool>, listener: &mut Listener<'_>) -> Result<Outcome> {
    run_beside(workload, stop, listener, None)
}

/// Runs a workload that begins at the same moment as others, each of which is run by a thread of its own.
///
/// If another one can't begin, this one ends without having issued anything.
///
/// # Errors
///
/// As for [`run`].
pub fn run_beside(
    workload: Workload,
    stop: &Arc<AtomicBool>,
    listener: &mut Listener<'_>,
    gate: Option<&StartGate>,
) -> Result<Outcome> {
    let _shuts = ShutsAtEnd(gate);
    let drive = workload.target.simulated.clone();
    let _entered = drive.as_ref().map(|drive| drive.time().enter());
    let mut workload = workload;
    if drive.is_some() {
        // nobody looks at the data
        workload.contents.kind = ContentsKind::Zeros;
    }
    let workload = Arc::new(workload);
    let _clock = Clock::hold();
    refuse_more_than_memory(&workload)?;
    let choice = choose(&workload)?;
    let shape = shape_of(&workload, choice.backend);
    let mut gathered = Gathered::new(&workload, shape);
    let mut asked_at = Instant::now();
    let mut may_go_on = || {
        let is_due = asked_at.elapsed() >= PREPARING_TICK;
        if is_due {
            asked_at = Instant::now();
        }
        !stop.load(Ordering::Relaxed) && (!is_due || (listener.on_progress)(&Progress::PREPARING))
    };
    let Some(targets) = Target::open_all(&workload, &mut may_go_on)? else {
        return Ok(gathered.summarise(choice, (false, String::new()), Clock::get().ticks()));
    };
    let targets: Vec<_> = targets.into_iter().map(Arc::new).collect();
    let target = &targets[0];
    if let Some(tree) = target.tree() {
        tree.begin(&workload);
    }
    wake::install_handler();
    // The jobs' own flag: a failed I/O or the listener sets it, and the caller's is copied to it.
    let halt = Arc::new(AtomicBool::new(stop.load(Ordering::Relaxed)));
    let delay_ticks = Clock::get().ticks_in(workload.start_delay_ns);
    let mut others_ready = || {
        let together = match gate {
            Some(gate) => gate.pass(&mut may_go_on)?,
            None => Clock::get().ticks() + Clock::get().ticks_in(START_DELAY_NS),
        };
        Some(together + delay_ticks)
    };
    let mut crew = ZoneTable::of(&workload, target)
        .and_then(|zones| {
            let parts = (&targets[..], zones.as_ref());
            Crew::start(&workload, parts, &choice, shape, &halt, &mut others_ready)
        })
        .inspect_err(|_| targets.iter().for_each(|target| target.put_back()))?;
    if let Err(error) = crew.gather(&workload, (stop, &halt), listener, &mut gathered) {
        // No job may go on issuing I/O for a run that has failed.
        halt.store(true, Ordering::Relaxed);
        crew.wait_for_the_rest();
        return Err(error);
    }
    let direct = (target.is_direct(), target.direct_note().to_owned());
    let outcome = gathered.summarise(choice, direct, crew.start_ticks);
    if let Some(tree) = target.tree() {
        tree.end(&workload, &outcome);
    }
    Ok(outcome)
}

/// Brings the targets of a workload into the state that the workload expects, and issues nothing.
///
/// Whoever counts what a run does to a drive prepares first: laying a file out is not the workload.
/// False when `stop` was set meanwhile; the target is then as it was.
///
/// # Errors
///
/// Everything that [`run`] finds before it begins.
pub fn prepare(workload: &Workload, stop: &AtomicBool, on_tick: &mut dyn FnMut() -> bool) -> Result<bool> {
    refuse_more_than_memory(workload)?;
    choose(workload)?;
    let mut asked_at = Instant::now();
    let mut may_go_on = || {
        let is_due = asked_at.elapsed() >= PREPARING_TICK;
        if is_due {
            asked_at = Instant::now();
        }
        !stop.load(Ordering::Relaxed) && (!is_due || on_tick())
    };
    Ok(Target::open_all(workload, &mut may_go_on)?.is_some())
}

fn shape_of(workload: &Workload, backend: BackendName) -> Shape {
    let writes = workload.uses(Operation::Write) || workload.rewrites();
    let syncs = workload.durability.needs_sync_call() && writes;
    let mut events = [false; EVENTS.len()];
    for share in &workload.operations {
        events[share.operation as usize] = true;
    }
    events[Operation::Write as usize] = writes;
    events[REWRITE] = workload.rewrites();
    // For operations on files one call in the end makes all of them durable; the others belong to a file each.
    let syncs_tree = workload.tree.is_some() && workload.durability.at_end;
    events[Operation::Sync as usize] = syncs || syncs_tree && workload.durability.needs_sync_call();
    let records_syncs = workload.recording.as_ref().is_some_and(|recording| recording.syncs);
    events[Operation::Sync as usize] |= records_syncs;
    events[DURABLE_WRITE] = syncs && !workload.durability.at_end;
    Shape {
        events,
        has_submission: backend.has_queue() && backend != BackendName::Simulated,
        has_response: workload.pacing.kind != PacingKind::Closed,
        syncs_arrive: records_syncs,
    }
}
