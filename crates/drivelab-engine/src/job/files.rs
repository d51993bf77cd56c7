//! The turns that the files of a job take, as fio's do: each file has its own order of addresses, and one that is
//! through with it is left out until all are.

use crate::address::{Addresses, Random, below};
use crate::mix::Drawn;
use crate::workload::{FileOrder, JobFiles, Workload};

/// How far a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has not had a turn.
    Waits,
    /// It takes turns.
    Open,
    /// Every place of its order has had its turn.
    Through,
}

/// Whose turn it is.
#[derive(Debug)]
pub struct FileTurns {
    files: JobFiles,
    /// Bytes of the job's range for each file.
    pub(super) span: u64,
    /// By file, those of [`Workload::accesses`].
    addresses: Vec<Vec<Addresses>>,
    states: Vec<State>,
    present: usize,
    ios_left: u64,
    /// Where the search for the next one begins.
    next: usize,
    begins_again: bool,
    /// Files that the call at the end has still to make durable.
    unsynced: u64,
}

impl FileTurns {
    /// The turns of one job; `None` where it has one file. `addresses` makes the orders of a file whose bytes begin at
    /// such a place of the range.
    pub(super) fn of_job(
        workload: &Workload,
        span: u64,
        mut addresses: impl FnMut(u64) -> Vec<Addresses>,
    ) -> Option<Self> {
        let files = workload.job_files;
        files.are_several().then(|| Self {
            files,
            span,
            addresses: (0..u64::from(files.count)).map(|number| addresses(number * span)).collect(),
            states: vec![State::Waits; files.count as usize],
            present: 0,
            ios_left: 0,
            next: 0,
            begins_again: false,
            unsynced: u64::from(files.count),
        })
    }

    /// Place and bytes of the next I/O; `None` when all are through and it ends there.
    pub(super) fn next_place(
        &mut self,
        drawn: Drawn,
        random: &mut Random,
        ends_when_through: bool,
    ) -> Option<(u64, u64)> {
        let size = u64::from(drawn.size);
        loop {
            let Some(file) = self.take_turn(random) else {
                if ends_when_through {
                    return None;
                }
                self.begin_again(random);
                continue;
            };
            let addresses = &mut self.addresses[file][drawn.access];
            if !addresses.is_through(size) {
                return Some(addresses.next_cut(random, size, u64::from(drawn.unit)));
            }
            self.states[file] = State::Through;
        }
    }

    /// A place in the file whose turn it is, which the turn is used up for.
    pub(super) fn place_of_turn(&mut self, random: &mut Random) -> u64 {
        self.take_turn(random).unwrap_or(self.present) as u64 * self.span
    }

    /// Whether all have begun again since this was asked.
    pub(super) fn take_begun_again(&mut self) -> bool {
        std::mem::take(&mut self.begins_again)
    }

    /// A place in the next file that is to be made durable in the end, and whether it is the last.
    pub(super) fn next_to_sync(&mut self) -> (u64, bool) {
        let number = u64::from(self.files.count) - self.unsynced;
        self.unsynced -= 1;
        (number * self.span, self.unsynced == 0)
    }

    fn take_turn(&mut self, random: &mut Random) -> Option<usize> {
        if self.states[self.present] == State::Open {
            if self.files.order == FileOrder::Sequential {
                return Some(self.present);
            }
            if self.ios_left > 0 {
                self.ios_left -= 1;
                return Some(self.present);
            }
        }
        if self.states.iter().all(|state| *state == State::Through) {
            return None;
        }
        loop {
            let number = self.candidate(random);
            if self.may_take(number) {
                self.states[number] = State::Open;
                self.present = number;
                self.ios_left = self.files.ios_per_turn - 1;
                return Some(number);
            }
        }
    }

    fn candidate(&mut self, random: &mut Random) -> usize {
        let count = self.states.len();
        if self.files.order == FileOrder::Random {
            return below(random, count as u64) as usize;
        }
        let number = self.next;
        self.next = (number + 1) % count;
        number
    }

    fn may_take(&self, number: usize) -> bool {
        let open = || self.states.iter().filter(|state| **state == State::Open).count();
        match self.states[number] {
            State::Open => true,
            State::Through => false,
            State::Waits => self.files.open_max == 0 || open() < self.files.open_max as usize,
        }
    }

    fn begin_again(&mut self, random: &mut Random) {
        self.states.fill(State::Waits);
        self.begins_again = true;
        self.addresses.iter_mut().flatten().for_each(|addresses| addresses.begin_again(random));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::random_for_job;
    use crate::workload::{Access, AccessKind, Operation};

    const BLOCK: u64 = 4096;
    const SPAN: u64 = 3 * BLOCK;

    fn turns(order: FileOrder, ios_per_turn: u64, open_max: u32, kind: AccessKind) -> FileTurns {
        let access: Access = serde_json::from_value(serde_json::json!({
            "kind": "sequential", "stride_bytes": 0, "zipf_theta": 0.99, "hot_range_fraction": 0.1,
            "hot_access_fraction": 0.9,
        }))
        .unwrap();
        let access = Access { kind, ..access };
        let files = JobFiles { count: 4, order, ios_per_turn, open_max };
        let mut random = random_for_job(1, 0);
        let mut of_file = |start| Addresses::new(&access, start, SPAN, BLOCK).each_once(BLOCK, &mut random);
        FileTurns {
            files,
            span: SPAN,
            addresses: (0..4).map(|number| vec![of_file(number * SPAN)]).collect(),
            states: vec![State::Waits; 4],
            present: 0,
            ios_left: 0,
            next: 0,
            begins_again: false,
            unsynced: 4,
        }
    }

    fn places(turns: &mut FileTurns) -> Vec<(u64, u64)> {
        let drawn = Drawn {
            operation: Operation::Read,
            size: BLOCK as u32,
            unit: BLOCK as u32,
            access: 0,
            is_issued: true,
        };
        let mut random = random_for_job(2, 0);
        let mut next = || turns.next_place(drawn, &mut random, true);
        let all = std::iter::from_fn(&mut next).map(|(offset, _)| (offset / SPAN, offset % SPAN / BLOCK));
        all.collect()
    }

    #[test]
    fn files_have_their_turns_round_and_round_or_one_after_the_other() {
        let files = |order, ios, open| -> Vec<u64> {
            let found = places(&mut turns(order, ios, open, AccessKind::Sequential));
            found.into_iter().map(|(file, _)| file).collect()
        };
        assert_eq!(files(FileOrder::RoundRobin, 1, 0), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(files(FileOrder::RoundRobin, 2, 0), [0, 0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 3]);
        assert_eq!(files(FileOrder::Sequential, 1, 0), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
        assert_eq!(files(FileOrder::RoundRobin, 1, 2), [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]);
    }

    #[test]
    fn every_block_of_every_file_comes_once_in_each_pass() {
        for order in [FileOrder::RoundRobin, FileOrder::Random, FileOrder::Sequential] {
            for kind in [AccessKind::Sequential, AccessKind::Random, AccessKind::Reverse] {
                let mut turns = turns(order, 1, 0, kind);
                for pass in 0..3 {
                    let mut found = places(&mut turns);
                    found.sort_unstable();
                    let all: Vec<_> =
                        (0..4).flat_map(|file| (0..3).map(move |block| (file, block))).collect();
                    assert_eq!(found, all, "{order:?} {kind:?} {pass}");
                    turns.begin_again(&mut random_for_job(pass, 1));
                    assert!(turns.take_begun_again() && !turns.take_begun_again());
                }
            }
        }
    }

    #[test]
    fn each_file_is_made_durable_in_the_end() {
        let mut turns = turns(FileOrder::RoundRobin, 1, 0, AccessKind::Sequential);
        let found: Vec<_> = (0..4).map(|_| turns.next_to_sync()).collect();
        assert_eq!(found, [(0, false), (SPAN, false), (2 * SPAN, false), (3 * SPAN, true)]);
    }
}
