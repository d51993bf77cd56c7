//! Time that passes only when somebody says so: that of simulated drives.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static PRESENT: RefCell<Option<VirtualTime>> = const { RefCell::new(None) };
}

/// A clock that several threads read, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct VirtualTime(Arc<AtomicU64>);

/// While it lives, the clock of its thread is a virtual one.
#[derive(Debug)]
pub struct Entered(());

impl VirtualTime {
    /// Makes it the time of this thread.
    #[must_use]
    pub fn enter(&self) -> Entered {
        PRESENT.with_borrow_mut(|present| *present = Some(self.clone()));
        Entered(())
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes it another moment.
    pub fn set(&self, now: u64) {
        self.0.store(now, Ordering::Relaxed);
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        PRESENT.with_borrow_mut(|present| *present = None);
    }
}

/// The virtual time of this thread, if it has one.
pub(super) fn of_this_thread() -> Option<VirtualTime> {
    PRESENT.with_borrow(Clone::clone)
}

/// The present moment of this thread's virtual time.
#[inline]
pub(super) fn now() -> u64 {
    PRESENT.with_borrow(|present| present.as_ref().map_or(0, VirtualTime::now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, Source};

    #[test]
    fn a_thread_has_the_time_that_it_entered_until_it_leaves() {
        let time = VirtualTime::default();
        {
            let _entered = time.enter();
            let clock = Clock::get();
            time.set(3_600_000_000_000);
            assert_eq!((clock.source(), clock.ticks()), (Source::Virtual, 3_600_000_000_000));
            assert_eq!(clock.nanoseconds(clock.ticks_in(17)), 17);
        }
        assert_ne!(Clock::get().source(), Source::Virtual);
    }
}
