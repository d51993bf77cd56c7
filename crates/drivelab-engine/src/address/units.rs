//! Units of a range, each of which has its turn once.

/// Which units have had their turn: a bit for each.
#[derive(Debug, Clone)]
pub(super) struct Units {
    taken: Vec<u64>,
    count: u64,
    /// Those that are still to come.
    left: u64,
}

impl Units {
    pub(super) fn new(count: u64) -> Self {
        Self { taken: vec![0; count.div_ceil(64) as usize], count, left: count }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether every unit has had its turn, and the next is the first of another order.
    pub(super) fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// Begins another order.
    pub(super) fn begin_again(&mut self) {
        self.taken.fill(0);
        self.left = self.count;
    }

    /// Takes the first free unit from a place on, going round, and those behind it that are free: up to so many.
    /// Returns the first and how many they are.
    pub(super) fn take(&mut self, from: u64, most: u64) -> (u64, u64) {
        if self.left == 0 {
            self.begin_again();
        }
        let first = self.free_from(from);
        let end = (first + 1..self.count.min(first + most)).find(|unit| self.is_taken(*unit));
        let end = end.unwrap_or(self.count.min(first + most));
        for unit in first..end {
            self.taken[(unit / 64) as usize] |= 1 << (unit % 64);
        }
        self.left -= end - first;
        (first, end - first)
    }

    fn is_taken(&self, unit: u64) -> bool {
        self.taken[(unit / 64) as usize] & 1 << (unit % 64) != 0
    }

    /// The first free unit from a place on, or else from the start; there is one.
    fn free_from(&self, from: u64) -> u64 {
        let words = self.taken.len();
        let start = (from / 64) as usize;
        // the units before the place come last
        let before = (1_u64 << (from % 64)) - 1;
        let free_in = |word: usize, hidden: u64| {
            let free = !(self.taken[word] | hidden);
            let unit = word as u64 * 64 + u64::from(free.trailing_zeros());
            (free != 0 && unit < self.count).then_some(unit)
        };
        free_in(start, before)
            .or_else(|| (1..=words).find_map(|step| free_in((start + step) % words, 0)))
            .unwrap_or(from)
    }
}
