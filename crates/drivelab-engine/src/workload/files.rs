//! Several files of each job, which take turns.

use serde::Deserialize;

/// Whose turn it is among the files of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOrder {
    /// One after the other, round and round.
    #[default]
    RoundRobin,
    /// Any of those that are not through.
    Random,
    /// The next when one is through.
    Sequential,
}

/// The files of each job: all are alike, and one after the other they are its range.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct JobFiles {
    /// How many each job has.
    pub count: u32,
    /// Whose turn it is.
    pub order: FileOrder,
    /// I/Os of a turn.
    pub ios_per_turn: u64,
    /// So many take turns; the next one comes when one of them is through. 0: all.
    pub open_max: u32,
}

impl Default for JobFiles {
    fn default() -> Self {
        Self { count: 1, order: FileOrder::default(), ios_per_turn: 1, open_max: 0 }
    }
}

impl JobFiles {
    /// Whether a job has more than one.
    #[must_use]
    pub fn are_several(&self) -> bool {
        self.count > 1
    }
}
