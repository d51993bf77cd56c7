//! Workloads, targets and runs for the tests, and what must hold after each of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use drivelab_engine::error::EngineError;
use drivelab_engine::iolog::Record;
use drivelab_engine::run::{Listener, Outcome, Progress, run};
use drivelab_engine::series::{EVENTS, LATENCIES, Row, TOTAL, is_pair};
use drivelab_engine::summary::summary;
use drivelab_engine::workload::Workload;
use serde_json::{Value, json};

/// Every way to issue I/O.
pub const BACKENDS: [&str; 8] = ["sync", "uring", "aio", "posixaio", "mmap", "stdio", "splice", "null"];
/// Those that move data.
pub const WITH_DATA: [&str; 7] = ["sync", "uring", "aio", "posixaio", "mmap", "stdio", "splice"];
/// Those that can bypass the page cache.
pub const CAN_BE_DIRECT: [&str; 4] = ["sync", "uring", "aio", "posixaio"];
/// Those that can give blocks up.
pub const CAN_TRIM: [&str; 7] = ["sync", "uring", "aio", "posixaio", "mmap", "splice", "null"];
/// Those under which a file can grow.
pub const CAN_APPEND: [&str; 6] = ["sync", "uring", "aio", "posixaio", "stdio", "splice"];
/// Those that do one I/O after the other.
pub const ONE_AT_A_TIME: [&str; 4] = ["sync", "mmap", "stdio", "splice"];
pub const KIB: u64 = 1024;
pub const MIB: u64 = 1024 * KIB;

/// Queue depths that a backend can have.
pub fn depths(backend: &str) -> &'static [u32] {
    if ONE_AT_A_TIME.contains(&backend) { &[1] } else { &[1, 8, 32] }
}

/// A file of the test, removed at its end.
pub struct TestFile(pub PathBuf);

impl TestFile {
    /// A path at which there is nothing yet.
    pub fn missing() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Self(folder.join(format!("target-{}-{number}", std::process::id())))
    }

    /// A file of `size` bytes, all of them `byte`.
    pub fn filled(size: u64, byte: u8) -> Self {
        let file = Self::missing();
        fs::write(&file.0, vec![byte; size as usize]).unwrap();
        file
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.0).unwrap()
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A workload: 4 KiB reads, with what `changes` says otherwise.
pub fn workload_json(backend: &str, path: &str, changes: Value) -> Value {
    let mut workload = json!({
        "target": {"path": path, "offset_bytes": 0, "size_bytes": 0, "create": false, "exclusive": false,
            "held": null, "others": []},
        "backend": backend,
        "operations": [{"operation": "read", "weight": 1.0}],
        "block_sizes": [{"bytes": 4096, "weight": 1.0}],
        "access": {"kind": "random", "stride_bytes": 0, "zipf_theta": 0.99, "hot_range_fraction": 0.1,
            "hot_access_fraction": 0.9, "pareto_h": 0.2, "normal_deviation": 0.1, "run_blocks": 1,
            "random_fraction": 1.0, "covers_once": false},
        "shift_bytes": 0, "queue_depth": 1, "submission_batch": 0, "completion_batch": 0,
        "completion_batch_min": 0, "refill_depth": 0,
        "submission_latency": "sampled", "job_count": 1, "share_range": false,
        "direct": false,
        "durability": {"method": "none", "every_writes": 1, "at_end": false, "last": "due",
            "order": "after_write"},
        "file_state": "overwrite",
        "contents": {"kind": "random", "compressible_fraction": 0.0, "duplicate_fraction": 0.0,
            "pattern": "", "check": "stamps", "check_bytes": 0, "check_offset": 0},
        "pacing": {"kind": "closed", "rate_per_s": 0.0, "think_ns": 0, "think_every": 1,
            "think_after_ns": 0},
        "limits": {"runtime_ns": 0, "bytes": 0, "count": 0, "looks_ns": []},
        "ramp_ns": 0, "interval_ns": 10_000_000, "seed": 1, "record_ios": false, "pin_cpus": [],
        "polled_completion": false, "polled_submission": false, "verify": false,
        "rewrite_fraction": 0.0,
        "job_files": {"count": 1, "order": "round_robin", "ios_per_turn": 1, "open_max": 0},
    });
    merge(&mut workload, changes);
    workload
}

/// The workload of [`workload_json`], as the engine takes it.
pub fn workload(backend: &str, path: &str, changes: Value) -> Workload {
    Workload::from_json(&workload_json(backend, path, changes).to_string()).unwrap()
}

/// One operation, as a workload lists it.
pub fn only(operation: &str) -> Value {
    json!([{"operation": operation, "weight": 1.0}])
}

/// One block size, as a workload lists it.
pub fn blocks_of(bytes: u64) -> Value {
    json!([{"bytes": bytes, "weight": 1.0}])
}

fn merge(into: &mut Value, changes: Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, value) in changes {
                assert!(into.contains_key(&key), "a workload has no {key}");
                merge(&mut into[&key], value);
            }
        }
        (into, changes) => *into = changes,
    }
}

/// What a run found, with everything it told on the way.
pub struct Found {
    pub outcome: Outcome,
    pub summary: Value,
    /// Records with their job.
    pub records: Vec<(u32, Record)>,
    pub progress: Vec<Progress>,
}

/// Runs a workload to its end.
pub fn run_all(workload: Workload) -> Result<Found, EngineError> {
    run_while(workload, &Arc::default(), |_| true)
}

/// Runs a workload until a look, of which `goes_on` is told the rows and the time, says that it is known well enough.
pub fn run_with_looks(
    workload: Workload,
    mut goes_on: impl FnMut(&[Row], u64) -> bool,
) -> Result<Found, EngineError> {
    run_listened(workload, &Arc::default(), |_| true, &mut goes_on)
}

/// Runs a workload until its end, until the flag is set, or until `go_on` says no.
pub fn run_while(
    workload: Workload,
    stop: &Arc<AtomicBool>,
    go_on: impl FnMut(&Progress) -> bool,
) -> Result<Found, EngineError> {
    run_listened(workload, stop, go_on, &mut |_, _| true)
}

fn run_listened(
    workload: Workload,
    stop: &Arc<AtomicBool>,
    mut go_on: impl FnMut(&Progress) -> bool,
    on_look: &mut dyn FnMut(&[Row], u64) -> bool,
) -> Result<Found, EngineError> {
    let (mut records, mut progress) = (Vec::new(), Vec::new());
    let mut on_progress = |now: &Progress| {
        progress.push(now.clone());
        go_on(now)
    };
    let mut on_records = |chunk: &drivelab_engine::iolog::Chunk, _: &_| {
        records.extend(chunk.records.iter().map(|record| (chunk.job, *record)));
        Ok(())
    };
    let mut listener = Listener { on_progress: &mut on_progress, on_look, on_records: &mut on_records };
    let outcome = run(workload.clone(), stop, &mut listener)?;
    let summary = summary(&workload, &outcome);
    Ok(Found { outcome, summary, records, progress })
}

impl Found {
    /// A number of the summary, 0 where the operation does not occur.
    pub fn number(&self, part: &str, operation: &str, key: &str) -> u64 {
        self.summary[part][operation][key].as_u64().unwrap_or(0)
    }

    /// Completed reads, writes and trims of the window.
    pub fn count(&self) -> u64 {
        ["read", "write", "trim"].iter().map(|name| self.number("operations", name, "count")).sum()
    }

    pub fn stopped_by(&self) -> &str {
        self.summary["stopped_by"].as_str().unwrap()
    }

    /// The row of one latency over the whole window.
    pub fn row(&self, operation: &str, latency: &str) -> Option<&Row> {
        self.outcome.histogram_rows.iter().find(|row| is_of(row, operation, latency))
    }

    /// Records of one operation, by its name.
    pub fn records_of(&self, operation: &str) -> Vec<Record> {
        let number = event_of(operation);
        let records = self.records.iter().map(|(_, record)| *record);
        records.filter(|record| usize::from(record.operation) == number).collect()
    }

    /// What must hold after every run, whatever it did.
    pub fn check_the_books(&self) {
        for operation in EVENTS {
            self.check_operation(operation);
        }
        let measured_ns = self.summary["measured_ns"].as_u64().unwrap();
        for row in &self.outcome.interval_rows {
            assert!(row.duration_ns > 0 && row.start_ns <= measured_ns + row.duration_ns, "{row:?}");
        }
        if self.outcome.abandoned_jobs == 0 && !self.summary["recorder"].is_null() {
            assert_eq!(self.summary["recorder"]["rows"].as_u64().unwrap(), self.records.len() as u64);
        }
    }

    fn check_operation(&self, operation: &str) {
        let (count, bytes) =
            (self.number("operations", operation, "count"), self.number("operations", operation, "bytes"));
        assert!(
            self.number("all_phases", operation, "count") >= count,
            "{operation}: more measured than done"
        );
        assert!(
            self.number("all_phases", operation, "bytes") >= bytes,
            "{operation}: more measured than done"
        );
        for (latency, name) in LATENCIES.iter().enumerate() {
            let Some(row) = self.row(operation, name) else {
                assert!(latency != TOTAL || count == 0, "{operation} has no {name} histogram");
                continue;
            };
            // One call of io_uring sends and waits: then the parts are timed of a sample, both of the same.
            let is_sample = latency < TOTAL && self.summary["backend"]["name"] == "uring";
            let submissions = self.row(operation, "submission").map_or(count, |row| row.counts.count);
            let expected = if is_sample { submissions.min(count) } else { count };
            assert_eq!(row.counts.count, expected, "{operation} {name}");
            assert_eq!(row.bucket_counts.iter().sum::<u64>(), expected, "{operation} {name}");
            assert!(row.extremes.0 <= row.extremes.1 && row.extremes.1 <= row.extremes.2, "{row:?}");
        }
        let intervals: Vec<_> =
            self.outcome.interval_rows.iter().filter(|row| is_of(row, operation, "total")).collect();
        let numbers: Vec<_> = intervals.iter().map(|row| row.interval).collect();
        assert_eq!(
            numbers,
            (0..numbers.len() as u32).collect::<Vec<_>>(),
            "{operation}: a gap in the intervals"
        );
        let sum = |of: fn(&Row) -> u64| intervals.iter().map(|row| of(row)).sum::<u64>();
        assert_eq!(sum(|row| row.counts.count), count, "{operation} by interval");
        assert_eq!(sum(|row| row.counts.bytes), bytes, "{operation} by interval");
        assert_eq!(sum(|row| row.counts.errors), self.number("operations", operation, "errors"));
        if let Some(row) = self.row(operation, "total") {
            assert_eq!(sum(|row| row.extremes.2), row.extremes.2, "{operation}: sum of the latencies");
            assert_eq!(intervals.iter().map(|row| row.extremes.1).max(), Some(row.extremes.1));
        }
        if !self.summary["recorder"].is_null() && !is_pair(event_of(operation)) {
            let (done, failed): (Vec<_>, Vec<_>) =
                self.records_of(operation).into_iter().partition(|record| record.result >= 0);
            assert_eq!(done.len() as u64, count, "{operation} in the records");
            assert_eq!(done.iter().map(|record| record.result as u64).sum::<u64>(), bytes, "{operation}");
            assert_eq!(failed.len() as u64, self.number("operations", operation, "errors"), "{operation}");
        }
    }
}

fn event_of(operation: &str) -> usize {
    EVENTS.iter().position(|name| *name == operation).unwrap()
}

fn is_of(row: &Row, operation: &str, latency: &str) -> bool {
    EVENTS[row.event] == operation && LATENCIES[row.latency] == latency
}
