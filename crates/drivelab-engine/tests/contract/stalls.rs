//! A target that stalls: an open loop shows the stall in every response that waited for it, a closed
//! loop in a single one.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use drivelab_engine::backend::{Backend, Command, Completion, Wait};
use drivelab_engine::buffer::Buffers;
use drivelab_engine::clock::Clock;
use drivelab_engine::error::EngineError;
use drivelab_engine::histogram::bucket_low;
use drivelab_engine::job::{Job, JobOutcome, JobParts};
use drivelab_engine::run::Message;
use drivelab_engine::series::{EVENTS, RESPONSE, Shape, Sum, TOTAL};
use drivelab_engine::window::StopReason;
use drivelab_engine::workload::Workload;
use serde_json::json;

use crate::support::{MIB, workload};

const READ: usize = 0;
const MS: u64 = 1_000_000;
const RATE: f64 = 2000.0;
const STALL_AT: u64 = 200 * MS;
const STALL: u64 = 300 * MS;
/// Scheduling noise of a busy test machine.
const SLACK: u64 = 50 * MS;

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

struct Seen {
    outcome: JobOutcome,
    sum: Sum,
}

impl Seen {
    /// Values of a latency, in ns, each at the low end of its bucket.
    fn values(&self, latency: usize) -> Vec<u64> {
        let filled = self.sum.histogram(READ, latency).unwrap().filled();
        filled.flat_map(|(bucket, count)| vec![bucket_low(bucket as usize); count as usize]).collect()
    }

    fn longer_than(&self, latency: usize, limit: u64) -> usize {
        self.values(latency).iter().filter(|value| **value > limit).count()
    }
}

fn drive<const ASYNCHRONOUS: bool>(workload: Workload, stall: (u64, u64)) -> Seen {
    let clock = Clock::get();
    let (messages, received): (_, Receiver<Message>) = channel();
    let mut events = [false; EVENTS.len()];
    events[READ] = true;
    let shape = Shape { events, has_submission: ASYNCHRONOUS, has_response: true };
    let workload = Arc::new(workload);
    let buffers = Buffers::new(&workload, 0).unwrap();
    let start_ticks = clock.ticks() + clock.ticks_in(2 * MS);
    let backend = Stalling::<ASYNCHRONOUS> {
        clock,
        stall: (start_ticks + clock.ticks_in(stall.0), start_ticks + clock.ticks_in(stall.0 + stall.1)),
        queued: Vec::new(),
        sent: Vec::new(),
    };
    let parts = JobParts {
        slots: workload.queue_depth,
        workload,
        job: 0,
        range: (0, MIB),
        shape,
        stop: Arc::default(),
        messages,
        intervals: channel().1,
        cached: None,
        recorder: None,
        start_ticks,
    };
    let outcome = Job::new(parts, backend, buffers).run().unwrap();
    let mut sum = Sum::default();
    while let Ok(Message::Interval { interval, .. }) = received.try_recv() {
        sum.add(&interval);
    }
    Seen { outcome, sum }
}

fn paced(kind: &str, queue_depth: u32) -> Workload {
    let changes = json!({"pacing": {"kind": kind, "rate_per_s": RATE}, "queue_depth": queue_depth,
        "limits": {"runtime_ns": 800 * MS}, "target": {"size_bytes": MIB}});
    workload("null", "", changes)
}

/// What must hold, tried again when the test machine was busy with something else meanwhile.
fn on_a_quiet_machine(check: impl Fn() -> Result<(), String>) {
    let failures: Vec<_> = (0..4).map_while(|_| check().err()).collect();
    assert!(failures.len() < 4, "{failures:?}");
}

fn hold(claim: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if claim { Ok(()) } else { Err(otherwise()) }
}

/// About rate x stall responses, evenly spread between nothing and the stall.
fn shows_the_stall(seen: &Seen) -> Result<(), String> {
    let expected = RATE * STALL as f64 / 1e9;
    let noise = RATE * SLACK as f64 / 1e9;
    for part in 1..8 {
        let limit = STALL * part / 8;
        let (count, share) = (seen.longer_than(RESPONSE, limit) as f64, 1.0 - part as f64 / 8.0);
        hold((count - expected * share).abs() < noise, || format!("{count} responses above {limit} ns"))?;
    }
    let longest = *seen.values(RESPONSE).last().unwrap();
    hold(longest.abs_diff(STALL) < SLACK, || format!("the longest response took {longest} ns"))
}

#[test]
fn an_open_loop_shows_a_stall_in_every_response_that_waited() {
    for kind in ["fixed", "poisson"] {
        on_a_quiet_machine(|| {
            let seen = drive::<true>(paced(kind, 1024), (STALL_AT, STALL));
            shows_the_stall(&seen)?;
            let (issued, _, missed) = seen.outcome.arrivals;
            assert!(issued.abs_diff(1600) < 200, "{kind}: {issued}");
            assert_eq!(seen.sum.counts[READ].count, issued);
            // They were issued in time: their own latency is as long.
            let (total, response) =
                (seen.longer_than(TOTAL, STALL / 4), seen.longer_than(RESPONSE, STALL / 4));
            hold(total * 10 > response * 9, || {
                format!("{kind}: {total} of {response} took long themselves")
            })?;
            hold(missed <= 1, || format!("{kind}: {missed} missed"))
        });
    }
}

#[test]
fn so_does_an_open_loop_that_can_issue_only_one_at_a_time() {
    for (kind, is_asynchronous) in [("fixed", true), ("fixed", false), ("poisson", true), ("poisson", false)]
    {
        on_a_quiet_machine(|| {
            let workload = paced(kind, 1);
            let seen = if is_asynchronous {
                drive::<true>(workload, (STALL_AT, STALL))
            } else {
                drive::<false>(workload, (STALL_AT, STALL))
            };
            shows_the_stall(&seen)?;
            let own = seen.longer_than(TOTAL, SLACK);
            hold(own == 1, || {
                format!("{kind}: {own} took long themselves, not only the one that was issued")
            })?;
            let (_, late, missed) = seen.outcome.arrivals;
            assert!(late as f64 > 0.85 * RATE * STALL as f64 / 1e9, "{kind}: {late} late");
            hold(missed <= 1, || format!("{kind}: {missed} missed"))
        });
    }
}

#[test]
fn a_closed_loop_shows_just_one() {
    on_a_quiet_machine(|| {
        for seen in [
            drive::<true>(paced("closed", 1), (STALL_AT, STALL)),
            drive::<false>(paced("closed", 1), (STALL_AT, STALL)),
        ] {
            assert_eq!(seen.longer_than(TOTAL, STALL - SLACK), 1);
            let longest = *seen.values(TOTAL).last().unwrap();
            hold(longest.abs_diff(STALL) < SLACK, || format!("{longest}"))?;
        }
        Ok(())
    });
}

#[test]
fn a_stall_that_outlasts_the_runtime_is_measured_to_its_end() {
    on_a_quiet_machine(|| {
        let seen = drive::<false>(paced("closed", 1), (400 * MS, 1200 * MS));
        let longest = *seen.values(TOTAL).last().unwrap();
        hold(longest.abs_diff(1200 * MS) < SLACK, || format!("{longest}"))?;
        let (start, end, _) = seen.outcome.window_ticks;
        let measured = drivelab_engine::clock::Clock::get().nanoseconds(end - start);
        hold(measured.abs_diff(1600 * MS) < 2 * SLACK, || format!("{measured} ns measured"))
    });
}

#[test]
fn arrivals_that_a_stall_at_the_end_swallows_are_missed_not_forgotten() {
    for kind in ["fixed", "poisson"] {
        on_a_quiet_machine(|| {
            let seen = drive::<true>(paced(kind, 1), (400 * MS, 600 * MS));
            let (issued, _, missed) = seen.outcome.arrivals;
            let spread = if kind == "fixed" { 2 } else { 200 };
            assert!((issued + missed).abs_diff(1600) <= spread, "{kind}: {issued} issued, {missed} missed");
            assert_eq!(seen.outcome.stop_reason, StopReason::Runtime);
            assert_eq!(seen.outcome.all_phases[READ].count, issued);
            assert_eq!(
                seen.sum.counts[READ].count, issued,
                "the one that ends after the deadline is counted"
            );
            let long = seen.longer_than(TOTAL, 500 * MS);
            hold(long == 1, || format!("{kind}: {long} took longer than 500 ms, not the stalled one alone"))?;
            hold(missed.abs_diff(800) < 150, || format!("{kind}: {missed} missed"))
        });
    }
}
