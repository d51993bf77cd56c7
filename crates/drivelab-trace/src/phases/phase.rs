//! The phases of a bio and of a flush, and their times.

use drivelab_histogram::{Histogram, bucket_low, bucket_of};
use serde_json::{Map, Value, json};

use crate::lifetime::Bio;

/// From which station to which; the names are btt's as far as btt has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Phase {
    /// From the Q of a bio with data to that of the next.
    Q2q,
    /// From Q until it was sent on to a lower device.
    Q2a,
    /// From Q to G of its first fragment.
    Q2g,
    /// From S to G: it had to wait for a free request.
    S2g,
    /// From G to I, without a flush that had to come first.
    G2i,
    /// From G to the first D where no scheduler had it: plugged, or waiting for the driver.
    G2d,
    /// From Q until it went into the request of another bio.
    Q2m,
    /// From I to the first D.
    I2d,
    /// From M to the first D.
    M2d,
    /// From the first D to the C of its last fragment with data.
    D2c,
    /// From Q to the C of its last fragment with data.
    Q2c,
    /// From D to C of a flush command.
    Flush,
    /// From Q of a bio that only asks for a flush until its submitter is told.
    FlushQ2c,
    /// From G until the flush that has to come before the data has ended.
    PreflushWait,
    /// From the C of the data until the flush after them has ended and the submitter is told.
    PostflushWait,
}

const COUNT: usize = 15;

impl Phase {
    /// In the order of tables.
    pub const ALL: [Self; COUNT] = [
        Self::Q2q,
        Self::Q2a,
        Self::Q2g,
        Self::S2g,
        Self::G2i,
        Self::G2d,
        Self::Q2m,
        Self::I2d,
        Self::M2d,
        Self::D2c,
        Self::Q2c,
        Self::Flush,
        Self::FlushQ2c,
        Self::PreflushWait,
        Self::PostflushWait,
    ];

    /// Its key.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Q2q => "Q2Q",
            Self::Q2a => "Q2A",
            Self::Q2g => "Q2G",
            Self::S2g => "S2G",
            Self::G2i => "G2I",
            Self::G2d => "G2D",
            Self::Q2m => "Q2M",
            Self::I2d => "I2D",
            Self::M2d => "M2D",
            Self::D2c => "D2C",
            Self::Q2c => "Q2C",
            Self::Flush => "flush",
            Self::FlushQ2c => "flush_Q2C",
            Self::PreflushWait => "preflush_wait",
            Self::PostflushWait => "postflush_wait",
        }
    }

    /// Calls with each phase that a bio went through, and its ns.
    pub(super) fn of_bio(bio: &Bio, mut found: impl FnMut(Self, u64)) {
        let mut between = |phase, from: Option<u64>, to: Option<u64>| {
            if let (Some(from), Some(to)) = (from, to) {
                found(phase, to.saturating_sub(from));
            }
        };
        let queued = Some(bio.queued);
        between(Self::Q2a, queued, bio.remapped);
        if bio.bytes == 0 {
            return between(Self::FlushQ2c, queued, bio.ended);
        }
        between(Self::Q2g, queued, bio.got_request);
        between(Self::S2g, bio.slept, bio.got_request);
        let got = bio.got_request.map(|got| got.max(bio.preflushed.unwrap_or(0)));
        between(Self::G2i, got, bio.inserted);
        between(Self::Q2m, queued, bio.merged);
        if bio.inserted.is_some() {
            between(Self::I2d, bio.inserted, bio.issued_first);
        } else if bio.merged.is_some() {
            between(Self::M2d, bio.merged, bio.issued_first);
        } else {
            between(Self::G2d, got, bio.issued_first);
        }
        between(Self::D2c, bio.issued_first, bio.completed);
        between(Self::Q2c, queued, bio.completed);
        between(Self::PreflushWait, bio.got_request, bio.preflushed);
        if bio.ended != bio.completed {
            between(Self::PostflushWait, bio.completed, bio.ended);
        }
    }
}

/// Times of every phase of a group of bios.
#[derive(Clone, Default)]
pub(super) struct Times([Option<Box<Histogram<u32>>>; COUNT]);

impl Times {
    pub(super) fn add(&mut self, phase: Phase, ns: u64) {
        self.0[phase as usize].get_or_insert_with(Box::default).record(ns);
    }

    pub(super) fn of(&self, phase: Phase) -> Option<&Histogram<u32>> {
        self.0[phase as usize].as_deref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Several groups as one; of phases that are about two bios (Q2Q) the sum means nothing and is left out.
    pub(super) fn sum_json<'a>(groups: impl Iterator<Item = &'a Self> + Clone, q2q: &Self) -> Value {
        let mut rows = Map::new();
        for phase in Phase::ALL {
            let mut sum = Histogram::<u64>::new();
            if phase == Phase::Q2q {
                q2q.of(phase).iter().for_each(|one| sum.add(one));
            } else {
                groups.clone().filter_map(|group| group.of(phase)).for_each(|one| sum.add(one));
            }
            put(&mut rows, phase, &sum);
        }
        Value::Object(rows)
    }

    pub(super) fn json(&self) -> Value {
        let mut rows = Map::new();
        for phase in Phase::ALL {
            if let Some(histogram) = self.of(phase) {
                put(&mut rows, phase, histogram);
            }
        }
        Value::Object(rows)
    }
}

fn put<C: Copy + Default + PartialEq + Into<u64>>(
    rows: &mut Map<String, Value>,
    phase: Phase,
    of: &Histogram<C>,
) {
    if of.count == 0 {
        return;
    }
    let row = json!({
        "n": of.count,
        "min_ns": of.min,
        "mean_ns": of.sum as f64 / of.count as f64,
        "max_ns": of.max,
        "sum_ns": of.sum,
        "p50_ns": quantile(of, 0.5),
        "p90_ns": carried_quantile(of, 0.9),
        "p99_ns": carried_quantile(of, 0.99),
        "p99.9_ns": carried_quantile(of, 0.999),
    });
    rows.insert(phase.name().to_owned(), row);
}

/// Values that have to lie beyond a quantile for a two-sided 95 % interval of it to end within the data: -ln 0.025.
const VALUES_BEYOND: f64 = 3.69;

/// A quantile, or None when there are too few values to carry it.
fn carried_quantile<C: Copy + Default + PartialEq + Into<u64>>(of: &Histogram<C>, at: f64) -> Option<f64> {
    (of.count as f64 * (1.0 - at) >= VALUES_BEYOND).then(|| quantile(of, at))
}

/// The value of rank ceil(at * n), to within half a bucket (0.1 %); the lowest and the highest are exact.
pub(super) fn quantile<C: Copy + Default + PartialEq + Into<u64>>(of: &Histogram<C>, at: f64) -> f64 {
    let rank = ((at * of.count as f64 - 1e-9).ceil() as u64).max(1);
    if rank >= of.count {
        return of.max as f64;
    }
    if rank == 1 {
        return of.min as f64;
    }
    let mut seen = 0;
    for (bucket, count) in of.filled() {
        seen += count;
        if seen >= rank {
            let (low, next) = (bucket_low(bucket as usize), bucket_low(bucket as usize + 1));
            let middle =
                if bucket as usize == bucket_of(u64::MAX) { low } else { low + (next - 1 - low) / 2 };
            let half = if next > low && (next - 1 - low) % 2 == 1 { 0.5 } else { 0.0 };
            return (middle as f64 + half).clamp(of.min as f64, of.max as f64);
        }
    }
    of.max as f64
}
