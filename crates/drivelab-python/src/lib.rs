//! Python binding of the engine. Converts and exports; holds no algorithm.

mod call_probe;
mod convert;
mod errors;
mod serve;
mod trace_collect;
mod trace_join;
mod trace_read;

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drivelab_engine::backend::choose::choose;
use drivelab_engine::backend::{aio, ring};
use drivelab_engine::clock::Clock;
use drivelab_engine::error::{Code, EngineError as Failure};
use drivelab_engine::run::{
    Listener, Progress, StartGate as Gate, prepare as prepare_workload, run_beside as run_workload,
};
use drivelab_engine::series::{EVENTS, Row};
use drivelab_engine::simulated::SimulatedDrive as Simulated;
use drivelab_engine::summary::{source_name, summary};
use drivelab_engine::tree::remove_own_tree;
use drivelab_engine::workload::{PacingKind, Workload};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::json;

use crate::convert::ArrowTable;
use crate::errors::EngineError;

/// Entries that are removed between two looks at Python's signals.
const SIGNALS_EVERY: u64 = 1 << 12;

/// Asks a running workload to end; may be set from any thread or signal handler.
#[pyclass(frozen, module = "drivelab._engine")]
struct StopFlag {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl StopFlag {
    #[new]
    fn new() -> Self {
        Self { flag: Arc::new(AtomicBool::new(false)) }
    }

    /// Asks for the end.
    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// Where runs in several threads wait for each other, so that they begin at the same moment.
#[pyclass(frozen, module = "drivelab._engine")]
struct StartGate {
    gate: Gate,
}

#[pymethods]
impl StartGate {
    #[new]
    fn new(run_count: u32) -> Self {
        Self { gate: Gate::new(run_count) }
    }

    /// Whether all but so many runs wait here.
    fn misses(&self, run_count: u32) -> bool {
        self.gate.misses(run_count)
    }

    /// Opens it for those that wait, at a moment of CLOCK_MONOTONIC, in place of the run that is missing.
    fn open_at(&self, monotonic_ns: u64) {
        self.gate.open_at(monotonic_ns);
    }

    /// Lets nobody begin, unless all have begun already.
    fn shut(&self) {
        self.gate.shut();
    }
}

/// A simulated drive: what it holds, and its own time.
#[pyclass(frozen, module = "drivelab._engine")]
struct SimulatedDrive {
    drive: Simulated,
}

#[pymethods]
impl SimulatedDrive {
    #[new]
    fn new(model_json: &str, seed: u64) -> PyResult<Self> {
        Ok(Self { drive: Simulated::new(model_json, seed).map_err(errors::to_python)? })
    }

    /// What it has counted since it was made, as JSON, and its time.
    fn counters(&self) -> String {
        let counters = self.drive.lock().counters();
        let [reads, writes, trims, flushes] = counters.commands;
        let [bytes_read, bytes_written, bytes_trimmed, _] = counters.bytes;
        json!({
            "now_ns": self.drive.time().now(),
            "reads": reads, "writes": writes, "trims": trims, "flushes": flushes,
            "bytes_read": bytes_read, "bytes_written": bytes_written, "bytes_trimmed": bytes_trimmed,
            "flash_bytes_written": counters.flash_bytes_written as u64,
            "erased_blocks": counters.erased_blocks,
        })
        .to_string()
    }

    /// Lets time pass in which nobody asks it for anything.
    fn rest(&self, duration_ns: u64) {
        let time = self.drive.time();
        time.set(time.now() + duration_ns);
    }

    /// Has data where there are none, as if they had been written long ago.
    fn lay_out(&self, offset: u64, size_bytes: u64) {
        self.drive.lock().lay_out(offset, size_bytes);
    }

    /// Empties its write cache, and how long that takes.
    fn flush(&self) -> u64 {
        self.drive.flush()
    }
}

/// A workload as JSON, on a simulated drive where there is one.
fn workload_on(json: &str, drive: Option<&Py<SimulatedDrive>>) -> PyResult<Workload> {
    let mut workload = Workload::from_json(json).map_err(errors::to_python)?;
    workload.target.simulated = drive.map(|drive| drive.get().drive.clone());
    Ok(workload)
}

/// What a run found.
#[pyclass(frozen, get_all, module = "drivelab._engine")]
struct EngineResult {
    /// The numbers as JSON.
    summary: String,
    /// Latency histograms of the whole window.
    histograms: Py<ArrowTable>,
    /// Latency histograms by interval.
    intervals: Py<ArrowTable>,
}

/// Runs a workload and returns what was found.
#[pyfunction]
#[pyo3(signature = (workload_json, stop, on_interval=None, on_records=None, start=None, drive=None, on_look=None))]
#[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
fn run(
    py: Python<'_>,
    workload_json: &str,
    stop: &StopFlag,
    on_interval: Option<Py<PyAny>>,
    on_records: Option<Py<PyAny>>,
    start: Option<Py<StartGate>>,
    drive: Option<Py<SimulatedDrive>>,
    on_look: Option<Py<PyAny>>,
) -> PyResult<EngineResult> {
    let workload = workload_on(workload_json, drive.as_ref())?;
    let flag = Arc::clone(&stop.flag);
    // An exception in a callback ends the run; it is raised once the jobs have stopped.
    let asked = workload.clone();
    let is_open_loop = workload.pacing.kind != PacingKind::Closed;
    let (outcome, raised) = py.detach(|| {
        let raised: Cell<Option<PyErr>> = Cell::new(None);
        // After that nobody is called any more.
        let has_failed = Cell::new(false);
        let mut on_progress = |progress: &Progress| {
            if has_failed.get() {
                return false;
            }
            let answer = Python::attach(|py| tell_progress(py, on_interval.as_ref(), progress, &asked));
            answer.unwrap_or_else(|error| {
                has_failed.set(true);
                raised.set(Some(error));
                false
            })
        };
        let mut on_rows = |rows: &[Row], counted_ns: u64| {
            let Some(callback) = on_look.as_ref().filter(|_| !has_failed.get()) else { return true };
            let answer = Python::attach(|py| tell_look(py, callback, rows, counted_ns));
            answer.unwrap_or_else(|error| {
                has_failed.set(true);
                raised.set(Some(error));
                false
            })
        };
        let mut on_chunk = |chunk: &_, clock: &Clock| {
            if has_failed.get() {
                return Ok(());
            }
            let told = Python::attach(|py| tell_records(py, on_records.as_ref(), chunk, clock, is_open_loop));
            told.map_err(|error| {
                raised.set(Some(error));
                Failure::new(Code::Bug, "the reader of records has failed")
            })
        };
        let mut listener =
            Listener { on_progress: &mut on_progress, on_look: &mut on_rows, on_records: &mut on_chunk };
        let gate = start.as_ref().map(|start| &start.get().gate);
        let outcome = run_workload(asked.clone(), &flag, &mut listener, gate);
        (outcome, raised.into_inner())
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let outcome = outcome.map_err(errors::to_python)?;
    Ok(EngineResult {
        summary: summary(&workload, &outcome).to_string(),
        histograms: Py::new(py, ArrowTable::of_rows(&outcome.histogram_rows, false))?,
        intervals: Py::new(py, ArrowTable::of_rows(&outcome.interval_rows, true))?,
    })
}

/// Brings a workload's target into the state it expects; False when the flag was set meanwhile.
#[pyfunction]
fn prepare(py: Python<'_>, workload_json: &str, stop: &StopFlag) -> PyResult<bool> {
    let workload = Workload::from_json(workload_json).map_err(errors::to_python)?;
    let (prepared, raised) = py.detach(|| {
        let mut raised = None;
        let mut on_tick = || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                raised = Some(error);
                false
            }
        };
        let prepared = prepare_workload(&workload, &stop.flag, &mut on_tick);
        (prepared, raised)
    });
    match raised {
        Some(error) => Err(error),
        None => prepared.map_err(errors::to_python),
    }
}

/// What a client and a server take beside a log write, in ns: `drivelab_engine::round_trip`.
#[pyfunction]
fn round_trip_ns(py: Python<'_>, log: PathBuf, length_ns: u64) -> PyResult<f64> {
    Ok(py.detach(|| drivelab_engine::round_trip::round_trip_ns(&log, Duration::from_nanos(length_ns)))?)
}

/// Returns only if the backend of a workload can issue it here, whatever its target is.
#[pyfunction]
fn require_backend(workload_json: &str) -> PyResult<()> {
    let workload = Workload::from_json(workload_json).map_err(errors::to_python)?;
    choose(&workload).map(|_| ()).map_err(errors::to_python)
}

/// Removes the files that were made below a directory; False when the flag was set meanwhile.
#[pyfunction]
fn remove_tree(py: Python<'_>, path: PathBuf, stop: &StopFlag) -> PyResult<bool> {
    let mut raised = None;
    let mut entries = 0_u64;
    let removed = py.detach(|| {
        let mut may_go_on = || {
            entries += 1;
            if entries.is_multiple_of(SIGNALS_EVERY) && raised.is_none() {
                raised = Python::attach(|py| py.check_signals()).err();
            }
            raised.is_none() && !stop.flag.load(Ordering::Relaxed)
        };
        remove_own_tree(&path, &mut may_go_on)
    });
    match raised {
        Some(error) => Err(error),
        None => removed.map_err(errors::to_python),
    }
}

fn tell_progress(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    progress: &Progress,
    workload: &Workload,
) -> PyResult<bool> {
    // Lets Ctrl-C through: Python runs its signal handlers only when asked.
    py.check_signals()?;
    let Some(callback) = callback else { return Ok(true) };
    let told = EVENTS.iter().zip(progress.counts.iter().zip(&progress.latencies_ns));
    let operations: serde_json::Map<_, _> = told
        .filter(|(_, (counts, _))| counts.0 > 0)
        .map(|(event, ((count, bytes), (typical_ns, slowest_ns)))| {
            let one =
                json!({"count": count, "bytes": bytes, "typical_ns": typical_ns, "slowest_ns": slowest_ns});
            ((*event).to_owned(), one)
        })
        .collect();
    let text = json!({
        "elapsed_ns": progress.elapsed_ns,
        "ramping": progress.is_ramping,
        "counted_ns": progress.counted_ns,
        "operations": operations,
        "interval_ns": workload.interval_ns,
    });
    let answer = callback.call1(py, (text.to_string(),))?;
    Ok(answer.extract::<Option<bool>>(py)?.unwrap_or(true))
}

fn tell_look(py: Python<'_>, callback: &Py<PyAny>, rows: &[Row], counted_ns: u64) -> PyResult<bool> {
    callback.call1(py, (ArrowTable::of_rows(rows, true), counted_ns))?.extract(py)
}

fn tell_records(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    chunk: &drivelab_engine::iolog::Chunk,
    clock: &Clock,
    is_open_loop: bool,
) -> PyResult<()> {
    if let Some(callback) = callback.filter(|_| !chunk.records.is_empty()) {
        callback.call1(py, (ArrowTable::of_records(chunk, clock, is_open_loop),))?;
    }
    Ok(())
}

/// What the kernel allows here, and what the clock costs, as JSON.
#[pyfunction]
fn probe() -> String {
    let usable = |result: drivelab_engine::error::Result<()>| match result {
        Ok(()) => json!({"usable": true, "reason": ""}),
        Err(error) => json!({"usable": false, "reason": error.what}),
    };
    let clock = Clock::get();
    json!({
        "uring": usable(ring::probe()),
        "aio": usable(aio::probe()),
        "clock": {
            "source": source_name(clock.source()),
            "cost_ns": clock.cost_ns(),
            "step_ns": clock.step_ns(),
        },
        "version": env!("CARGO_PKG_VERSION"),
    })
    .to_string()
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<StopFlag>()?;
    module.add_class::<StartGate>()?;
    module.add_class::<SimulatedDrive>()?;
    module.add_function(wrap_pyfunction!(serve::serve, module)?)?;
    module.add_class::<EngineResult>()?;
    module.add_class::<ArrowTable>()?;
    module.add("EngineError", module.py().get_type::<EngineError>())?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(prepare, module)?)?;
    module.add_function(wrap_pyfunction!(require_backend, module)?)?;
    module.add_function(wrap_pyfunction!(round_trip_ns, module)?)?;
    module.add_function(wrap_pyfunction!(probe, module)?)?;
    module.add_function(wrap_pyfunction!(remove_tree, module)?)?;
    module.add_function(wrap_pyfunction!(trace_read::btt_table, module)?)?;
    module.add_function(wrap_pyfunction!(trace_read::btt_phases, module)?)?;
    module.add_function(wrap_pyfunction!(trace_join::join_trace, module)?)?;
    module.add("KERNEL_THREADS", PyTuple::new(module.py(), trace_join::kernel_threads())?)?;
    module.add_class::<call_probe::CallProbe>()?;
    module.add_class::<trace_collect::TraceCollector>()?;
    module.add_class::<trace_collect::CollectedTrace>()?;
    module.add_class::<trace_collect::LiveTrace>()?;
    module.add_function(wrap_pyfunction!(trace_collect::trace_event_names, module)?)?;
    Ok(())
}
