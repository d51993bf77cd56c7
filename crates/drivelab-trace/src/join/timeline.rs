//! What goes on at every instant, as one line with running sums: any stretch of it is asked for in O(log n).

/// What goes on at an instant, in the order of what it is charged to: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A flush is at the device.
    Flush,
    /// A command with data is at the device.
    Device,
    /// A bio waits for the driver.
    Queue,
    /// A bio of a drive has not ended, but neither waits nor is at the device.
    Open,
    /// A bio is in a layer above the drives, and in none below that; the number is the layer's height.
    Layer(u8),
}

/// Levels without layers.
const PLAIN: usize = 4;
/// Heights of layers that are told apart; those above share the last.
pub const LAYERS: usize = 16;
/// From one sum to the next, so many changes are added up anew: the sums of all would be most of a line.
const SUMMED: usize = 16;
/// Number of levels.
pub const LEVELS: usize = PLAIN + LAYERS;

impl Level {
    /// Its place among all.
    pub fn index(self) -> usize {
        match self {
            Self::Flush => 0,
            Self::Device => 1,
            Self::Queue => 2,
            Self::Open => 3,
            Self::Layer(height) => PLAIN + usize::from(height).min(LAYERS - 1),
        }
    }

    fn of(index: usize) -> Self {
        match index {
            0 => Self::Flush,
            1 => Self::Device,
            2 => Self::Queue,
            3 => Self::Open,
            layer => Self::Layer((layer - PLAIN) as u8),
        }
    }
}

/// From `start` up to and without `end`, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// First instant.
    pub start: u64,
    /// First instant after it.
    pub end: u64,
    /// What goes on.
    pub level: Level,
}

/// Many intervals laid over each other: at every instant the first level.
#[derive(Debug, Default)]
pub struct Timeline {
    /// How many levels there may be: few, without layers.
    width: usize,
    /// Where the level changes.
    times: Vec<u64>,
    /// The level from there on; None when nothing goes on.
    levels: Vec<Option<Level>>,
    /// Length of every level before, in ns: `width` numbers for one change of each [`SUMMED`].
    sums: Vec<u64>,
}

impl Timeline {
    /// The line of these intervals; empty ones have no instant and are left out.
    #[must_use]
    pub fn of(intervals: Vec<Interval>) -> Self {
        let mut changes: Vec<(u64, u8, i8)> = Vec::with_capacity(2 * intervals.len());
        for interval in intervals.into_iter().filter(|interval| interval.start < interval.end) {
            let level = interval.level.index() as u8;
            changes.push((interval.start, level, 1));
            changes.push((interval.end, level, -1));
        }
        changes.sort_unstable_by_key(|change| change.0);
        let width = changes.iter().map(|change| usize::from(change.1) + 1).max().unwrap_or(0).max(PLAIN);
        let mut line = Self { width, ..Self::default() };
        let (mut open, mut position) = ([0_i32; LEVELS], 0);
        while let Some(&(time, _, _)) = changes.get(position) {
            while let Some(&(_, level, step)) = changes.get(position).filter(|change| change.0 == time) {
                open[usize::from(level)] += i32::from(step);
                position += 1;
            }
            line.change(time, open.iter().position(|&count| count > 0).map(Level::of));
        }
        line
    }

    fn change(&mut self, time: u64, level: Option<Level>) {
        if self.levels.last().copied().flatten() == level {
            return;
        }
        if self.times.len().is_multiple_of(SUMMED) {
            let sums = self.sums_at(time);
            self.sums.extend_from_slice(&sums[..self.width]);
        }
        self.times.push(time);
        self.levels.push(level);
    }

    /// Length of every level before a moment, in ns.
    fn sums_at(&self, time: u64) -> [u64; LEVELS] {
        let Some(last) = self.times.partition_point(|&change| change <= time).checked_sub(1) else {
            return [0; LEVELS];
        };
        let mut sums = [0; LEVELS];
        let place = last / SUMMED;
        sums[..self.width].copy_from_slice(&self.sums[place * self.width..(place + 1) * self.width]);
        for at in place * SUMMED..=last {
            let until = if at == last { time } else { self.times[at + 1] };
            if let Some(level) = self.levels[at] {
                sums[level.index()] += until - self.times[at];
            }
        }
        sums
    }

    /// Length of every level within a stretch, in ns.
    #[must_use]
    pub fn lengths(&self, start: u64, end: u64) -> [u64; LEVELS] {
        let (before, after) = (self.sums_at(start), self.sums_at(end));
        std::array::from_fn(|level| after[level] - before[level])
    }

    /// The pieces of a stretch in which something goes on, in order.
    pub fn pieces(&self, start: u64, end: u64) -> impl Iterator<Item = Interval> + '_ {
        let first = self.times.partition_point(|&time| time <= start).saturating_sub(1);
        let changes = (first..self.times.len()).take_while(move |&at| self.times[at] < end);
        changes.filter_map(move |at| {
            let until = self.times.get(at + 1).copied().unwrap_or(u64::MAX);
            let (from, until) = (self.times[at].max(start), until.min(end));
            self.levels[at].filter(|_| from < until).map(|level| Interval { start: from, end: until, level })
        })
    }

    /// First instant of a stretch at which something goes on.
    #[must_use]
    pub fn first_in(&self, start: u64, end: u64) -> Option<u64> {
        self.pieces(start, end).next().map(|piece| piece.start)
    }

    /// End of the last instant of a stretch at which something goes on.
    #[must_use]
    pub fn last_in(&self, start: u64, end: u64) -> Option<u64> {
        let mut at = self.times.partition_point(|&time| time < end);
        let mut until = end;
        while at > 0 {
            at -= 1;
            if self.levels[at].is_some() {
                return Some(until).filter(|&until| until > start);
            }
            until = self.times[at];
        }
        None
    }
}

/// The moments at which at least two of these windows are open, as windows in order.
#[must_use]
pub fn at_least_two(windows: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut changes: Vec<(u64, i32)> = Vec::with_capacity(2 * windows.len());
    for &(start, end) in windows.iter().filter(|window| window.0 < window.1) {
        changes.push((start, 1));
        changes.push((end, -1));
    }
    // ends before starts: windows that only touch are never open together
    changes.sort_unstable();
    let (mut found, mut open, mut since) = (Vec::new(), 0, 0);
    for (time, step) in changes {
        open += step;
        if step > 0 && open == 2 {
            since = time;
        } else if step < 0 && open == 1 && since < time {
            found.push((since, time));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Timeline {
        Timeline::of(vec![
            Interval { start: 10, end: 40, level: Level::Open },
            Interval { start: 10, end: 20, level: Level::Queue },
            Interval { start: 18, end: 30, level: Level::Device },
            Interval { start: 25, end: 28, level: Level::Flush },
            Interval { start: 50, end: 50, level: Level::Flush },
            Interval { start: 60, end: 70, level: Level::Device },
        ])
    }

    #[test]
    fn every_instant_counts_for_the_first_level_that_is_open() {
        assert_eq!(line().lengths(0, 100)[..PLAIN], [3, 19, 8, 10]);
        assert_eq!(line().lengths(15, 26)[..PLAIN], [1, 7, 3, 0]);
        assert_eq!(line().lengths(40, 60), [0; LEVELS]);
    }

    #[test]
    fn an_instant_is_that_of_the_layer_furthest_down_in_which_something_is() {
        let line = Timeline::of(vec![
            Interval { start: 0, end: 100, level: Level::Layer(3) },
            Interval { start: 10, end: 90, level: Level::Layer(0) },
            Interval { start: 20, end: 80, level: Level::Open },
            Interval { start: 20, end: 30, level: Level::Queue },
            Interval { start: 30, end: 70, level: Level::Device },
        ]);
        let lengths = line.lengths(0, 100);
        assert_eq!(lengths[..PLAIN], [0, 40, 10, 10]);
        assert_eq!((lengths[Level::Layer(0).index()], lengths[Level::Layer(3).index()]), (20, 20));
        assert_eq!(lengths.iter().sum::<u64>(), 100);
    }

    #[test]
    fn pieces_are_cut_to_the_stretch() {
        let pieces: Vec<_> = line().pieces(26, 65).map(|piece| (piece.start, piece.end)).collect();
        assert_eq!(pieces, [(26, 28), (28, 30), (30, 40), (60, 65)]);
    }

    #[test]
    fn the_first_and_the_last_instant_are_found() {
        let line = line();
        assert_eq!((line.first_in(0, 100), line.last_in(0, 100)), (Some(10), Some(70)));
        assert_eq!((line.first_in(12, 45), line.last_in(12, 45)), (Some(12), Some(40)));
        assert_eq!((line.first_in(40, 60), line.last_in(40, 60)), (None, None));
        assert_eq!((line.first_in(45, 62), line.last_in(45, 62)), (Some(60), Some(62)));
        assert_eq!((line.first_in(80, 90), line.last_in(80, 90)), (None, None));
    }

    #[test]
    fn windows_that_touch_are_not_open_together() {
        assert_eq!(at_least_two(&[(0, 10), (10, 20)]), []);
        assert_eq!(at_least_two(&[(0, 10), (5, 20), (7, 8), (19, 30)]), [(5, 10), (19, 20)]);
    }
}
