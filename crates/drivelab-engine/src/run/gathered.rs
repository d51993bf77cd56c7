//! What a run has gathered from its jobs, and what becomes of it in the end.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Listener, Outcome, Progress};
use crate::backend::choose::Choice;
use crate::clock::Clock;
use crate::job::JobOutcome;
use crate::series::{Counts, EVENTS, Interval, Row, Shape, Sum, TOTAL, interval_rows, rows};
use crate::window::StopReason;
use crate::workload::Workload;

/// What has been gathered from the jobs.
pub(super) struct Gathered {
    /// Jobs that have not ended.
    pub(super) running: u32,
    /// Whether a look has ended the run.
    pub(super) is_known_well: bool,
    /// When the end was first known of, in ticks.
    pub(super) stopped_ticks: u64,
    abandoned: u32,
    outcomes: Vec<JobOutcome>,
    /// Each job's present interval; `u32::MAX` when it has ended.
    next_index: Vec<u32>,
    /// What each job has handed on so far.
    handed_on: Vec<[Counts; EVENTS.len()]>,
    /// What each job alone has counted, where it is kept.
    apart: Vec<Self>,
    open: BTreeMap<u32, Sum>,
    sum: Sum,
    shape: Shape,
    interval_ns: u64,
    interval_rows: Vec<Row>,
    next_row: u32,
    /// Looks that are still to come.
    looks_ns: VecDeque<u64>,
}

impl Gathered {
    pub(super) fn new(workload: &Workload, shape: Shape) -> Self {
        let kept = if workload.record_jobs { workload.job_count } else { 0 };
        let apart = (0..kept).map(|_| Self::of_jobs(1, workload, shape)).collect();
        Self { apart, ..Self::of_jobs(workload.job_count, workload, shape) }
    }

    fn of_jobs(job_count: u32, workload: &Workload, shape: Shape) -> Self {
        Self {
            running: job_count,
            is_known_well: false,
            stopped_ticks: 0,
            abandoned: 0,
            outcomes: Vec::new(),
            next_index: vec![0; job_count as usize],
            handed_on: vec![Default::default(); job_count as usize],
            apart: Vec::new(),
            open: BTreeMap::new(),
            sum: Sum::default(),
            shape,
            interval_ns: workload.interval_ns,
            interval_rows: Vec::new(),
            next_row: 0,
            looks_ns: workload.limits.looks_ns.iter().copied().collect(),
        }
    }

    /// Adds what one job counted in one interval.
    pub(super) fn add_interval(&mut self, job: u32, index: u32, next_index: u32, interval: &Interval) {
        if let Some(alone) = self.apart.get_mut(job as usize) {
            alone.add_interval(0, index, next_index, interval);
        }
        self.sum.add(interval);
        self.open.entry(index).or_default().add(interval);
        let handed_on = &mut self.handed_on[job as usize];
        handed_on.iter_mut().zip(&interval.counts).for_each(|(total, part)| total.add(part));
        self.next_index[job as usize] = next_index;
        let complete_below = self.next_index.iter().copied().min().unwrap_or(0);
        self.close_intervals_below(complete_below);
    }

    /// Shows the listener all intervals when a look is due, and halts the jobs when that was enough; not once a job has
    /// ended.
    pub(super) fn look_if_due(&mut self, listener: &mut Listener<'_>, halt: &AtomicBool) {
        let complete = self.next_index.iter().copied().min().unwrap_or(0);
        let counted_ns = u64::from(complete) * self.interval_ns;
        let is_due = self.looks_ns.front().is_some_and(|look_ns| *look_ns <= counted_ns);
        if !is_due || self.is_known_well || self.next_index.contains(&u32::MAX) {
            return;
        }
        while self.looks_ns.front().is_some_and(|look_ns| *look_ns <= counted_ns) {
            self.looks_ns.pop_front();
        }
        self.leave_empty_below(complete);
        if !(listener.on_look)(&self.interval_rows, counted_ns) {
            self.is_known_well = true;
            halt.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that a job has ended.
    pub(super) fn end_job(&mut self, job: u32, outcome: JobOutcome) {
        self.running -= 1;
        self.next_index[job as usize] = u32::MAX;
        if let Some(alone) = self.apart.get_mut(job as usize) {
            alone.end_job(0, outcome.clone());
        }
        self.outcomes.push(outcome);
    }

    /// Gives up the jobs that do not come back; what they have handed on is kept.
    pub(super) fn abandon(&mut self, window_start: u64) {
        for alone in self.apart.iter_mut().filter(|alone| alone.running > 0) {
            alone.stopped_ticks = self.stopped_ticks;
            alone.abandon(window_start);
        }
        let now = Clock::get().ticks();
        let end = self.stopped_ticks.max(window_start);
        self.abandoned = self.running;
        let gone = self.next_index.iter().zip(&self.handed_on).filter(|(next, _)| **next != u32::MAX);
        self.outcomes.extend(gone.map(|(_, handed_on)| JobOutcome {
            all_phases: *handed_on,
            stop_reason: StopReason::Caller,
            window_ticks: (window_start, end, now),
            ..JobOutcome::default()
        }));
    }

    /// Turns the intervals that no job can add to any more into rows.
    fn close_intervals_below(&mut self, limit: u32) {
        while let Some(entry) = self.open.first_entry() {
            if *entry.key() >= limit {
                return;
            }
            let (index, sum) = entry.remove_entry();
            self.leave_empty_below(index);
            self.interval_rows.extend(interval_rows(&sum, index, self.interval_ns, &self.shape));
            self.next_row = index + 1;
        }
    }

    /// Adds rows for the intervals in which nothing ended: a stall is a result, not a gap in the table.
    fn leave_empty_below(&mut self, index: u32) {
        let nothing = Sum::default();
        for empty in self.next_row..index {
            self.interval_rows.extend(interval_rows(&nothing, empty, self.interval_ns, &self.shape));
        }
        self.next_row = self.next_row.max(index);
    }

    /// How the run stands.
    pub(super) fn progress(&self, elapsed_ns: u64, ramp_ns: u64) -> Progress {
        let counts = self.sum.counts.map(|counts| (counts.count, counts.bytes));
        let latencies_ns = std::array::from_fn(|event| {
            let filled = self.sum.histogram(event, TOTAL);
            filled.and_then(|filled| Some((filled.quantile(0.5)?, filled.max))).unwrap_or_default()
        });
        let slowest = self.next_index.iter().copied().filter(|&next| next != u32::MAX).min();
        let counted_ns =
            slowest.map_or(elapsed_ns.saturating_sub(ramp_ns), |next| u64::from(next) * self.interval_ns);
        Progress { elapsed_ns, is_ramping: elapsed_ns < ramp_ns, counted_ns, counts, latencies_ns }
    }

    /// The outcome of the run, whose jobs began at `start_ticks`.
    pub(super) fn summarise(mut self, choice: Choice, direct: (bool, String), start_ticks: u64) -> Outcome {
        let clock = Clock::get();
        let ticks = || self.outcomes.iter().map(|job| job.window_ticks);
        let start = ticks().map(|ticks| ticks.0).min().unwrap_or(start_ticks);
        let end = ticks().map(|ticks| ticks.1).max().unwrap_or(start);
        let drained = ticks().map(|ticks| ticks.2).max().unwrap_or(end);
        let measured_ns = clock.nanoseconds(end.saturating_sub(start));
        self.close_intervals_below(u32::MAX);
        // A rest of less than a tenth of an interval is part of the last one.
        let rest = u64::from(measured_ns % self.interval_ns > self.interval_ns / 10);
        let in_window = (measured_ns / self.interval_ns + rest) as u32;
        self.leave_empty_below(in_window);
        // A job may have opened another interval while it waited; without any I/O it is none.
        let filled = self.interval_rows.iter().filter(|row| row.counts.count + row.counts.errors > 0);
        let rows_end = filled.map(|row| row.interval + 1).max().unwrap_or(0).max(in_window);
        self.interval_rows.retain(|row| row.interval < rows_end);
        // The last interval ends with the window.
        for row in self.interval_rows.iter_mut().filter(|row| row.interval + 1 == rows_end) {
            row.duration_ns = measured_ns.saturating_sub(row.start_ns).max(1);
        }
        let is_known_well = self.is_known_well;
        let alone =
            |job: Self| Self { is_known_well, ..job }.summarise(choice.clone(), direct.clone(), start_ticks);
        Outcome {
            apart: self.apart.into_iter().map(alone).collect(),
            choice,
            direct,
            histogram_rows: rows(&self.sum),
            interval_rows: self.interval_rows,
            sum: self.sum,
            jobs: self.outcomes,
            is_known_well: self.is_known_well,
            abandoned_jobs: self.abandoned,
            started_monotonic_ns: clock.monotonic_ns(start),
            measured_ns,
            drain_ns: clock.nanoseconds(drained.saturating_sub(end)),
        }
    }
}
