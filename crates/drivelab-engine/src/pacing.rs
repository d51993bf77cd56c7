//! When the next I/O may be issued: at once (closed loop), or by a schedule that does not wait for
//! the target (open loop), so that a stall shows in the latency of everything that should have been
//! issued meanwhile.

use std::sync::Arc;

use crate::address::{Random, unit};
use crate::clock::Clock;
use crate::recording::{Entry, RecordedStarts, Starts};
use crate::workload::{Pacing, PacingKind};

/// An arrival is late when it was issued this much after its intended start.
pub const LATE_NS: u64 = 50_000;

/// The arrivals of one job.
#[derive(Debug, Clone)]
pub struct Schedule {
    kind: PacingKind,
    mean_distance_ticks: f64,
    start_ticks: u64,
    phase_ticks: f64,
    arrivals: u64,
    /// Distance of the next arrival from the start; a counter of years of ticks would not fit a float.
    next_ticks: f64,
    end_ticks: u64,
    recorded: Option<RecordedStarts>,
}

impl Schedule {
    /// The schedule of one of `job_count` jobs, from `start` up to `end` (both in ticks).
    #[must_use]
    pub fn new(pacing: &Pacing, job: u32, job_count: u32, clock: &Clock, start: u64, end: u64) -> Self {
        let per_second = clock.ticks_in(1_000_000_000) as f64;
        let mean_distance_ticks = match pacing.kind {
            PacingKind::Closed | PacingKind::Recorded => 0.0,
            _ => per_second * f64::from(job_count) / pacing.rate_per_s,
        };
        // Jobs with equal distances take turns instead of arriving together.
        let phase = mean_distance_ticks * f64::from(job) / f64::from(job_count);
        Self {
            kind: pacing.kind,
            mean_distance_ticks,
            start_ticks: start,
            phase_ticks: phase,
            arrivals: 0,
            next_ticks: phase,
            end_ticks: end,
            recorded: None,
        }
    }

    /// The same for a job with a recording: where its pacing is that of the recording, these are its starts.
    #[must_use]
    pub fn with_recording(self, entries: Option<Arc<[Entry]>>, pacing: &Pacing, clock: &Clock) -> Self {
        let Some(entries) = entries.filter(|_| self.kind == PacingKind::Recorded) else { return self };
        let starts = RecordedStarts::new(entries, pacing.speed, clock, self.start_ticks);
        Self { next_ticks: starts.ticks_to(0), recorded: Some(starts), ..self }
    }

    /// How well the starts of a recording were kept.
    pub fn take_starts(&mut self) -> Option<Box<Starts>> {
        self.recorded.take().map(|recorded| recorded.starts)
    }

    /// Whether I/O waits for a schedule.
    #[inline]
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.kind != PacingKind::Closed
    }

    /// Intended start of the next arrival in ticks; `None` when it lies beyond the end.
    #[inline]
    #[must_use]
    pub fn next_arrival(&self) -> Option<u64> {
        let next = self.start_ticks.saturating_add(self.next_ticks.round() as u64);
        (next < self.end_ticks).then_some(next)
    }

    /// Moves on to the following arrival; this one was issued at `now`.
    #[inline]
    pub fn advance(&mut self, random: &mut Random, now: u64) {
        self.move_on(random, Some(now));
    }

    #[inline]
    fn move_on(&mut self, random: &mut Random, issued: Option<u64>) {
        self.arrivals += 1;
        self.next_ticks = match self.kind {
            PacingKind::Recorded => self.next_recorded(issued),
            PacingKind::Poisson => self.next_ticks - (1.0 - unit(random)).ln() * self.mean_distance_ticks,
            // A product, not a sum: no error piles up.
            _ => self.phase_ticks + self.arrivals as f64 * self.mean_distance_ticks,
        };
    }

    #[inline(never)]
    fn next_recorded(&mut self, issued: Option<u64>) -> f64 {
        let Some(recorded) = &mut self.recorded else { return f64::INFINITY };
        if let Some(now) = issued {
            recorded.note(self.next_ticks, now);
        }
        recorded.ticks_to(self.arrivals)
    }

    /// Arrivals that are still due from `from` up to `now`: those that a job that stops at `now` has missed.
    pub fn count_due(&mut self, from: u64, now: u64, random: &mut Random) -> u64 {
        let mut due = 0;
        while self.is_open() {
            let Some(next) = self.next_arrival().filter(|next| *next <= now) else { break };
            self.move_on(random, None);
            due += u64::from(next >= from);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::random_for_job;

    fn arrivals(kind: PacingKind, seconds: u64) -> (Vec<u64>, u64) {
        let clock = Clock::get();
        let second = clock.ticks_in(1_000_000_000);
        let pacing = Pacing { kind, rate_per_s: 1000.0, ..Pacing::default() };
        let mut schedule = Schedule::new(&pacing, 0, 2, &clock, 0, seconds * second);
        let mut random = random_for_job(11, 0);
        let mut starts = Vec::new();
        while let Some(start) = schedule.next_arrival() {
            starts.push(start);
            schedule.advance(&mut random, start);
        }
        (starts, second)
    }

    #[test]
    fn one_of_two_jobs_gets_half_of_a_fixed_rate_at_equal_distances() {
        let (starts, second) = arrivals(PacingKind::Fixed, 2);
        assert_eq!(starts.len(), 1000);
        assert!(starts.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(second / 500) <= 1));
    }

    #[test]
    fn a_machine_that_has_been_up_for_years_keeps_the_rate() {
        let clock = Clock::get();
        let second = clock.ticks_in(1_000_000_000);
        let start = 10 * 365 * 24 * 3600 * second;
        let pacing = Pacing { kind: PacingKind::Fixed, rate_per_s: 1e6, ..Pacing::default() };
        let mut schedule = Schedule::new(&pacing, 0, 1, &clock, start, start + second);
        assert!(schedule.count_due(0, start + second, &mut random_for_job(1, 0)).abs_diff(1_000_000) <= 1);
    }

    #[test]
    fn poisson_arrivals_have_the_mean_and_the_spread_of_the_exponential_law() {
        let (starts, second) = arrivals(PacingKind::Poisson, 40);
        let gaps: Vec<f64> =
            starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / second as f64).collect();
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
        assert!((mean * 500.0 - 1.0).abs() < 4.0 / count.sqrt(), "mean {mean}");
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.05,
            "coefficient of variation {}",
            variance.sqrt() / mean
        );
    }

    #[test]
    fn a_stopped_job_counts_what_it_missed_in_the_window() {
        let clock = Clock::get();
        let second = clock.ticks_in(1_000_000_000);
        let pacing = Pacing { kind: PacingKind::Fixed, rate_per_s: 100.0, ..Pacing::default() };
        let mut schedule = Schedule::new(&pacing, 0, 1, &clock, 0, 10 * second);
        assert_eq!(schedule.count_due(0, second - 9, &mut random_for_job(1, 0)), 100);
        assert_eq!(schedule.count_due(3 * second / 2 - 9, 2 * second - 9, &mut random_for_job(1, 0)), 50);
    }
}
