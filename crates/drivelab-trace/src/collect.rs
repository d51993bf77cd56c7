//! Empties the kernel's per-CPU trace buffers while a workload runs, and looks at nothing until it has ended.
//!
//! One thread wakes now and then and reads what there is. What it reads stays in memory, because the drive
//! that is traced must not be written to by its own trace; beyond a limit it goes to files in a directory that
//! the caller names, and without one the buffers are left to fill, so that the kernel counts what is lost.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::events::format::PageFormat;

mod raw;
pub use raw::{Raw, RawCpu};

/// What the files hold.
#[derive(Debug, Clone)]
pub enum Kind {
    /// `trace_pipe_raw`: one page of the ring buffer with each read.
    Pages(PageFormat),
    /// The relay files of blktrace: records, to be read on the CPU that writes them.
    Relay,
}

/// How to collect.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the files hold.
    pub kind: Kind,
    /// How long to sleep between two rounds, at most.
    pub interval: Duration,
    /// Size of the kernel's buffer of one CPU: the pause is
    /// shorter while more than a quarter of it fills up.
    pub buffer_bytes: usize,
    /// What may be kept in memory, over all CPUs.
    pub memory_limit_bytes: usize,
    /// Where to put what is beyond; on another drive than the traced one.
    pub spill_directory: Option<PathBuf>,
}

// of one read of a relay file
const RELAY_READ_BYTES: usize = 1 << 19;
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const PROMPT_NICE: libc::c_int = -15;

/// Pages that somebody looks at while they are being collected.
#[derive(Debug, Default)]
struct Watch {
    is_wanted: bool,
    pages: Vec<Vec<u8>>,
    left_out: u64,
}

// what is copied between two looks, at most: four seconds of 100,000 calls each
const WATCHED_PAGES_MAX: usize = 1 << 14;

/// A thread that empties the buffers until [`Collector::stop`].
#[derive(Debug)]
pub struct Collector {
    is_ending: Arc<AtomicBool>,
    watch: Arc<Mutex<Watch>>,
    thread: Option<JoinHandle<Raw>>,
}

impl Collector {
    /// Opens the files (number of the CPU, path) and begins to empty them.
    ///
    /// # Errors
    /// A file cannot be opened, or no thread can be started.
    pub fn start(files: &[(u32, PathBuf)], options: Options) -> io::Result<Self> {
        let mut readers = Vec::new();
        for (cpu, path) in files {
            readers.push(Reader::open(*cpu, path, &options)?);
        }
        let is_ending = Arc::new(AtomicBool::new(false));
        let (flag, watch) = (Arc::clone(&is_ending), Arc::new(Mutex::new(Watch::default())));
        let watched = Arc::clone(&watch);
        let thread = thread::Builder::new()
            .name("drivelab-trace".into())
            .spawn(move || collect(readers, &options, &flag, &watched))?;
        Ok(Self { is_ending, watch, thread: Some(thread) })
    }

    /// The pages that were collected since it was asked before, and how many had no room; none the first time.
    #[must_use]
    pub fn watched(&self) -> (Vec<Vec<u8>>, u64) {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.is_wanted = true;
        (std::mem::take(&mut watch.pages), std::mem::take(&mut watch.left_out))
    }

    /// Reads what is still there and ends; the kernel must have stopped recording before.
    ///
    /// # Panics
    /// The thread has.
    #[must_use]
    pub fn stop(mut self) -> Raw {
        self.join().expect("it is stopped once").expect("the thread that collects does not panic")
    }

    fn join(&mut self) -> Option<thread::Result<Raw>> {
        let thread = self.thread.take()?;
        self.is_ending.store(true, Ordering::Release);
        thread.thread().unpark();
        Some(thread.join())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        drop(self.join());
    }
}

struct Reader {
    file: File,
    raw: RawCpu,
}

impl Reader {
    fn open(cpu: u32, path: &Path, options: &Options) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        Ok(Self { file, raw: RawCpu::new(cpu, options.spill_directory.as_deref()) })
    }

    /// Reads until the file is empty, or `most_bytes` were read; how many were.
    fn empty(
        &mut self,
        kind: &Kind,
        most_bytes: usize,
        memory: &mut Memory,
        watch: &Mutex<Watch>,
    ) -> io::Result<usize> {
        let mut total = 0;
        while total < most_bytes && memory.has_room(&self.raw) {
            match self.raw.read(&self.file, kind, &mut memory.left_bytes) {
                Ok(0) => break,
                Ok(count) => {
                    total += count;
                    watch.lock().unwrap_or_else(PoisonError::into_inner).keep(&self.raw);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }
}

impl Watch {
    /// Keeps what was read last.
    fn keep(&mut self, raw: &RawCpu) {
        if self.is_wanted && self.pages.len() < WATCHED_PAGES_MAX {
            self.pages.push(raw.last_block().to_vec());
        } else {
            self.left_out += u64::from(self.is_wanted);
        }
    }
}

/// What may still be kept.
struct Memory {
    left_bytes: usize,
    has_refused: bool,
}

impl Memory {
    fn has_room(&mut self, raw: &RawCpu) -> bool {
        let has_room = self.left_bytes > 0 || raw.may_spill();
        self.has_refused |= !has_room;
        has_room
    }
}

fn collect(mut readers: Vec<Reader>, options: &Options, is_ending: &AtomicBool, watch: &Mutex<Watch>) -> Raw {
    let mut memory = Memory { left_bytes: options.memory_limit_bytes, has_refused: false };
    let (mut rounds, mut failure) = (0, None);
    be_prompt();
    loop {
        // looked at before the last round, so that nothing is written after it
        let is_last = is_ending.load(Ordering::Acquire);
        let most_bytes = if is_last { usize::MAX } else { options.buffer_bytes };
        let mut most_read = 0;
        for reader in &mut readers {
            if matches!(options.kind, Kind::Relay) && !is_last && !move_to_writer(reader) {
                continue;
            }
            match reader.empty(&options.kind, most_bytes, &mut memory, watch) {
                Ok(read) => most_read = most_read.max(read),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        rounds += 1;
        if is_last || failure.is_some() {
            break;
        }
        let read_bytes = if memory.has_refused { 0 } else { most_read };
        thread::park_timeout(pause(options.interval, options.buffer_bytes, read_bytes));
    }
    Raw {
        cpus: readers.into_iter().map(|reader| reader.raw).collect(),
        thread_cpu_ns: thread_cpu_ns(),
        rounds,
        is_full: memory.has_refused,
        failure,
    }
}

/// How long to sleep when the fullest buffer held so much: long enough for a quarter of it, no longer than asked.
pub(crate) fn pause(interval: Duration, buffer_bytes: usize, read_bytes: usize) -> Duration {
    let filled = read_bytes as f64 / (buffer_bytes.max(1) as f64 / 4.0);
    if filled <= 1.0 { interval } else { interval.div_f64(filled).max(SHORTEST_PAUSE) }
}

/// Has this thread run soon after it wakes: the kernel loses events when it comes too late, and it needs little.
pub(crate) fn be_prompt() {
    // SAFETY: a plain call about this thread; without the permission nothing changes.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, PROMPT_NICE) };
}

/// Moves this thread to the CPU that fills a relay file, if there is a whole part of it to read.
///
/// The writer takes room for a record before it fills it, with interrupts off: from another CPU half a record
/// could be read.
fn move_to_writer(reader: &Reader) -> bool {
    let mut poll = libc::pollfd { fd: reader.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd that lives through the call.
    if unsafe { libc::poll(&raw mut poll, 1, 0) } <= 0 {
        return false;
    }
    // SAFETY: all zeroes is an empty set.
    let mut cpus: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if reader.raw.cpu as usize >= 8 * size_of_val(&cpus) {
        return false;
    }
    // SAFETY: the number was compared with the size of the set.
    unsafe { libc::CPU_SET(reader.raw.cpu as usize, &mut cpus) };
    // SAFETY: a set of that size that lives through the call. Where it is refused, the file is read at the end.
    unsafe { libc::sched_setaffinity(0, size_of_val(&cpus), &raw const cpus) == 0 }
}

fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a timespec that lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (time.tv_sec * 1_000_000_000 + time.tv_nsec).cast_unsigned()
}

#[cfg(test)]
mod tests;
