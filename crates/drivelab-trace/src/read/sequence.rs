//! The numbers of records: what they tell about lost ones, and how many records each device has.

const SLOTS: usize = 1024;
/// So many devices of one CPU (modulo `SLOTS`) are told apart; damaged files must not take all memory.
const DEVICES_MAX: usize = 64;

/// What is known of the records of one CPU and one device.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub cpu: u32,
    pub device: u32,
    pub records: u64,
    pub lost: u64,
    last: u32,
}

/// Tallies of all CPUs and devices of one file.
#[derive(Default)]
pub(crate) struct Tallies {
    by_cpu: Vec<Vec<Tally>>,
}

impl Tallies {
    /// Counts a record; gives how many numbers are missing before it.
    #[inline]
    pub(crate) fn count(&mut self, cpu: u32, device: u32, sequence: u32) -> u32 {
        let slot = cpu as usize % SLOTS;
        let known = self
            .by_cpu
            .get_mut(slot)
            .and_then(|tallies| tallies.iter_mut().find(|tally| tally.device == device && tally.cpu == cpu));
        let Some(tally) = known else {
            self.add(slot, Tally { cpu, device, records: 1, lost: 0, last: sequence });
            return 0;
        };
        tally.records += 1;
        if sequence == 0 {
            return 0;
        }
        // after the largest number comes 0, which is none
        let expected = tally.last.wrapping_add(1).max(1);
        if sequence == expected || tally.last == 0 {
            tally.last = sequence;
            return 0;
        }
        if sequence > expected {
            let missing = sequence - expected;
            tally.lost += u64::from(missing);
            tally.last = sequence;
            return missing;
        }
        if sequence == 1 {
            // another trace follows in the same file
            tally.last = 1;
        }
        0
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
}

#[cfg(test)]
mod tests {
    use super::Tallies;

    fn missing(numbers: &[u32]) -> Vec<u32> {
        let mut tallies = Tallies::default();
        numbers.iter().map(|number| tallies.count(3, 8 << 20, *number)).collect()
    }

    #[test]
    fn a_gap_is_as_large_as_the_numbers_that_lack() {
        assert_eq!(missing(&[1, 2, 5, 6, 10]), [0, 0, 2, 0, 3]);
    }

    #[test]
    fn zero_is_no_number() {
        assert_eq!(missing(&[0, 0, 0]), [0, 0, 0]);
        assert_eq!(missing(&[1, 0, 2, 0, 4]), [0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_second_trace_and_duplicates_are_no_gap() {
        assert_eq!(missing(&[1, 2, 3, 1, 2, 3, 4]), [0; 7]);
        assert_eq!(missing(&[1, 1, 2, 2, 3, 3]), [0; 6]);
    }

    #[test]
    fn cpus_and_devices_are_counted_apart() {
        let mut tallies = Tallies::default();
        for number in 1..=5 {
            assert_eq!(tallies.count(0, 1, number), 0);
            assert_eq!(tallies.count(1024, 1, number), 0);
            assert_eq!(tallies.count(0, 2, number), 0);
        }
        assert_eq!(tallies.iter().map(|tally| tally.records).collect::<Vec<_>>(), [5, 5, 5]);
    }
}
