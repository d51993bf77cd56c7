//! Joins a recording with operations: columns of numbers in, two tables and the facts out.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use drivelab_trace::follow::{Collected, Counts, Follower};
use drivelab_trace::join::{Charge, Explained, Joined, Kind, Operation, Reason, Surroundings, Work, join};
use drivelab_trace::kernel_threads::KERNEL_THREADS;
use drivelab_trace::lifetime::{Bio, Class, Command, Moment};
use drivelab_trace::read::{DamageKind, ReadOptions, ReadSummary, Recording};
use drivelab_trace::record::{Record, major, minor};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::convert::{ArrowTable, int64_lists};
use crate::trace_read::to_python;

/// After so many records Python may handle a Ctrl-C.
const RECORDS_BETWEEN_SIGNALS: u64 = 1 << 17;
/// Stations of bios and commands that may never have come.
const STATIONS: [&str; 8] = [
    "queued_ns",
    "got_request_ns",
    "inserted_ns",
    "merged_ns",
    "issued_ns",
    "issued_last_ns",
    "completed_ns",
    "ended_ns",
];

/// Sets one number of an operation.
type Set = fn(&mut Operation, u64);

/// What each column is of an operation; the end comes after the start, before which no operation ends.
const COLUMNS: [(&str, Set); 10] = [
    ("job", |operation, value| operation.job = value as u32),
    ("thread", |operation, value| operation.thread = value as u32),
    ("start_ns", |operation, value| operation.start_ns = value),
    ("submitted_ns", |operation, value| operation.submitted_ns = value),
    ("end_ns", |operation, value| operation.end_ns = value.max(operation.start_ns)),
    ("offset_bytes", |operation, value| operation.offset = value),
    ("size_bytes", |operation, value| operation.size = value),
    ("is_synchronous", |operation, value| operation.is_synchronous = value != 0),
    ("is_durable", |operation, value| operation.is_durable = value != 0),
    ("sleep", |operation, value| operation.has_slept = (value > 0).then_some(value > 1)),
];

/// How the names of kernel threads begin.
pub fn kernel_threads() -> Vec<&'static str> {
    KERNEL_THREADS.to_vec()
}

/// Charges what a recording holds to operations: operations with their parts, events, and facts as JSON.
#[pyfunction]
pub fn join_trace(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    operations: &Bound<'_, PyDict>,
    options_json: &str,
) -> PyResult<(ArrowTable, ArrowTable, String)> {
    let operations = operations_of(py, operations)?;
    let mut around: Surroundings =
        serde_json::from_str(options_json).map_err(|why| PyValueError::new_err(why.to_string()))?;
    py.detach(|| {
        let (mut lives, counts, summary) = read(&paths)?;
        around.remaps = std::mem::take(&mut lives.remaps);
        for (pid, name) in &summary.processes {
            around.names.entry(*pid).or_insert_with(|| name.clone());
        }
        around.lost_events += summary.lost_total() + other_losses(&summary);
        let mut joined = join(&operations, &lives.bios, &lives.commands, &around);
        let facts = facts(&lives, &joined, &around, &summary, &counts);
        // a million operations are 300 MB, and as much again as columns: they are gone before the next table is made
        let explained = std::mem::take(&mut joined.operations);
        let rows = operations_table(&operations, &explained);
        drop((operations, explained));
        let events = events_table(&lives, &joined, &around.names);
        Ok((rows, events, facts.to_string()))
    })
}

/// Damages other than counted losses that leave records out.
fn other_losses(summary: &ReadSummary) -> u64 {
    let harmless =
        [DamageKind::OutOfOrder, DamageKind::MixedByteOrder, DamageKind::SequenceGap, DamageKind::LostEvents];
    let losing = summary.damage_counts.iter().filter(|(kind, _)| !harmless.contains(kind));
    losing.map(|(_, count)| count).sum()
}

fn read(paths: &[PathBuf]) -> PyResult<(Collected, Counts, ReadSummary)> {
    let options = ReadOptions { without_duplicates: true, ..ReadOptions::default() };
    let mut recording = Recording::open_with(paths, options).map_err(to_python)?;
    let (mut follower, mut lives, mut record) = (Follower::new(), Collected::default(), Record::default());
    let (mut records, mut losses): (u64, u64) = (0, 0);
    while recording.next(&mut record) {
        if recording.losses() != losses {
            losses = recording.losses();
            follower.mark_loss();
        }
        follower.push(&record, &mut lives);
        records += 1;
        if records.is_multiple_of(RECORDS_BETWEEN_SIGNALS) {
            Python::attach(|py| py.check_signals())?;
        }
    }
    follower.finish(&mut lives);
    Ok((lives, *follower.counts(), recording.summary()))
}

/// The operations of columns, which are emptied: they are held for no longer than it takes, and copied one at a time.
fn operations_of(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<Vec<Operation>> {
    let buffers: HashMap<String, PyBuffer<i64>> = given.extract()?;
    given.clear();
    let column = |name: &str| -> PyResult<Vec<i64>> {
        let buffer = buffers.get(name).ok_or_else(|| PyValueError::new_err(format!("no column {name}")))?;
        buffer.to_vec(py)
    };
    let with_kind = |code: i64| -> PyResult<Operation> {
        let kind = u8::try_from(code).ok().and_then(Kind::of);
        Ok(Operation {
            job: 0,
            thread: 0,
            kind: kind.ok_or_else(|| PyValueError::new_err(format!("no operation has the number {code}")))?,
            start_ns: 0,
            submitted_ns: 0,
            end_ns: 0,
            offset: 0,
            size: 0,
            is_synchronous: false,
            is_durable: false,
            has_slept: None,
        })
    };
    let mut operations = column("operation")?.into_iter().map(with_kind).collect::<PyResult<Vec<_>>>()?;
    for (name, set) in COLUMNS {
        let values = column(name)?;
        if values.len() != operations.len() {
            return Err(PyValueError::new_err("columns of different lengths"));
        }
        for (operation, value) in operations.iter_mut().zip(values) {
            set(operation, u64::try_from(value).unwrap_or(0));
        }
    }
    Ok(operations)
}

fn operations_table(operations: &[Operation], explained: &[Explained]) -> ArrowTable {
    let of_operation = |of: fn(&Operation) -> u64| -> ArrayRef {
        Arc::new(operations.iter().map(|operation| of(operation) as i64).collect::<Int64Array>())
    };
    let long = |of: fn(&Explained) -> u64| -> ArrayRef {
        Arc::new(explained.iter().map(|explained| of(explained) as i64).collect::<Int64Array>())
    };
    let count = |of: fn(&Work) -> u32| -> ArrayRef {
        Arc::new(explained.iter().map(|explained| of(&explained.work) as i32).collect::<Int32Array>())
    };
    ArrowTable::new(vec![
        ("job", Arc::new(operations.iter().map(|operation| operation.job as u16).collect::<UInt16Array>())),
        (
            "thread",
            Arc::new(operations.iter().map(|operation| operation.thread as i32).collect::<Int32Array>()),
        ),
        (
            "operation",
            Arc::new(operations.iter().map(|operation| operation.kind as u8).collect::<UInt8Array>()),
        ),
        ("start_ns", of_operation(|operation| operation.start_ns)),
        ("latency_ns", of_operation(|operation| operation.end_ns - operation.start_ns)),
        ("offset_bytes", of_operation(|operation| operation.offset)),
        (
            "size_bytes",
            Arc::new(operations.iter().map(|operation| operation.size as i32).collect::<Int32Array>()),
        ),
        ("fs_in_ns", long(|explained| explained.parts.fs_in_ns)),
        ("queue_ns", long(|explained| explained.parts.queue_ns)),
        ("device_ns", long(|explained| explained.parts.device_ns)),
        ("flush_ns", long(|explained| explained.parts.flush_ns)),
        ("between_ns", long(|explained| explained.parts.between_ns)),
        ("return_ns", long(|explained| explained.parts.return_ns)),
        ("device_writes", count(|work| work.device_writes)),
        ("journal_writes", count(|work| work.journal_writes)),
        ("device_reads", count(|work| work.device_reads)),
        ("flushes", count(|work| work.flushes)),
        ("fua_writes", count(|work| work.fua_writes)),
        ("preflush_writes", count(|work| work.preflush_writes)),
        ("bytes_written", long(|explained| explained.work.bytes_written)),
        ("bytes_read", long(|explained| explained.work.bytes_read)),
        ("journal_bytes", long(|explained| explained.work.journal_bytes)),
        ("bios", count(|work| work.bios)),
        (
            "is_shared",
            Arc::new(explained.iter().map(|explained| Some(explained.is_shared)).collect::<BooleanArray>()),
        ),
        ("layers_ns", Arc::new(int64_lists(explained.iter().map(uppermost_first)))),
    ])
}

fn uppermost_first(explained: &Explained) -> impl Iterator<Item = i64> + '_ {
    explained.parts.layers_ns.iter().rev().map(|&time| time as i64)
}

/// One row of the events.
#[derive(Clone, Copy)]
enum Event<'a> {
    Bio(&'a Bio, Charge),
    Command(&'a Command, Charge),
}

impl Event<'_> {
    fn kind(self) -> &'static str {
        match self {
            Self::Bio(..) => "bio",
            Self::Command(..) => "command",
        }
    }

    fn charge(self) -> Charge {
        let (Self::Bio(_, charge) | Self::Command(_, charge)) = self;
        charge
    }

    /// Device, first sector, length, category bits, thread.
    fn what(self) -> (u32, u64, u32, u32, u32) {
        match self {
            Self::Bio(it, _) => (it.device, it.sector, it.bytes, it.category, it.pid),
            Self::Command(it, _) => (it.device, it.sector, it.bytes, it.category, it.pid),
        }
    }

    fn stations(self) -> [Moment; STATIONS.len()] {
        match self {
            Self::Bio(bio, _) => [
                Some(bio.queued),
                bio.got_request,
                bio.inserted,
                bio.merged,
                bio.issued_first,
                bio.issued_last,
                bio.completed,
                bio.ended,
            ],
            Self::Command(command, _) => {
                let (issued, completed) = (Some(command.issued), command.completed);
                [None, None, None, None, issued, issued, completed, completed]
            }
        }
    }

    /// Fragments, requeues, error.
    fn counts(self) -> (u32, u32, i32) {
        match self {
            Self::Bio(bio, _) => (bio.fragments, bio.requeues, bio.error),
            Self::Command(command, _) => (1, command.requeues, command.error),
        }
    }

    /// Q of a bio, D of a command.
    fn start_ns(self) -> u64 {
        match self {
            Self::Bio(bio, _) => bio.queued,
            Self::Command(command, _) => command.issued,
        }
    }
}

/// Bios and commands in the order of their beginnings.
fn events_table(lives: &Collected, joined: &Joined, names: &HashMap<u32, String>) -> ArrowTable {
    let bios = lives.bios.iter().zip(&joined.bios).map(|(bio, charge)| Event::Bio(bio, *charge));
    let commands = lives.commands.iter().zip(&joined.commands);
    let mut events: Vec<Event<'_>> =
        bios.chain(commands.map(|(command, charge)| Event::Command(command, *charge))).collect();
    events.sort_by_key(|event| event.start_ns());
    let text = |of: fn(Event<'_>) -> String| -> ArrayRef {
        Arc::new(events.iter().map(|event| Some(of(*event))).collect::<StringArray>())
    };
    let whole = |of: fn(Event<'_>) -> i32| -> ArrayRef {
        Arc::new(events.iter().map(|event| Some(of(*event))).collect::<Int32Array>())
    };
    let name = |event: &Event<'_>| names.get(&event.what().4).map_or("", String::as_str);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("kind", Arc::new(events.iter().map(|event| Some(event.kind())).collect::<StringArray>())),
        ("operation_index", whole(|event| event.charge().map_or(-1, |index| index as i32))),
        ("device", text(|event| format!("{}:{}", major(event.what().0), minor(event.what().0)))),
        ("sector", Arc::new(events.iter().map(|event| event.what().1).collect::<UInt64Array>())),
        ("bytes", Arc::new(events.iter().map(|event| event.what().2).collect::<UInt32Array>())),
        ("class", text(|event| Class::of(event.what().3, event.what().2).name().to_owned())),
        ("pid", whole(|event| event.what().4 as i32)),
        ("process", Arc::new(events.iter().map(|event| Some(name(event))).collect::<StringArray>())),
    ];
    for (at, name) in STATIONS.into_iter().enumerate() {
        let station = |event: &Event<'_>| event.stations()[at].map(|moment| moment as i64);
        columns.push((name, Arc::new(events.iter().map(station).collect::<Int64Array>())));
    }
    columns.push(("fragments", whole(|event| event.counts().0 as i32)));
    columns.push(("requeues", whole(|event| event.counts().1 as i32)));
    columns.push(("error", whole(|event| event.counts().2)));
    ArrowTable::with_nulls(columns, &STATIONS)
}

fn facts(
    lives: &Collected,
    joined: &Joined,
    around: &Surroundings,
    summary: &ReadSummary,
    counts: &Counts,
) -> Value {
    let operations = |is_counted: fn(&Explained) -> bool| {
        joined.operations.iter().filter(|explained| is_counted(explained)).count()
    };
    let mut recording = json!(summary);
    // they may be many, and stand with the events
    recording.as_object_mut().map(|keys| keys.remove("processes"));
    json!({
        "operations": joined.operations.len(),
        "partial_operations": operations(|explained| explained.is_partial),
        "shared_operations": operations(|explained| explained.is_shared),
        "bios": charges(&joined.bios),
        "commands": charges(&joined.commands),
        "unmatched_work": joined.unmatched,
        "unnamed_bios": joined.unnamed,
        "programs": programs(lives, joined, &around.names),
        "lost_events": around.lost_events,
        "lives": counts,
        "recording": recording,
    })
}

/// How many are charged to an operation, and how many are not, by the reason.
fn charges(charges: &[Charge]) -> Value {
    let mut counts: BTreeMap<&str, usize> = Reason::ALL.iter().map(|reason| (reason.name(), 0)).collect();
    counts.insert("charged", 0);
    counts.insert("total", charges.len());
    for charge in charges {
        *counts.entry(charge.map_or_else(Reason::name, |_| "charged")).or_default() += 1;
    }
    json!(counts)
}

/// Bios of other programs by name.
fn programs(lives: &Collected, joined: &Joined, names: &HashMap<u32, String>) -> Value {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (bio, _) in lives.bios.iter().zip(&joined.bios).filter(|(_, charge)| **charge == Err(Reason::Foreign))
    {
        let name = names.get(&bio.pid).map_or("", String::as_str);
        *counts.entry(name).or_default() += 1;
    }
    json!(counts)
}
