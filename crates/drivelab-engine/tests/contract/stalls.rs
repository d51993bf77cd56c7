//! A target that stalls: an open loop shows the stall in every response that waited for it, a closed
//! loop in a single one. Each claim is about the times of single I/Os beside those of the stall, so it
//! holds however late a busy machine lets the job go on.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use drivelab_engine::backend::{Backend, Command, Completion, Wait};
use drivelab_engine::buffer::Buffers;
use drivelab_engine::clock::Clock;
use drivelab_engine::error::EngineError;
use drivelab_engine::iolog::{Record, Recorder};
use drivelab_engine::job::{Job, JobOutcome, JobParts};
use drivelab_engine::pacing::LATE_NS;
use drivelab_engine::run::Message;
use drivelab_engine::series::{EVENTS, Shape, Sum};
use drivelab_engine::window::StopReason;
use drivelab_engine::workload::Workload;
use serde_json::json;

use crate::support::{MIB, workload};

const READ: usize = 0;
const MS: u64 = 1_000_000;
const RATE: f64 = 2000.0;
const STALL_AT: u64 = 200 * MS;
const STALL: u64 = 300 * MS;
const RUNTIME: u64 = 800 * MS;
/// What is lost where ticks become nanoseconds.
const ROUNDED: u64 = 1000;

/// Completes everything at once, but nothing during a stall; its waits are those of a real backend.
struct Stalling<const ASYNCHRONOUS: bool> {
    clock: Clock,
    stall: (u64, u64),
    queued: Vec<Completion>,
    sent: Vec<Completion>,
}

impl<const ASYNCHRONOUS: bool> Stalling<ASYNCHRONOUS> {
    fn rest_of_stall(&self) -> u64 {
        let now = self.clock.ticks();
        if now < self.stall.0 { 0 } else { self.clock.nanoseconds(self.stall.1.saturating_sub(now)) }
    }
}

impl<const ASYNCHRONOUS: bool> Backend for Stalling<ASYNCHRONOUS> {
    const IS_ASYNCHRONOUS: bool = ASYNCHRONOUS;

    fn queue(&mut self, command: &Command) {
        self.queued.push(Completion { slot: command.slot, result: command.size as i32 });
    }

    fn submit(&mut self) -> Result<(), EngineError> {
        self.sent.append(&mut self.queued);
        if !ASYNCHRONOUS {
            std::thread::sleep(Duration::from_nanos(self.rest_of_stall()));
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        let rest = self.rest_of_stall();
        if rest == 0 {
            completions.append(&mut self.sent);
            return Ok(());
        }
        std::thread::sleep(Duration::from_nanos(match wait {
            Wait::No => 0,
            Wait::AtMost(limit) => limit.min(rest),
            Wait::Forever => rest,
        }));
        Ok(())
    }
}

/// Times of one I/O in ns since the run began.
#[derive(Clone, Copy)]
struct Io {
    intended: u64,
    issued: u64,
    ended: u64,
}

struct Seen {
    outcome: JobOutcome,
    sum: Sum,
    ios: Vec<Io>,
    /// When the stall began and ended, and the measured window ended, in ns since the run began.
    stall: (u64, u64),
    window_end: u64,
}

impl Seen {
    fn those(&self, wanted: impl Fn(&Io) -> bool) -> Vec<Io> {
        self.ios.iter().copied().filter(|io| wanted(io)).collect()
    }

    /// The I/Os that were to be issued during the stall.
    fn due_in_stall(&self) -> Vec<Io> {
        self.those(|io| io.intended > self.stall.0 + ROUNDED && io.intended + ROUNDED < self.stall.1)
    }

    /// How many were issued during the stall.
    fn issued_in_stall(&self) -> usize {
        self.those(|io| io.issued > self.stall.0 + ROUNDED && io.issued + ROUNDED < self.stall.1).len()
    }

    /// How many the end of the stall found issued and not ended.
    fn under_way_at_its_end(&self) -> usize {
        self.those(|io| io.issued < self.stall.1 && io.ended + ROUNDED >= self.stall.1).len()
    }
}

fn drive<const ASYNCHRONOUS: bool>(workload: Workload, stall: (u64, u64)) -> Seen {
    let clock = Clock::get();
    let (messages, received): (_, Receiver<Message>) = channel();
    let mut events = [false; EVENTS.len()];
    events[READ] = true;
    let shape = Shape { events, has_submission: ASYNCHRONOUS, has_response: true, syncs_arrive: false };
    let workload = Arc::new(workload);
    let buffers = Buffers::new(&workload, 0).unwrap();
    let start_ticks = clock.ticks() + clock.ticks_in(2 * MS);
    let backend = Stalling::<ASYNCHRONOUS> {
        clock,
        stall: (start_ticks + clock.ticks_in(stall.0), start_ticks + clock.ticks_in(stall.0 + stall.1)),
        queued: Vec::new(),
        sent: Vec::new(),
    };
    let recorder = Recorder::new(0, messages.clone(), channel().1);
    let parts = JobParts {
        slots: workload.queue_depth,
        workload,
        job: 0,
        range: (0, MIB),
        shape,
        stop: Arc::default(),
        messages,
        intervals: channel().1,
        cached: Vec::new(),
        zones: None,
        recorder: Some(recorder),
        start_ticks,
    };
    let outcome = Job::new(parts, backend, buffers).run().unwrap();
    let (mut sum, mut records): (_, Vec<Record>) = (Sum::default(), Vec::new());
    while let Ok(message) = received.try_recv() {
        match message {
            Message::Interval { interval, .. } => sum.add(&interval),
            Message::Records(chunk) => records.extend(chunk.records),
            _ => {}
        }
    }
    let io = |record: Record| {
        let issued = clock.nanoseconds(record.issue_ticks - start_ticks);
        let ended = issued + record.total_ns;
        Io { intended: ended.saturating_sub(record.response_ns), issued, ended }
    };
    let window_end = clock.nanoseconds(outcome.window_ticks.1 - start_ticks);
    let ios = records.into_iter().map(io).collect();
    Seen { outcome, sum, ios, stall: (stall.0, stall.0 + stall.1), window_end }
}

fn paced(kind: &str, queue_depth: u32) -> Workload {
    let changes = json!({"pacing": {"kind": kind, "rate_per_s": RATE}, "queue_depth": queue_depth,
        "limits": {"runtime_ns": RUNTIME}, "target": {"size_bytes": MIB}, "record_ios": true});
    workload("null", "", changes)
}

/// About as many arrivals as the rate says, exactly as many where they are evenly spread.
fn assert_arrivals(kind: &str, found: usize, within_ns: u64) {
    let expected = RATE * within_ns as f64 / 1e9;
    let spread = if kind == "fixed" { 2.0 } else { 5.0 * expected.sqrt() };
    assert!((found as f64 - expected).abs() <= spread, "{kind}: {found} arrivals instead of {expected}");
}

/// All that were to be issued in the stall are there, and each of their responses holds the rest of it.
fn assert_shows_the_stall(kind: &str, seen: &Seen) {
    let due = seen.due_in_stall();
    assert_arrivals(kind, due.len(), STALL);
    assert!(due.iter().all(|io| io.ended + ROUNDED >= seen.stall.1), "{kind}: ended within the stall");
    assert!(seen.ios.iter().all(|io| io.intended <= io.issued + ROUNDED), "{kind}: issued early");
    let mut intended: Vec<_> = seen.ios.iter().map(|io| io.intended).collect();
    intended.sort_unstable();
    let distance = (1e9 / RATE) as u64;
    let is_even = |pair: &[u64]| (pair[1] - pair[0]).abs_diff(distance) <= ROUNDED;
    assert_eq!(intended.windows(2).all(is_even), kind == "fixed", "{kind}: meant for other times");
    let (issued, late, missed) = seen.outcome.arrivals;
    assert_eq!((seen.sum.counts[READ].count, seen.ios.len() as u64), (issued, issued), "{kind}");
    assert_arrivals(kind, (issued + missed) as usize, RUNTIME);
    let were_late = |slack: i64| {
        let limit = (LATE_NS as i64 + slack) as u64;
        seen.those(|io| io.issued.saturating_sub(io.intended) > limit).len() as u64
    };
    let bounds = were_late(ROUNDED as i64)..=were_late(-(ROUNDED as i64));
    assert!(bounds.contains(&late), "{kind}: {late} late, not {bounds:?}");
}

#[test]
fn an_open_loop_shows_a_stall_in_every_response_that_waited() {
    for kind in ["fixed", "poisson"] {
        let seen = drive::<true>(paced(kind, 1024), (STALL_AT, STALL));
        assert_shows_the_stall(kind, &seen);
        // They are issued while it lasts: their own latency is as long.
        assert!(seen.issued_in_stall() > 10, "{kind}: {} issued", seen.issued_in_stall());
        assert!(seen.under_way_at_its_end() >= seen.issued_in_stall(), "{kind}");
    }
}

#[test]
fn so_does_an_open_loop_that_can_issue_only_one_at_a_time() {
    for (kind, is_asynchronous) in [("fixed", true), ("fixed", false), ("poisson", true), ("poisson", false)]
    {
        let workload = paced(kind, 1);
        let seen = if is_asynchronous {
            drive::<true>(workload, (STALL_AT, STALL))
        } else {
            drive::<false>(workload, (STALL_AT, STALL))
        };
        assert_shows_the_stall(kind, &seen);
        assert!(seen.issued_in_stall() <= 1, "{kind}: {} issued", seen.issued_in_stall());
        assert_eq!(seen.under_way_at_its_end(), 1, "{kind}: only the one that was issued takes long itself");
    }
}

#[test]
fn a_closed_loop_shows_just_one() {
    for seen in [
        drive::<true>(paced("closed", 1), (STALL_AT, STALL)),
        drive::<false>(paced("closed", 1), (STALL_AT, STALL)),
    ] {
        assert!(seen.issued_in_stall() <= 1);
        assert_eq!(seen.under_way_at_its_end(), 1);
        assert!(seen.ios.iter().all(|io| io.intended == io.issued));
    }
}

#[test]
fn a_stall_that_outlasts_the_runtime_is_measured_to_its_end() {
    let seen = drive::<false>(paced("closed", 1), (400 * MS, 1200 * MS));
    assert_eq!(seen.under_way_at_its_end(), 1);
    let last = seen.ios.iter().map(|io| io.ended).max().unwrap();
    assert!(last + ROUNDED >= seen.stall.1, "the last ended after {last} ns");
    assert!(seen.window_end.abs_diff(last) <= ROUNDED, "{} ns measured, not {last}", seen.window_end);
}

#[test]
fn arrivals_that_a_stall_at_the_end_swallows_are_missed_not_forgotten() {
    for kind in ["fixed", "poisson"] {
        let seen = drive::<true>(paced(kind, 1), (400 * MS, 600 * MS));
        let (issued, _, missed) = seen.outcome.arrivals;
        assert_arrivals(kind, (issued + missed) as usize, RUNTIME);
        assert_eq!(seen.outcome.stop_reason, StopReason::Runtime);
        assert_eq!(seen.outcome.all_phases[READ].count, issued);
        assert_eq!(seen.sum.counts[READ].count, issued, "the one that ends after the deadline is counted");
        assert_eq!(seen.under_way_at_its_end(), 1, "{kind}");
        // None but the stalled one is issued after the stall has begun.
        assert!(seen.issued_in_stall() <= 1, "{kind}: {} issued", seen.issued_in_stall());
        let before = seen.those(|io| io.intended < seen.stall.0).len() as u64;
        assert!(issued - before <= 1, "{kind}: {issued} issued, {before} of them due before the stall");
    }
}
