//! The engine's clock: the processor's time stamp counter where the kernel itself trusts it,
//! the monotonic clock of the kernel elsewhere.
//!
//! A time stamp is a number of ticks; ticks become nanoseconds of CLOCK_MONOTONIC only when they
//! are recorded, so that one reading costs a few nanoseconds.

mod sleep;
pub mod virtual_time;

pub use sleep::Alarm;

use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

/// Where time stamps come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The processor's time stamp counter.
    Tsc,
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    Monotonic,
    /// None: time passes when a simulated drive says so.
    Virtual,
}

/// Converts ticks to nanoseconds.
///
/// # Examples
///
/// ```
/// use drivelab_engine::clock::Clock;
/// let clock = Clock::get();
/// let start = clock.ticks();
/// assert!(clock.nanoseconds(clock.ticks() - start) < 1_000_000_000);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    source: Source,
    /// Nanoseconds per tick, as a fraction of 2^32.
    nanoseconds_per_tick_q32: u64,
    anchor_ticks: u64,
    anchor_ns: u64,
    /// The two clocks when the process first looked.
    first: (u64, u64),
}

static CLOCK: OnceLock<RwLock<Clock>> = OnceLock::new();
/// A rate taken over less time than this is not better than the one of the calibration.
const BASELINE_NS_MIN: u64 = 1_000_000_000;
/// Runs that hold the clock now.
static HOLDERS: Mutex<u32> = Mutex::new(0);

/// Keeps the clock from being renewed until it is dropped.
#[derive(Debug)]
pub struct Held(());

impl Drop for Held {
    fn drop(&mut self) {
        *HOLDERS.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

const CALIBRATION: Duration = Duration::from_millis(20);

impl Clock {
    /// The clock of this thread: a virtual one while it is at work on a simulated drive, else that of the process,
    /// calibrated at first use (takes 20 ms then).
    #[must_use]
    pub fn get() -> Self {
        if virtual_time::of_this_thread().is_some() {
            return Self::of_nanoseconds(Source::Virtual, (0, 0));
        }
        *CLOCK.get_or_init(|| RwLock::new(Self::calibrate())).read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the clock by CLOCK_MONOTONIC again, with the rate of all the time since its first use:
    /// after an hour an error of 1 ppm has become 4 ms.
    pub fn renew() {
        let mut clock = Self::get();
        if clock.source != Source::Tsc {
            return;
        }
        let (ticks, ns) = simultaneous();
        if ns.saturating_sub(clock.first.1) >= BASELINE_NS_MIN {
            clock.nanoseconds_per_tick_q32 = rate(clock.first, (ticks, ns));
        }
        (clock.anchor_ticks, clock.anchor_ns) = (ticks, ns);
        if let Some(shared) = CLOCK.get() {
            *shared.write().unwrap_or_else(PoisonError::into_inner) = clock;
        }
    }

    /// Renews the clock for a run and keeps it as it is until the run ends. Runs side by side share one:
    /// a rate that changed between a run's start and its end would change what was measured.
    #[must_use]
    pub fn hold() -> Held {
        let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        if *holders == 0 {
            Self::renew();
        }
        *holders += 1;
        Held(())
    }

    fn calibrate() -> Self {
        if !tsc_is_trusted() {
            let now = monotonic_ns();
            return Self::of_nanoseconds(Source::Monotonic, (now, now));
        }
        let first = simultaneous();
        std::thread::sleep(CALIBRATION);
        let last = simultaneous();
        Self {
            source: Source::Tsc,
            nanoseconds_per_tick_q32: rate(first, last),
            anchor_ticks: last.0,
            anchor_ns: last.1,
            first,
        }
    }

    /// A clock whose ticks are nanoseconds.
    fn of_nanoseconds(source: Source, first: (u64, u64)) -> Self {
        let (anchor_ticks, anchor_ns) = first;
        Self { source, nanoseconds_per_tick_q32: 1 << 32, anchor_ticks, anchor_ns, first }
    }

    /// The present time in ticks.
    #[inline]
    #[must_use]
    pub fn ticks(&self) -> u64 {
        if self.source == Source::Tsc { read_tsc() } else { self.slower_ticks() }
    }

    #[cold]
    fn slower_ticks(&self) -> u64 {
        if self.source == Source::Virtual { virtual_time::now() } else { monotonic_ns() }
    }

    /// Length of a number of ticks in nanoseconds.
    #[inline]
    #[must_use]
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.nanoseconds_per_tick_q32)) >> 32) as u64
    }

    /// Number of ticks in some nanoseconds.
    #[must_use]
    pub fn ticks_in(&self, nanoseconds: u64) -> u64 {
        let ticks = (u128::from(nanoseconds) << 32).div_ceil(u128::from(self.nanoseconds_per_tick_q32));
        u64::try_from(ticks).unwrap_or(u64::MAX / 2)
    }

    /// CLOCK_MONOTONIC at a time stamp.
    #[inline]
    #[must_use]
    pub fn monotonic_ns(&self, ticks: u64) -> u64 {
        if ticks >= self.anchor_ticks {
            self.anchor_ns + self.nanoseconds(ticks - self.anchor_ticks)
        } else {
            self.anchor_ns.saturating_sub(self.nanoseconds(self.anchor_ticks - ticks))
        }
    }

    /// Where the time stamps come from.
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// How far this clock has drifted from CLOCK_MONOTONIC since it was calibrated, in parts per million.
    #[must_use]
    pub fn rate_error_ppm(&self) -> f64 {
        let (ticks, ns) = if self.source == Source::Tsc { simultaneous() } else { return 0.0 };
        let elapsed = (ns - self.anchor_ns) as f64;
        if elapsed <= 0.0 { 0.0 } else { (self.monotonic_ns(ticks) as f64 - ns as f64) / elapsed * 1e6 }
    }

    /// What one reading costs, in nanoseconds (best of several batches).
    #[must_use]
    pub fn cost_ns(&self) -> f64 {
        const READINGS: u32 = 1000;
        let batches = (0..20).map(|_| {
            let start = self.ticks();
            for _ in 0..READINGS {
                std::hint::black_box(self.ticks());
            }
            self.nanoseconds(self.ticks() - start) as f64 / f64::from(READINGS)
        });
        batches.fold(f64::INFINITY, f64::min)
    }

    /// Smallest step between two different readings, in nanoseconds.
    #[must_use]
    pub fn step_ns(&self) -> u64 {
        let steps = (0..1000).map(|_| {
            let start = self.ticks();
            loop {
                let now = self.ticks();
                if now != start {
                    return self.nanoseconds(now - start);
                }
            }
        });
        steps.min().unwrap_or(0)
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
#[inline]
#[must_use]
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec; CLOCK_MONOTONIC always exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds per tick between two moments, as a fraction of 2^32.
fn rate(from: (u64, u64), to: (u64, u64)) -> u64 {
    ((u128::from(to.1 - from.1) << 32) / u128::from((to.0 - from.0).max(1))) as u64
}

/// The two clocks at one moment: of several tries, the one where they lay closest together.
fn simultaneous() -> (u64, u64) {
    let tries = (0..20).map(|_| {
        let before = read_tsc();
        let ns = monotonic_ns();
        let after = read_tsc();
        (after - before, before + (after - before) / 2, ns)
    });
    let (_, ticks, ns) = tries.min().expect("twenty tries were made");
    (ticks, ns)
}

/// The kernel watches the counter of every processor and stops using it when they disagree.
fn tsc_is_trusted() -> bool {
    cfg!(target_arch = "x86_64")
        && std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|name| name.trim() == "tsc")
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_tsc() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; no memory is touched.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn read_tsc() -> u64 {
    monotonic_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_ticks_is_a_second_of_the_kernel() {
        let clock = Clock::get();
        // Whatever keeps this thread from a processor between two readings lies within the bounds.
        let between = || (monotonic_ns(), clock.ticks(), monotonic_ns());
        let from = between();
        std::thread::sleep(Duration::from_millis(100));
        let to = between();
        let ours = clock.nanoseconds(to.1 - from.1) as f64;
        let (least, most) = ((to.0 - from.2) as f64, (to.2 - from.0) as f64);
        assert!(least * 0.999 <= ours && ours <= most * 1.001, "{least} {ours} {most}");
    }

    #[test]
    fn ticks_translate_to_the_kernels_monotonic_clock() {
        let clock = Clock::get();
        let before = monotonic_ns();
        let ours = clock.monotonic_ns(clock.ticks());
        let after = monotonic_ns();
        let slack = 20_000;
        assert!(before <= ours + slack && ours <= after + slack, "{before} {ours} {after}");
    }

    #[test]
    fn a_renewed_clock_goes_on_where_it_was() {
        let (old, ticks) = (Clock::get(), Clock::get().ticks());
        Clock::renew();
        let (before, after) = (old.monotonic_ns(ticks), Clock::get().monotonic_ns(ticks));
        assert!(before.abs_diff(after) < 20_000, "{before} became {after}");
    }

    #[test]
    fn ticks_and_nanoseconds_convert_both_ways() {
        let clock = Clock::get();
        for ns in [0, 1000, 1_000_000, 3_600_000_000_000] {
            let back = clock.nanoseconds(clock.ticks_in(ns));
            assert!(back.abs_diff(ns) <= 1 + ns / 1_000_000, "{ns} became {back}");
        }
    }
}
