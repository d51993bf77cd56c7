//! Log-linear latency histogram: fixed memory, every 64-bit value has a bucket.
//!
//! Values below 2^9 ns have a bucket each; every further octave has 2^9
//! buckets, so a bucket is at most 0.2 % wide and its midpoint at most 0.1 %
//! wrong. Nothing saturates; minimum, maximum and sum are exact.

/// Number of bits that a bucket index keeps below the leading one.
pub const SUB_BUCKET_BITS: u32 = 9;
const SUB_BUCKETS: usize = 1 << SUB_BUCKET_BITS;

/// Number of buckets that cover all of `u64`.
pub const BUCKETS: usize = (64 - SUB_BUCKET_BITS as usize + 1) * SUB_BUCKETS;

/// Index of the bucket that holds `value`.
#[inline]
#[must_use]
pub fn bucket_of(value: u64) -> usize {
    let shift = (63 - (value | 1).leading_zeros()).saturating_sub(SUB_BUCKET_BITS);
    (shift as usize) * SUB_BUCKETS + (value >> shift) as usize
}

/// Smallest value of a bucket.
#[must_use]
pub fn bucket_low(bucket: usize) -> u64 {
    let octave = (bucket / SUB_BUCKETS).saturating_sub(1);
    ((bucket - octave * SUB_BUCKETS) as u64) << octave
}

/// Counts of values of one interval, or of a whole run.
///
/// `C` is the counter: `u32` where a thread records at most an interval's
/// worth, `u64` where intervals are summed.
#[derive(Clone)]
pub struct Histogram<C> {
    counts: Box<[C]>,
    /// Number of values.
    pub count: u64,
    /// Exact sum of the values.
    pub sum: u64,
    /// Exact smallest value; `u64::MAX` when empty.
    pub min: u64,
    /// Exact largest value; 0 when empty.
    pub max: u64,
}

impl Histogram<u32> {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = bucket_of(value);
        debug_assert!(bucket < BUCKETS);
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts several values.
    #[inline]
    pub fn record_each(&mut self, values: impl Iterator<Item = u64>) {
        let (mut count, mut sum, mut min, mut max) = (0, 0_u64, u64::MAX, 0);
        let counts = &mut self.counts[..];
        values.for_each(|value| {
            let bucket = bucket_of(value);
            debug_assert!(bucket < BUCKETS);
            counts[bucket] += 1;
            count += 1;
            sum = sum.saturating_add(value);
            min = min.min(value);
            max = max.max(value);
        });
        self.count += count;
        self.sum = self.sum.saturating_add(sum);
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }

    /// Writes to every page of the counts once.
    pub fn fault_in(&mut self) {
        for count in self.counts.iter_mut().step_by(1024) {
            // A plain store of zero to zeroed memory could be left out by the compiler.
            *count = std::hint::black_box(0);
        }
    }

    /// Forgets everything, touching only the buckets that can be filled.
    pub fn clear(&mut self) {
        if self.count > 0 {
            self.counts[bucket_of(self.min)..=bucket_of(self.max)].fill(0);
        }
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }
}

impl Histogram<u64> {
    /// Adds all values of an interval.
    pub fn add(&mut self, other: &Histogram<u32>) {
        if other.count == 0 {
            return;
        }
        let range = bucket_of(other.min)..=bucket_of(other.max);
        for (total, &count) in self.counts[range.clone()].iter_mut().zip(&other.counts[range]) {
            *total += u64::from(count);
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

impl<C: Copy + Default + PartialEq + Into<u64>> Histogram<C> {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let counts = vec![C::default(); BUCKETS].into_boxed_slice();
        Self { counts, count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Buckets that are not empty, ascending, with their counts.
    pub fn filled(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let range = if self.count == 0 { 0..0 } else { bucket_of(self.min)..bucket_of(self.max) + 1 };
        let start = range.start;
        self.counts[range]
            .iter()
            .enumerate()
            .filter(|(_, count)| **count != C::default())
            .map(move |(position, count)| ((start + position) as u32, (*count).into()))
    }

    /// A quantile (0.5 is the median), of the bucket that holds it the smallest value; `None` when empty.
    #[must_use]
    pub fn quantile(&self, at: f64) -> Option<u64> {
        let rank = (self.count as f64 * at).ceil() as u64;
        let mut seen = 0;
        let holds_it = |&(_, count): &(u32, u64)| {
            seen += count;
            seen >= rank
        };
        self.filled().find(holds_it).map(|(bucket, _)| bucket_low(bucket as usize))
    }
}

impl<C: Copy + Default + PartialEq + Into<u64>> Default for Histogram<C> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_power_of_two_opens_a_bucket_of_its_own() {
        for bit in 0..64 {
            let value = 1_u64 << bit;
            assert_eq!(bucket_low(bucket_of(value)), value, "bit {bit}");
            assert!(bucket_of(value - 1) < bucket_of(value));
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_values_and_is_at_most_two_per_mille_wide(value in any::<u64>(), shift in 0_u32..64) {
            let value = value >> shift;
            let bucket = bucket_of(value);
            let low = bucket_low(bucket);
            let high = if bucket + 1 == BUCKETS { u64::MAX } else { bucket_low(bucket + 1) - 1 };
            prop_assert!(low <= value && value <= high);
            prop_assert!((high - low) as f64 <= low as f64 / f64::from(1 << SUB_BUCKET_BITS));
        }

        #[test]
        fn quantiles_agree_with_hdrhistogram(values in prop::collection::vec(1_u64..10_000_000_000, 1..400)) {
            let mut ours = Histogram::<u32>::new();
            let mut oracle = hdrhistogram::Histogram::<u64>::new(3).unwrap();
            for &value in &values {
                ours.record(value);
                oracle.record(value).unwrap();
            }
            prop_assert_eq!(ours.count, oracle.len());
            prop_assert_eq!(ours.max, *values.iter().max().unwrap());
            let median = ours.quantile(0.5).unwrap() as f64;
            let expected = oracle.value_at_quantile(0.5) as f64;
            prop_assert!((median - expected).abs() <= expected * 0.005 + 1.0);
        }

        #[test]
        fn merging_intervals_gives_the_histogram_of_all(
            first in prop::collection::vec(any::<u32>(), 0..200),
            second in prop::collection::vec(any::<u32>(), 0..200),
        ) {
            let mut whole = Histogram::<u32>::new();
            let mut merged = Histogram::<u64>::new();
            let mut part = Histogram::<u32>::new();
            for values in [&first, &second] {
                for &value in values {
                    whole.record(u64::from(value));
                    part.record(u64::from(value));
                }
                merged.add(&part);
                part.clear();
            }
            prop_assert!(whole.filled().eq(merged.filled()));
            prop_assert_eq!((whole.count, whole.sum, whole.max), (merged.count, merged.sum, merged.max));
            prop_assert_eq!(part.filled().count(), 0);
        }
    }
}
