//! Where several runs wait for each other, so that their first I/Os are issued at the same moment.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::crew::START_DELAY_NS;
use crate::clock::Clock;

/// How often a run that waits asks whether it may go on.
const WAITING_TICK: Duration = Duration::from_millis(20);

/// The common start of several runs, each with jobs of its own.
///
/// The last run that comes, its jobs ready, sets the moment. A run that ends without having come keeps
/// the gate shut for good: what was to be measured together is not measured without it.
pub struct StartGate {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    missing: u32,
    is_shut: bool,
    start_ticks: Option<u64>,
}

impl StartGate {
    /// A gate for so many runs.
    #[must_use]
    pub fn new(run_count: u32) -> Self {
        let state = State { missing: run_count, is_shut: false, start_ticks: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Whether all but so many runs have come, and wait.
    #[must_use]
    pub fn misses(&self, run_count: u32) -> bool {
        self.lock().missing == run_count
    }

    /// Opens the gate for those that wait, at a moment of CLOCK_MONOTONIC; one that is over is now.
    ///
    /// Whoever opens it counts as the run that was missing.
    pub fn open_at(&self, monotonic_ns: u64) {
        let mut state = self.lock();
        state.missing = state.missing.saturating_sub(1);
        if state.start_ticks.is_none() && !state.is_shut {
            let clock = Clock::get();
            let now = clock.ticks();
            let left_ns = monotonic_ns.saturating_sub(clock.monotonic_ns(now));
            state.start_ticks = Some(now + clock.ticks_in(left_ns));
            self.changed.notify_all();
        }
    }

    /// Keeps the gate shut, unless it has opened already.
    pub fn shut(&self) {
        self.lock().is_shut = true;
        self.changed.notify_all();
    }

    /// Waits for the other runs; `None` if one of them does not come, or `may_go_on` says no.
    pub(super) fn pass(&self, may_go_on: &mut dyn FnMut() -> bool) -> Option<u64> {
        let mut state = self.lock();
        state.missing = state.missing.saturating_sub(1);
        if state.missing == 0 && !state.is_shut {
            let clock = Clock::get();
            state.start_ticks = Some(clock.ticks() + clock.ticks_in(START_DELAY_NS));
            self.changed.notify_all();
        }
        loop {
            if state.start_ticks.is_some() || state.is_shut {
                return state.start_ticks;
            }
            let waited = self.changed.wait_timeout(state, WAITING_TICK);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            // not under the lock: whoever is asked may take long
            let goes_on = may_go_on();
            if !goes_on {
                self.shut();
            }
            state = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shuts a gate when a run is over, which does nothing if the gate has opened.
pub(super) struct ShutsAtEnd<'a>(pub(super) Option<&'a StartGate>);

impl Drop for ShutsAtEnd<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.0 {
            gate.shut();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_get_the_same_moment() {
        let gate = StartGate::new(3);
        let starts: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| gate.pass(&mut || true))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(starts[0].is_some());
        assert!(starts.iter().all(|start| *start == starts[0]));
    }

    #[test]
    fn somebody_outside_says_when() {
        let gate = StartGate::new(2);
        let at = crate::clock::monotonic_ns() + 20_000_000;
        let start = std::thread::scope(|scope| {
            let waits = scope.spawn(|| gate.pass(&mut || true));
            while !gate.misses(1) {
                std::thread::yield_now();
            }
            gate.open_at(at);
            waits.join().unwrap()
        });
        let begins_ns = Clock::get().monotonic_ns(start.unwrap());
        assert!(begins_ns.abs_diff(at) < 100_000, "{begins_ns} and not {at}");
    }

    #[test]
    fn a_gate_that_was_shut_stays_so() {
        let gate = StartGate::new(2);
        gate.shut();
        gate.open_at(0);
        assert_eq!(gate.pass(&mut || true), None);
    }

    #[test]
    fn nobody_begins_without_one_that_does_not_come() {
        let gate = StartGate::new(2);
        drop(ShutsAtEnd(Some(&gate)));
        assert_eq!(gate.pass(&mut || true), None);
    }

    #[test]
    fn who_is_told_to_stop_does_not_wait() {
        let gate = StartGate::new(2);
        assert_eq!(gate.pass(&mut || false), None);
        assert_eq!(gate.pass(&mut || true), None);
    }

    #[test]
    fn the_end_of_a_run_changes_no_start() {
        let gate = StartGate::new(1);
        let start = gate.pass(&mut || true);
        gate.shut();
        assert!(start.is_some());
        assert_eq!(gate.lock().start_ticks, start);
    }
}
