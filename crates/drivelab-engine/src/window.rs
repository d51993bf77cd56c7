//! The measured window of one job: when it begins, what ends it, and what it cost.

use crate::clock::Clock;
use crate::workload::{AccessKind, FileState, Workload};

/// Why a job issued no more I/O.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StopReason {
    /// The time was up.
    #[default]
    Runtime,
    /// The bytes were moved.
    Bytes,
    /// The I/Os were done.
    Count,
    /// The end of the range was reached.
    RangeEnd,
    /// The caller wished it.
    Caller,
    /// The caller knows well enough what was to be measured.
    Precision,
    /// An I/O failed.
    Error,
}

impl StopReason {
    /// Name in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::RangeEnd => "range_end",
            Self::Caller => "caller",
            Self::Precision => "precision",
            Self::Error => "error",
        }
    }
}

/// The measured window, its limits and its intervals. All times are ticks.
#[derive(Debug)]
pub struct Window {
    start: u64,
    /// First tick at which nothing is issued any more.
    deadline: u64,
    /// When the last I/O that belongs to the window completed.
    last_completion: u64,
    interval_ticks: u64,
    interval_end: u64,
    interval_index: u32,
    has_entered: bool,
    may_issue: bool,
    stops_at_range_end: bool,
    reason: StopReason,
    limit_count: u64,
    limit_bytes: u64,
    done_count: u64,
    done_bytes: u64,
    outstanding_count: u64,
    outstanding_bytes: u64,
    usage_at_start: ThreadUsage,
    usage: ThreadUsage,
    is_closed: bool,
}

impl Window {
    /// The window of one job that begins its ramp at `begin` and may use `length` bytes of the target.
    #[must_use]
    pub fn new(workload: &Workload, job: u32, length: u64, clock: &Clock, begin: u64) -> Self {
        let limits = &workload.limits;
        let start = begin + clock.ticks_in(workload.ramp_ns);
        let runtime = if limits.runtime_ns == 0 { u64::MAX / 4 } else { clock.ticks_in(limits.runtime_ns) };
        let interval_ticks = clock.ticks_in(workload.interval_ns).max(1);
        let ordered = matches!(
            workload.access.kind,
            AccessKind::Sequential | AccessKind::Reverse | AccessKind::Strided
        );
        let appends = workload.file_state == FileState::Append;
        // A tree knows itself when its files have had their turn.
        let once = workload.covers_range_once() && workload.tree.is_none();
        let count = match (once && !ordered, limits.count) {
            (true, _) => (length - workload.shift_bytes) / workload.largest_block(),
            (false, 0) => u64::MAX,
            (false, count) => match &workload.recording {
                Some(recording) => recording.jobs[job as usize].count,
                None => share(count, job, workload),
            },
        };
        let limit_bytes = if limits.bytes == 0 { u64::MAX } else { share(limits.bytes, job, workload) };
        // A job whose share of a limit is nothing has reached it before it begins.
        let reason = match (count, limit_bytes) {
            (0, _) => StopReason::Count,
            (_, 0) => StopReason::Bytes,
            _ => StopReason::default(),
        };
        Self {
            start,
            deadline: start.saturating_add(runtime),
            last_completion: start,
            interval_ticks,
            interval_end: start.saturating_add(interval_ticks),
            interval_index: 0,
            has_entered: false,
            may_issue: count > 0 && limit_bytes > 0,
            stops_at_range_end: (once && ordered) || appends,
            reason,
            limit_count: count,
            limit_bytes,
            done_count: 0,
            done_bytes: 0,
            outstanding_count: 0,
            outstanding_bytes: 0,
            usage_at_start: ThreadUsage::default(),
            usage: ThreadUsage::default(),
            is_closed: false,
        }
    }

    /// First tick of the window.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// First tick at which nothing is issued any more.
    #[must_use]
    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    /// End of the window: when its last I/O completed, and not before the deadline where time or the
    /// caller set one. A stall at the end is part of the window, with everything that waited in it.
    #[must_use]
    pub fn end(&self) -> u64 {
        match self.reason {
            StopReason::Runtime | StopReason::Caller => self.deadline.max(self.last_completion),
            _ => self.last_completion,
        }
    }

    /// Why the job stopped.
    #[must_use]
    pub fn reason(&self) -> StopReason {
        self.reason
    }

    /// What the thread used in the window.
    #[must_use]
    pub fn usage(&self) -> ThreadUsage {
        self.usage
    }

    /// Whether a sequential stream ends at the end of its range.
    #[inline]
    #[must_use]
    pub fn stops_at_range_end(&self) -> bool {
        self.stops_at_range_end
    }

    /// Whether an I/O with this intended start belongs to the window, whenever it completes.
    #[inline]
    #[must_use]
    pub fn contains(&self, intended: u64) -> bool {
        self.start <= intended && intended < self.deadline
    }

    /// Notes that time has come to `now`; whether another interval begins.
    #[inline]
    pub fn enter(&mut self, now: u64) -> bool {
        if now >= self.start && !self.has_entered {
            self.has_entered = true;
            self.usage_at_start = ThreadUsage::of_this_thread();
        }
        if now >= self.deadline && !self.is_closed {
            self.close(now);
        }
        // What completes right after the deadline belongs to the interval before it; a stall gets its own.
        now >= self.interval_end
            && self.has_entered
            && (now < self.deadline || now - self.deadline >= self.interval_ticks)
    }

    /// Whether the window has ended by `now`; then nothing more is issued.
    #[inline]
    pub fn is_over(&mut self, now: u64) -> bool {
        if now < self.deadline {
            return false;
        }
        self.close(now);
        true
    }

    /// Whether another I/O may be issued.
    #[inline]
    #[must_use]
    pub fn may_issue(&self) -> bool {
        self.may_issue
            && self.done_count.saturating_add(self.outstanding_count) < self.limit_count
            && self.done_bytes.saturating_add(self.outstanding_bytes) < self.limit_bytes
    }

    /// How many I/Os of a size may be issued.
    #[inline]
    #[must_use]
    pub fn room(&self, bytes: u64) -> usize {
        let count = self.limit_count.saturating_sub(self.done_count + self.outstanding_count);
        if self.limit_bytes == u64::MAX {
            return count as usize;
        }
        let left = self.limit_bytes.saturating_sub(self.done_bytes + self.outstanding_bytes);
        count.min(left.div_ceil(bytes)) as usize
    }

    /// Notes that I/Os were issued.
    #[inline]
    pub fn issued(&mut self, count: u64, bytes: u64) {
        self.outstanding_count += count;
        self.outstanding_bytes += bytes;
    }

    /// Notes that an I/O with this intended start has ended, with its sync call if it had one.
    #[inline]
    pub fn ended(&mut self, bytes: u64, well: bool, intended: u64, now: u64) {
        self.outstanding_count -= 1;
        self.outstanding_bytes -= bytes;
        if !self.contains(intended) {
            return;
        }
        self.last_completion = now;
        if well {
            self.done(1, bytes, now);
        }
    }

    /// Notes that I/Os of the window have ended well, and nothing follows them.
    #[inline]
    pub fn ended_well(&mut self, count: u64, bytes: u64, now: u64) {
        if count == 0 {
            return;
        }
        self.outstanding_count -= count;
        self.outstanding_bytes -= bytes;
        self.last_completion = now;
        self.done(count, bytes, now);
    }

    #[inline]
    fn done(&mut self, count: u64, bytes: u64, now: u64) {
        self.done_count += count;
        self.done_bytes += bytes;
        if self.done_count >= self.limit_count {
            self.stop(StopReason::Count, now);
        } else if self.done_bytes >= self.limit_bytes {
            self.stop(StopReason::Bytes, now);
        }
    }

    /// Notes that something after the last I/O, which had this intended start, has taken until `now`.
    pub fn lasted_until(&mut self, intended: u64, now: u64) {
        if self.contains(intended) {
            self.last_completion = now;
        }
    }

    /// Issues nothing more; what is outstanding still belongs to the window.
    pub fn stop(&mut self, reason: StopReason, now: u64) {
        // A failure counts more than any other reason, also among the last I/Os.
        if !self.may_issue && reason != StopReason::Error {
            return;
        }
        self.reason = reason;
        self.close(now);
    }

    /// Issues nothing more from now on.
    pub fn close(&mut self, now: u64) {
        self.may_issue = false;
        if self.is_closed {
            return;
        }
        self.is_closed = true;
        // What was issued at this very tick still belongs to the window.
        self.deadline = self.deadline.min((now + 1).max(self.start));
    }

    /// Closes the window for good, when nothing is outstanding any more.
    pub fn finish(&mut self, now: u64) {
        self.close(now);
        if self.has_entered {
            self.usage = ThreadUsage::of_this_thread().since(self.usage_at_start);
        }
    }

    /// Number of the present interval.
    #[must_use]
    pub fn interval_index(&self) -> u32 {
        self.interval_index
    }

    /// Opens the interval that holds `now`.
    pub fn open_interval_at(&mut self, now: u64) {
        let index = (now - self.start) / self.interval_ticks;
        self.interval_index = index as u32;
        self.interval_end = self.start + (index + 1) * self.interval_ticks;
    }
}

/// A job's part of a limit for all jobs; the first jobs take what does not divide.
fn share(total: u64, job: u32, workload: &Workload) -> u64 {
    let jobs = u64::from(workload.job_count);
    total / jobs + u64::from(u64::from(job) < total % jobs)
}

/// A job's part of the range: start and length in bytes, a multiple of the smallest block.
#[must_use]
pub fn range_of_job(workload: &Workload, job: u32, start: u64, length: u64) -> (u64, u64) {
    let parts = workload.jobs_with_own_range();
    if parts == 1 {
        return (start, length);
    }
    let unit = workload.smallest_block();
    let part = length / parts / unit * unit;
    (start + part * u64::from(job), part)
}

/// What a thread used: processor time in ns, and what the kernel counts of it.
///
/// The total is exact. How it divides into user and system time is sampled by the timer tick on many
/// kernels, so the parts are good only over many ticks.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadUsage {
    /// Spent in the program.
    pub user: u64,
    /// Spent in the kernel for it.
    pub system: u64,
    /// Both together.
    pub total: u64,
    /// How often it gave up its processor, or lost it.
    pub context_switches: u64,
    /// Page faults that read from a drive.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

impl ThreadUsage {
    fn of_this_thread() -> Self {
        // SAFETY: both calls write one structure each, for which zeros are a valid value.
        let (usage, exact) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            let mut exact: libc::timespec = std::mem::zeroed();
            libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut exact);
            (usage, exact)
        };
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        Self {
            user: ns(usage.ru_utime),
            system: ns(usage.ru_stime),
            total: exact.tv_sec as u64 * 1_000_000_000 + exact.tv_nsec as u64,
            context_switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
            major_faults: usage.ru_majflt as u64,
            minor_faults: usage.ru_minflt as u64,
        }
    }

    fn since(self, start: Self) -> Self {
        Self {
            user: self.user.saturating_sub(start.user),
            system: self.system.saturating_sub(start.system),
            total: self.total.saturating_sub(start.total),
            context_switches: self.context_switches.saturating_sub(start.context_switches),
            major_faults: self.major_faults.saturating_sub(start.major_faults),
            minor_faults: self.minor_faults.saturating_sub(start.minor_faults),
        }
    }
}
