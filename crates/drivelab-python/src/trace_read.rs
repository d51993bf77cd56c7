//! `drivelab btt`: a recording read once, and what its records come to.

use std::path::PathBuf;

use drivelab_trace::compat::{Flavour, Row, Table};
use drivelab_trace::phases::{Options, Phases};
use drivelab_trace::read::{ReadError, ReadErrorKind, ReadOptions, Recording};
use drivelab_trace::record::{Record, major, minor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::errors::EngineError;

/// After so many records Python may handle a Ctrl-C.
const RECORDS_BETWEEN_SIGNALS: u32 = 1 << 17;

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
        let mut recording = Recording::open_with(&paths, options).map_err(to_python)?;
        let mut table = Table::new(flavour);
        for_each(&mut recording, |record, _| table.push(record))?;
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
        let mut recording = Recording::open_with(&paths, options).map_err(to_python)?;
        let (mut phases, mut losses) = (Phases::new(Options::default()), 0);
        for_each(&mut recording, |record, lost| {
            if lost != losses {
                losses = lost;
                phases.mark_loss();
            }
            phases.push(record);
        })?;
        let summary = recording.summary();
        let mut found = phases.finish(&summary);
        found["recording"] = json!(summary);
        Ok(found.to_string())
    })
}

/// Hands every record of a recording on, with the number of losses before it; lets Ctrl-C through.
fn for_each(recording: &mut Recording, mut take: impl FnMut(&Record, u64)) -> PyResult<()> {
    let mut record = Record::default();
    let mut left = RECORDS_BETWEEN_SIGNALS;
    while recording.next(&mut record) {
        take(&record, recording.losses());
        left -= 1;
        if left == 0 {
            left = RECORDS_BETWEEN_SIGNALS;
            Python::attach(|py| py.check_signals())?;
        }
    }
    Ok(())
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
