//! Which workloads make sense.

use super::{
    Access, AccessKind, BackendName, FileState, LastSync, Operation, PacingKind, SyncOrder, Workload,
};
use crate::error::{Code, EngineError, Result};

/// Longest run that is accepted: a year.
const RUNTIME_NS_MAX: u64 = 366 * 24 * 3600 * 1_000_000_000;
/// Longest interval: its counters of 32 bits hold what the fastest backend does in it.
const INTERVAL_NS_MAX: u64 = 60_000_000_000;

type Rule = (bool, &'static str);

impl Workload {
    /// Refuses values that make no sense.
    pub(super) fn validate(&self) -> Result<()> {
        let rules = [
            self.rules_of_mix(),
            self.rules_of_time(),
            self.rules_of_access(),
            self.rules_of_data(),
            self.rules_of_tree(),
            self.rules_of_recording(),
            self.rules_of_files(),
            self.rules_of_zones(),
        ];
        match rules.iter().flatten().find(|(broken, _)| *broken) {
            Some((_, rule)) => Err(EngineError::new(Code::InvalidWorkload, *rule).at("workload")),
            None => Ok(()),
        }
    }

    fn rules_of_mix(&self) -> Vec<Rule> {
        let weights = self.operations.iter().map(|share| share.weight);
        let sizes = self.operations.iter().flat_map(|share| self.sizes_of(share)).map(|share| share.weight);
        let mut weights = weights.chain(sizes);
        vec![
            (self.operations.iter().all(|share| share.drawn_only), "operations: at least one is needed"),
            (self.block_sizes.is_empty(), "block_sizes: at least one is needed"),
            (weights.any(|weight| !(weight > 0.0 && weight.is_finite())), "weight: must be above 0"),
            (self.smallest_block() == 0, "block_sizes: must be at least 1 byte"),
            (self.largest_block() > 1 << 30, "block_sizes: at most 1 GiB"),
            (self.queue_depth == 0 || self.queue_depth > 4096, "queue_depth: 1 to 4096"),
            (self.submission_batch > self.queue_depth, "submission_batch: at most queue_depth"),
            (self.completion_batch > self.queue_depth, "completion_batch: at most queue_depth"),
            (self.completion_batch_min > self.queue_depth, "completion_batch_min: at most queue_depth"),
            (self.refill_depth > self.queue_depth, "refill_depth: at most queue_depth"),
            (self.job_count == 0 || self.job_count > 1024, "job_count: 1 to 1024"),
            (self.durability.every_writes == 0, "every_writes: at least 1"),
            (
                self.tree.is_some() && self.durability.last != LastSync::Due,
                "durability.last: operations on files have a sync call of their own, or one at the end",
            ),
            (
                self.durability.order == SyncOrder::BeforeNext && (self.tree.is_some() || self.rewrites()),
                "durability.order: calls before the next I/O are for reads and writes of a target's blocks",
            ),
            (!(0.0..=1.0).contains(&self.rewrite_fraction), "rewrite_fraction: 0 to 1"),
            (
                self.rewrites() && !self.uses(Operation::Read),
                "rewrite_fraction: only what was read can be written back, so reads are needed",
            ),
        ]
    }

    fn rules_of_time(&self) -> Vec<Rule> {
        let is_open = self.pacing.kind != PacingKind::Closed;
        vec![
            (
                self.interval_ns < 1_000_000 || self.interval_ns > INTERVAL_NS_MAX,
                "interval_ns: 1 ms to 1 minute",
            ),
            (self.limits.runtime_ns > RUNTIME_NS_MAX, "runtime_ns: at most a year"),
            (self.ramp_ns > RUNTIME_NS_MAX, "ramp_ns: at most a year"),
            (self.start_delay_ns > RUNTIME_NS_MAX, "start_delay_ns: at most a year"),
            (
                is_open
                    && self.pacing.kind != PacingKind::Recorded
                    && !(self.pacing.rate_per_s > 0.0 && self.pacing.rate_per_s <= 1e8),
                "rate_per_s: an open loop needs a rate above 0 and at most 100 million",
            ),
            (self.pacing.think_ns > RUNTIME_NS_MAX, "think_ns: at most a year"),
            (self.pacing.think_every == 0, "think_every: at least 1"),
            (self.pacing.think_after_ns > RUNTIME_NS_MAX, "think_after_ns: at most a year"),
            (
                self.pacing.think_after_ns > 0 && self.durability.order == SyncOrder::BeforeNext,
                "think_after_ns: not with sync calls before the next I/O",
            ),
            (
                is_open && self.pacing.think_ns > 0,
                "think_ns: only a closed loop pauses; a schedule does not wait",
            ),
        ]
    }

    fn rules_of_access(&self) -> Vec<Rule> {
        let appends = self.file_state == FileState::Append;
        let has_own = self.operations.iter().any(|share| share.access.is_some());
        let mut rules: Vec<_> = self.accesses().flat_map(rules_of_order).collect();
        let largest = self.largest_block();
        rules.extend([
            (
                self.accesses().any(|access| access.zone_bytes > 0 && access.zone_bytes < largest),
                "zone_bytes: a zone has room for a block",
            ),
            (
                self.accesses().any(|access| access.zone_bytes > 0) && (appends || self.tree.is_some()),
                "zone_bytes: zones are parts of a range that is there",
            ),
            (
                appends && (self.uses(Operation::Read) || self.uses(Operation::Trim)),
                "file_state: append is for writes only",
            ),
            (
                appends && self.accesses().any(|access| access.kind != AccessKind::Sequential),
                "access: appended blocks follow each other, so the access must be sequential",
            ),
            (appends && self.job_count > 1, "job_count: a file has one end, so one job appends"),
            (
                appends && self.covers_range_once() && self.target.size_bytes == 0,
                "limits: appending needs a limit, or it ends when the disk is full",
            ),
            (
                has_own && self.tree.is_some(),
                "operations: only operations on blocks have an access of their own",
            ),
            (
                has_own && self.covers_range_once(),
                "limits: operations with an access of their own need a limit",
            ),
        ]);
        rules
    }

    fn rules_of_recording(&self) -> Vec<Rule> {
        let Some(recording) = &self.recording else {
            return vec![(
                self.pacing.kind == PacingKind::Recorded,
                "pacing: only a recording has recorded starts",
            )];
        };
        let depths = 1..=self.queue_depth;
        let by_calls = matches!(
            self.backend,
            BackendName::Mmap
                | BackendName::Stdio
                | BackendName::UringCmd
                | BackendName::Splice
                | BackendName::Falloc
        );
        vec![
            (
                recording.jobs.len() != self.job_count as usize,
                "recording: it has other jobs than the workload",
            ),
            (
                recording.jobs.iter().any(|job| job.count == 0 || !depths.contains(&job.queue_depth)),
                "recording: each job has I/Os, and a queue depth of at most the workload's",
            ),
            (
                matches!(self.pacing.kind, PacingKind::Fixed | PacingKind::Poisson),
                "pacing: a recording is issued when it was, or as fast as possible",
            ),
            (!(self.pacing.speed > 0.0 && self.pacing.speed.is_finite()), "speed: must be above 0"),
            (
                self.tree.is_some() || self.rewrites() || self.verify || self.durability.needs_sync_call(),
                "recording: it has its own operations, and sync calls where they were",
            ),
            (
                by_calls || self.file_state == FileState::Append || !self.share_range || self.shift_bytes > 0,
                "recording: it is issued by calls or queues, to the places that it names",
            ),
            (
                self.limits.count != recording.jobs.iter().map(|job| job.count).sum::<u64>(),
                "limits: the count is that of the recording",
            ),
        ]
    }

    /// Whether a recording, where there is one, is of calls on files.
    fn recording_names_files(&self) -> bool {
        self.recording.as_ref().is_none_or(|recording| recording.span_bytes > 0)
    }

    fn rules_of_files(&self) -> Vec<Rule> {
        let held = self.target.others.len() + 1;
        let files = &self.job_files;
        let (each, jobs) = (files.count as usize, self.job_count as usize);
        let mut rules = vec![
            (files.count == 0 || files.ios_per_turn == 0, "job_files: one at least, and turns of one I/O"),
            (
                held != 1 && held != each && held != each * jobs,
                "target: it has files for each job, or for all",
            ),
        ];
        if !files.are_several() {
            return rules;
        }
        let with_files = matches!(
            self.backend,
            BackendName::Auto | BackendName::Sync | BackendName::Uring | BackendName::Aio
        );
        let durability = &self.durability;
        rules.extend([
            (
                held == each && jobs > 1 && !self.share_range,
                "job_files: jobs share all of each, or have their own",
            ),
            (!with_files, "job_files: several are for the backends sync, uring and aio"),
            (
                self.tree.is_some() || self.target.simulated.is_some() || !self.recording_names_files(),
                "job_files: what goes to a tree, or was recorded, names its own",
            ),
            (self.zoned_drive.is_some(), "job_files: a drive of zones is one"),
            (self.file_state == FileState::Append, "file_state: of several files none is appended to"),
            (
                self.accesses().any(|access| access.zone_bytes > 0 || access.kind == AccessKind::Same),
                "access: zones, and one place again and again, are for one file",
            ),
            (
                durability.every_writes > 1 && durability.order == SyncOrder::AfterWrite,
                "durability: a call after several writes makes those of one file durable",
            ),
        ]);
        rules
    }
}

fn rules_of_order(access: &Access) -> Vec<Rule> {
    use AccessKind::{HotCold, Normal, Pareto, Random, Strided, Zipf, Zoned};
    let is_sum_part = |fraction: f64| fraction > 0.0 && fraction <= 1.0;
    let is_part = |fraction: f64| fraction > 0.0 && fraction < 1.0;
    let hot_parts = is_part(access.hot_range_fraction) && is_part(access.hot_access_fraction);
    let is_random = matches!(access.kind, Random | Zipf | Pareto | Normal | HotCold | Zoned);
    let has_zones = !access.zones.is_empty()
        && access
            .zones
            .iter()
            .all(|zone| is_sum_part(zone.range_fraction) && is_sum_part(zone.access_fraction));
    let mixes = access.run_blocks > 1 || access.random_fraction < 1.0;
    vec![
        (access.kind == Strided && access.stride_bytes == 0, "stride_bytes: strided access needs a stride"),
        (
            access.kind == Zipf && !(access.zipf_theta > 0.0 && access.zipf_theta < 5.0),
            "zipf_theta: above 0 and below 5",
        ),
        (
            access.kind == HotCold && !hot_parts,
            "hot_range_fraction, hot_access_fraction: above 0 and below 1",
        ),
        (access.kind == Zoned && !has_zones, "zones: one at least, each part above 0 and at most 1"),
        (
            access.kind == Pareto && !(access.pareto_h > 0.0 && access.pareto_h < 1.0),
            "pareto_h: above 0 and below 1",
        ),
        (
            access.kind == Normal && !(access.normal_deviation > 0.0 && access.normal_deviation <= 1.0),
            "normal_deviation: above 0, at most 1",
        ),
        (access.run_blocks == 0 || access.run_blocks > u64::from(u32::MAX), "run_blocks: 1 to 4294967295"),
        (
            !(access.random_fraction > 0.0 && access.random_fraction <= 1.0),
            "random_fraction: above 0, at most 1",
        ),
        (mixes && !is_random, "run_blocks, random_fraction: they need a random access"),
        (
            access.covers_once && (access.kind == AccessKind::Same || is_random && access.kind != Random),
            "covers_once: an access that prefers some places does not have each of them once",
        ),
    ]
}
