//! The numbers of records: which of them never came, and how many records each device has.

use std::collections::VecDeque;

use super::summary::DAMAGES_KEPT;

const SLOTS: usize = 1024;
/// So many devices of one CPU (modulo `SLOTS`) are told apart; damaged files must not take all memory.
const DEVICES_MAX: usize = 64;
/// So many gaps are kept open for numbers that come late; beyond that the first ones are lost for good.
const GAPS_OPEN_MAX: usize = 1 << 12;

/// Numbers that did not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub cpu: u32,
    pub first: u32,
    pub last: u32,
    /// Where in the file a number beyond it was read.
    pub at: u64,
}

impl Gap {
    pub(crate) fn count(self) -> u64 {
        u64::from(self.last - self.first) + 1
    }
}

/// What is known of the records of one CPU and one device.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub cpu: u32,
    pub device: u32,
    pub records: u64,
    /// Numbers of gaps that are closed.
    lost: u64,
    /// The least and the greatest number; 0 before there was one.
    least: u32,
    greatest: u32,
    last: u32,
    /// Between these two, by their numbers.
    gaps: VecDeque<Gap>,
}

impl Tally {
    fn new(cpu: u32, device: u32) -> Self {
        Self { cpu, device, records: 0, lost: 0, least: 0, greatest: 0, last: 0, gaps: VecDeque::new() }
    }

    /// Numbers that never came.
    pub(crate) fn lost(&self) -> u64 {
        self.gaps.iter().fold(self.lost, |sum, gap| sum.saturating_add(gap.count()))
    }

    /// Whether records may be missing right before this number.
    #[inline]
    fn take(&mut self, sequence: u32, at: u64, closed: &mut Closed) -> bool {
        self.records += 1;
        if sequence == 0 {
            return false;
        }
        let last = std::mem::replace(&mut self.last, sequence);
        if self.greatest != 0 && sequence == self.greatest.wrapping_add(1) {
            self.greatest = sequence;
            return false;
        }
        self.take_out_of_turn(sequence, last, at, closed)
    }

    #[cold]
    fn take_out_of_turn(&mut self, sequence: u32, last: u32, at: u64, closed: &mut Closed) -> bool {
        let (first, end) = (self.least, self.greatest);
        if end == 0 || sequence == 1 && last != 1 && self.may_begin_anew() {
            self.close(self.gaps.len(), closed);
            (self.least, self.greatest) = (sequence, sequence);
            return false;
        }
        if sequence > end {
            self.greatest = sequence;
            self.gaps.push_back(Gap { cpu: self.cpu, first: end + 1, last: sequence - 1, at });
        } else if sequence < first {
            self.least = sequence;
            if first - sequence > 1 {
                self.gaps.push_front(Gap { cpu: self.cpu, first: sequence + 1, last: first - 1, at });
            }
        } else {
            self.fill(sequence);
        }
        self.close(self.gaps.len().saturating_sub(GAPS_OPEN_MAX), closed);
        sequence > end
    }

    /// Whether number 1 is that of another trace in the same file, and has not come late.
    fn may_begin_anew(&self) -> bool {
        self.least == 1 || self.least as usize > GAPS_OPEN_MAX || self.greatest == u32::MAX
    }

    /// A number has come late.
    fn fill(&mut self, sequence: u32) {
        let place = self.gaps.partition_point(|gap| gap.last < sequence);
        let Some(gap) = self.gaps.get_mut(place).filter(|gap| gap.first <= sequence) else { return };
        match (gap.first == sequence, gap.last == sequence) {
            (true, true) => {
                self.gaps.remove(place);
            }
            (true, false) => gap.first += 1,
            (false, true) => gap.last -= 1,
            (false, false) => {
                let after = Gap { first: sequence + 1, ..*gap };
                gap.last = sequence - 1;
                self.gaps.insert(place + 1, after);
            }
        }
    }

    /// The first gaps are not filled any more.
    fn close(&mut self, count: usize, closed: &mut Closed) {
        for gap in self.gaps.drain(..count) {
            self.lost = self.lost.saturating_add(gap.count());
            closed.add(gap);
        }
    }
}

/// Gaps that nothing fills any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Closed {
    pub count: u64,
    /// The first of them.
    pub kept: Vec<Gap>,
}

impl Closed {
    fn add(&mut self, gap: Gap) {
        self.count += 1;
        if (self.kept.len() as u64) < DAMAGES_KEPT {
            self.kept.push(gap);
        }
    }
}

/// Tallies of all CPUs and devices of one file.
#[derive(Default)]
pub(crate) struct Tallies {
    by_cpu: Vec<Vec<Tally>>,
    closed: Closed,
}

impl Tallies {
    /// Counts a record that was read at this place of the file; gives whether records may be missing before it.
    #[inline]
    pub(crate) fn count(&mut self, cpu: u32, device: u32, sequence: u32, at: u64) -> bool {
        let slot = cpu as usize % SLOTS;
        let known = self
            .by_cpu
            .get_mut(slot)
            .and_then(|tallies| tallies.iter_mut().find(|tally| tally.device == device && tally.cpu == cpu));
        if let Some(tally) = known {
            return tally.take(sequence, at, &mut self.closed);
        }
        let mut tally = Tally::new(cpu, device);
        tally.take(sequence, at, &mut self.closed);
        self.add(slot, tally);
        false
    }

    #[cold]
    fn add(&mut self, slot: usize, tally: Tally) {
        if self.by_cpu.len() <= slot {
            self.by_cpu.resize_with(slot + 1, Vec::new);
        }
        if self.by_cpu[slot].len() < DEVICES_MAX {
            self.by_cpu[slot].push(tally);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tally> {
        self.by_cpu.iter().flatten()
    }

    /// All gaps that are known by now; of many the first ones.
    pub(crate) fn gaps(&self) -> Closed {
        let mut all = self.closed.clone();
        self.iter().flat_map(|tally| &tally.gaps).for_each(|gap| all.add(*gap));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Tallies, Tally};

    fn tallied(numbers: &[u32]) -> Tallies {
        let mut tallies = Tallies::default();
        for (number, at) in numbers.iter().zip(0..) {
            tallies.count(3, 8 << 20, *number, at);
        }
        tallies
    }

    /// First and last number of each gap.
    fn gaps(numbers: &[u32]) -> Vec<(u32, u32)> {
        let tallies = tallied(numbers);
        let found = tallies.gaps();
        let lost: u64 = tallies.iter().map(Tally::lost).sum();
        assert_eq!(lost, found.kept.iter().map(|gap| gap.count()).sum::<u64>());
        assert_eq!(found.count, found.kept.len() as u64);
        found.kept.iter().map(|gap| (gap.first, gap.last)).collect()
    }

    #[test]
    fn a_gap_is_as_large_as_the_numbers_that_lack() {
        assert_eq!(gaps(&[1, 2, 5, 6, 10]), [(3, 4), (7, 9)]);
    }

    #[test]
    fn zero_is_no_number() {
        assert_eq!(gaps(&[0, 0, 0]), []);
        assert_eq!(gaps(&[1, 0, 2, 0, 4]), [(3, 3)]);
    }

    #[test]
    fn a_second_trace_and_duplicates_are_no_gap() {
        assert_eq!(gaps(&[1, 2, 3, 1, 2, 3, 4]), []);
        assert_eq!(gaps(&[1, 1, 2, 2, 3, 3]), []);
        assert_eq!(gaps(&[9_000, 9_001, 1, 2, 4]), [(3, 3)]);
        assert_eq!(gaps(&[1, 2, 5, 1, 2, 3, 4]), [(3, 4)]);
    }

    #[test]
    fn what_comes_out_of_order_is_not_lost() {
        let shuffled: Vec<u32> = (0..10_007).map(|place| place * 5_003 % 10_007 + 1).collect();
        assert_eq!(gaps(&shuffled), []);
        let without: Vec<u32> = shuffled.into_iter().filter(|number| !(70..=72).contains(number)).collect();
        assert_eq!(gaps(&without), [(70, 72)]);
        assert_eq!(gaps(&[3, 2, 1, 4, 8, 6]), [(5, 5), (7, 7)]);
    }

    #[test]
    fn what_a_gap_too_many_would_need_is_lost() {
        let odd: Vec<u32> = (0..10_000).map(|place| 2 * place + 1).collect();
        let tallies = tallied(&odd);
        assert_eq!((tallies.gaps().count, tallies.iter().map(Tally::lost).sum::<u64>()), (9_999, 9_999));
        assert_eq!(tallies.gaps().kept.len() as u64, super::DAMAGES_KEPT);
    }

    #[test]
    fn cpus_and_devices_are_counted_apart() {
        let mut tallies = Tallies::default();
        for number in 1..=5 {
            assert!(!tallies.count(0, 1, number, 0));
            assert!(!tallies.count(1024, 1, number, 0));
            assert!(!tallies.count(0, 2, number, 0));
        }
        assert_eq!(tallies.iter().map(|tally| tally.records).collect::<Vec<_>>(), [5, 5, 5]);
    }
}
