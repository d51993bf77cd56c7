//! Laws by which some places are used more than others.

use super::{Random, below, unit};
use crate::workload::Zone;

/// The power of an even number in [0, 1) that makes the part `h` of all places take the part `1 - h` of the I/Os.
pub(super) fn pareto_power(h: f64) -> f64 {
    if h > 0.0 && h < 1.0 { h.ln() / (1.0 - h).ln() } else { 1.0 }
}

/// A place by the normal law around the middle, with a deviation that is a part of all places; what would
/// lie outside is drawn again.
pub(super) fn normal(random: &mut Random, deviation: f64, places: u64) -> u64 {
    loop {
        // Box and Muller's transformation of two even numbers.
        let radius = (-2.0 * (1.0 - unit(random)).ln()).sqrt();
        let part = 0.5 + deviation * radius * (std::f64::consts::TAU * unit(random)).cos();
        if (0.0..1.0).contains(&part) {
            return ((part * places as f64) as u64).min(places - 1);
        }
    }
}

/// Zones that follow each other, with the part of the I/Os and of all places until the end of each.
#[derive(Debug, Clone, Default)]
pub(super) struct Zones(Vec<(f64, f64)>);

impl Zones {
    pub(super) fn new(zones: &[Zone]) -> Self {
        let sum = |of: fn(&Zone) -> f64| zones.iter().map(of).sum::<f64>();
        let (accesses, range) = (sum(|zone| zone.access_fraction), sum(|zone| zone.range_fraction));
        let mut until = (0.0, 0.0);
        let ends = zones.iter().map(|zone| {
            until.0 += zone.access_fraction / accesses;
            until.1 += zone.range_fraction / range;
            until
        });
        Self(ends.collect())
    }

    /// A place in the zone that a drawn number falls into.
    pub(super) fn place(&self, random: &mut Random, places: u64) -> u64 {
        let drawn = unit(random);
        // what is left over by rounding belongs to the last zone
        let zone = self
            .0
            .iter()
            .position(|&(accesses, _)| drawn < accesses)
            .unwrap_or(self.0.len().saturating_sub(1));
        let edge = |part: f64| ((part * places as f64).round() as u64).min(places);
        let begin = if zone == 0 { 0 } else { edge(self.0[zone - 1].1) }.min(places - 1);
        let end = self.0.get(zone).map_or(places, |&(_, range)| edge(range)).max(begin + 1);
        begin + below(random, end - begin)
    }
}

/// Ranks with Zipf's law by rejection-inversion (Hörmann and Derflinger 1996): constant time and memory.
#[derive(Debug, Clone)]
pub(super) struct Zipf {
    exponent: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipf {
    pub(super) fn new(count: u64, exponent: f64) -> Self {
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
    pub(super) fn rank(&self, random: &mut Random) -> u64 {
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
