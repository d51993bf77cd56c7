//! How a job lets time pass.

use super::{Clock, Source, virtual_time};

/// A sleep ends at least so long before the moment that is waited for, and the rest is spun,
const SPIN_NS: u64 = 60_000;
/// and at most so long, wherever threads are woken later than that;
const SPIN_NS_MAX: u64 = 300_000;
/// so long at first, as long as nothing is known.
const SPIN_NS_FIRST: u64 = 200_000;
/// One sleep in so many ends after its moment,
const LATE_ONE_IN: u64 = 500;
/// where each that does lets the next ones end so much sooner.
const LATE_STEP_NS: u64 = 50_000;
/// A step of virtual time, in which nothing else happens.
const MOMENT_NS: u64 = 1_000;

impl Clock {
    /// Whether time passes only when somebody says so.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.source == Source::Virtual
    }

    /// Lets other threads go first, for a moment.
    pub fn give_way(&self) {
        if self.is_virtual() { self.sleep(MOMENT_NS) } else { std::thread::yield_now() }
    }

    /// Sleeps at most this long; a signal may end it earlier.
    pub fn sleep(&self, nanoseconds: u64) {
        if let Some(time) = virtual_time::of_this_thread() {
            time.set(time.now() + nanoseconds);
            return;
        }
        let time = libc::timespec {
            tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `time` is a valid timespec and nothing is written back.
        unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
    }
}

/// Wakes a job just before a moment; how long before, it learns from how late the job's sleeps have ended.
#[derive(Debug)]
pub struct Alarm {
    spin_ns: u64,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { spin_ns: SPIN_NS_FIRST }
    }
}

impl Alarm {
    /// How much of the time until a moment may be slept; the rest is spun. Nobody spins in virtual time.
    #[must_use]
    pub fn may_sleep(&self, clock: &Clock, distance_ns: u64) -> u64 {
        if clock.is_virtual() { distance_ns } else { distance_ns.saturating_sub(self.spin_ns) }
    }

    /// Sleeps until a moment is near.
    pub fn sleep_almost(&mut self, clock: &Clock, distance_ns: u64) {
        let ns = self.may_sleep(clock, distance_ns);
        if ns == 0 {
            return;
        }
        let before = clock.ticks();
        clock.sleep(ns);
        self.learn(clock.nanoseconds(clock.ticks().saturating_sub(before)) > distance_ns);
    }

    /// Follows the lateness that one sleep in so many exceeds: a step up weighs as much as the steps down between.
    fn learn(&mut self, was_late: bool) {
        let spin_ns =
            if was_late { self.spin_ns + LATE_STEP_NS } else { self.spin_ns - LATE_STEP_NS / LATE_ONE_IN };
        self.spin_ns = spin_ns.clamp(SPIN_NS, SPIN_NS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLEEPS: u64 = 200_000;

    /// Late sleeps of the second half of many whose lateness a generator makes up, and where the alarm stands.
    fn late_of(lateness_ns: impl Fn(f64) -> u64) -> (u64, u64) {
        let mut alarm = Alarm::default();
        let (mut state, mut late) = (1_u64, 0);
        for sleep in 0..SLEEPS {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let was_late = lateness_ns((state >> 11) as f64 / (1_u64 << 53) as f64) > alarm.spin_ns;
            alarm.learn(was_late);
            late += u64::from(was_late && sleep >= SLEEPS / 2);
        }
        (late, alarm.spin_ns)
    }

    #[test]
    fn one_sleep_in_five_hundred_is_late_where_threads_are_woken_late() {
        // exponential, 40 us on average: one in 500 is later than 249 us
        let (late, spin_ns) = late_of(|chance| (-40_000.0 * (1.0 - chance).ln()) as u64);
        let expected = SLEEPS / 2 / LATE_ONE_IN;
        assert!((expected * 9 / 10..=expected * 11 / 10).contains(&late), "{late} of {expected}");
        assert!((150_000..300_000).contains(&spin_ns), "{spin_ns}");
    }

    #[test]
    fn nothing_is_spun_in_vain_where_threads_are_woken_in_time_nor_where_no_spinning_helps() {
        assert_eq!(late_of(|chance| (chance * 50_000.0) as u64), (0, SPIN_NS));
        assert_eq!(late_of(|_| 5_000_000), (SLEEPS / 2, SPIN_NS_MAX));
    }
}
