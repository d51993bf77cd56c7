//! Collecting a trace while a workload runs, and making a recording of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array};
use drivelab_trace::calls::{ARGUMENTS, Call, LiveCalls, Missing, Started, calls};
use drivelab_trace::collect::{Collector, Kind, Options, Raw};
use drivelab_trace::events::format::PageFormat;
use drivelab_trace::events::layout::event_names;
use drivelab_trace::events::recording::{Description, write};
use drivelab_trace::rings::{Request, Requests, requests};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

use crate::convert::ArrowTable;

/// Empties the kernel's trace buffers in a thread of its own until it is stopped.
#[pyclass(frozen, module = "drivelab._engine")]
pub struct TraceCollector {
    collector: Mutex<Option<Collector>>,
}

#[pymethods]
impl TraceCollector {
    #[new]
    #[pyo3(signature = (files, *, header_page, buffer_bytes, interval_ns, memory_limit_bytes, spill_directory=None))]
    fn new(
        files: Vec<(u32, PathBuf)>,
        header_page: Option<&str>,
        buffer_bytes: usize,
        interval_ns: u64,
        memory_limit_bytes: usize,
        spill_directory: Option<PathBuf>,
    ) -> PyResult<Self> {
        let kind = match header_page {
            Some(text) => Kind::Pages(
                PageFormat::parse(text).map_err(|error| PyValueError::new_err(error.to_string()))?,
            ),
            None => Kind::Relay,
        };
        let interval = Duration::from_nanos(interval_ns);
        let options = Options { kind, interval, buffer_bytes, memory_limit_bytes, spill_directory };
        Ok(Self { collector: Mutex::new(Some(Collector::start(&files, options)?)) })
    }

    /// Reads what is still there, and ends.
    fn stop(&self, py: Python<'_>) -> PyResult<CollectedTrace> {
        let collector =
            self.collector.lock().map_err(|error| PyRuntimeError::new_err(error.to_string()))?.take();
        let collector = collector.ok_or_else(|| PyRuntimeError::new_err("it was stopped before"))?;
        let raw = py.detach(|| collector.stop());
        Ok(CollectedTrace {
            bytes: raw.bytes(),
            thread_cpu_ns: raw.thread_cpu_ns,
            rounds: raw.rounds,
            is_full: raw.is_full,
            failure: raw.failure.as_ref().map(ToString::to_string),
            raw: Mutex::new(raw),
        })
    }
}

/// What was collected.
#[pyclass(frozen, module = "drivelab._engine")]
pub struct CollectedTrace {
    /// Length of everything.
    #[pyo3(get)]
    bytes: u64,
    /// Processor time of the thread that collected.
    #[pyo3(get)]
    thread_cpu_ns: u64,
    /// How often it looked.
    #[pyo3(get)]
    rounds: u64,
    /// Whether there was no room any more.
    #[pyo3(get)]
    is_full: bool,
    /// What ended it early.
    #[pyo3(get)]
    failure: Option<String>,
    raw: Mutex<Raw>,
}

#[pymethods]
impl CollectedTrace {
    /// Writes `base.blktrace.CPU` for every CPU; what was written, as JSON.
    fn write(&self, py: Python<'_>, base: PathBuf, description_json: &str) -> PyResult<String> {
        let description: Description = serde_json::from_str(description_json)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let written = py.detach(|| {
            let mut raw = self.raw.lock().map_err(|error| error.to_string());
            raw.as_mut().map_err(|error| error.clone()).map(|raw| write(raw, &description, &base))
        });
        let summary = written.map_err(PyRuntimeError::new_err)?.map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => PyValueError::new_err(error.to_string()),
            _ => PyErr::from(error),
        })?;
        serde_json::to_string(&summary).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The system calls in it, who started whom, and counts as JSON.
    fn calls(
        &self,
        py: Python<'_>,
        header_page: &str,
        formats: Vec<String>,
    ) -> PyResult<(ArrowTable, ArrowTable, String)> {
        let found = py.detach(|| {
            let mut raw = self.raw.lock().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            calls(&mut raw, header_page, &formats).map_err(PyErr::from)
        })?;
        let counts = counts(found.unfinished, found.unbegun, &found.missing);
        Ok((call_columns(&found.calls), started_columns(&found.started), counts))
    }

    /// The requests of io_uring in it, and counts as JSON.
    fn requests(
        &self,
        py: Python<'_>,
        header_page: &str,
        formats: Vec<String>,
    ) -> PyResult<(ArrowTable, String)> {
        let found = py.detach(|| {
            let mut raw = self.raw.lock().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            requests(&mut raw, header_page, &formats).map_err(PyErr::from)
        })?;
        let counts = counts(found.unfinished, found.unbegun, &found.missing);
        Ok((request_columns(&found), counts))
    }
}

/// System calls while they are being recorded.
#[pyclass(module = "drivelab._engine")]
pub struct LiveTrace {
    calls: LiveCalls,
}

#[pymethods]
impl LiveTrace {
    #[new]
    fn new(header_page: &str, formats: Vec<String>) -> PyResult<Self> {
        let calls = LiveCalls::new(header_page, &formats);
        Ok(Self { calls: calls.map_err(|error| PyValueError::new_err(error.to_string()))? })
    }

    /// The calls that have returned since it was asked before, and pages that were left out.
    fn next(&mut self, py: Python<'_>, collector: &TraceCollector) -> PyResult<(ArrowTable, u64)> {
        let lock = collector.collector.lock().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let (pages, left_out) = lock.as_ref().map_or_else(Default::default, Collector::watched);
        drop(lock);
        let found = py.detach(|| self.calls.next(&pages));
        Ok((call_columns(&found.calls), left_out))
    }
}

fn counts(unfinished: u64, unbegun: u64, missing: &Missing) -> String {
    json!({
        "unfinished": unfinished,
        "unbegun": unbegun,
        "damaged_pages": missing.damaged_pages,
        "gaps": missing.gaps.len(),
    })
    .to_string()
}

fn request_columns(found: &Requests) -> ArrowTable {
    let whole = |of: &dyn Fn(&Request) -> i64| -> ArrayRef {
        Arc::new(found.requests.iter().map(|request| Some(of(request))).collect::<Int64Array>())
    };
    let flag = |of: &dyn Fn(&Request) -> bool| -> ArrayRef {
        Arc::new(found.requests.iter().map(|request| Some(of(request))).collect::<BooleanArray>())
    };
    ArrowTable::new(vec![
        ("thread", whole(&|request| i64::from(request.thread))),
        ("opcode", whole(&|request| i64::from(request.opcode))),
        ("descriptor", whole(&|request| i64::from(request.descriptor.unwrap_or(-1)))),
        ("start_ns", whole(&|request| request.start_ns.cast_signed())),
        ("end_ns", whole(&|request| request.end_ns.cast_signed())),
        ("result", whole(&|request| request.result)),
        ("is_polled", flag(&|request| request.is_polled)),
        ("is_registered", flag(&|request| request.is_registered)),
        ("is_handed_over", flag(&|request| request.is_handed_over)),
        ("is_doubtful", flag(&|request| request.is_doubtful)),
    ])
}

pub(crate) fn started_columns(started: &[Started]) -> ArrowTable {
    let thread = |of: &dyn Fn(&Started) -> u32| -> ArrayRef {
        Arc::new(started.iter().map(|one| Some(of(one).cast_signed())).collect::<Int32Array>())
    };
    let whole = |of: &dyn Fn(&Started) -> u64| -> ArrayRef {
        Arc::new(started.iter().map(|one| Some(of(one).cast_signed())).collect::<Int64Array>())
    };
    ArrowTable::new(vec![
        ("parent", thread(&|one| one.parent)),
        ("child", thread(&|one| one.child)),
        ("time_ns", whole(&|one| one.time_ns)),
        ("flags", whole(&|one| one.flags)),
    ])
}

pub(crate) fn call_columns(calls: &[Call]) -> ArrowTable {
    const NAMES: [&str; ARGUMENTS] = ["argument_0", "argument_1", "argument_2", "argument_3", "argument_5"];
    let whole = |of: &dyn Fn(&Call) -> i64| -> ArrayRef {
        Arc::new(calls.iter().map(|call| Some(of(call))).collect::<Int64Array>())
    };
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("thread", whole(&|call| i64::from(call.thread))),
        ("process", whole(&|call| i64::from(call.process))),
        ("number", whole(&|call| i64::from(call.number))),
        ("start_ns", whole(&|call| call.start_ns.cast_signed())),
        ("end_ns", whole(&|call| call.end_ns.cast_signed())),
        ("result", whole(&|call| call.result)),
    ];
    for (at, name) in NAMES.into_iter().enumerate() {
        columns.push((name, whole(&|call| call.arguments[at].cast_signed())));
    }
    let doubtful = calls.iter().map(|call| Some(call.is_doubtful)).collect::<BooleanArray>();
    columns.push(("is_doubtful", Arc::new(doubtful)));
    columns.push(("has_slept", Arc::new(calls.iter().map(|call| call.has_slept).collect::<BooleanArray>())));
    ArrowTable::with_nulls(columns, &["has_slept"])
}

/// Names of the kernel's trace events of which a recording can be made.
#[pyfunction]
pub fn trace_event_names() -> Vec<&'static str> {
    event_names()
}
