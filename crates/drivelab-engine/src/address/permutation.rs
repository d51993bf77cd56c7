//! Numbers in a random order, each once.

use rand_core::Rng;

use super::Random;

/// The numbers below a bound in a random order, each once, in constant memory: a counter is scrambled by
/// invertible steps over the next power of two, and what lies beyond the bound is passed over. So few bits as a
/// small bound has are scrambled badly: its numbers are shuffled. After the last number another order begins.
#[derive(Debug, Clone)]
pub(super) struct Permutation {
    bound: u64,
    bits: u32,
    counter: u64,
    /// Numbers of the present order that are still to come.
    left: u64,
    keys: [u64; 3],
    /// A small bound's numbers that are still to come, the next one last.
    shuffled: Vec<u64>,
}

/// Up to here numbers are shuffled.
const SHUFFLED_MAX: u64 = 1024;

impl Permutation {
    pub(super) fn new(bound: u64, random: &mut Random) -> Self {
        let bits = (64 - bound.saturating_sub(1).leading_zeros()).max(1);
        let shuffled = Vec::with_capacity(if bound <= SHUFFLED_MAX { bound as usize } else { 0 });
        let mut made = Self { bound, bits, counter: 0, left: bound, keys: [0; 3], shuffled };
        made.begin_again(random);
        made
    }

    /// Whether the next number is the first of another order.
    #[inline]
    pub(super) fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// Begins another order.
    pub(super) fn begin_again(&mut self, random: &mut Random) {
        (self.counter, self.left, self.keys) = (0, self.bound, draw_keys(random));
        if self.bound <= SHUFFLED_MAX {
            self.shuffled.clear();
            self.shuffled.extend(0..self.bound);
            for place in (1..self.shuffled.len()).rev() {
                self.shuffled.swap(place, (random.next_u64() % (place as u64 + 1)) as usize);
            }
        }
    }

    #[inline]
    pub(super) fn next(&mut self, random: &mut Random) -> u64 {
        if self.left == 0 {
            self.begin_again(random);
        }
        self.left -= 1;
        if let Some(number) = self.shuffled.pop() {
            return number;
        }
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

fn draw_keys(random: &mut Random) -> [u64; 3] {
    std::array::from_fn(|_| random.next_u64())
}
