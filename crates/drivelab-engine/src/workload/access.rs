//! In which order a workload visits its range.

use serde::Deserialize;

/// Order of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// Ascending without gaps.
    Sequential,
    /// Descending without gaps.
    Reverse,
    /// Uniformly random.
    Random,
    /// Ascending by a stride.
    Strided,
    /// Random with Zipf's law over scattered blocks.
    Zipf,
    /// Random, most of it in a part of the range.
    HotCold,
    /// One place again and again.
    Same,
    /// Random with Pareto's law over scattered blocks.
    Pareto,
    /// Random with the normal law around the middle.
    Normal,
    /// Random, each zone of the range with a share of its own.
    Zoned,
}

/// A part of the range, and the part of the I/Os that go there.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Zone {
    /// Part of the range; zones follow each other from its start.
    pub range_fraction: f64,
    /// Part of the I/Os.
    pub access_fraction: f64,
}

/// What the kernel is told of the order: it decides how far ahead is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheAdvice {
    /// Nothing.
    #[default]
    None,
    /// That it is sequential: farther ahead than else.
    Sequential,
    /// That it is random: nothing ahead.
    Random,
}

/// Order of addresses with its parameters.
#[derive(Debug, Clone, Deserialize)]
pub struct Access {
    /// The order.
    pub kind: AccessKind,
    /// Distance between two strided I/Os.
    pub stride_bytes: u64,
    /// Skew of `Zipf`.
    pub zipf_theta: f64,
    /// Part of the range that is hot.
    pub hot_range_fraction: f64,
    /// Part of the I/Os that go there.
    pub hot_access_fraction: f64,
    /// Skew of `Pareto`: 0 to 1.
    #[serde(default)]
    pub pareto_h: f64,
    /// Standard deviation of `Normal` as a part of the range.
    #[serde(default)]
    pub normal_deviation: f64,
    /// Blocks in a row at each random place.
    #[serde(default = "one")]
    pub run_blocks: u64,
    /// Part of the I/Os that go to a random place; the others follow the one before.
    #[serde(default = "whole")]
    pub random_fraction: f64,
    /// Random: every block once before any comes again.
    #[serde(default)]
    pub covers_once: bool,
    /// Zones of `Zoned`.
    #[serde(default)]
    pub zones: Vec<Zone>,
    /// Bytes of the zone that the order is kept to for a while; 0: the whole range.
    #[serde(default)]
    pub zone_bytes: u64,
    /// Bytes that are moved in a zone before the next has its turn.
    #[serde(default)]
    pub zone_io_bytes: u64,
    /// Bytes that are left out between two zones.
    #[serde(default)]
    pub zone_skip_bytes: u64,
}

impl Access {
    /// Whether blocks of several sizes are cut where they would reach into others, for each to come once.
    #[must_use]
    pub fn cuts_blocks(&self) -> bool {
        let is_plain = self.run_blocks <= 1 && self.random_fraction >= 1.0;
        self.covers_once && is_plain && self.kind == AccessKind::Random
    }

    /// Whether the order never begins again: random places, of which any may come at any time.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        use AccessKind::{Reverse, Same, Sequential, Strided};
        !self.covers_once && !matches!(self.kind, Sequential | Reverse | Strided | Same)
    }
}

pub(super) fn one() -> u64 {
    1
}

fn whole() -> f64 {
    1.0
}
