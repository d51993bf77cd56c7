//! How many I/Os were outstanding, were sent by one call, and were found by one look.

const COUNT: usize = 7;
/// From here on all numbers are of the last level.
const MOST: usize = 65;

/// Levels of each number up to [`MOST`], looked up since they are counted at every call.
static OF_OUTSTANDING: [u8; MOST + 1] = levels_of([2, 4, 8, 16, 32, 64]);
static OF_CALL: [u8; MOST + 1] = levels_of([1, 5, 9, 17, 33, 65]);

/// The level of each number, of levels that begin with these.
const fn levels_of(begins: [usize; COUNT - 1]) -> [u8; MOST + 1] {
    let mut found = [0; MOST + 1];
    let mut level = 1;
    while level < COUNT {
        let mut count = begins[level - 1];
        while count <= MOST {
            found[count] = level as u8;
            count += 1;
        }
        level += 1;
    }
    found
}

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
        self.outstanding[usize::from(OF_OUTSTANDING[outstanding.min(MOST)])] += sent as u64;
        self.sent[usize::from(OF_CALL[sent.min(MOST)])] += 1;
    }

    /// Counts a look that found so many.
    #[inline]
    pub(super) fn add_look(&mut self, found: usize) {
        self.found[usize::from(OF_CALL[found.min(MOST)])] += 1;
    }

    /// Counts a call that sends one I/O and has its answer when it returns.
    #[inline]
    pub(super) fn add_one(&mut self) {
        self.sent[1] += 1;
    }

    /// Completes the counts of calls that sent one I/O each.
    pub(super) fn complete_ones(&mut self) {
        (self.outstanding[0], self.found[1]) = (self.sent[1], self.sent[1]);
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
            assert_eq!(usize::from(OF_CALL[count.min(MOST)]), level, "{count}");
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
