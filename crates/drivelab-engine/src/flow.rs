//! Flows: jobs that keep to shares of the I/Os that they issue together, as fio's `flow` does.
//!
//! A job that is ahead of its share waits until the others have caught up. Jobs of several runs in one process
//! share a flow by its number.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::workload::Pacing;

static FLOWS: Mutex<BTreeMap<u64, Weak<Flow>>> = Mutex::new(BTreeMap::new());

/// What the jobs of a flow have in common.
#[derive(Debug, Default)]
struct Flow {
    /// I/Os of those that are at work.
    ios: AtomicU64,
    /// Weights of those that are at work.
    weight: AtomicU64,
}

/// The share of one job; given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    flow: Arc<Flow>,
    weight: u64,
    ios: u64,
}

impl Share {
    /// The share of a job that begins now; `None` where its workload has none.
    #[must_use]
    pub fn of(pacing: &Pacing) -> Option<Self> {
        if pacing.flow_weight == 0 {
            return None;
        }
        let mut flows = FLOWS.lock().unwrap_or_else(PoisonError::into_inner);
        flows.retain(|_, flow| flow.strong_count() > 0);
        let known = flows.get(&pacing.flow_number).and_then(Weak::upgrade);
        let flow = known.unwrap_or_else(|| {
            let flow = Arc::new(Flow::default());
            flows.insert(pacing.flow_number, Arc::downgrade(&flow));
            flow
        });
        let weight = u64::from(pacing.flow_weight);
        flow.weight.fetch_add(weight, Ordering::Relaxed);
        Some(Self { flow, weight, ios: 0 })
    }

    /// Takes the next I/O of the flow, unless the job is ahead of its share.
    ///
    /// Of several jobs at least one is not: their shares add up to one.
    #[must_use]
    pub fn take(&mut self) -> bool {
        let all = u128::from(self.flow.ios.load(Ordering::Relaxed)) + 1;
        let weights = u128::from(self.flow.weight.load(Ordering::Relaxed));
        if u128::from(self.ios) * weights > u128::from(self.weight) * all {
            return false;
        }
        self.ios += 1;
        self.flow.ios.fetch_add(1, Ordering::Relaxed);
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.flow.ios.fetch_sub(self.ios, Ordering::Relaxed);
        self.flow.weight.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(weight: u32, number: u64) -> Share {
        Share::of(&Pacing { flow_weight: weight, flow_number: number, ..Pacing::default() }).unwrap()
    }

    #[test]
    fn jobs_that_always_ask_issue_in_the_ratio_of_their_weights() {
        let mut shares = [share(3, 71), share(2, 71), share(1, 71)];
        let mut taken = [0_u32; 3];
        for _ in 0..6000 {
            for (share, count) in shares.iter_mut().zip(&mut taken) {
                *count += u32::from(share.take());
            }
        }
        let all: u32 = taken.iter().sum();
        for (count, weight) in taken.iter().zip([3.0, 2.0, 1.0]) {
            assert!((f64::from(*count) * 6.0 / f64::from(all) - weight).abs() < 0.01, "{taken:?}");
        }
    }

    #[test]
    fn a_job_alone_or_of_another_flow_waits_for_nobody_nor_for_one_that_has_ended() {
        let (mut alone, mut slow) = (share(5, 72), share(1, 73));
        assert!((0..100).all(|_| alone.take() && slow.take()));
        let mut fast = share(1, 73);
        // it catches up first
        assert!((0..100).all(|_| fast.take()));
        assert!(!(0..5).all(|_| slow.take()));
        drop(fast);
        assert!((0..100).all(|_| slow.take()));
    }

    #[test]
    fn what_shares_no_flow_has_no_share() {
        assert!(Share::of(&Pacing::default()).is_none());
    }
}
