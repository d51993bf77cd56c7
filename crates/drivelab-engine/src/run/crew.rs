//! The threads of a run: started together, listened to, woken at the end, waited for.

mod job_thread;
mod processors;
mod virtual_jobs;

use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::job_thread::{guarded, run_thread};
use super::gathered::Gathered;
use super::{Listener, Message};
use crate::backend::choose::Choice;
use crate::clock::Clock;
use crate::error::{Code, EngineError, Result};
use crate::iolog::{CHUNK_RECORDS, CHUNKS_PER_JOB, Record, Recorder};
use crate::job::JobParts;
use crate::series::{Interval, Shape};
use crate::target::{CachedRange, Target};
use crate::wake;
use crate::window::range_of_job;
use crate::workload::Workload;
use crate::zones::{OwnZones, ZoneTable};

/// After a stop the caller waits this long for outstanding I/O, then goes without.
const PATIENCE_AFTER_STOP: Duration = Duration::from_secs(5);
/// After the time of a run is up, outstanding I/O gets this long before the run goes without it.
const PATIENCE_AFTER_RUNTIME: Duration = Duration::from_secs(30);
/// A sync call after the last write has all that was written before it to wait for.
const PATIENCE_FOR_LAST_SYNC: Duration = Duration::from_secs(3600);
/// Intervals that a job has in hand while others are being added up.
const SPARE_INTERVALS: usize = 2;
/// The jobs begin this long after the last of them is ready, so that each is there in time.
pub(super) const START_DELAY_NS: u64 = 2_000_000;

/// The threads of a run and the ways to talk to them.
pub(super) struct Crew {
    threads: Vec<Option<JoinHandle<()>>>,
    messages: Receiver<Message>,
    interval_returns: Vec<Sender<Box<Interval>>>,
    chunk_returns: Vec<Sender<Vec<Record>>>,
    /// When the jobs begin.
    pub(super) start_ticks: u64,
}

impl Crew {
    /// Starts a thread for each job and lets them begin together once all are ready, and `others_ready` gave
    /// the moment; `None` is a wish to stop.
    pub(super) fn start(
        workload: &Arc<Workload>,
        (targets, zones): (&[Arc<Target>], Option<&Arc<ZoneTable>>),
        choice: &Choice,
        shape: Shape,
        halt: &Arc<AtomicBool>,
        others_ready: &mut dyn FnMut() -> Option<u64>,
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
        let mut of_one_thread = Vec::new();
        let files = targets.chunks(workload.job_files.count as usize);
        for (job, targets) in (0..workload.job_count).zip(files.cycle()) {
            let target = &targets[0];
            let (gate, gate_receiver) = channel::<u64>();
            let (intervals, chunks) = crew.spares(workload, &shape);
            let range = range_of_job(workload, job, target.start(), target.length());
            let zones = zones.map(|zones| zones.for_job(workload, target, range)).transpose()?;
            let range = zones.as_ref().map_or(range, OwnZones::range);
            let parts = JobParts {
                workload: Arc::clone(workload),
                job,
                range,
                slots: if choice.backend.has_queue() { workload.depth_of(job) } else { 1 },
                shape,
                stop: Arc::clone(halt),
                messages: sender.clone(),
                intervals,
                cached: cached_ranges(workload, targets, range),
                zones,
                recorder: workload.record_ios.then(|| Recorder::new(job, sender.clone(), chunks)),
                start_ticks: 0,
            };
            if workload.target.simulated.is_some() {
                of_one_thread.push(parts);
                continue;
            }
            let (targets, backend) = (targets.to_vec(), choice.backend);
            let spawned = std::thread::Builder::new()
                .name(format!("drivelab-job-{job}"))
                .spawn(move || run_thread(parts, &targets, backend, &gate_receiver));
            let thread = spawned.map_err(|error| EngineError::from_os("start a thread", "job", &error))?;
            crew.threads.push(Some(thread));
            gates.push(gate);
        }
        gates.extend(crew.start_in_one_thread(workload, of_one_thread, sender));
        if let Err(error) = crew.wait_until_ready(workload.job_count) {
            drop(gates);
            let _ = crew.join();
            return Err(error);
        }
        crew.start_ticks = others_ready().unwrap_or_else(|| {
            halt.store(true, Ordering::Relaxed);
            Clock::get().ticks()
        });
        for gate in gates {
            // A job that is gone has already said why.
            let _ = gate.send(crew.start_ticks);
        }
        Ok(crew)
    }

    /// Starts the thread that does all jobs of a simulated drive; its gate, where there is such a drive.
    fn start_in_one_thread(
        &mut self,
        workload: &Workload,
        jobs: Vec<JobParts>,
        sender: Sender<Message>,
    ) -> Option<Sender<u64>> {
        let drive = workload.target.simulated.clone()?;
        let (gate, gate_receiver) = channel();
        let run_all = move || virtual_jobs::run_all(jobs, &drive, &gate_receiver, &sender);
        self.threads.push(Some(std::thread::spawn(run_all)));
        Some(gate)
    }

    /// What another job has in hand while others of its intervals and records are read.
    fn spares(
        &mut self,
        workload: &Workload,
        shape: &Shape,
    ) -> (Receiver<Box<Interval>>, Receiver<Vec<Record>>) {
        let (interval_return, intervals) = channel();
        let (chunk_return, chunks) = channel();
        for _ in 0..if workload.waits_at_looks() { 0 } else { SPARE_INTERVALS } {
            let _ = interval_return.send(Box::new(Interval::faulted_in(shape)));
        }
        for _ in 0..if workload.record_ios { CHUNKS_PER_JOB } else { 0 } {
            let _ = chunk_return.send(Vec::with_capacity(CHUNK_RECORDS));
        }
        self.interval_returns.push(interval_return);
        self.chunk_returns.push(chunk_return);
        (intervals, chunks)
    }

    fn wait_until_ready(&self, job_count: u32) -> Result<()> {
        for _ in 0..job_count {
            match self.messages.recv() {
                // The others find their gate closed and end by themselves.
                Ok(Message::Ready(ready)) => ready?,
                Ok(Message::Done(_, outcome)) => drop((*outcome)?),
                Ok(_) => {}
                Err(_) => return Err(bug("a job ended before it was ready")),
            }
        }
        Ok(())
    }

    /// Takes messages until every job has ended. The first flag is the caller's wish to stop, the second
    /// one stops the jobs.
    pub(super) fn gather(
        &mut self,
        workload: &Workload,
        (stop, halt): (&AtomicBool, &AtomicBool),
        listener: &mut Listener<'_>,
        gathered: &mut Gathered,
    ) -> Result<()> {
        let clock = Clock::get();
        let tick = Duration::from_nanos(workload.interval_ns)
            .clamp(Duration::from_millis(10), Duration::from_millis(200));
        let runtime_ns = workload.limits.runtime_ns;
        let mut next_progress = Instant::now() + tick;
        let mut ending_since = None;
        while gathered.running > 0 {
            let timeout = next_progress.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(timeout) {
                Ok(message) => self.take(message, &clock, halt, listener, gathered)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(bug("a job ended without a word")),
            }
            if Instant::now() < next_progress {
                continue;
            }
            let elapsed_ns = clock.nanoseconds(clock.ticks().saturating_sub(self.start_ticks));
            let progress = gathered.progress(elapsed_ns, workload.ramp_ns);
            if !(listener.on_progress)(&progress) || stop.load(Ordering::Relaxed) {
                halt.store(true, Ordering::Relaxed);
            }
            // However long the listener took: the jobs wait until what they say is taken.
            next_progress = Instant::now() + tick;
            let is_halted = halt.load(Ordering::Relaxed);
            let is_ending =
                is_halted || (runtime_ns > 0 && elapsed_ns > workload.ramp_ns.saturating_add(runtime_ns));
            if !is_ending {
                continue;
            }
            // A job may be waiting in the kernel for a drive that does not answer.
            self.wake_jobs();
            let patience = match is_halted {
                true => PATIENCE_AFTER_STOP,
                false if workload.durability.syncs_last() => PATIENCE_FOR_LAST_SYNC,
                false => PATIENCE_AFTER_RUNTIME,
            };
            let ending_since = *ending_since.get_or_insert_with(|| {
                gathered.stopped_ticks = clock.ticks();
                Instant::now()
            });
            if ending_since.elapsed() > patience {
                gathered.abandon(self.start_ticks + clock.ticks_in(workload.ramp_ns));
                return Ok(());
            }
        }
        self.join()
    }

    fn take(
        &mut self,
        message: Message,
        clock: &Clock,
        halt: &AtomicBool,
        listener: &mut Listener<'_>,
        gathered: &mut Gathered,
    ) -> Result<()> {
        match message {
            Message::Ready(_) => {}
            Message::Interval { job, index, next_index, interval } => {
                gathered.add_interval(job, index, next_index, &interval);
                gathered.look_if_due(listener, halt);
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
                gathered.end_job(job, (*outcome)?);
            }
        }
        Ok(())
    }

    fn wake_jobs(&self) {
        self.threads.iter().flatten().for_each(|thread| wake::wake(thread.as_pthread_t()));
    }

    /// Waits, within patience, until the jobs of a failed run have ended.
    pub(super) fn wait_for_the_rest(&mut self) {
        let deadline = Instant::now() + PATIENCE_AFTER_STOP;
        let is_running =
            |thread: &Option<JoinHandle<()>>| thread.as_ref().is_some_and(|thread| !thread.is_finished());
        self.wake_jobs();
        while self.threads.iter().any(is_running) && Instant::now() < deadline {
            // Records and intervals still arrive; taking them lets the jobs go on to their end.
            match self.messages.recv_timeout(Duration::from_millis(20)) {
                Ok(Message::Records(chunk)) => {
                    let _ = self.chunk_returns[chunk.job as usize].send(Vec::new());
                }
                Ok(Message::Interval { job, interval, .. }) => {
                    let _ = self.interval_returns[job as usize].send(interval);
                }
                Ok(_) => {}
                // No more often than that: a thread under a hail of signals gets nowhere.
                Err(RecvTimeoutError::Timeout) => self.wake_jobs(),
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        if !self.threads.iter().any(is_running) {
            let _ = self.join();
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

/// What is given up of the page cache of each file whenever an order of addresses begins again.
fn cached_ranges(
    workload: &Workload,
    targets: &[Arc<Target>],
    (start, length): (u64, u64),
) -> Vec<CachedRange> {
    let open =
        targets.iter().map(|target| target.fd()).filter(|&fd| fd >= 0 && workload.drop_cache_each_pass);
    open.map(|fd| CachedRange { fd, start, length }).collect()
}

fn bug(text: &str) -> EngineError {
    EngineError::new(Code::Bug, text).at("engine")
}
