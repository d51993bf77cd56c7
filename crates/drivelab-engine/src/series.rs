//! What one job counted in one interval, and the sum over jobs and intervals.

use crate::histogram::Histogram;

/// Kinds of events that are timed: the operations by their numbers, writes together with their sync call, and
/// reads together with the write back of the same block.
pub const EVENTS: [&str; 18] = [
    "read",
    "write",
    "trim",
    "sync",
    "durable_write",
    "create",
    "stat",
    "read_file",
    "delete",
    "rename",
    "replace",
    "make_directory",
    "remove_directory",
    "link",
    "symlink",
    "list",
    "rewrite",
    "update",
];
/// Position of the discard in [`EVENTS`].
const TRIM: usize = 2;
/// Position of the sync call in [`EVENTS`].
const SYNC: usize = 3;
/// Position of "write until its sync call returned" in [`EVENTS`].
pub const DURABLE_WRITE: usize = 4;
/// Position of "read until the block was written back" in [`EVENTS`].
pub const REWRITE: usize = 16;
/// Kinds of latency.
pub const LATENCIES: [&str; 4] = ["submission", "completion", "total", "response"];
/// Position of the submission latency in [`LATENCIES`].
pub const SUBMISSION: usize = 0;
/// Position of the completion latency in [`LATENCIES`].
pub const COMPLETION: usize = 1;
/// Position of the total latency in [`LATENCIES`].
pub const TOTAL: usize = 2;
/// Position of the response latency in [`LATENCIES`].
pub const RESPONSE: usize = 3;

/// Whether an event is made of two others, which are counted themselves.
#[must_use]
pub fn is_pair(event: usize) -> bool {
    event == DURABLE_WRITE || event == REWRITE
}

/// Counts of one kind of event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that ended well.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Events that failed.
    pub errors: u64,
    /// Events that moved fewer bytes than asked.
    pub short: u64,
}

impl Counts {
    /// Adds another count.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.short += other.short;
    }
}

/// Which histograms a run needs; the others take no memory.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Kinds of events that can happen.
    pub events: [bool; EVENTS.len()],
    /// Whether submission and completion can be told apart.
    pub has_submission: bool,
    /// Whether there is an intended start.
    pub has_response: bool,
    /// Whether sync calls have one of their own.
    pub syncs_arrive: bool,
}

impl Shape {
    fn needs(&self, event: usize, latency: usize) -> bool {
        self.events[event]
            && match latency {
                TOTAL => true,
                RESPONSE => self.has_response && (event != SYNC || self.syncs_arrive),
                // A discard has ended when its call returns, whatever issues it.
                _ => self.has_submission && !is_pair(event) && event != TRIM,
            }
    }
}

/// One job's counts in one interval.
pub struct Interval {
    /// Counts by event.
    pub counts: [Counts; EVENTS.len()],
    histograms: [[Option<Box<Histogram<u32>>>; LATENCIES.len()]; EVENTS.len()],
}

impl Interval {
    /// An empty interval.
    #[must_use]
    pub fn new(shape: &Shape) -> Self {
        let histograms = std::array::from_fn(|event| {
            std::array::from_fn(|latency| shape.needs(event, latency).then(Box::default))
        });
        Self { counts: [Counts::default(); EVENTS.len()], histograms }
    }

    /// An empty interval whose memory is there already, so that counting in it never waits for a page.
    #[must_use]
    pub fn faulted_in(shape: &Shape) -> Self {
        let mut interval = Self::new(shape);
        interval.histograms.iter_mut().flatten().flatten().for_each(|histogram| histogram.fault_in());
        interval
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, event: usize, latency: usize, nanoseconds: u64) {
        if let Some(histogram) = &mut self.histograms[event][latency] {
            histogram.record(nanoseconds);
        }
    }

    /// Counts several latencies of one kind.
    #[inline]
    pub fn record_each(&mut self, event: usize, latency: usize, nanoseconds: impl Iterator<Item = u64>) {
        match &mut self.histograms[event][latency] {
            Some(histogram) => histogram.record_each(nanoseconds),
            None => nanoseconds.for_each(drop),
        }
    }

    /// The histogram of one latency, when the run has it.
    #[must_use]
    pub fn histogram(&self, event: usize, latency: usize) -> Option<&Histogram<u32>> {
        self.histograms[event][latency].as_deref()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts = [Counts::default(); EVENTS.len()];
        self.histograms.iter_mut().flatten().flatten().for_each(|histogram| histogram.clear());
    }
}

/// Sums over jobs, or over jobs and intervals.
pub struct Sum {
    /// Counts by event.
    pub counts: [Counts; EVENTS.len()],
    histograms: [[Option<Box<Histogram<u64>>>; LATENCIES.len()]; EVENTS.len()],
}

impl Default for Sum {
    fn default() -> Self {
        let histograms = std::array::from_fn(|_| std::array::from_fn(|_| None));
        Self { counts: [Counts::default(); EVENTS.len()], histograms }
    }
}

impl Sum {
    /// Adds one job's interval.
    pub fn add(&mut self, interval: &Interval) {
        for event in 0..EVENTS.len() {
            self.counts[event].add(&interval.counts[event]);
            for latency in 0..LATENCIES.len() {
                if let Some(part) = interval.histogram(event, latency).filter(|part| part.count > 0) {
                    self.histograms[event][latency].get_or_insert_with(Box::default).add(part);
                }
            }
        }
    }

    /// The histogram of one latency, when anything was counted.
    #[must_use]
    pub fn histogram(&self, event: usize, latency: usize) -> Option<&Histogram<u64>> {
        self.histograms[event][latency].as_deref()
    }
}

/// One row of the tables that a run gives back.
#[derive(Debug, Clone)]
pub struct Row {
    /// Number of the interval; 0 in the table of the whole window.
    pub interval: u32,
    /// Start of the interval since the start of the window.
    pub start_ns: u64,
    /// Length of the interval.
    pub duration_ns: u64,
    /// Position in [`EVENTS`].
    pub event: usize,
    /// Position in [`LATENCIES`].
    pub latency: usize,
    /// Counts of the event.
    pub counts: Counts,
    /// Smallest, largest and sum of the latencies in ns; 0 when there are none.
    pub extremes: (u64, u64, u64),
    /// Buckets that are not empty.
    pub buckets: Vec<u32>,
    /// Their counts.
    pub bucket_counts: Vec<u64>,
}

/// Rows for the whole window: every latency of which there is a value.
#[must_use]
pub fn rows(sum: &Sum) -> Vec<Row> {
    every_latency().filter_map(|(event, latency)| filled_row(sum, event, latency)).collect()
}

/// Rows for one interval: the latencies that end with the I/O, also those without any value.
#[must_use]
pub fn interval_rows(sum: &Sum, interval: u32, length_ns: u64, shape: &Shape) -> Vec<Row> {
    let kept = every_latency().filter(|&(event, latency)| latency >= TOTAL && shape.needs(event, latency));
    let row = |(event, latency)| Row {
        interval,
        start_ns: u64::from(interval) * length_ns,
        duration_ns: length_ns,
        ..filled_row(sum, event, latency).unwrap_or_else(|| empty_row(sum, event, latency))
    };
    kept.map(row).collect()
}

fn every_latency() -> impl Iterator<Item = (usize, usize)> {
    (0..EVENTS.len()).flat_map(|event| (0..LATENCIES.len()).map(move |latency| (event, latency)))
}

fn filled_row(sum: &Sum, event: usize, latency: usize) -> Option<Row> {
    let histogram = sum.histogram(event, latency)?;
    let (buckets, bucket_counts) = histogram.filled().unzip();
    let counts = Counts { count: histogram.count, ..sum.counts[event] };
    let extremes = (histogram.min, histogram.max, histogram.sum);
    Some(Row { counts, extremes, buckets, bucket_counts, ..empty_row(sum, event, latency) })
}

fn empty_row(sum: &Sum, event: usize, latency: usize) -> Row {
    Row {
        interval: 0,
        start_ns: 0,
        duration_ns: 0,
        event,
        latency,
        counts: Counts { count: 0, ..sum.counts[event] },
        extremes: (0, 0, 0),
        buckets: Vec::new(),
        bucket_counts: Vec::new(),
    }
}
