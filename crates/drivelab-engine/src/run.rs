//! One run: starts the jobs, gathers what they count, tells the caller how it goes, and sums up.

use std::collections::BTreeMap;
use std::os::unix::thread::JoinHandleExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::backend::{aio::Aio, choose::Choice, choose::choose, null::Null, sync::Sync, uring::Uring};
use crate::buffer::Buffers;
use crate::clock::Clock;
use crate::error::{Code, EngineError, Result};
use crate::iolog::{CHUNK_RECORDS, CHUNKS_PER_JOB, Chunk, Recorder};
use crate::job::{Job, JobOutcome, JobParts};
use crate::series::{EVENTS, Interval, Row, Shape, Sum, rows};
use crate::target::Target;
use crate::wake;
use crate::window::range_of_job;
use crate::workload::{BackendName, Operation, PacingKind, Workload};

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
    /// Time since the jobs began, in ns.
    pub elapsed_ns: u64,
    /// Whether nothing is counted yet.
    pub is_ramping: bool,
    /// Counted so far, by event: I/Os and bytes.
    pub counts: [(u64, u64); EVENTS.len()],
}

/// What the caller wants to hear while a run goes on.
pub struct Listener<'a> {
    /// Called about once an interval; false ends the run.
    pub on_progress: &'a mut dyn FnMut(&Progress) -> bool,
    /// Called with each chunk of records.
    pub on_records: &'a mut dyn FnMut(&Chunk, &Clock) -> Result<()>,
}

/// Everything a run found.
pub struct Outcome {
    /// The backend and why.
    pub choice: Choice,
    /// What is known about direct I/O, and whether it was used.
    pub direct: (bool, String),
    /// What each job did.
    pub jobs: Vec<JobOutcome>,
    /// Jobs whose I/O did not come back after a stop.
    pub abandoned_jobs: u32,
    /// Sum over the window.
    pub sum: Sum,
    /// Latencies of the whole window.
    pub histogram_rows: Vec<Row>,
    /// Latencies by interval.
    pub interval_rows: Vec<Row>,
    /// Start of the window in ns of CLOCK_MONOTONIC.
    pub started_monotonic_ns: u64,
}

/// After a stop the caller waits this long for outstanding I/O, then goes without.
const PATIENCE_AFTER_STOP: Duration = Duration::from_secs(5);

/// Runs a workload.
///
/// # Errors
///
/// Everything that keeps a run from starting, and failures of a backend's interface. Failed I/Os
/// end the run and are part of its outcome.
pub fn run(workload: Workload, stop: &Arc<AtomicBool>, listener: &mut Listener<'_>) -> Result<Outcome> {
    let workload = Arc::new(workload);
    let target = Arc::new(Target::open(&workload)?);
    let choice = choose(&workload, &target)?;
    let shape = shape_of(&workload, choice.backend);
    wake::install_handler();
    let mut crew = Crew::start(&workload, &target, &choice, shape, stop)?;
    let mut gathered = Gathered::new(workload.job_count);
    if let Err(error) = crew.gather(&workload, stop, listener, &mut gathered) {
        // No job may go on issuing I/O for a run that has failed.
        stop.store(true, Ordering::Relaxed);
        crew.wait_for_the_rest();
        return Err(error);
    }
    gathered.summarise(choice, &target, crew.start_ticks)
}

fn shape_of(workload: &Workload, backend: BackendName) -> Shape {
    let syncs = workload.durability.needs_sync_call() && workload.uses(Operation::Write);
    Shape {
        events: [
            workload.uses(Operation::Read),
            workload.uses(Operation::Write),
            workload.uses(Operation::Trim),
            syncs,
            syncs,
        ],
        has_submission: backend != BackendName::Sync,
        has_response: workload.pacing.kind != PacingKind::Closed,
    }
}

/// The threads of a run and the ways to talk to them.
struct Crew {
    threads: Vec<Option<JoinHandle<()>>>,
    messages: Receiver<Message>,
    interval_returns: Vec<Sender<Box<Interval>>>,
    chunk_returns: Vec<Sender<Vec<crate::iolog::Record>>>,
    start_ticks: u64,
}

impl Crew {
    /// Starts a thread for each job and lets them begin together once all are ready.
    fn start(
        workload: &Arc<Workload>,
        target: &Arc<Target>,
        choice: &Choice,
        shape: Shape,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let (sender, messages) = channel();
        let mut crew = Self {
            threads: Vec::new(),
            messages,
            interval_returns: Vec::new(),
            chunk_returns: Vec::new(),
            start_ticks: 0,
        };
        let mut gates = Vec::new();
        for job in 0..workload.job_count {
            let (gate, gate_receiver) = channel::<u64>();
            let (interval_return, intervals) = channel();
            let (chunk_return, chunks) = channel();
            for _ in 0..if workload.record_ios { CHUNKS_PER_JOB } else { 0 } {
                let _ = chunk_return.send(Vec::with_capacity(CHUNK_RECORDS));
            }
            let parts = JobParts {
                workload: Arc::clone(workload),
                job,
                range: range_of_job(workload, job, target.start(), target.length()),
                slots: if choice.backend == BackendName::Sync { 1 } else { workload.queue_depth },
                shape,
                stop: Arc::clone(stop),
                messages: sender.clone(),
                intervals,
                recorder: workload.record_ios.then(|| Recorder::new(job, sender.clone(), chunks)),
                start_ticks: 0,
            };
            let (target, backend) = (Arc::clone(target), choice.backend);
            let spawned = std::thread::Builder::new()
                .name(format!("drivelab-job-{job}"))
                .spawn(move || run_thread(parts, &target, backend, &gate_receiver));
            let thread = spawned.map_err(|error| EngineError::from_os("start a thread", "job", &error))?;
            crew.threads.push(Some(thread));
            crew.interval_returns.push(interval_return);
            crew.chunk_returns.push(chunk_return);
            gates.push(gate);
        }
        drop(sender);
        crew.wait_until_ready(workload.job_count)?;
        crew.start_ticks = Clock::get().ticks();
        for gate in gates {
            // A job that is gone has already said why.
            let _ = gate.send(crew.start_ticks);
        }
        Ok(crew)
    }

    fn wait_until_ready(&self, job_count: u32) -> Result<()> {
        let mut first_error = None;
        for _ in 0..job_count {
            match self.messages.recv() {
                Ok(Message::Ready(Err(error))) => first_error = first_error.or(Some(error)),
                Ok(_) => {}
                Err(_) => return Err(bug("a job ended before it was ready")),
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Takes messages until every job has ended.
    fn gather(
        &mut self,
        workload: &Workload,
        stop: &AtomicBool,
        listener: &mut Listener<'_>,
        gathered: &mut Gathered,
    ) -> Result<()> {
        let clock = Clock::get();
        let tick = Duration::from_nanos(workload.interval_ns)
            .clamp(Duration::from_millis(10), Duration::from_millis(200));
        let runtime_ns = workload.limits.runtime_ns;
        let mut next_progress = Instant::now() + tick;
        let mut give_up_at = None;
        while gathered.running > 0 {
            let timeout = next_progress.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(timeout) {
                Ok(message) => self.take(message, &clock, listener, gathered)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(bug("a job ended without a word")),
            }
            if Instant::now() < next_progress {
                continue;
            }
            next_progress = Instant::now() + tick;
            let elapsed_ns = clock.nanoseconds(clock.ticks() - self.start_ticks);
            let progress = gathered.progress(elapsed_ns, workload.ramp_ns);
            if !(listener.on_progress)(&progress) {
                stop.store(true, Ordering::Relaxed);
            }
            let is_ending = stop.load(Ordering::Relaxed)
                || (runtime_ns > 0 && elapsed_ns > workload.ramp_ns.saturating_add(runtime_ns));
            if !is_ending {
                continue;
            }
            // A job may be waiting in the kernel for a drive that does not answer.
            self.wake_jobs();
            if stop.load(Ordering::Relaxed)
                && Instant::now() > *give_up_at.get_or_insert_with(|| Instant::now() + PATIENCE_AFTER_STOP)
            {
                gathered.abandoned = gathered.running;
                return Ok(());
            }
        }
        self.join()
    }

    fn take(
        &mut self,
        message: Message,
        clock: &Clock,
        listener: &mut Listener<'_>,
        gathered: &mut Gathered,
    ) -> Result<()> {
        match message {
            Message::Ready(_) => {}
            Message::Interval { job, index, next_index, interval } => {
                gathered.add_interval(job, index, next_index, &interval);
                let mut interval = interval;
                interval.clear();
                let _ = self.interval_returns[job as usize].send(interval);
            }
            Message::Records(mut chunk) => {
                (listener.on_records)(&chunk, clock)?;
                chunk.records.clear();
                let _ = self.chunk_returns[chunk.job as usize].send(chunk.records);
            }
            Message::Done(job, outcome) => {
                gathered.running -= 1;
                gathered.next_index[job as usize] = u32::MAX;
                gathered.outcomes.push((*outcome)?);
            }
        }
        Ok(())
    }

    fn wake_jobs(&self) {
        self.threads.iter().flatten().for_each(|thread| wake::wake(thread.as_pthread_t()));
    }

    /// Waits, within patience, until the jobs of a failed run have ended.
    fn wait_for_the_rest(&mut self) {
        let deadline = Instant::now() + PATIENCE_AFTER_STOP;
        let is_running =
            |thread: &Option<JoinHandle<()>>| thread.as_ref().is_some_and(|thread| !thread.is_finished());
        while self.threads.iter().any(is_running) && Instant::now() < deadline {
            self.wake_jobs();
            // Records and intervals still arrive; taking them lets the jobs go on to their end.
            while let Ok(message) = self.messages.recv_timeout(Duration::from_millis(20)) {
                if let Message::Records(chunk) = message {
                    let _ = self.chunk_returns[chunk.job as usize].send(Vec::new());
                }
            }
        }
    }

    fn join(&mut self) -> Result<()> {
        for thread in &mut self.threads {
            if thread.take().is_some_and(|thread| thread.join().is_err()) {
                return Err(bug("a job panicked"));
            }
        }
        Ok(())
    }
}

/// What has been gathered from the jobs.
struct Gathered {
    running: u32,
    abandoned: u32,
    outcomes: Vec<JobOutcome>,
    next_index: Vec<u32>,
    open: BTreeMap<u32, Sum>,
    sum: Sum,
    interval_rows: Vec<Row>,
}

impl Gathered {
    fn new(job_count: u32) -> Self {
        Self {
            running: job_count,
            abandoned: 0,
            outcomes: Vec::new(),
            next_index: vec![0; job_count as usize],
            open: BTreeMap::new(),
            sum: Sum::default(),
            interval_rows: Vec::new(),
        }
    }

    fn add_interval(&mut self, job: u32, index: u32, next_index: u32, interval: &Interval) {
        self.sum.add(interval);
        self.open.entry(index).or_default().add(interval);
        self.next_index[job as usize] = next_index;
        let complete_below = self.next_index.iter().copied().min().unwrap_or(0);
        self.close_intervals_below(complete_below);
    }

    /// Turns the intervals that no job can add to any more into rows.
    fn close_intervals_below(&mut self, limit: u32) {
        while let Some(entry) = self.open.first_entry() {
            if *entry.key() >= limit {
                return;
            }
            let (index, sum) = entry.remove_entry();
            self.interval_rows.extend(rows(&sum, Some(index)));
        }
    }

    fn progress(&self, elapsed_ns: u64, ramp_ns: u64) -> Progress {
        let counts = self.sum.counts.map(|counts| (counts.count, counts.bytes));
        Progress { elapsed_ns, is_ramping: elapsed_ns < ramp_ns, counts }
    }

    fn summarise(mut self, choice: Choice, target: &Target, start_ticks: u64) -> Result<Outcome> {
        self.close_intervals_below(u32::MAX);
        let clock = Clock::get();
        let started = self.outcomes.iter().map(|job| job.window_ticks.0).min().unwrap_or(start_ticks);
        Ok(Outcome {
            choice,
            direct: (target.is_direct(), target.direct_note().to_owned()),
            histogram_rows: rows(&self.sum, None),
            interval_rows: self.interval_rows,
            sum: self.sum,
            jobs: self.outcomes,
            abandoned_jobs: self.abandoned,
            started_monotonic_ns: clock.monotonic_ns(started),
        })
    }
}

/// A job's thread: prepares, says that it is ready, waits for the start, runs, and reports.
fn run_thread(parts: JobParts, target: &Arc<Target>, backend: BackendName, gate: &Receiver<u64>) {
    let (job, messages) = (parts.job, parts.messages.clone());
    let worked = catch_unwind(AssertUnwindSafe(|| prepare_and_run(parts, target, backend, gate, &messages)));
    let outcome = worked.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(bug(&text.unwrap_or_else(|| "a job panicked".to_owned())))
    });
    let _ = messages.send(Message::Done(job, Box::new(outcome)));
}

fn prepare_and_run(
    mut parts: JobParts,
    target: &Arc<Target>,
    backend: BackendName,
    gate: &Receiver<u64>,
    messages: &Sender<Message>,
) -> Result<JobOutcome> {
    let workload = Arc::clone(&parts.workload);
    wake::sharpen_timers();
    let prepared = pin(&workload, parts.job).and_then(|()| Buffers::new(&workload, parts.job));
    let buffers = match prepared {
        Ok(buffers) => buffers,
        Err(error) => return not_ready(messages, error),
    };
    // Says that the job is ready, waits for the common start, and runs.
    macro_rules! run_with {
        ($made:expr) => {
            match $made {
                Ok(backend) => {
                    let _ = messages.send(Message::Ready(Ok(())));
                    let Ok(start) = gate.recv() else { return Ok(JobOutcome::default()) };
                    parts.start_ticks = start;
                    Job::new(parts, backend, buffers).run()
                }
                Err(error) => not_ready(messages, error),
            }
        };
    }
    match backend {
        BackendName::Sync => {
            let method = workload.durability.method;
            run_with!(Result::Ok(Sync::new(target, method, workload.polled_completion)))
        }
        BackendName::Uring => run_with!(Uring::new(&workload, target, &buffers)),
        BackendName::Aio => run_with!(Aio::new(&workload, target)),
        BackendName::Null | BackendName::Auto => run_with!(Result::Ok(Null::new(workload.queue_depth))),
    }
}

fn not_ready(messages: &Sender<Message>, error: EngineError) -> Result<JobOutcome> {
    let _ = messages.send(Message::Ready(Err(error.clone())));
    Err(error)
}

fn pin(workload: &Workload, job: u32) -> Result<()> {
    let cpus = &workload.pin_cpus;
    if cpus.is_empty() {
        return Ok(());
    }
    let cpu = cpus[job as usize % cpus.len()];
    // SAFETY: a zeroed set is empty, and the kernel only reads it.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu < libc::CPU_SETSIZE as usize {
            libc::CPU_SET(cpu, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 {
        return Ok(());
    }
    Err(EngineError::new(Code::InvalidWorkload, format!("processor {cpu} cannot be used"))
        .at("pin_cpus")
        .advise("name processors that this process may use (taskset -p $$)"))
}

fn bug(text: &str) -> EngineError {
    EngineError::new(Code::Bug, text).at("engine")
}
