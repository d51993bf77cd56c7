//! The ring of io_uring that the backends with one share: entries queued, sent with one call, and taken back.

use std::io;

use io_uring::{IoUring, cqueue, squeue, types};

use super::{Completion, Wait, completions_taken};
use crate::error::{Code, EngineError, Result};
use crate::workload::{Operation, PacingKind, Workload};

const ENTER_GETEVENTS: u32 = 1;
const ENTER_SQ_WAKEUP: u32 = 2;

/// A ring of one job, with entries of a size; must be used by the thread that made it.
pub(super) struct Ring<S: squeue::EntryMarker, C: cqueue::EntryMarker> {
    ring: IoUring<S, C>,
    queued: u32,
    submits_by_poll: bool,
    completes_by_poll: bool,
    takes_most: usize,
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Ring<S, C> {
    /// Makes a ring with an entry for every slot; flags that only newer kernels know are left out on older ones.
    pub(super) fn new(workload: &Workload) -> Result<Self> {
        Ok(Self {
            ring: build(workload).map_err(|error| unusable(&error))?,
            queued: 0,
            submits_by_poll: workload.polled_submission,
            completes_by_poll: workload.polled_completion,
            takes_most: completions_taken(workload),
        })
    }

    pub(super) fn submitter(&self) -> io_uring::Submitter<'_> {
        self.ring.submitter()
    }

    pub(super) fn waits_as_it_submits(&self) -> bool {
        !self.submits_by_poll
    }

    /// Queues an entry.
    ///
    /// # Safety
    ///
    /// What the entry names stays valid until it has completed.
    #[inline]
    pub(super) unsafe fn queue(&mut self, entry: &S) {
        // SAFETY: as the caller promises. The ring has at least as many entries as can be waiting, so a push cannot
        // fail.
        unsafe { self.ring.submission().push(entry) }.expect("the ring has an entry for every slot");
        self.queued += 1;
    }

    /// Queues entries.
    ///
    /// # Safety
    ///
    /// What the entries name stays valid until they have completed.
    #[inline]
    pub(super) unsafe fn queue_each(&mut self, entries: impl Iterator<Item = S>) {
        let mut queue = self.ring.submission();
        entries.for_each(|entry| {
            // SAFETY: as for one entry.
            unsafe { queue.push(&entry) }.expect("the ring has an entry for every slot");
            self.queued += 1;
        });
    }

    /// One io_uring_enter that also runs deferred completion work; interruptions are not errors.
    #[inline]
    fn enter(&self, submit: u32, wait_for: u32) -> Result<u32> {
        let flags = if self.submits_by_poll { ENTER_GETEVENTS | ENTER_SQ_WAKEUP } else { ENTER_GETEVENTS };
        // SAFETY: without an argument nothing but numbers is passed.
        match unsafe { self.ring.submitter().enter::<libc::sigset_t>(submit, wait_for, flags, None) } {
            Ok(count) => Ok(count as u32),
            Err(error) => entered_none(&error),
        }
    }

    /// The same for a time at most, with nothing to submit.
    fn wait_at_most(&self, limit: &types::Timespec) -> Result<u32> {
        let args = types::SubmitArgs::new().timespec(limit);
        self.ring
            .submitter()
            .submit_with_args(1, &args)
            .map_or_else(|error| entered_none(&error), |count| Ok(count as u32))
    }

    /// Sends what was queued.
    #[inline]
    pub(super) fn submit(&mut self) -> Result<()> {
        if self.submits_by_poll {
            // The kernel's thread takes what was queued; it is woken only when it sleeps.
            if self.ring.submission().need_wakeup() {
                self.enter(self.queued, 0)?;
            }
            self.queued = 0;
        }
        self.send_queued(0)
    }

    /// Sends what was queued and waits for a completion by one call; false, with nothing done, where that can't be.
    #[inline(always)]
    pub(super) fn submit_and_wait(&mut self, completions: &mut Vec<Completion>) -> Result<bool> {
        if self.queued == 0 || self.submits_by_poll {
            return Ok(false);
        }
        self.send_queued(1)?;
        self.take(completions);
        Ok(true)
    }

    /// Appends what has completed; waits as it is told when that is nothing.
    #[inline]
    pub(super) fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        let before = completions.len();
        self.take(completions);
        if completions.len() > before {
            return Ok(());
        }
        match wait {
            Wait::No if self.completes_by_poll || self.ring.submission().taskrun() => self.enter(0, 0)?,
            Wait::No => return Ok(()),
            Wait::Forever => self.enter(0, 1)?,
            Wait::AtMost(ns) => {
                let limit = types::Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                self.wait_at_most(&limit)?
            }
        };
        self.take(completions);
        Ok(())
    }

    /// Sends all that was queued, and waits for so many completions unless a signal arrives. The kernel may take less
    /// than it was given, and does not wait then.
    #[inline(always)]
    fn send_queued(&mut self, wait_for: u32) -> Result<()> {
        while self.queued > 0 {
            self.queued -= self.enter(self.queued, wait_for)?.min(self.queued);
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn take(&mut self, completions: &mut Vec<Completion>) {
        if self.takes_most < usize::MAX {
            return self.take_some(completions);
        }
        for entry in self.ring.completion() {
            completions.push(completion_of(entry));
        }
    }

    #[inline(never)]
    fn take_some(&mut self, completions: &mut Vec<Completion>) {
        let most = self.takes_most.saturating_sub(completions.len());
        completions.extend(self.ring.completion().by_ref().take(most).map(completion_of));
    }
}

/// What a call that failed comes to: nothing, where it is to be made again.
#[cold]
fn entered_none(error: &io::Error) -> Result<u32> {
    match error.raw_os_error() {
        Some(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(0),
        _ => Err(EngineError::from_os("wait for io_uring", "io_uring_enter", error)),
    }
}

#[inline]
fn completion_of<C: cqueue::EntryMarker>(entry: C) -> Completion {
    Completion { slot: entry.user_data() as u32, result: entry.into().result() }
}

fn build<S: squeue::EntryMarker, C: cqueue::EntryMarker>(workload: &Workload) -> io::Result<IoUring<S, C>> {
    let depth = workload.queue_depth;
    let plain = || {
        let mut builder = IoUring::<S, C>::builder();
        builder.setup_clamp();
        if workload.polled_completion {
            builder.setup_iopoll();
        }
        if workload.polled_submission {
            builder.setup_sqpoll(1000);
        }
        builder
    };
    if workload.polled_submission {
        // The kernel's thread frees the entries of a batch at its end; what completed before that has
        // been reaped already and may be queued again: twice the depth.
        return plain().build(2 * depth);
    }
    // One thread submits, and completions are worked off when it asks for them (since Linux 6.1).
    let mut modern = plain();
    modern.setup_single_issuer().setup_defer_taskrun();
    if workload.pacing.kind != PacingKind::Closed || workload.uses(Operation::Trim) {
        // A loop that looks without waiting must be told that something waits to be worked off.
        modern.setup_taskrun_flag();
    }
    modern.build(depth).or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => plain().build(depth),
        _ => Err(error),
    })
}

pub(super) fn unusable(error: &io::Error) -> EngineError {
    let cause = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "forbidden by a security policy (a container's seccomp profile, or kernel.io_uring_disabled)"
        }
        Some(libc::ENOSYS) => "this kernel was built without it",
        Some(libc::ENOMEM) => "the limit of locked memory is too small (ulimit -l)",
        _ => "the kernel refused",
    };
    EngineError::new(Code::UringUnusable, format!("io_uring cannot be used: {cause}: {error}"))
        .at("io_uring_setup")
        .advise("use --backend aio or --backend sync, or leave the choice to --backend auto")
}

/// Whether this process may use io_uring; the reason when it may not.
///
/// # Errors
///
/// [`Code::UringUnusable`] with the kernel's reason.
pub fn probe() -> Result<()> {
    IoUring::new(1).map(|_| ()).map_err(|error| unusable(&error))
}
