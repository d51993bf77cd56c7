//! Tries inputs until the time is over, and keeps those that reached something new to change them further.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::bytes::real_recording;
use crate::case::{Case, File};
use crate::lives::Dice;
use crate::memory::measured;
use crate::pipeline;

/// How long each test goes on unless it is told.
const SECONDS: u64 = 3;
/// A case that takes so long, whatever else the machine does, never ends.
const ENDLESS: Duration = Duration::from_secs(300);
/// No record takes so many times as long as those of a sound recording.
const TIMES_USUAL: u64 = 30;
/// Inputs that are kept.
const KEPT_MAX: usize = 2000;

/// What an input has reached: counters with the magnitude of their values.
pub type Reached = Vec<u64>;

/// Inputs that reached something new when they were tried.
#[derive(Default)]
pub struct Kept {
    pub cases: Vec<Vec<File>>,
    seen: HashSet<u64>,
}

impl Kept {
    fn take(&mut self, case: &Case, reached: &[u64]) {
        let before = self.seen.len();
        self.seen.extend(reached);
        // what stands together is worth something too
        let together = reached.iter().fold(0, |sum: u64, one| sum.rotate_left(7) ^ (one & !0x3f));
        self.seen.insert(together.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63);
        let is_new = self.seen.len() > before && case.bytes() < 1 << 16;
        if !is_new {
            return;
        }
        if self.cases.len() < KEPT_MAX {
            self.cases.push(case.files.clone());
        } else {
            self.cases[case.seed as usize % KEPT_MAX].clone_from(&case.files);
        }
    }
}

fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Saves a case that does not end, and ends the program.
fn watch(running: &Mutex<Option<(Instant, Case)>>, ended: &mpsc::Receiver<()>) {
    while ended.recv_timeout(Duration::from_secs(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
        let late = running.lock().ok().and_then(|now| now.clone()).filter(|now| now.0.elapsed() > ENDLESS);
        if let Some((_, case)) = late {
            complain(&format!("does not end: {}", case.save().display()));
            std::process::abort();
        }
    }
}

#[allow(clippy::print_stderr)]
fn complain(what: &str) {
    eprintln!("{what}");
}

/// Processor time of this thread.
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a timespec that lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// Processor time that a sound recording takes, in ns for each byte: builds and machines differ.
fn usual_ns() -> u64 {
    static USUAL: OnceLock<u64> = OnceLock::new();
    *USUAL.get_or_init(|| {
        let case = Case { campaign: "usual".to_owned(), seed: 1, files: real_recording() };
        let once = || {
            let begun = cpu_time();
            pipeline::check(&case);
            (cpu_time() - begun).as_nanos() as u64 / case.bytes() as u64
        };
        once().min(once()).max(1)
    })
}

/// Processor time that is enough for an input of this length: the worst record takes some hundred steps.
fn time_allowed(bytes: usize) -> Duration {
    Duration::from_secs(3) + Duration::from_nanos(TIMES_USUAL * usual_ns() * bytes as u64)
}

/// Heap that is enough for an input of this length.
fn memory_allowed(bytes: usize) -> usize {
    (384 << 20) + 500 * bytes
}

fn try_one(case: &Case, check: &impl Fn(&Case) -> Reached) -> Reached {
    let begun = cpu_time();
    let tried = catch_unwind(AssertUnwindSafe(|| {
        let (reached, taken) = measured(|| check(case));
        let took = cpu_time() - begun;
        let bytes = case.bytes();
        assert!(took <= time_allowed(bytes), "{took:?} of the processor for {bytes} bytes");
        assert!(taken.peak <= memory_allowed(bytes), "{taken:?} of memory for {bytes} bytes");
        reached
    }));
    tried.unwrap_or_else(|panic| {
        complain(&format!("failed; try it again with DRIVELAB_FUZZ_INPUT={}", case.save().display()));
        resume_unwind(panic)
    })
}

/// Tries what `make` makes of random numbers, and of what was kept, until the time is over.
pub fn run(campaign: &str, make: impl Fn(&mut Dice, &Kept) -> Vec<File>, check: impl Fn(&Case) -> Reached) {
    if let Some(path) = std::env::var_os("DRIVELAB_FUZZ_INPUT") {
        let case = Case::load(&PathBuf::from(path));
        if case.campaign == campaign {
            try_one(&case, &check);
        }
        return;
    }
    let seconds = number_of("DRIVELAB_FUZZ_SECONDS").unwrap_or(SECONDS);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = number_of("DRIVELAB_FUZZ_SEED").unwrap_or(now.as_nanos() as u64);
    let (end, mut dice) = (Instant::now() + Duration::from_secs(seconds), Dice(seed));
    let running = Arc::new(Mutex::new(None));
    let (_done, ended) = mpsc::channel();
    let watched = Arc::clone(&running);
    std::thread::spawn(move || watch(&watched, &ended));
    let (mut kept, mut cases, mut bytes) = (Kept::default(), 0_u64, 0);
    while cases == 0 || Instant::now() < end {
        let files = make(&mut dice, &kept);
        let case = Case { campaign: campaign.to_owned(), seed: dice.roll(0, u64::MAX), files };
        *running.lock().expect("nobody panics with it") = Some((Instant::now(), case.clone()));
        kept.take(&case, &try_one(&case, &check));
        cases += 1;
        bytes += case.bytes();
    }
    complain(&format!(
        "{campaign}: {cases} cases, {bytes} bytes, {} kept, seed {seed}; a sound record takes {} ns",
        kept.cases.len(),
        48 * usual_ns()
    ));
}
