//! The operations of one job on its files, one after the other: what, on which file, of how many bytes.

use super::layout::{Layout, lists_only};
use super::population::Population;
use super::update::UPDATE_BYTES;
use crate::address::Random;
use crate::mix::Mix;
use crate::workload::{Operation, Workload};

/// Whose turn it is among the files of one job.
#[derive(Debug)]
pub struct Turns {
    layout: Layout,
    population: Population,
    job: u32,
    lists_only: bool,
}

impl Turns {
    /// The turns of one job; `None` when its operations are not on files.
    #[must_use]
    pub fn of_job(workload: &Workload, job: u32, random: &mut Random) -> Option<Self> {
        let layout = Layout::of(workload)?;
        let lists_only = lists_only(workload);
        let count = layout.count_of_job(job, lists_only);
        let population = Population::new(workload, count, random);
        Some(Self { layout, population, job, lists_only })
    }

    /// The next operation, the number of its file, and the bytes that it moves; `None` at the end.
    #[inline]
    pub fn next(&mut self, mix: &mut Mix, random: &mut Random) -> Option<(Operation, u64, u32)> {
        let (operation, place) = self.population.next(mix, random)?;
        let number = self.layout.number(self.job, place, self.lists_only);
        let bytes = match operation {
            Operation::Create | Operation::Replace | Operation::ReadFile => self.layout.file_bytes(number),
            Operation::Update => UPDATE_BYTES,
            _ => 0,
        };
        Some((operation, number, bytes as u32))
    }
}
