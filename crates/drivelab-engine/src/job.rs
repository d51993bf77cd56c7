//! The loop: issues the I/Os of one job and times each of them.
//!
//! Nothing is allocated, printed or formatted between two I/Os. A pass fills the free slots, sends
//! them with one call, takes what has completed, and counts it. Time stamps are taken when a command
//! is made (issue), when the submitting call has returned, and when completions were found (reap).
//! Where one call can send and wait, a pass makes no other, and only a sample of passes has the second.

mod count;
mod ending;
mod files;
mod flowing;
mod levels;
mod place;
mod plain;
mod sending;
mod slot;
mod syncing;
mod waiting;
mod zoned;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use self::files::FileTurns;
pub use self::levels::Levels;
use self::plain::{PLAIN_FROM, Plain};
use self::slot::{Phase, Slot};
use self::syncing::SyncsBeforeNext;
use self::waiting::{ios_until_look, ios_until_pause};
use crate::address::{Addresses, Random, random_for_job};
use crate::backend::{Backend, Completion};
use crate::buffer::Buffers;
use crate::clock::{Alarm, Clock};
use crate::error::Result;
use crate::flow::Share;
use crate::iolog::Recorder;
use crate::mix::Mix;
use crate::pacing::{LATE_NS, Schedule};
use crate::recording::{RecordedPlaces, Starts, Waits};
use crate::run::Message;
use crate::series::{Counts, EVENTS, Interval, Shape};
use crate::target::CachedRange;
use crate::tree::Turns;
use crate::window::{StopReason, ThreadUsage, Window};
use crate::workload::{Access, Operation, Workload};
use crate::zones::OwnZones;

const SYNC: usize = Operation::Sync as usize;

/// What a job needs besides its backend and buffers.
pub struct JobParts {
    /// What to issue.
    pub workload: Arc<Workload>,
    /// Number of the job.
    pub job: u32,
    /// The job's part of the range, or what it uses of each of its files: start and length in bytes.
    pub range: (u64, u64),
    /// Slots of the queue: the queue depth, or 1 where the backend knows no queue.
    pub slots: u32,
    /// Which latencies are kept.
    pub shape: Shape,
    /// Set when the run should end.
    pub stop: Arc<AtomicBool>,
    /// Takes intervals and records.
    pub messages: Sender<Message>,
    /// Gives emptied intervals back.
    pub intervals: Receiver<Box<Interval>>,
    /// What is given up of the page cache whenever an order of addresses begins again, when asked.
    pub cached: Vec<CachedRange>,
    /// What says where I/Os go on a drive of zones.
    pub zones: Option<OwnZones>,
    /// Keeps every I/O, when asked.
    pub recorder: Option<Recorder>,
    /// When the job begins, in ticks.
    pub start_ticks: u64,
}

/// What a job did, beyond its intervals.
#[derive(Debug, Default, Clone)]
pub struct JobOutcome {
    /// Number of the job.
    pub job: u32,
    /// The kernel's id of its thread: what a trace calls the process of its I/O. 0 when it never came back.
    pub thread_id: i32,
    /// When it began to issue, in ns of CLOCK_MONOTONIC; 0 when it never came to that.
    pub begun_monotonic_ns: u64,
    /// Counts over ramp, window and drain.
    pub all_phases: [Counts; EVENTS.len()],
    /// Failed I/Os: event, errno, how many, offset of the first.
    pub errors: Vec<(usize, i32, u64, u64)>,
    /// Why no more I/O was issued.
    pub stop_reason: StopReason,
    /// Start and end of the measured window and end of the drain, in ticks.
    pub window_ticks: (u64, u64, u64),
    /// What its thread used in the window.
    pub usage: ThreadUsage,
    /// Most I/Os outstanding at once.
    pub outstanding_max: u32,
    /// How many were outstanding when I/Os were sent, and how many a call sent and a look found.
    pub levels: Levels,
    /// Arrivals in the window: issued, late, missed.
    pub arrivals: (u64, u64, u64),
    /// How well it kept to the starts of its recording.
    pub starts: Option<Box<Starts>>,
    /// Zones made empty, and made full.
    pub zones: Option<(u64, u64)>,
    /// Rows recorded, and time spent waiting for their reader in ns.
    pub recorded: (u64, u64),
}

/// One job at work.
pub struct Job<B> {
    parts: JobParts,
    backend: B,
    buffers: Buffers,
    clock: Clock,
    alarm: Alarm,
    random: Random,
    /// One stream for each of the workload's orders.
    addresses: Vec<Addresses>,
    /// Where operations on files go; the blocks of a target have addresses.
    turns: Option<Turns>,
    /// Bytes since the page cache was given up, and after how many it is, where no order begins again.
    pass: (u64, u64),
    /// Whose turn it is among several files.
    files: Option<FileTurns>,
    /// Where the I/Os of a recording go.
    recorded: Option<RecordedPlaces>,
    /// What its I/Os wait for in other jobs.
    waits: Option<Waits>,
    mix: Mix,
    schedule: Schedule,
    window: Window,
    slots: Vec<Slot>,
    free: Vec<u32>,
    sent: Vec<u32>,
    /// So many are sent as soon as they are there; more than there are slots where nothing but the slots limits them.
    batch: usize,
    /// Whether only a sample of the I/Os has its submission timed; the others are sent by the call that waits.
    samples_submission: bool,
    /// Passes until the next of the sample.
    until_sample: u32,
    completions: Vec<Completion>,
    /// Whether one completion may be too few to go on.
    waits_for_more: bool,
    /// What makes all I/Os alike, where they are.
    plain: Option<Plain>,
    /// From so many I/Os in a pass on they go the short way.
    plain_from: usize,
    interval: Box<Interval>,
    writes_since_sync: u64,
    needs_sync_call: bool,
    /// Where sync calls are due before the next I/O.
    syncs_before_next: Option<SyncsBeforeNext>,
    syncs_at_end: bool,
    /// The write after which something must follow at the end of the job.
    last_write: Option<Slot>,
    /// Whether some of what is read is written back.
    rewrites: bool,
    /// What it shares with other jobs, from its start on.
    flow: Option<Share>,
    /// I/Os until the next pause, or until something else is to be looked at before the next one.
    until_pause: u64,
    /// I/Os until the next pause where something is looked at before each.
    looked_until_pause: u64,
    /// When the next pause is due where time decides, in ticks.
    pause_ticks: u64,
    verifies: bool,
    outcome: JobOutcome,
}

impl<B: Backend> Job<B> {
    /// A job ready to run.
    pub fn new(parts: JobParts, backend: B, buffers: Buffers) -> Self {
        let clock = Clock::get();
        let (workload, begin) = (&parts.workload, parts.start_ticks);
        let pacing = &workload.pacing;
        let ((start, length), shift, unit) = (parts.range, workload.shift_bytes, workload.smallest_block());
        let all_files = length.saturating_mul(u64::from(workload.job_files.count));
        let window = Window::new(workload, parts.job, all_files, &clock, begin);
        let mut random = random_for_job(workload.seed, parts.job);
        let turns = Turns::of_job(workload, parts.job, &mut random);
        let mut stream = |access: &Access, file_start: u64| {
            let addresses = Addresses::new(access, file_start + start + shift, length - shift, unit);
            let is_once = (workload.covers_range_once() || access.covers_once) && turns.is_none();
            match workload.largest_block() {
                largest if is_once && access.cuts_blocks() && largest > unit => addresses.each_unit_once(),
                largest if is_once => addresses.each_once(largest, &mut random),
                _ => addresses,
            }
        };
        let mut streams = |file_start| workload.accesses().map(|access| stream(access, file_start)).collect();
        let files = FileTurns::of_job(workload, start + length, &mut streams);
        let mix = Mix::new(workload);
        let plain = Plain::of::<B>(&parts, mix.only(), window.stops_at_range_end());
        let entries = workload.recording.as_ref().map(|recording| recording.of_job(parts.job));
        Self {
            addresses: streams(0),
            buffers,
            clock,
            alarm: Alarm::default(),
            random,
            turns,
            pass: (0, workload.bytes_of_pass(all_files)),
            files,
            recorded: entries.clone().map(RecordedPlaces::new),
            waits: workload.recording.as_ref().and_then(|recording| recording.waits_of(parts.job)),
            mix,
            schedule: Schedule::new(pacing, parts.job, workload.job_count, &clock, begin, window.deadline())
                .with_recording(entries, pacing, &clock),
            window,
            slots: vec![plain.map_or_else(Slot::default, |plain| plain.slot()); parts.slots as usize],
            free: (0..parts.slots).rev().collect(),
            sent: Vec::with_capacity(parts.slots as usize),
            batch: workload.submission_batch.checked_sub(1).map_or(usize::MAX, |rest| rest as usize + 1),
            samples_submission: workload.samples_submission() && backend.waits_as_it_submits(),
            until_sample: 0,
            completions: Vec::with_capacity(2 * parts.slots as usize),
            waits_for_more: workload.completion_batch_min > 1 || workload.refill_depth > 0,
            plain,
            plain_from: if plain.is_some() { PLAIN_FROM } else { usize::MAX },
            interval: Box::new(Interval::faulted_in(&parts.shape)),
            writes_since_sync: 0,
            needs_sync_call: workload.durability.syncs_after_writes(),
            syncs_before_next: SyncsBeforeNext::of(workload),
            syncs_at_end: workload.durability.syncs_last() && workload.changes_target(),
            last_write: None,
            rewrites: workload.rewrites(),
            flow: None,
            until_pause: ios_until_look(workload),
            looked_until_pause: ios_until_pause(workload),
            pause_ticks: u64::MAX,
            verifies: workload.verify,
            outcome: JobOutcome::default(),
            backend,
            parts,
        }
    }

    /// Runs until a limit, an error or a stop, then waits for what is outstanding.
    ///
    /// # Errors
    ///
    /// A failure of the backend's interface; failed I/Os are counted instead.
    pub fn run(mut self) -> Result<JobOutcome> {
        if let Err(error) = self.issue_and_collect() {
            // I/O may be outstanding, and the kernel would still use the memory.
            self.buffers.leak();
            return Err(error);
        }
        Ok(self.finish())
    }

    fn issue_and_collect(&mut self) -> Result<()> {
        self.wait_for_start();
        while self.step()? {}
        Ok(())
    }

    /// One pass: issues what may be issued and takes what has ended; false when nothing is left to do.
    ///
    /// # Errors
    ///
    /// As for [`Self::run`]. I/O may be outstanding then.
    #[inline(always)]
    pub fn step(&mut self) -> Result<bool> {
        self.fill()?;
        self.send_alone_if_timed()?;
        if self.outstanding() > 0 {
            self.collect(self.patience())?;
            return Ok(true);
        }
        Ok(self.sleep_until_next_arrival() || self.end_writes())
    }

    fn outstanding(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Makes commands for free slots, as many as the limits and the schedule allow.
    #[inline]
    fn fill(&mut self) -> Result<()> {
        if B::IS_ASYNCHRONOUS && self.free.len() >= self.plain_from {
            self.fill_plain();
            return Ok(());
        }
        while !self.free.is_empty() {
            if self.until_pause == 0 {
                if self.look_before_next()? {
                    continue;
                }
                return Ok(());
            }
            if !self.may_issue() {
                return Ok(());
            }
            let mut now = self.clock.ticks();
            if self.window.is_over(now) {
                return Ok(());
            }
            if now >= self.pause_ticks {
                self.until_pause = 0;
                return Ok(());
            }
            if self.schedule.is_open() {
                match self.schedule.next_arrival() {
                    Some(intended) if intended <= now => {}
                    _ => return Ok(()),
                }
            }
            // what cannot fail is not asked whether it has: that costs each I/O
            let next = if B::IS_ON_ZONES { self.next_on_zones()? } else { self.next_place(now) };
            let Some((operation, offset, size)) = next else { return Ok(()) };
            let is_late = self.drop_cache_at_new_pass(size) || B::IS_ON_ZONES;
            let is_alone = B::TRIMS_ALONE && operation == Operation::Trim;
            if is_alone {
                now = self.clear_the_way()?;
            }
            let Some(slot) = self.free.pop() else { return Ok(()) };
            let is_write = operation == Operation::Write;
            if is_write && self.buffers.stamp_apart(slot, offset, size as usize, &mut self.random) || is_late
            {
                now = self.clock.ticks();
            }
            let intended = self.take_arrival(now);
            self.until_pause -= 1;
            self.window.issued(1, u64::from(size));
            let slot_state = &mut self.slots[slot as usize];
            *slot_state = Slot {
                issued: now,
                intended,
                command_issued: now,
                submitted: 0,
                offset,
                size,
                event: operation as u8,
                phase: Phase::Whole,
            };
            self.queue(slot, operation);
            self.send_full_batch()?;
            if is_alone {
                return Ok(());
            }
        }
        Ok(())
    }

    #[inline]
    fn may_issue(&mut self) -> bool {
        if self.parts.stop.load(Ordering::Relaxed) {
            self.window.stop(StopReason::Caller, self.clock.ticks());
        }
        self.window.may_issue()
    }

    /// Moves the schedule on; the intended start in an open loop, the real one in a closed loop.
    #[inline]
    fn take_arrival(&mut self, now: u64) -> u64 {
        if !self.schedule.is_open() {
            return now;
        }
        let intended = self.schedule.next_arrival().unwrap_or(now);
        self.schedule.advance(&mut self.random, now);
        if self.window.contains(intended) {
            self.outcome.arrivals.0 += 1;
            self.outcome.arrivals.1 += u64::from(self.clock.nanoseconds(now - intended) > LATE_NS);
        }
        intended
    }

    /// Gives the finished interval away and goes on with an empty one.
    #[cold]
    fn hand_on_interval(&mut self, now: u64) {
        let empty = self.parts.intervals.try_recv();
        let next = empty.unwrap_or_else(|_| Box::new(Interval::new(&self.parts.shape)));
        let full = std::mem::replace(&mut self.interval, next);
        let index = self.window.interval_index();
        self.window.open_interval_at(now);
        let next_index = self.window.interval_index();
        let message = Message::Interval { job: self.parts.job, index, next_index, interval: full };
        // Nobody listens any more only when the run was given up.
        let _ = self.parts.messages.send(message);
        if self.parts.workload.waits_at_looks() {
            // Its time stands still until it is known whether it goes on: the interval comes back then.
            let _ = self.parts.intervals.recv();
        }
    }
}
