//! The numbers of a run as JSON; `docs/data_format.md` says what each key means.

use serde_json::{Map, Value, json};

use crate::clock::{Clock, Source};
use crate::error::errno_name;
use crate::histogram::Histogram;
use crate::job::{JobOutcome, Levels};
use crate::recording::Starts;
use crate::run::Outcome;
use crate::series::{Counts, EVENTS, LATENCIES, Row, TOTAL, is_pair};
use crate::window::{StopReason, ThreadUsage};
use crate::workload::{PacingKind, Workload};

/// The summary of a run.
#[must_use]
pub fn summary(workload: &Workload, outcome: &Outcome) -> Value {
    let _entered = workload.target.simulated.as_ref().map(|drive| drive.time().enter());
    let clock = Clock::get();
    let jobs = &outcome.jobs;
    let used = |of: fn(&ThreadUsage) -> u64| jobs.iter().map(|job| of(&job.usage)).sum::<u64>();
    let levels = jobs.iter().fold(Levels::default(), |mut sum, job| {
        sum.add(&job.levels);
        sum
    });
    json!({
        "backend": {"name": outcome.choice.backend.name(), "reason": outcome.choice.reason},
        "clock": {
            "source": source_name(clock.source()),
            "cost_ns": clock.cost_ns(),
            "rate_error_ppm": clock.rate_error_ppm(),
        },
        "started_monotonic_ns": outcome.started_monotonic_ns,
        "ramp_ns": workload.ramp_ns,
        "measured_ns": outcome.measured_ns,
        "drain_ns": outcome.drain_ns,
        "achieved": {
            "queue_depth_mean": depth_mean(workload, outcome),
            "queue_depth_max": jobs.iter().map(|job| job.outstanding_max).max().unwrap_or(0),
            "direct": outcome.direct.0,
            "direct_note": outcome.direct.1,
            "job_count": jobs.len(),
            "outstanding_levels": levels.outstanding,
            "sent_levels": levels.sent,
            "found_levels": levels.found,
        },
        "cpu": {
            "user_ns": used(|usage| usage.user),
            "system_ns": used(|usage| usage.system),
            "total_ns": used(|usage| usage.total),
            "context_switches": used(|usage| usage.context_switches),
            "major_faults": used(|usage| usage.major_faults),
            "minor_faults": used(|usage| usage.minor_faults),
        },
        "operations": by_event(&outcome.sum.counts),
        "all_phases": by_event(&all_phases(outcome)),
        "errors": errors(outcome),
        "abandoned_jobs": outcome.abandoned_jobs,
        "threads": threads(outcome),
        "jobs": outcome.apart.iter().map(|job| alone(workload, job)).collect::<Vec<_>>(),
        "arrivals": arrivals(workload, outcome),
        "recorder": recorder(workload, outcome),
        "zones": zones(outcome),
        "stopped_by": stopped_by(outcome).as_str(),
    })
}

/// The summary of one job alone, with its latencies and its intervals: the tables of a run are those of all jobs.
fn alone(workload: &Workload, job: &Outcome) -> Value {
    let mut found = summary(workload, job);
    found["histograms"] = job.histogram_rows.iter().map(latencies).collect();
    let totals = || job.interval_rows.iter().filter(|row| row.latency == TOTAL);
    let column = |of: fn(&Row) -> u64| totals().map(of).collect::<Vec<_>>();
    found["intervals"] = json!({
        "operation": totals().map(|row| EVENTS[row.event]).collect::<Vec<_>>(),
        "start_ns": column(|row| row.start_ns),
        "duration_ns": column(|row| row.duration_ns),
        "count": column(|row| row.counts.count),
        "bytes": column(|row| row.counts.bytes),
    });
    found
}

fn latencies(row: &Row) -> Value {
    json!({
        "operation": EVENTS[row.event],
        "latency": LATENCIES[row.latency],
        "min_ns": row.extremes.0,
        "max_ns": row.extremes.1,
        "sum_ns": row.extremes.2,
        "bucket": row.buckets,
        "bucket_count": row.bucket_counts,
    })
}

/// Name of a clock source in results.
#[must_use]
pub fn source_name(source: Source) -> &'static str {
    match source {
        Source::Tsc => "tsc",
        Source::Monotonic => "clock_monotonic",
        Source::Virtual => "virtual",
    }
}

/// Mean number of I/Os outstanding in each job: time spent in I/O over time passed (Little's law).
///
/// What a ramp began is outstanding in the window and not counted, while all that the window began is waited for: in a
/// closed loop the time passed is one mean latency shorter.
fn depth_mean(workload: &Workload, outcome: &Outcome) -> f64 {
    let histograms = || {
        let events = (0..EVENTS.len()).filter(|&event| !is_pair(event));
        events.filter_map(|event| outcome.sum.histogram(event, TOTAL))
    };
    let spent = histograms().map(|histogram| histogram.sum as f64).fold(0.0, |sum, part| sum + part);
    let count = histograms().map(|histogram| histogram.count).sum::<u64>();
    let window = outcome.measured_ns.max(1) as f64;
    let is_closed = workload.pacing.kind == PacingKind::Closed;
    let shorter = if workload.ramp_ns > 0 && is_closed { spent / count.max(1) as f64 } else { 0.0 };
    spent / ((window - shorter).max(window / 2.0) * outcome.jobs.len().max(1) as f64)
}

fn by_event(counts: &[Counts; EVENTS.len()]) -> Value {
    let filled = (0..EVENTS.len()).filter(|&event| counts[event] != Counts::default());
    let entry = |event: usize| {
        let Counts { count, bytes, errors, short } = counts[event];
        (EVENTS[event].to_owned(), json!({"count": count, "bytes": bytes, "errors": errors, "short": short}))
    };
    Value::Object(filled.map(entry).collect::<Map<_, _>>())
}

fn all_phases(outcome: &Outcome) -> [Counts; EVENTS.len()] {
    let mut sum = [Counts::default(); EVENTS.len()];
    for job in &outcome.jobs {
        sum.iter_mut().zip(&job.all_phases).for_each(|(total, part)| total.add(part));
    }
    sum
}

/// Failed I/Os of all jobs, one entry for each operation and errno.
fn errors(outcome: &Outcome) -> Value {
    let mut merged: Vec<(usize, i32, u64, u64)> = Vec::new();
    for &(event, errno, count, first_offset) in outcome.jobs.iter().flat_map(|job| &job.errors) {
        match merged.iter_mut().find(|known| (known.0, known.1) == (event, errno)) {
            Some(known) => known.2 += count,
            None => merged.push((event, errno, count, first_offset)),
        }
    }
    let entry = |(event, errno, count, first_offset): (usize, i32, u64, u64)| {
        json!({
            "operation": EVENTS[event],
            "errno": errno,
            "name": errno_name(errno),
            "count": count,
            "first_offset_bytes": first_offset,
        })
    };
    merged.into_iter().map(entry).collect()
}

/// The kernel's ids of the jobs' threads, by which a trace of the block layer knows their I/O.
fn threads(outcome: &Outcome) -> Value {
    let mut known: Vec<_> = outcome.jobs.iter().filter(|job| job.thread_id > 0).collect();
    known.sort_by_key(|job| job.job);
    let entry = |job: &&JobOutcome| {
        json!({
            "job": job.job,
            "thread_id": job.thread_id,
            "begun_monotonic_ns": job.begun_monotonic_ns,
        })
    };
    known.iter().map(entry).collect()
}

fn arrivals(workload: &Workload, outcome: &Outcome) -> Value {
    if workload.pacing.kind == PacingKind::Closed {
        return Value::Null;
    }
    let sum =
        |part: fn(&(u64, u64, u64)) -> u64| outcome.jobs.iter().map(|job| part(&job.arrivals)).sum::<u64>();
    let (issued, late, missed) = (sum(|a| a.0), sum(|a| a.1), sum(|a| a.2));
    let mut found = json!({"scheduled": issued + missed, "issued": issued, "late": late, "missed": missed});
    let starts: Vec<_> = outcome.jobs.iter().filter_map(|job| job.starts.as_deref()).collect();
    if !starts.is_empty() {
        found["starts"] = recorded_starts(&starts);
    }
    found
}

/// How well the starts of a recording were kept: how late they were, and when the last one was.
fn recorded_starts(jobs: &[&Starts]) -> Value {
    let mut errors = Histogram::<u64>::new();
    jobs.iter().for_each(|starts| errors.add(&starts.errors));
    json!({
        "error_ns_p50": errors.quantile(0.5),
        "error_ns_p99": errors.quantile(0.99),
        "error_ns_max": errors.max,
        "asked_ns": jobs.iter().map(|starts| starts.asked_ns).max(),
        "achieved_ns": jobs.iter().map(|starts| starts.achieved_ns).max(),
    })
}

fn recorder(workload: &Workload, outcome: &Outcome) -> Value {
    if !workload.record_ios {
        return Value::Null;
    }
    let rows: u64 = outcome.jobs.iter().map(|job| job.recorded.0).sum();
    let stall_ns: u64 = outcome.jobs.iter().map(|job| job.recorded.1).sum();
    json!({"rows": rows, "stall_ns": stall_ns})
}

/// What jobs on zones did to them besides writing.
fn zones(outcome: &Outcome) -> Value {
    let mut counts = outcome.jobs.iter().filter_map(|job| job.zones).peekable();
    if counts.peek().is_none() {
        return Value::Null;
    }
    let (resets, finishes) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    json!({"resets": resets, "finishes": finishes})
}

/// The reason that a reader must know first: an error, then a stop, then what the jobs say.
fn stopped_by(outcome: &Outcome) -> StopReason {
    let reasons = || outcome.jobs.iter().map(|job| job.stop_reason);
    let urgent = [StopReason::Error, StopReason::Caller];
    let first = urgent.into_iter().find(|&urgent| reasons().any(|reason| reason == urgent));
    let reason = first.or_else(|| reasons().next()).unwrap_or(StopReason::Caller);
    if reason == StopReason::Caller && outcome.is_known_well { StopReason::Precision } else { reason }
}
