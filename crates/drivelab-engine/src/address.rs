//! Where the next I/O goes: a stream of offsets, repeatable by seed.

mod permutation;
mod skew;
mod turns;
mod units;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use self::permutation::Permutation;
use self::skew::{Zipf, Zones, normal, pareto_power};
use self::turns::Turns;
use self::units::Units;
use crate::workload::{Access, AccessKind};

/// Random numbers of one job.
pub type Random = Xoshiro256PlusPlus;

/// Random numbers for one job of a run, independent of the other jobs'.
#[must_use]
pub fn random_for_job(seed: u64, job: u32) -> Random {
    Random::seed_from_u64(seed ^ (u64::from(job) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// A whole number below `bound` (Lemire's multiplication; the bias is below 2^-32 for any real target).
#[inline]
pub fn below(random: &mut Random, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// A number in [0, 1).
#[inline]
pub fn unit(random: &mut Random) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Places of blocks, of which each I/O takes any.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    start: u64,
    unit: u64,
    count: u64,
}

impl Places {
    /// The offset of one of them.
    #[inline]
    #[must_use]
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.start + self.unit * below(random, self.count)
    }
}

/// Offsets of one job within its part of the range.
#[derive(Debug, Clone)]
pub struct Addresses {
    kind: AccessKind,
    start: u64,
    length: u64,
    /// Distance of the places that a permutation has in order.
    unit: u64,
    stride: u64,
    /// Where a sequential stream goes on.
    cursor: u64,
    wrapped: bool,
    hot_bytes: u64,
    hot_share: f64,
    zipf: Option<Zipf>,
    zones: Zones,
    pareto_power: f64,
    normal_deviation: f64,
    permutation: Option<Permutation>,
    /// Where blocks of several sizes come from a random order that has every unit once.
    units: Option<Units>,
    /// Where the order is kept to one part of the range after the other.
    turns: Option<Turns>,
    /// Places for blocks of the last size and unit: mostly the next block is of the same.
    counted_places: u64,
    counted_for: (u64, u64),
    /// Whether each I/O has a random place that depends on none before.
    is_plain: bool,
    /// Whether sequential I/Os follow some random ones.
    mixes: bool,
    random_fraction: f64,
    run_blocks: u64,
    /// Blocks that still follow the last random place.
    run_left: u64,
}

impl Addresses {
    /// Offsets in `[start, start + length)`, multiples of a unit counted from `start`; `unit` is the smallest.
    #[must_use]
    pub fn new(access: &Access, start: u64, length: u64, unit: u64) -> Self {
        let turns = Turns::of(access, start, length);
        let length = if turns.is_some() { access.zone_bytes.min(length) } else { length };
        let units = (length / unit).max(1);
        // Blocks that come down from the end must lie on the same grid as those that go up from the start.
        let length = if access.kind == AccessKind::Reverse { units * unit } else { length };
        let mixes = access.run_blocks > 1 || access.random_fraction < 1.0;
        let hot_units = ((units as f64 * access.hot_range_fraction) as u64).clamp(1, units);
        Self {
            kind: access.kind,
            start,
            length,
            unit,
            stride: access.stride_bytes,
            cursor: 0,
            wrapped: false,
            hot_bytes: hot_units * unit,
            hot_share: access.hot_access_fraction,
            zipf: (access.kind == AccessKind::Zipf).then(|| Zipf::new(units, access.zipf_theta)),
            zones: Zones::new(&access.zones),
            pareto_power: pareto_power(access.pareto_h),
            normal_deviation: access.normal_deviation,
            permutation: None,
            units: None,
            is_plain: !mixes && turns.is_none(),
            turns,
            counted_places: 0,
            counted_for: (0, 0),
            mixes,
            random_fraction: access.random_fraction,
            run_blocks: access.run_blocks,
            run_left: 0,
        }
    }

    /// The same offsets, each of them once: a random order of all blocks of this size, and then another one.
    ///
    /// Where several blocks follow each random place, the order is one of such runs.
    #[must_use]
    pub fn each_once(mut self, size: u64, random: &mut Random) -> Self {
        if self.kind == AccessKind::Random {
            let runs = self.places(size, size).div_ceil(self.run_blocks);
            self.unit = size.saturating_mul(self.run_blocks);
            self.permutation = Some(Permutation::new(runs, random));
            self.is_plain = false;
        }
        self
    }

    /// The same offsets for blocks of several sizes: each unit comes once, and a block ends where one lies already.
    #[must_use]
    pub fn each_unit_once(mut self) -> Self {
        self.units = Some(Units::new((self.length / self.unit).max(1)));
        self
    }

    /// Offset and bytes of the next I/O, which is to have `size` bytes, and has less where it would reach into another.
    pub fn next_cut(&mut self, random: &mut Random, size: u64, unit: u64) -> (u64, u64) {
        if self.units.is_none() {
            return (self.next(random, size, unit), size);
        }
        self.enter_zone(random, size);
        let Some(units) = &mut self.units else { return (self.start, size) };
        self.wrapped |= units.is_used_up();
        let (first, count) = units.take(below(random, units.count()), size.div_ceil(self.unit));
        (self.start + first * self.unit, size.min(count * self.unit))
    }

    /// Offset for the next I/O of `size` bytes; a random one is a multiple of `unit`.
    #[inline]
    pub fn next(&mut self, random: &mut Random, size: u64, unit: u64) -> u64 {
        if self.kind == AccessKind::Random && self.is_plain {
            if self.counted_for != (size, unit) {
                self.count_places(size, unit);
            }
            return self.start + unit * below(random, self.counted_places);
        }
        if self.turns.is_some() {
            self.enter_zone(random, size);
        }
        let within = match self.kind {
            AccessKind::Same => 0,
            AccessKind::Sequential => self.ascend(size, size),
            AccessKind::Strided => self.ascend(size, self.stride),
            AccessKind::Reverse => {
                let before = self.ascend(size, size);
                self.length - size - before
            }
            _ if self.mixes => self.mixed(random, size, unit),
            _ => self.random_place(random, size, unit),
        };
        debug_assert!(within + size <= self.length);
        self.start + within
    }

    /// Where I/Os of `size` bytes go when each has a random place that depends on none before.
    #[must_use]
    pub fn plain_places(&self, size: u64, unit: u64) -> Option<Places> {
        let is_plain = self.kind == AccessKind::Random && self.is_plain;
        is_plain.then(|| Places { start: self.start, unit, count: self.places(size, unit) })
    }

    /// Whether the last offset began the range again, or another order that has every block once; told once.
    #[inline]
    pub fn take_wrapped(&mut self) -> bool {
        std::mem::take(&mut self.wrapped)
    }

    /// Whether the next sequential I/O of `size` bytes would begin again.
    #[inline]
    #[must_use]
    pub fn would_wrap(&self, size: u64) -> bool {
        self.cursor.saturating_add(size) > self.length
    }

    /// Goes to the zone that the next I/O belongs to; the order begins anew where the zone does, or is through.
    #[cold]
    fn enter_zone(&mut self, random: &mut Random, size: u64) {
        let Some(turns) = &mut self.turns else { return };
        if let Some(start) = turns.begun_by(size) {
            self.start = start;
            self.begin_again(random);
        }
    }

    /// Begins the order anew.
    pub fn begin_again(&mut self, random: &mut Random) {
        (self.cursor, self.run_left) = (0, 0);
        if let Some(permutation) = &mut self.permutation {
            permutation.begin_again(random);
        }
        if let Some(units) = &mut self.units {
            units.begin_again();
        }
    }

    /// Whether every place has had its turn before an I/O of `size` bytes; where places come again at random, none ends
    /// the order.
    #[must_use]
    pub fn is_through(&self, size: u64) -> bool {
        use AccessKind::{Reverse, Sequential, Strided};
        match (&self.permutation, &self.units) {
            (Some(permutation), _) => permutation.is_used_up(),
            (_, Some(units)) => units.is_used_up(),
            _ => matches!(self.kind, Sequential | Reverse | Strided) && self.would_wrap(size),
        }
    }

    #[cold]
    fn count_places(&mut self, size: u64, unit: u64) {
        (self.counted_places, self.counted_for) = (self.places(size, unit), (size, unit));
    }

    #[inline]
    fn places(&self, size: u64, unit: u64) -> u64 {
        (self.length - size) / unit + 1
    }

    #[inline]
    fn ascend(&mut self, size: u64, step: u64) -> u64 {
        if self.would_wrap(size) {
            self.cursor = 0;
            self.wrapped = true;
        }
        let offset = self.cursor;
        self.cursor = self.cursor.saturating_add(step);
        offset
    }

    fn uniform(&mut self, random: &mut Random, size: u64, unit: u64) -> u64 {
        match &mut self.permutation {
            Some(permutation) => {
                self.wrapped |= permutation.is_used_up();
                self.unit * permutation.next(random)
            }
            None => unit * below(random, self.places(size, unit)),
        }
    }

    /// A random place, or the one behind the last I/O: within a run, and for the part that is not random.
    /// Where the range ends, a random place comes in any case.
    fn mixed(&mut self, random: &mut Random, size: u64, unit: u64) -> u64 {
        let goes_on = self.run_left > 0;
        let follows = goes_on || (self.random_fraction < 1.0 && self::unit(random) >= self.random_fraction);
        let is_behind = follows && !self.would_wrap(size);
        self.run_left = if is_behind && goes_on { self.run_left } else { self.run_blocks } - 1;
        let offset = if is_behind { self.cursor } else { self.random_place(random, size, unit) };
        self.cursor = offset + size;
        offset
    }

    fn random_place(&mut self, random: &mut Random, size: u64, unit: u64) -> u64 {
        let places = self.places(size, unit);
        let place = match self.kind {
            AccessKind::HotCold => self.hot_or_cold(random, places, unit),
            // Popular blocks lie scattered over the range, as they do in life.
            AccessKind::Zipf => scatter(self.zipf.as_ref().map_or(0, |zipf| zipf.rank(random)), places),
            AccessKind::Pareto => {
                let part = self::unit(random).powf(self.pareto_power);
                scatter((part * places as f64) as u64, places)
            }
            AccessKind::Zoned => self.zones.place(random, places),
            AccessKind::Normal => normal(random, self.normal_deviation, places),
            _ => return self.uniform(random, size, unit),
        };
        place * unit
    }

    fn hot_or_cold(&self, random: &mut Random, places: u64, unit: u64) -> u64 {
        let hot = (self.hot_bytes / unit).clamp(1, places);
        if hot == places || self::unit(random) < self.hot_share {
            below(random, hot)
        } else {
            hot + below(random, places - hot)
        }
    }
}

/// A place for a rank, far from those of its neighbours.
fn scatter(rank: u64, places: u64) -> u64 {
    let scattered = rank.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((u128::from(scattered) * u128::from(places)) >> 64) as u64
}

#[cfg(test)]
mod tests;
