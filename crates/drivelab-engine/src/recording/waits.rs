//! What the jobs of a recording tell each other, and how one waits for another.
//!
//! Who waits says for how many I/Os, then looks again, and sleeps in the kernel. Who has done I/Os counts them, then
//! looks whether that was waited for, and only then makes a call: both orders are one for all threads, so that one of
//! the two sees the other.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Entry;

/// How far a job is, on a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Progress {
    /// So many of its I/Os have ended.
    ended: AtomicU64,
    /// The least number of them that somebody sleeps for.
    wanted: AtomicU64,
    /// Changes when sleepers are woken, so that none falls asleep after it.
    wakes: AtomicU32,
}

impl Default for Progress {
    fn default() -> Self {
        Self { ended: AtomicU64::new(0), wanted: AtomicU64::new(u64::MAX), wakes: AtomicU32::new(0) }
    }
}

impl Progress {
    fn tell(&self, ended: u64) {
        self.ended.store(ended, Ordering::SeqCst);
        if self.wanted.load(Ordering::SeqCst) > ended {
            return;
        }
        // all of them look again: who wants more says so again
        self.wanted.store(u64::MAX, Ordering::SeqCst);
        self.wakes.fetch_add(1, Ordering::SeqCst);
        futex(&self.wakes, libc::FUTEX_WAKE, i32::MAX as u32);
    }

    fn has_ended(&self, count: u64) -> bool {
        self.ended.load(Ordering::SeqCst) >= count
    }

    /// Sleeps until so many may have ended, or a signal arrives. What others do may come between any two of its steps:
    /// tests have `between` do it.
    #[inline]
    fn sleep_until(&self, count: u64, between: impl Fn()) {
        let seen = self.wakes.load(Ordering::SeqCst);
        between();
        self.wanted.fetch_min(count, Ordering::SeqCst);
        between();
        if !self.has_ended(count) {
            between();
            futex(&self.wakes, libc::FUTEX_WAIT, seen);
        }
    }
}

fn futex(word: &AtomicU32, operation: libc::c_int, value: u32) {
    let none = ptr::null::<libc::timespec>();
    // SAFETY: the word outlives the call, and there is no time.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation | libc::FUTEX_PRIVATE_FLAG, value, none)
    };
}

/// What one job tells the others, and waits for.
#[derive(Debug)]
pub struct Waits {
    entries: Arc<[Entry]>,
    job: usize,
    progress: Arc<[Progress]>,
    told: u64,
}

impl Waits {
    pub(super) fn new(entries: Arc<[Entry]>, job: u32, progress: Arc<[Progress]>) -> Self {
        Self { entries, job: job as usize, progress, told: 0 }
    }

    /// Tells the others how many of the job's I/Os have ended.
    pub fn tell(&mut self, ended: u64) {
        if ended != self.told {
            self.told = ended;
            self.progress[self.job].tell(ended);
        }
    }

    /// Whether the job's I/O of a number may begin.
    #[must_use]
    pub fn may_go(&self, number: u64) -> bool {
        self.awaited(number).is_none_or(|(other, count)| other.has_ended(count))
    }

    /// Sleeps until the job's I/O of a number may begin; it may wake before.
    pub fn sleep(&self, number: u64) {
        if let Some((other, count)) = self.awaited(number) {
            other.sleep_until(count, || {});
        }
    }

    fn awaited(&self, number: u64) -> Option<(&Progress, u64)> {
        let (job, count) = self.entries.get(number as usize)?.after?;
        Some((&self.progress[job as usize], u64::from(count)))
    }
}

impl Drop for Waits {
    /// Nobody waits for a job that has come to its end, however it did.
    fn drop(&mut self) {
        self.progress[self.job].tell(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::workload::Operation;

    const STEPS: u32 = 3;

    /// Runs all at once; whether they come to an end: who was not woken sleeps for ever.
    fn come_to_an_end(threads: Vec<Box<dyn FnOnce() + Send>>) -> bool {
        let (sender, ends) = channel();
        let count = threads.len();
        for work in threads {
            let sender = sender.clone();
            thread::spawn(move || {
                work();
                let _ = sender.send(());
            });
        }
        (0..count).all(|_| ends.recv_timeout(Duration::from_secs(60)).is_ok())
    }

    /// Sleeps until five have ended, with something done by others before a step of it.
    fn sleep_with(progress: &Progress, step: u32, by_others: impl Fn()) {
        let done = Cell::new(0);
        let between = || {
            if done.replace(done.get() + 1) == step {
                by_others();
            }
        };
        while !progress.has_ended(5) {
            progress.sleep_until(5, between);
        }
    }

    #[test]
    fn no_wakeup_is_lost_that_comes_while_one_falls_asleep() {
        for step in 0..STEPS {
            let progress = Progress::default();
            let sleeps = Box::new(move || sleep_with(&progress, step, || progress.tell(5)));
            assert!(come_to_an_end(vec![sleeps]), "told before step {step}");
        }
    }

    #[test]
    fn one_who_wants_more_is_not_forgotten_when_another_is_woken() {
        for step in 0..STEPS {
            let progress = Arc::new(Progress::default());
            let (sender, woken) = channel();
            let others = Arc::clone(&progress);
            let sleeps = Box::new(move || {
                sleep_with(&progress, step, || {
                    progress.wanted.fetch_min(3, Ordering::SeqCst);
                    progress.tell(3);
                    sender.send(()).expect("the other waits");
                });
            });
            let tells = Box::new(move || {
                woken.recv().expect("the other tells");
                others.tell(5);
            });
            assert!(come_to_an_end(vec![sleeps, tells]), "another woken before step {step}");
        }
    }

    #[test]
    fn nobody_waits_for_a_job_that_was_cut_short() {
        let progress: Arc<[Progress]> = (0..2).map(|_| Progress::default()).collect();
        let job = |job, after| {
            let entry = Entry { start_ns: 0, offset: 0, size: 4096, operation: Operation::Write, after };
            Waits::new([entry; 100].into(), job, Arc::clone(&progress))
        };
        let (mut short, waiting) = (job(0, None), job(1, Some((0, 100))));
        short.tell(10);
        assert!(!waiting.may_go(5));
        let sleeps = Box::new(move || {
            while !waiting.may_go(5) {
                waiting.sleep(5);
            }
        });
        assert!(come_to_an_end(vec![sleeps, Box::new(move || drop(short))]));
    }
}
