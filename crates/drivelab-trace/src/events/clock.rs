//! Times of a trace whose clock is not that of the operations, brought to CLOCK_MONOTONIC.

/// A straight line from the clock of the trace to CLOCK_MONOTONIC, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockLine {
    from: (u64, u64),
    to: (u64, u64),
}

impl ClockLine {
    /// The same time on both sides.
    #[must_use]
    pub fn same() -> Self {
        Self { from: (0, 1), to: (0, 1) }
    }

    /// Through two moments that are known by both clocks: (trace, CLOCK_MONOTONIC).
    ///
    /// None when they don't lie apart on either clock.
    #[must_use]
    pub fn through(first: (u64, u64), last: (u64, u64)) -> Option<Self> {
        let is_apart = first.0 < last.0 && first.1 < last.1;
        is_apart.then_some(Self { from: (first.0, last.0), to: (first.1, last.1) })
    }

    /// A time of the trace on CLOCK_MONOTONIC.
    #[must_use]
    pub fn convert(&self, time: u64) -> u64 {
        if self.from == self.to {
            return time;
        }
        let (from_length, to_length) = (self.from.1 - self.from.0, self.to.1 - self.to.0);
        let since = i128::from(time) - i128::from(self.from.0);
        // moments of a damaged trace may lie anywhere
        let moved = since.saturating_mul(i128::from(to_length)) / i128::from(from_length);
        i128::from(self.to.0).saturating_add(moved).clamp(0, u64::MAX.into()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_on_the_line_through_both_moments() {
        // 2 ticks of the trace to 3 ns
        let line = ClockLine::through((1000, 5_000_000), (3000, 5_003_000)).unwrap();
        for (time, wanted) in
            [(1000, 5_000_000), (3000, 5_003_000), (2000, 5_001_500), (4000, 5_004_500), (0, 4_998_500)]
        {
            assert_eq!(line.convert(time), wanted);
        }
        assert_eq!(ClockLine::same().convert(u64::MAX), u64::MAX);
        assert_eq!(ClockLine::through((5, 5), (5, 9)), None);
    }
}
