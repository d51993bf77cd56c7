//! Where the next I/O goes: a stream of offsets, repeatable by seed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

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

/// Offsets of one job within its part of the range.
#[derive(Debug, Clone)]
pub struct Addresses {
    kind: AccessKind,
    start: u64,
    length: u64,
    unit: u64,
    stride: u64,
    cursor: u64,
    wrapped: bool,
    hot_units: u64,
    hot_share: f64,
    zipf: Option<Zipf>,
    permutation: Option<Permutation>,
}

impl Addresses {
    /// Offsets in `[start, start + length)`, multiples of `unit` counted from `start`.
    #[must_use]
    pub fn new(access: &Access, start: u64, length: u64, unit: u64) -> Self {
        let units = (length / unit).max(1);
        // Blocks that come down from the end must lie on the same grid as those that go up from the start.
        let length = if access.kind == AccessKind::Reverse { units * unit } else { length };
        Self {
            kind: access.kind,
            start,
            length,
            unit,
            stride: access.stride_bytes,
            cursor: 0,
            wrapped: false,
            hot_units: ((units as f64 * access.hot_range_fraction) as u64).clamp(1, units),
            hot_share: access.hot_access_fraction,
            zipf: (access.kind == AccessKind::Zipf).then(|| Zipf::new(units, access.zipf_theta)),
            permutation: None,
        }
    }

    /// The same offsets, each of them once: a random order of all blocks of this size.
    #[must_use]
    pub fn each_once(mut self, size: u64, random: &mut Random) -> Self {
        if self.kind == AccessKind::Random {
            self.unit = size;
            self.permutation = Some(Permutation::new(self.places(size), random));
        }
        self
    }

    /// Offset for the next I/O of `size` bytes.
    #[inline]
    pub fn next(&mut self, random: &mut Random, size: u64) -> u64 {
        let within = match self.kind {
            AccessKind::Random => match &mut self.permutation {
                Some(permutation) => self.unit * permutation.next(),
                None => self.unit * below(random, self.places(size)),
            },
            AccessKind::Sequential => self.ascend(size, size),
            AccessKind::Strided => self.ascend(size, self.stride),
            AccessKind::Reverse => {
                let before = self.ascend(size, size);
                self.length - size - before
            }
            AccessKind::HotCold => self.hot_or_cold(random, size),
            AccessKind::Zipf => self.skewed(random, size),
        };
        debug_assert!(within + size <= self.length);
        self.start + within
    }

    /// Whether a sequential stream has reached the end of its range and begun again.
    #[must_use]
    pub fn has_wrapped(&self) -> bool {
        self.wrapped
    }

    /// Whether the next sequential I/O of `size` bytes would begin again.
    #[inline]
    #[must_use]
    pub fn would_wrap(&self, size: u64) -> bool {
        self.cursor.saturating_add(size) > self.length
    }

    #[inline]
    fn places(&self, size: u64) -> u64 {
        (self.length - size) / self.unit + 1
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

    fn hot_or_cold(&self, random: &mut Random, size: u64) -> u64 {
        let places = self.places(size);
        let hot = self.hot_units.min(places);
        let place = if hot == places || unit(random) < self.hot_share {
            below(random, hot)
        } else {
            hot + below(random, places - hot)
        };
        place * self.unit
    }

    fn skewed(&self, random: &mut Random, size: u64) -> u64 {
        let rank = self.zipf.as_ref().map_or(0, |zipf| zipf.rank(random));
        // Popular blocks lie scattered over the range, as they do in life.
        let scattered = rank.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = ((u128::from(scattered) * u128::from(self.places(size))) >> 64) as u64;
        place * self.unit
    }
}

/// The numbers below a bound in a random order, each once, in constant memory: a counter is scrambled by
/// invertible steps over the next power of two, and what lies beyond the bound is passed over.
#[derive(Debug, Clone)]
struct Permutation {
    bound: u64,
    bits: u32,
    counter: u64,
    keys: [u64; 3],
}

impl Permutation {
    fn new(bound: u64, random: &mut Random) -> Self {
        let bits = (64 - bound.saturating_sub(1).leading_zeros()).max(1);
        Self { bound, bits, counter: 0, keys: std::array::from_fn(|_| random.next_u64()) }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        loop {
            let number = self.scramble(self.counter);
            self.counter += 1;
            if number < self.bound {
                return number;
            }
        }
    }

    /// An invertible function of the numbers of `bits` bits.
    #[inline]
    fn scramble(&self, counter: u64) -> u64 {
        let mask = u64::MAX >> (64 - self.bits);
        let half = self.bits.div_ceil(2);
        self.keys.iter().fold(counter & mask, |number, key| {
            // Adding and multiplying by an odd number wrap around within the bits; the shift mixes downwards.
            let mixed = (number ^ (key & mask)).wrapping_mul(0x9E37_79B9_7F4A_7C15 | 1) & mask;
            mixed ^ (mixed >> half)
        })
    }
}

/// Ranks with Zipf's law by rejection-inversion (Hörmann and Derflinger 1996): constant time and memory.
#[derive(Debug, Clone)]
struct Zipf {
    exponent: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipf {
    fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Self { exponent, integral_first: 0.0, integral_last: 0.0, shortcut: 0.0 };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(count as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let scaled = (1.0 - self.exponent) * log;
        if scaled.abs() > 1e-8 { scaled.exp_m1() / scaled * log } else { log * (1.0 + scaled / 2.0) }
    }

    fn inverse(&self, x: f64) -> f64 {
        let scaled = (x * (1.0 - self.exponent)).max(-1.0);
        if scaled.abs() > 1e-8 {
            (scaled.ln_1p() / scaled * x).exp()
        } else {
            (x * (1.0 - scaled / 2.0)).exp()
        }
    }

    /// A rank from 0; rank r has probability proportional to (r + 1)^-exponent.
    fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.integral_last + unit(random) * (self.integral_first - self.integral_last);
            let x = self.inverse(u);
            let rank = x.round().max(1.0);
            if rank - x <= self.shortcut || u >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn access(kind: AccessKind) -> Access {
        Access {
            kind,
            stride_bytes: 8192,
            zipf_theta: 0.99,
            hot_range_fraction: 0.1,
            hot_access_fraction: 0.9,
        }
    }

    const KINDS: [AccessKind; 6] = [
        AccessKind::Sequential,
        AccessKind::Reverse,
        AccessKind::Random,
        AccessKind::Strided,
        AccessKind::Zipf,
        AccessKind::HotCold,
    ];

    proptest! {
        #[test]
        fn offsets_stay_in_the_range_and_on_the_grid(
            kind in 0_usize..6, seed in any::<u64>(), start in 0_u64..1 << 40, units in 1_u64..5000, blocks in 1_u64..4,
        ) {
            let (unit, size) = (512, 512 * blocks);
            let length = (units + blocks) * unit + 100;
            let mut addresses = Addresses::new(&access(KINDS[kind]), start, length, unit);
            let mut random = random_for_job(seed, 0);
            for _ in 0..300 {
                let offset = addresses.next(&mut random, size);
                prop_assert!(offset >= start && offset + size <= start + length);
                prop_assert_eq!((offset - start) % unit, 0);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_offsets_and_another_job_gives_others() {
        let draw = |seed, job| {
            let mut random = random_for_job(seed, job);
            let mut addresses = Addresses::new(&access(AccessKind::Random), 0, 1 << 30, 4096);
            (0..50).map(|_| addresses.next(&mut random, 4096)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
        assert_ne!(draw(7, 0), draw(8, 0));
    }

    #[test]
    fn random_offsets_reach_every_block_about_equally_often() {
        let mut random = random_for_job(1, 0);
        let mut addresses = Addresses::new(&access(AccessKind::Random), 0, 64 * 4096, 4096);
        let mut hits = [0_f64; 64];
        for _ in 0..64_000 {
            hits[(addresses.next(&mut random, 4096) / 4096) as usize] += 1.0;
        }
        let chi_square: f64 = hits.iter().map(|hit| (hit - 1000.0).powi(2) / 1000.0).sum();
        assert!(
            chi_square < 103.4,
            "chi-square {chi_square} with 63 degrees of freedom: above the 99.9 % point"
        );
    }

    #[test]
    fn every_block_comes_once_in_an_order_that_the_seed_decides() {
        for blocks in [1_u64, 2, 3, 1000, 4096, 10_007] {
            let order = |seed| {
                let mut random = random_for_job(seed, 0);
                let range = Addresses::new(&access(AccessKind::Random), 512, blocks * 4096 + 100, 512);
                let mut addresses = range.each_once(4096, &mut random);
                (0..blocks).map(|_| addresses.next(&mut random, 4096)).collect::<Vec<_>>()
            };
            let mut sorted = order(1);
            sorted.sort_unstable();
            assert!(sorted.iter().enumerate().all(|(block, offset)| *offset == 512 + 4096 * block as u64));
            assert!(blocks < 1000 || (order(1) != order(2) && order(1) != sorted));
        }
    }

    #[test]
    fn zipf_ranks_follow_the_law() {
        let zipf = Zipf::new(1000, 0.99);
        let mut random = random_for_job(3, 0);
        let mut hits = vec![0_u64; 1000];
        for _ in 0..400_000 {
            hits[zipf.rank(&mut random) as usize] += 1;
        }
        let norm: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.99)).sum();
        for rank in [1, 2, 5, 20, 100] {
            let expected = 400_000.0 * f64::from(rank).powf(-0.99) / norm;
            let seen = hits[rank as usize - 1] as f64;
            assert!(
                (seen - expected).abs() < 5.0 * expected.sqrt(),
                "rank {rank}: {seen} against {expected}"
            );
        }
    }

    #[test]
    fn nine_tenths_of_hot_cold_accesses_go_to_the_hot_tenth() {
        let mut random = random_for_job(5, 0);
        let mut addresses = Addresses::new(&access(AccessKind::HotCold), 0, 1000 * 4096, 4096);
        let hot = (0..100_000).filter(|_| addresses.next(&mut random, 4096) < 100 * 4096).count();
        assert!((hot as i64 - 90_000).abs() < 500, "{hot}");
    }

    #[test]
    fn sequential_offsets_follow_each_other_and_say_when_they_begin_again() {
        let mut random = random_for_job(5, 0);
        let mut addresses = Addresses::new(&access(AccessKind::Sequential), 4096, 3 * 4096, 4096);
        let offsets: Vec<_> = (0..4).map(|_| addresses.next(&mut random, 4096)).collect();
        assert_eq!(offsets, [4096, 8192, 12288, 4096]);
        assert!(addresses.has_wrapped());
    }

    #[test]
    fn reverse_offsets_go_down_from_the_end() {
        let mut random = random_for_job(5, 0);
        let mut addresses = Addresses::new(&access(AccessKind::Reverse), 0, 3 * 4096, 4096);
        let offsets: Vec<_> = (0..4).map(|_| addresses.next(&mut random, 4096)).collect();
        assert_eq!(offsets, [8192, 4096, 0, 8192]);
    }
}
