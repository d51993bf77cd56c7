//! `drivelab btt`: a recording read once, and what its records come to.

use std::path::PathBuf;
use std::time::Duration;

use drivelab_trace::compat::{Flavour, Row, Table};
use drivelab_trace::phases::{Options, Phases};
use drivelab_trace::read::{ReadError, ReadErrorKind, ReadOptions, Recording};
use drivelab_trace::read_ahead::{Next, ReadAhead};
use drivelab_trace::record::{Record, major, minor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::errors::EngineError;

/// How long a Ctrl-C may have to wait for a file that gives nothing.
const PATIENCE: Duration = Duration::from_millis(100);

/// The table of btt, as text and as JSON.
#[pyfunction]
pub fn btt_table(py: Python<'_>, paths: Vec<PathBuf>, flavour: &str, per_device: bool) -> PyResult<String> {
    let flavour = match flavour {
        "1.2" => Flavour::V1_2,
        "legacy" => Flavour::Legacy,
        other => return Err(PyValueError::new_err(format!("no flavour of btt: {other}"))),
    };
    py.detach(|| {
        let options = ReadOptions { compat: true, ..ReadOptions::default() };
        let recording = Recording::open_with(&paths, options).map_err(to_python)?;
        let mut table = Table::new(flavour);
        let (recording, ()) = follow(recording, (), |(), _| {}, |record, _| table.push(record))?;
        let mut found = table_json(&table);
        found["text"] = json!(table.text());
        if per_device {
            found["per_device_text"] = json!(table.per_device_text());
        }
        found["recording"] = json!(recording.summary());
        Ok(found.to_string())
    })
}

/// What the accurate mode tells, as JSON: phases by device, class and size, depths, seeks, warnings.
#[pyfunction]
pub fn btt_phases(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<String> {
    py.detach(|| {
        let options = ReadOptions { without_duplicates: true, ..ReadOptions::default() };
        let recording = Recording::open_with(&paths, options).map_err(to_python)?;
        let mut phases = Phases::new(Options { with_btt: false });
        let (recording, table) =
            follow(recording, Table::bounded(Flavour::V1_2), Table::push, |record, is_after_loss| {
                if is_after_loss {
                    phases.mark_loss();
                }
                phases.push(record);
            })?;
        phases.set_btt(table);
        let summary = recording.summary();
        let mut found = phases.finish(&summary);
        found["recording"] = json!(summary);
        Ok(found.to_string())
    })
}

/// Hands every record on, with whether some are missing before it; lets Ctrl-C through. `show` is called in the thread
/// that reads.
fn follow<T: Send + 'static>(
    recording: Recording,
    state: T,
    show: fn(&mut T, &Record),
    mut take: impl FnMut(&Record, bool),
) -> PyResult<(Recording, T)> {
    let ahead = ReadAhead::start(recording, state, show)?;
    loop {
        match ahead.next(PATIENCE) {
            Next::Batch(batch) => {
                batch.iter().for_each(|(record, is_after_loss)| take(record, is_after_loss));
                ahead.give_back(batch);
            }
            Next::Nothing => {}
            Next::End => return Ok(ahead.finish()),
        }
        Python::attach(|py| py.check_signals())?;
    }
}

fn table_json(table: &Table) -> Value {
    let devices: Map<String, Value> =
        table.devices().map(|(device, rows)| (device_key(device), rows_json(&rows))).collect();
    json!({
        "all": rows_json(&table.rows()),
        "devices": devices,
        "bios_completed": table.bios_completed(),
        "bios_outstanding": table.outstanding(),
    })
}

fn rows_json(rows: &[Row]) -> Value {
    let row = |row: &Row| {
        let numbers = json!({"min_s": row.min_s(), "avg_s": row.avg_s(), "max_s": row.max_s(), "n": row.n});
        (row.phase.name().to_owned(), numbers)
    };
    Value::Object(rows.iter().map(row).collect())
}

/// A device in JSON: `8:0`, as the kernel writes it.
fn device_key(device: u32) -> String {
    format!("{}:{}", major(device), minor(device))
}

/// The exception for a recording that cannot be read.
pub fn to_python(error: ReadError) -> PyErr {
    let (code, advice) = match error.kind {
        ReadErrorKind::NotFound => ("B901", ""),
        ReadErrorKind::Foreign => ("B902", ""),
        ReadErrorKind::Unreadable => ("B903", ""),
        ReadErrorKind::NoRecording => ("B905", ""),
        ReadErrorKind::UnknownVersion => ("B906", ""),
    };
    EngineError::new_err((code, error.what, error.file, advice))
}
