//! A bucket of tokens.

use crate::model::BucketModel;

const SECOND_NS: f64 = 1e9;

/// Tokens that are taken by I/Os.
#[derive(Debug, Clone)]
pub struct Bucket {
    ns_per_token: f64,
    full_ns: f64,
    /// When it would be full again if nothing more were taken.
    full_at: f64,
}

impl Bucket {
    /// A full one.
    pub fn new(model: &BucketModel) -> Self {
        let ns_per_token = SECOND_NS / model.per_s as f64;
        Self { ns_per_token, full_ns: model.burst as f64 * ns_per_token, full_at: 0.0 }
    }

    /// When an I/O that takes so many tokens may go on; debts are allowed, so that a large I/O ever may.
    pub fn take(&mut self, now: u64, tokens: u64) -> u64 {
        self.full_at = self.full_at.max(now as f64) + tokens as f64 * self.ns_per_token;
        now.max((self.full_at - self.full_ns).ceil().max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_the_rate_holds() {
        let mut bucket = Bucket::new(&BucketModel { per_s: 300, burst: 5_400_000 });
        // 3,000 I/Os a second empty it in 2,000 s: the published numbers of a volume of 100 GiB
        let first_late = (0_u64..).find(|number| {
            let now = number * 1_000_000_000 / 3000;
            bucket.take(now, 1) > now
        });
        assert!((1999..=2001).contains(&(first_late.unwrap() / 3000)));
    }

    #[test]
    fn what_waits_longer_gets_no_more_than_the_burst() {
        let mut bucket = Bucket::new(&BucketModel { per_s: 1000, burst: 10 });
        let late = 3_600_000_000_000;
        let free = (0..100).take_while(|_| bucket.take(late, 1) == late).count();
        assert_eq!(free, 10);
    }
}
