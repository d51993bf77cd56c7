//! Records the system calls of followed threads by programs of ours in the kernel (BPF).
//!
//! When a followed thread enters a call that is wanted, the kernel keeps when and with what, and when it returns,
//! one record of the whole call goes to the ring of its processor. So no call is ever put together of two halves,
//! and what does not fit is lost whole. Unlike the list of an instance of trace events (`set_event_pid`), the set of
//! threads costs nothing when the processor goes from one thread to another.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::calls::{ARGUMENTS, Call};
use crate::collect::{be_prompt, pause};
use crate::events::format::EventFormat;

mod assembler;
mod host;
mod kernel;
mod layout;
mod programs;
mod recorded;
mod ring;
use kernel::{Map, MapKind, Program, ProgramKind};
pub use recorded::Recorded;
use recorded::Room;
use ring::Ring;

// no machine has calls with higher numbers
const CALLS_MAX: u32 = 1 << 9;
const RING_BYTES_MIN: usize = 1 << 16;
// what a thread is doing
const OUTSIDE: i32 = 0;
const IN_CALL: i32 = 1;
const UNKNOWN: i32 = 2;
// in a call whose first argument, or second one, is a path
const IN_CALL_OF_PATH: [i32; 2] = [3, 4];
// in a call whose first argument is where two descriptors come to stand
const IN_CALL_OF_PAIR: i32 = 5;
// in a call that maps memory
const IN_CALL_OF_MAPPING: i32 = 6;
// longer ones are not told
const PATH_BYTES: usize = 512;
// instead of how often a thread slept: it is not known
const SLEEPS_UNTOLD: u32 = u32::MAX;
// what is counted in the kernel
const LOST: i32 = 0;
const UNBEGUN: i32 = 1;
const UNFOLLOWED: i32 = 2;
const OF_32_BITS: i32 = 3;
const COUNTS: u32 = 4;

/// What is kept of a followed thread.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    start_ns: u64,
    number: u32,
    state: u32,
    arguments: [u64; ARGUMENTS],
    // how often it had slept by then
    sleeps: u64,
}

/// What the kernel tells of a call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Record {
    start_ns: u64,
    end_ns: u64,
    arguments: [u64; ARGUMENTS],
    result: i64,
    thread: u32,
    number: u32,
    process: u32,
    sleeps: u32,
}

/// What the kernel tells of the path that a call was given.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Named {
    record: Record,
    path: [u8; PATH_BYTES],
}

#[derive(Debug)]
struct Maps {
    wanted: Map,
    threads: Map,
    rings: Map,
    counts: Map,
}

/// How calls are to be recorded.
#[derive(Debug, Clone)]
pub struct Options {
    /// The kernel's numbers of the calls that are wanted.
    pub numbers: Vec<u32>,
    /// Those of them whose first argument, and those whose second one, is a path that is to be told.
    pub of_paths: [Vec<u32>; 2],
    /// Those that give two descriptors where their first argument says: that argument is told as both of them.
    pub of_pairs: Vec<u32>,
    /// Those that map memory: of a file, as the first argument its descriptor is told; others are not recorded.
    pub of_mappings: Vec<u32>,
    /// The text of the `format` file of the event `task_newtask`.
    pub fork_format: String,
    /// That of `sched_process_exec`.
    pub exec_format: String,
    /// Length of each processor's ring; it is made a power of two.
    pub buffer_bytes: usize,
    /// How long to sleep before the rings are emptied again, at most.
    pub interval: Duration,
    /// What may be kept in memory.
    pub memory_limit_bytes: usize,
    /// How many threads may be followed at once.
    pub threads_max: u32,
    /// Calls that are left out before others, once most of the memory is full.
    pub dispensable: Vec<u32>,
}

/// Records calls until it is stopped or dropped.
#[derive(Debug)]
pub struct CallProbe {
    maps: Arc<Maps>,
    programs: Vec<Program>,
    attached: Vec<OwnedFd>,
    recorded: Arc<Mutex<Recorded>>,
    is_ending: Arc<AtomicBool>,
    unfollowed: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

impl CallProbe {
    /// Has the kernel call our programs; nobody is followed yet.
    ///
    /// # Errors
    /// The kernel refuses: it is too old, locked down, or made without BPF; or this process may not.
    pub fn attach(options: &Options) -> io::Result<Self> {
        let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
        let event = |text| EventFormat::parse(text).map_err(|error| invalid(error.0));
        let (fork, exec) = (event(&options.fork_format)?, event(&options.exec_format)?);
        let place = |event: &EventFormat, field: &str| {
            let offset = event.required(field).map_err(|error| invalid(error.0))?.offset;
            i16::try_from(offset).map_err(|_| invalid(format!("{field} is too far away")))
        };
        let (child, flags) = (place(&fork, "pid")?, place(&fork, "clone_flags")?);
        let (pid, old_pid) = (place(&exec, "pid")?, place(&exec, "old_pid")?);
        host::allow_maps()?;
        let (online, processors) = host::processors()?;
        let (maps, rings) = maps(options, &online, processors)?;
        let load = |code: Vec<u64>| Program::load(ProgramKind::RawTracepoint, &code);
        let sleeps = layout::sleeps();
        let programs = vec![
            Program::load(ProgramKind::Tracepoint, &programs::fork(&maps, child, flags))?,
            Program::load(ProgramKind::Tracepoint, &programs::exec(&maps, pid, old_pid))?,
            load(programs::end(&maps))?,
            load(programs::exit(&maps, sleeps))?,
            load(programs::enter(&maps, sleeps))?,
        ];
        let attached = vec![
            programs[0].attach(fork.id, online[0])?,
            programs[1].attach(exec.id, online[0])?,
            programs[2].attach_raw(c"sched_process_exit")?,
            programs[3].attach_raw(c"sys_exit")?,
            programs[4].attach_raw(c"sys_enter")?,
        ];
        let mut probe = Self {
            maps: Arc::new(maps),
            programs,
            attached,
            recorded: Arc::default(),
            is_ending: Arc::default(),
            unfollowed: AtomicU64::default(),
            thread: None,
        };
        probe.thread = Some(probe.emptied(rings, options.clone())?);
        Ok(probe)
    }

    /// Follows threads, and those that they start from now on; those that are too many are counted.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn follow(&self, threads: &[u32]) -> io::Result<()> {
        let open = Open { state: UNKNOWN.cast_unsigned(), ..Open::default() };
        for thread in threads {
            if !self.maps.threads.insert_new(*thread, &open)? {
                self.unfollowed.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// The threads that are followed now.
    #[must_use]
    pub fn threads(&self) -> BTreeSet<u32> {
        self.maps.threads.keys().into_iter().collect()
    }

    /// The calls that have returned since it was asked before; none the first time.
    #[must_use]
    pub fn newest(&self) -> Vec<Call> {
        let mut recorded = locked(&self.recorded);
        let end = recorded.calls.len();
        let first = recorded.newest.replace(end).unwrap_or(end);
        recorded.calls[first..].to_vec()
    }

    /// Follows nobody any more; what was recorded.
    #[must_use]
    pub fn stop(mut self) -> Recorded {
        self.end();
        let mut recorded = std::mem::take(&mut *locked(&self.recorded));
        recorded.calls.sort_by_key(|call| call.start_ns);
        recorded.started.sort_by_key(|started| started.time_ns);
        let opens = self.threads().into_iter().filter_map(|thread| self.maps.threads.get::<Open>(thread));
        let is_in_call = |open: &Open| ![OUTSIDE, UNKNOWN].contains(&open.state.cast_signed());
        recorded.unfinished = opens.filter(is_in_call).count() as u64;
        recorded.unbegun = self.maps.count(UNBEGUN);
        recorded.of_32_bits = self.maps.count(OF_32_BITS);
        recorded.unfollowed = self.unfollowed.load(Ordering::Relaxed) + self.maps.count(UNFOLLOWED);
        let misses = self.programs.iter().map(Program::misses).sum::<u64>();
        recorded.lost += self.maps.count(LOST) + misses;
        recorded.gaps += u64::from(misses > 0) + u64::from(recorded.recorded_until_ns.is_some());
        recorded
    }

    fn end(&mut self) {
        self.attached.clear();
        self.is_ending.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            drop(thread.join());
        }
    }

    /// A thread that empties the rings until the end.
    fn emptied(&self, mut rings: Vec<Ring>, options: Options) -> io::Result<JoinHandle<()>> {
        let (recorded, is_ending) = (Arc::clone(&self.recorded), Arc::clone(&self.is_ending));
        let (maps, room) = (Arc::clone(&self.maps), Room::of(&options));
        thread::Builder::new().name("drivelab-calls".into()).spawn(move || {
            let mut lost = 0;
            be_prompt();
            loop {
                // looked at before the last round, so that nothing comes after it
                let is_last = is_ending.load(Ordering::Acquire);
                let mut most_bytes = 0;
                let mut kept = locked(&recorded);
                for ring in &mut rings {
                    most_bytes = most_bytes.max(ring.empty(|record, path| kept.keep(record, path, &room)));
                }
                let lost_now = maps.count(LOST);
                kept.gaps += u64::from(lost_now > std::mem::replace(&mut lost, lost_now));
                drop(kept);
                if is_last {
                    return;
                }
                thread::park_timeout(pause(options.interval, options.buffer_bytes, most_bytes));
            }
        })
    }
}

impl Drop for CallProbe {
    fn drop(&mut self) {
        self.end();
    }
}

impl Maps {
    fn count(&self, which: i32) -> u64 {
        self.counts.get(which.cast_unsigned()).unwrap_or(0)
    }
}

fn maps(options: &Options, online: &[u32], processors: u32) -> io::Result<(Maps, Vec<Ring>)> {
    let wanted = Map::new(MapKind::Array, size_of::<u32>(), CALLS_MAX, None)?;
    options.numbers.iter().try_for_each(|number| wanted.insert(*number, &IN_CALL))?;
    let [of_first, of_second] = &options.of_paths;
    let [in_first, in_second] = IN_CALL_OF_PATH;
    for (numbers, state) in [
        (of_first, in_first),
        (of_second, in_second),
        (&options.of_pairs, IN_CALL_OF_PAIR),
        (&options.of_mappings, IN_CALL_OF_MAPPING),
    ] {
        numbers.iter().try_for_each(|number| wanted.insert(*number, &state))?;
    }
    let ring_bytes = (options.buffer_bytes / 2 + 1).next_power_of_two().max(RING_BYTES_MIN);
    let rings = online.iter().map(|_| Ring::new(ring_bytes)).collect::<io::Result<Vec<_>>>()?;
    let by_processor = Map::new(MapKind::Maps, size_of::<u32>(), processors, Some(&rings[0].map))?;
    for processor in 0..processors {
        // one that comes online later shares a ring
        let ring = online.iter().position(|known| *known == processor).unwrap_or(0);
        by_processor.insert(processor, &rings[ring].map.descriptor())?;
    }
    let threads = match host::threads_beforehand(options.threads_max) {
        None => Map::growing(size_of::<Open>(), options.threads_max)?,
        Some(most) => Map::new(MapKind::Hash, size_of::<Open>(), most, None)?,
    };
    let counts = Map::new(MapKind::Array, size_of::<u64>(), COUNTS, None)?;
    Ok((Maps { wanted, threads, rings: by_processor, counts }, rings))
}

fn locked(recorded: &Mutex<Recorded>) -> MutexGuard<'_, Recorded> {
    recorded.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_that_lacks_the_child_is_refused_before_the_kernel_is_asked() {
        let options = Options {
            numbers: vec![0],
            of_paths: [vec![], vec![]],
            of_pairs: Vec::new(),
            of_mappings: Vec::new(),
            fork_format: "name: task_newtask\nID: 1\n".into(),
            exec_format: "name: sched_process_exec\nID: 2\n".into(),
            buffer_bytes: 1 << 16,
            interval: Duration::from_millis(1),
            memory_limit_bytes: 0,
            threads_max: 1,
            dispensable: Vec::new(),
        };
        assert_eq!(CallProbe::attach(&options).unwrap_err().to_string(), "task_newtask has no field pid");
    }
}
