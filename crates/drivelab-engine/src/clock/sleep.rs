//! How a job lets time pass.

use super::{Clock, Source, virtual_time};

/// Below this distance to a moment a job spins instead of sleeping.
const SPIN_NS: u64 = 60_000;
/// A step of virtual time, in which nothing else happens.
const MOMENT_NS: u64 = 1_000;

impl Clock {
    /// Whether time passes only when somebody says so.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.source == Source::Virtual
    }

    /// How much of the time until a moment may be slept; the rest is spun. Nobody spins in virtual time.
    #[must_use]
    pub fn may_sleep(&self, distance_ns: u64) -> u64 {
        if self.is_virtual() { distance_ns } else { distance_ns.saturating_sub(SPIN_NS) }
    }

    /// Sleeps until a moment is near.
    pub fn sleep_almost(&self, distance_ns: u64) {
        match self.may_sleep(distance_ns) {
            0 => {}
            ns => self.sleep(ns),
        }
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
