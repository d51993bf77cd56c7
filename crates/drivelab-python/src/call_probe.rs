//! System calls of followed threads, recorded by programs in the kernel.

use std::sync::Mutex;
use std::time::Duration;

use drivelab_trace::probe::{CallProbe as Probe, Options};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::json;

use crate::convert::ArrowTable;
use crate::trace_collect::{call_columns, started_columns};

/// Records the calls of threads until it is stopped.
#[pyclass(frozen, module = "drivelab._engine")]
pub struct CallProbe {
    probe: Mutex<Option<Probe>>,
}

impl CallProbe {
    fn with<T>(&self, of: impl FnOnce(&Probe) -> T) -> PyResult<T> {
        let lock = self.probe.lock().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        lock.as_ref().map(of).ok_or_else(|| PyRuntimeError::new_err("it was stopped before"))
    }
}

#[pymethods]
impl CallProbe {
    #[new]
    #[pyo3(signature = (
        numbers, *, of_paths, of_pairs, of_mappings, fork_format, exec_format, buffer_bytes, interval_ns,
        memory_limit_bytes, threads_max, dispensable
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
    fn new(
        py: Python<'_>,
        numbers: Vec<u32>,
        of_paths: [Vec<u32>; 2],
        of_pairs: Vec<u32>,
        of_mappings: Vec<u32>,
        fork_format: String,
        exec_format: String,
        buffer_bytes: usize,
        interval_ns: u64,
        memory_limit_bytes: usize,
        threads_max: u32,
        dispensable: Vec<u32>,
    ) -> PyResult<Self> {
        let interval = Duration::from_nanos(interval_ns);
        let options = Options {
            numbers,
            of_paths,
            of_pairs,
            of_mappings,
            fork_format,
            exec_format,
            buffer_bytes,
            interval,
            memory_limit_bytes,
            threads_max,
            dispensable,
        };
        let probe = py.detach(|| Probe::attach(&options))?;
        Ok(Self { probe: Mutex::new(Some(probe)) })
    }

    /// Follows threads, and those that they start.
    fn follow(&self, threads: Vec<u32>) -> PyResult<()> {
        Ok(self.with(|probe| probe.follow(&threads))??)
    }

    /// The threads that are followed now.
    fn threads(&self) -> PyResult<Vec<u32>> {
        self.with(|probe| probe.threads().into_iter().collect())
    }

    /// The calls that have returned since it was asked before.
    fn newest(&self) -> PyResult<ArrowTable> {
        self.with(|probe| call_columns(&probe.newest()))
    }

    /// Ends it: the calls, who started whom, and the rest as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<(ArrowTable, ArrowTable, String)> {
        let probe = self.probe.lock().map_err(|error| PyRuntimeError::new_err(error.to_string()))?.take();
        let probe = probe.ok_or_else(|| PyRuntimeError::new_err("it was stopped before"))?;
        let found = py.detach(|| probe.stop());
        let told = json!({
            "facts": {
                "unfinished": found.unfinished,
                "unbegun": found.unbegun,
                "gaps": found.gaps,
                "calls_of_32_bits": found.of_32_bits,
                "threads_not_followed": found.unfollowed,
                "recorded_until_ns": found.recorded_until_ns,
            },
            "lost_events": found.lost,
            "names": found.names,
            "paths": found.paths,
        });
        Ok((call_columns(&found.calls), started_columns(&found.started), told.to_string()))
    }
}
