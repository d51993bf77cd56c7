//! Which operation and which block size the next I/O has.

use crate::address::{Random, unit};
use crate::workload::{BlockSizeShare, Operation, Workload};

/// Draws operations and block sizes with their weights; free where there is one of each.
#[derive(Debug, Clone)]
pub struct Mix {
    has_choice: bool,
    /// What every I/O is, where there is no choice.
    only: Drawn,
    /// Each operation with the numbers of its sizes and of its order, and whether it is issued.
    operations: Vec<(f64, (Operation, usize, usize, bool))>,
    /// Those of the workload come first, then those that an operation has of its own.
    sizes: Vec<Sizes>,
    last: Operation,
}

#[derive(Debug, Clone)]
struct Sizes {
    shares: Vec<(f64, u32)>,
    smallest: u32,
}

/// What the next I/O is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// The operation.
    pub operation: Operation,
    /// Its bytes.
    pub size: u32,
    /// Smallest block that it might have had: random offsets are multiples of it.
    pub unit: u32,
    /// Which of [`Workload::accesses`] says where it goes.
    pub access: usize,
    /// Whether it is issued, and not only drawn.
    pub is_issued: bool,
}

impl Mix {
    /// The mix of a workload.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let mut sizes = vec![Sizes::of(&workload.block_sizes)];
        let mut shares = Vec::new();
        let mut accesses = 1;
        for share in &workload.operations {
            let number = if share.block_sizes.is_empty() { 0 } else { sizes.len() };
            if number > 0 {
                sizes.push(Sizes::of(&share.block_sizes));
            }
            let access = if share.access.is_none() { 0 } else { accesses };
            accesses += usize::from(share.access.is_some());
            shares.push((share.weight, (share.operation, number, access, !share.drawn_only)));
        }
        // what a recording says, and whose turn it is among files, is no choice, but is looked for in the same place
        let has_choice = workload.recording.is_some()
            || workload.job_files.are_several()
            || shares.len() > 1
            || sizes.iter().any(|sizes| sizes.shares.len() > 1);
        let (_, (operation, number, access, is_issued)) = shares[0];
        let Sizes { shares: of_first, smallest } = &sizes[number];
        let only = Drawn { operation, size: of_first[0].1, unit: *smallest, access, is_issued };
        Self { has_choice, only, operations: cumulative(shares.into_iter()), sizes, last: operation }
    }

    /// What every I/O is; `None` where there is a choice.
    #[inline]
    #[must_use]
    pub fn only(&self) -> Option<Drawn> {
        (!self.has_choice).then_some(self.only)
    }

    /// The next operation and its size.
    pub fn draw(&mut self, random: &mut Random) -> Drawn {
        let (operation, number, access, is_issued) = pick(&self.operations, random);
        self.last = operation;
        let sizes = &self.sizes[number];
        let size = pick(&sizes.shares, random);
        Drawn { operation, size, unit: sizes.smallest, access, is_issued }
    }

    /// The operation that was drawn last.
    #[must_use]
    pub fn last(&self) -> Operation {
        self.last
    }
}

impl Sizes {
    fn of(shares: &[BlockSizeShare]) -> Self {
        let smallest = shares.iter().map(|share| share.bytes).min().unwrap_or(1);
        let shares = cumulative(shares.iter().map(|share| (share.weight, share.bytes as u32)));
        Self { shares, smallest: smallest as u32 }
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
