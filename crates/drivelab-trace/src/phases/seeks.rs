//! How far a device has to go from one extent to the next.

use drivelab_histogram::Histogram;
use serde_json::{Value, json};

use super::phase::quantile;
use crate::follow::places::SectorMap;

/// So many different distances are counted one by one.
const DISTANCES_MAX: usize = 4096;

/// Distances in sectors, without sign.
#[derive(Default)]
pub(super) struct Seeks {
    last: Option<(u64, u64)>,
    distances: Histogram<u32>,
    sequential: u64,
    counts: SectorMap<u64, u64>,
    uncounted: u64,
}

impl Seeks {
    /// The next extent. Where it touches or overlaps the one before, the distance is 0.
    pub(super) fn add(&mut self, start: u64, end: u64) {
        if let Some((last_start, last_end)) = self.last.replace((start, end)) {
            let distance = start.saturating_sub(last_end).max(last_start.saturating_sub(end));
            self.sequential += u64::from(start == last_end);
            self.distances.record(distance);
            if self.counts.len() < DISTANCES_MAX || self.counts.contains_key(&distance) {
                *self.counts.entry(distance).or_default() += 1;
            } else {
                self.uncounted += 1;
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        let n = self.distances.count;
        if n == 0 {
            return json!({"n": 0});
        }
        let mode =
            self.counts.iter().max_by_key(|(distance, count)| (**count, std::cmp::Reverse(**distance)));
        let (mode, mode_n) = mode.map_or((0, 0), |(distance, count)| (*distance, *count));
        json!({
            "n": n,
            "mean_sectors": self.distances.sum as f64 / n as f64,
            "median_sectors": quantile(&self.distances, 0.5),
            "max_sectors": self.distances.max,
            "sequential_share": self.sequential as f64 / n as f64,
            "mode_sectors": mode,
            "mode_n": mode_n,
            // what was not counted might all be of one distance
            "mode_is_sure": mode_n >= self.uncounted,
        })
    }
}
