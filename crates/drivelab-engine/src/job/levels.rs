//! How many I/Os were outstanding, were sent by one call, and were found by one look.

const COUNT: usize = 7;

/// Counts by level.
#[derive(Debug, Default, Clone, Copy)]
pub struct Levels {
    /// I/Os by how many were outstanding with them when they were sent: 1, 2, 4, 8, 16, 32, 64 and more, each up to the
    /// next.
    pub outstanding: [u64; COUNT],
    /// Calls by how many I/Os they sent: none, up to 4, 8, 16, 32, 64, and more.
    pub sent: [u64; COUNT],
    /// Looks by how many I/Os they found to have ended: the same levels.
    pub found: [u64; COUNT],
}

impl Levels {
    /// Counts a call that sends so many I/Os, with which so many are outstanding.
    #[inline]
    pub(super) fn add_call(&mut self, sent: usize, outstanding: usize) {
        self.outstanding[(outstanding.max(1).ilog2() as usize).min(COUNT - 1)] += sent as u64;
        self.sent[level_of_call(sent)] += 1;
    }

    /// Counts a look that found so many.
    #[inline]
    pub(super) fn add_look(&mut self, found: usize) {
        self.found[level_of_call(found)] += 1;
    }

    /// Adds those of another job.
    pub fn add(&mut self, other: &Self) {
        let parts = [
            (&mut self.outstanding, &other.outstanding),
            (&mut self.sent, &other.sent),
            (&mut self.found, &other.found),
        ];
        for (sums, counts) in parts {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
}

#[inline]
fn level_of_call(count: usize) -> usize {
    match count {
        0 => 0,
        1..=4 => 1,
        _ => ((count - 1).ilog2() as usize).min(COUNT - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_that_fio_has() {
        let ends = [
            (0, 0),
            (1, 1),
            (4, 1),
            (5, 2),
            (8, 2),
            (9, 3),
            (16, 3),
            (17, 4),
            (32, 4),
            (33, 5),
            (64, 5),
            (65, 6),
        ];
        for (count, level) in ends {
            assert_eq!(level_of_call(count), level, "{count}");
        }
        let mut levels = Levels::default();
        for (outstanding, level) in
            [(1, 0), (2, 1), (3, 1), (4, 2), (31, 4), (32, 5), (63, 5), (64, 6), (4096, 6)]
        {
            let before = levels.outstanding[level];
            levels.add_call(2, outstanding);
            assert_eq!(levels.outstanding[level] - before, 2, "{outstanding}");
        }
    }
}
