//! Simulated drives as network block devices.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;

use drivelab_engine::error::EngineError as Failure;
use drivelab_histogram::Histogram;
use drivelab_nbd::drive::{Answers, KINDS, LATE_NS, ServedDrive};
use drivelab_nbd::protocol::Export;
use drivelab_nbd::server::{Listener, serve as serve_clients};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::{SimulatedDrive, errors};

/// Serves a simulated drive until `goes_on`, asked ten times a second, says no; what was answered, as JSON.
#[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
#[pyfunction]
#[pyo3(signature = (drive, listener, contents, *, is_port, is_volatile, is_rotational, goes_on))]
pub fn serve(
    py: Python<'_>,
    drive: &SimulatedDrive,
    listener: RawFd,
    contents: RawFd,
    is_port: bool,
    is_volatile: bool,
    is_rotational: bool,
    goes_on: Py<PyAny>,
) -> PyResult<String> {
    let export = Export { size_bytes: drive.drive.size_bytes(), is_volatile, is_rotational };
    let refused =
        |error: io::Error| errors::to_python(Failure::from_os("serve it", "the simulated drive", &error));
    let listener = own(listener).map_err(refused)?;
    let listener = if is_port {
        Listener::Tcp(TcpListener::from(listener))
    } else {
        Listener::Unix(UnixListener::from(listener))
    };
    let contents = File::from(own(contents).map_err(refused)?);
    let served = ServedDrive::new(drive.drive.shared(), drive.drive.time().now(), contents, export)
        .map_err(refused)?;
    let (ended, raised) = py.detach(|| {
        let mut raised = None;
        let mut ask = || {
            let answer = Python::attach(|py| {
                py.check_signals()?;
                goes_on.call0(py)?.extract::<bool>(py)
            });
            answer.unwrap_or_else(|error| {
                raised = Some(error);
                false
            })
        };
        (serve_clients(&listener, &served, &mut ask), raised)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    ended.map_err(refused)?;
    let tally = served.tally();
    let operations: serde_json::Map<_, _> = KINDS
        .iter()
        .zip(&tally.answers)
        .filter(|(_, answers)| answers.latency_ns.count > 0)
        .map(|(kind, answers)| ((*kind).to_owned(), told(answers)))
        .collect();
    Ok(json!({
        "served_ns": served.now() - drive.drive.time().now(),
        "operations": operations,
        "late_from_ns": LATE_NS,
        "connections": tally.connections,
        "broken_connections": tally.broken_connections,
        "refused_requests": tally.refused_requests,
        "failed_contents": tally.failed_contents,
    })
    .to_string())
}

fn told(answers: &Answers) -> Value {
    json!({
        "count": answers.latency_ns.count,
        "bytes": answers.bytes,
        "errors": answers.errors,
        "latency_ns": summary_of(&answers.latency_ns),
        "late_ns": summary_of(&answers.late_ns),
        "late_count": answers.late_count,
    })
}

fn summary_of(histogram: &Histogram<u32>) -> Value {
    json!({
        "mean": histogram.sum as f64 / histogram.count as f64,
        "p50": histogram.quantile(0.5),
        "p99": histogram.quantile(0.99),
        "p999": histogram.quantile(0.999),
        "max": histogram.max,
    })
}

/// A descriptor of our own for what a caller holds open.
fn own(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the caller keeps it open during the call
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()
}
