//! When the next I/O is issued.

use serde::Deserialize;

use super::access::one;

/// When the next I/O is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacingKind {
    /// When an earlier one completes.
    Closed,
    /// By a schedule of equal distances.
    Fixed,
    /// By a schedule of exponentially distributed distances.
    Poisson,
    /// When the recording did.
    Recorded,
}

/// When the next I/O is issued, with its rate.
#[derive(Debug, Clone, Deserialize)]
pub struct Pacing {
    /// Kind of pacing.
    pub kind: PacingKind,
    /// Arrivals per second over all jobs.
    #[serde(default)]
    pub rate_per_s: f64,
    /// Pause of a closed loop.
    #[serde(default)]
    pub think_ns: u64,
    /// I/Os of a job before each pause.
    #[serde(default = "one")]
    pub think_every: u64,
    /// Time that a job issues I/O before each pause, in place of so many I/Os; 0 counts them.
    #[serde(default)]
    pub think_after_ns: u64,
    /// Weight of each job among all that share a flow; 0 shares none.
    #[serde(default)]
    pub flow_weight: u32,
    /// Number of the flow: jobs of runs at the same time share it.
    #[serde(default)]
    pub flow_number: u64,
    /// Sleep of a job that is ahead of its share; 0 looks again at once.
    #[serde(default)]
    pub flow_sleep_ns: u64,
    /// How many times as fast a recording is issued.
    #[serde(default = "as_recorded")]
    pub speed: f64,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            kind: PacingKind::Closed,
            rate_per_s: 0.0,
            think_ns: 0,
            think_every: one(),
            think_after_ns: 0,
            flow_weight: 0,
            flow_number: 0,
            flow_sleep_ns: 0,
            speed: as_recorded(),
        }
    }
}

fn as_recorded() -> f64 {
    1.0
}
