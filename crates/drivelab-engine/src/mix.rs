//! Which operation and which block size the next I/O has.

use crate::address::{Random, unit};
use crate::workload::{Operation, Workload};

/// Draws operations and block sizes with their weights; free where there is one of each.
#[derive(Debug, Clone)]
pub struct Mix {
    operations: Vec<(f64, Operation)>,
    sizes: Vec<(f64, u32)>,
}

impl Mix {
    /// The mix of a workload.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let operations = workload.operations.iter().map(|share| (share.weight, share.operation));
        let sizes = workload.block_sizes.iter().map(|share| (share.weight, share.bytes as u32));
        Self { operations: cumulative(operations), sizes: cumulative(sizes) }
    }

    /// The next operation and its size in bytes.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> (Operation, u32) {
        (pick(&self.operations, random), pick(&self.sizes, random))
    }
}

fn cumulative<T>(shares: impl Iterator<Item = (f64, T)>) -> Vec<(f64, T)> {
    let shares: Vec<_> = shares.collect();
    let sum: f64 = shares.iter().map(|share| share.0).sum();
    let mut reached = 0.0;
    let add = |(weight, value)| {
        reached += weight / sum;
        (reached, value)
    };
    shares.into_iter().map(add).collect()
}

#[inline]
fn pick<T: Copy>(shares: &[(f64, T)], random: &mut Random) -> T {
    let last = shares[shares.len() - 1].1;
    if shares.len() == 1 {
        return last;
    }
    let draw = unit(random);
    shares.iter().find(|share| draw < share.0).map_or(last, |share| share.1)
}
