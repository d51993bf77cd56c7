//! Columns for Python: Arrow arrays handed over through the Arrow C data interface, without a copy.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, UInt8Array,
    UInt16Array,
};
use arrow_schema::{DataType, Field, Schema};
use drivelab_engine::clock::Clock;
use drivelab_engine::iolog::Chunk;
use drivelab_engine::series::{EVENTS, LATENCIES, Row};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Records converted at a time.
const TILE_RECORDS: usize = 256;

/// A table of columns that `pyarrow.record_batch(...)` and every other Arrow library can take.
#[pyclass(frozen, module = "drivelab._engine")]
pub struct ArrowTable {
    batch: RecordBatch,
}

#[pymethods]
impl ArrowTable {
    /// The Arrow PyCapsule protocol.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let data = StructArray::from(self.batch.clone()).to_data();
        let failed = |error: arrow_schema::ArrowError| PyValueError::new_err(error.to_string());
        let schema = FFI_ArrowSchema::try_from(data.data_type()).map_err(failed)?;
        let array = FFI_ArrowArray::new(&data);
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
}

impl ArrowTable {
    /// Columns of one length without nulls.
    pub fn new(columns: Vec<(&str, ArrayRef)>) -> Self {
        Self::with_nulls(columns, &[])
    }

    /// Columns of one length; those named may have nulls.
    pub fn with_nulls(columns: Vec<(&str, ArrayRef)>, nullable: &[&str]) -> Self {
        let field = |(name, array): &(&str, ArrayRef)| {
            Field::new(*name, array.data_type().clone(), nullable.contains(name))
        };
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let arrays = columns.into_iter().map(|column| column.1).collect();
        let batch = RecordBatch::try_new(Arc::new(schema), arrays)
            .expect("all columns have one length, and nulls only where they may");
        Self { batch }
    }

    /// Histograms as a table, one row each; with the columns of intervals on request.
    pub fn of_rows(rows: &[Row], are_intervals: bool) -> Self {
        let integers = |of: fn(&Row) -> u64| -> ArrayRef {
            Arc::new(rows.iter().map(|row| of(row) as i64).collect::<Int64Array>())
        };
        let names = |of: fn(&Row) -> &'static str| -> ArrayRef {
            Arc::new(rows.iter().map(|row| Some(of(row))).collect::<StringArray>())
        };
        let mut columns = vec![
            ("operation", names(|row| EVENTS[row.event])),
            ("latency", names(|row| LATENCIES[row.latency])),
            ("count", integers(|row| row.counts.count)),
            ("min_ns", integers(|row| row.extremes.0)),
            ("max_ns", integers(|row| row.extremes.1)),
            ("sum_ns", integers(|row| row.extremes.2)),
            ("bucket", Arc::new(bucket_lists(rows)) as ArrayRef),
            ("bucket_count", Arc::new(count_lists(rows)) as ArrayRef),
        ];
        if are_intervals {
            columns.push((
                "interval",
                Arc::new(rows.iter().map(|row| row.interval as i32).collect::<Int32Array>()),
            ));
            columns.push(("start_ns", integers(|row| row.start_ns)));
            columns.push(("duration_ns", integers(|row| row.duration_ns)));
            columns.push(("bytes", integers(|row| row.counts.bytes)));
            columns.push(("errors", integers(|row| row.counts.errors)));
        }
        Self::new(columns)
    }

    /// Records of single I/Os as a table, one row each; response latencies only where there is a schedule.
    pub fn of_records(chunk: &Chunk, clock: &Clock, is_open_loop: bool) -> Self {
        let records = &chunk.records;
        let mut columns: Vec<(&str, ArrayRef)> =
            vec![("job", Arc::new(UInt16Array::from(vec![chunk.job as u16; records.len()])))];
        let rows = records.len();
        let (mut issue, mut offset) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let (mut total, mut response) = (Vec::with_capacity(rows), Vec::new());
        let (mut size, mut submission) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let (mut result, mut operation) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        // A few records at a time, so that they are still in the nearest cache for the last column.
        for tile in records.chunks(TILE_RECORDS) {
            issue.extend(tile.iter().map(|record| clock.monotonic_ns(record.issue_ticks) as i64));
            offset.extend(tile.iter().map(|record| record.offset as i64));
            total.extend(tile.iter().map(|record| record.total_ns as i64));
            size.extend(tile.iter().map(|record| record.size as i32));
            submission.extend(tile.iter().map(|record| record.submission_ns as i32));
            result.extend(tile.iter().map(|record| record.result));
            operation.extend(tile.iter().map(|record| record.operation));
            if is_open_loop {
                response.extend(tile.iter().map(|record| record.response_ns as i64));
            }
        }
        columns.push(("operation", Arc::new(UInt8Array::from(operation))));
        columns.push(("issue_ns", Arc::new(Int64Array::from(issue))));
        columns.push(("offset_bytes", Arc::new(Int64Array::from(offset))));
        columns.push(("size_bytes", Arc::new(Int32Array::from(size))));
        columns.push(("submission_latency_ns", Arc::new(Int32Array::from(submission))));
        columns.push(("total_latency_ns", Arc::new(Int64Array::from(total))));
        columns.push(("result", Arc::new(Int32Array::from(result))));
        if is_open_loop {
            columns.push(("response_latency_ns", Arc::new(Int64Array::from(response))));
        }
        Self::new(columns)
    }
}

/// A list of numbers for each row, of the type as it is stored.
pub fn int64_lists(rows: impl Iterator<Item = impl Iterator<Item = i64>>) -> ListArray {
    ListArray::from_iter_primitive::<Int64Type, _, _>(rows.map(|row| Some(row.map(Some))))
}

fn bucket_lists(rows: &[Row]) -> ListArray {
    let lists = rows.iter().map(|row| Some(row.buckets.iter().map(|bucket| Some(*bucket))));
    not_null(ListArray::from_iter_primitive::<UInt32Type, _, _>(lists), DataType::UInt32)
}

fn count_lists(rows: &[Row]) -> ListArray {
    let lists = rows.iter().map(|row| Some(row.bucket_counts.iter().map(|count| Some(*count))));
    not_null(ListArray::from_iter_primitive::<UInt64Type, _, _>(lists), DataType::UInt64)
}

/// The same lists, their items declared as never null.
fn not_null(lists: ListArray, item: DataType) -> ListArray {
    let (_, offsets, values, nulls) = lists.into_parts();
    ListArray::new(Arc::new(Field::new_list_field(item, false)), offsets, values, nulls)
}
