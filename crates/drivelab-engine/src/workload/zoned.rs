//! How a drive of zones is used, where writes go to write pointers: fio's `zonemode=zbd`.

use serde::Deserialize;

use super::{AccessKind, DurabilityMethod, FileState, Workload};

/// What is asked of the zones of a drive.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ZonedDrive {
    /// Whether zones are kept to at all.
    pub is_used: bool,
    /// Size of the zones that a target without any is divided into; a zoned drive has to have the same. 0: the drive's.
    pub zone_size_bytes: u64,
    /// Bytes of each zone that can be written, of a target that has no zones of its own; 0: all.
    pub zone_capacity_bytes: u64,
    /// Zones that are written at the same time, by all jobs; 0: as many as the drive can.
    pub max_open_zones: u32,
    /// Zones that one job writes at the same time; 0: as many as all of them.
    pub job_max_open_zones: u32,
    /// Whether the limit of the drive itself is left out of account.
    pub ignores_drive_limit: bool,
    /// Whether reads also go where nothing was written.
    pub reads_beyond_write_pointer: bool,
    /// Part of the range that holds data before zones are reset as often as `reset_frequency` says.
    pub reset_threshold: f64,
    /// Part of the writes before which a zone is reset that is not full; 0: none.
    pub reset_frequency: f64,
}

impl Workload {
    /// What is wrong with a workload on zones.
    pub(super) fn rules_of_zones(&self) -> Vec<(bool, &'static str)> {
        let Some(zoned) = &self.zoned_drive else { return Vec::new() };
        let is_fraction = |fraction: f64| (0.0..=1.0).contains(&fraction);
        let has_order = self.accesses().all(|access| {
            !matches!(access.kind, AccessKind::Reverse | AccessKind::Strided | AccessKind::Same)
                && access.run_blocks == 1
                && access.random_fraction >= 1.0
                && access.zone_bytes == 0
        });
        vec![
            (self.tree.is_some(), "zoned_drive: operations on files have no zones"),
            (self.recording.is_some(), "zoned_drive: a recording says itself where its writes go"),
            (self.rewrites(), "zoned_drive: nothing is written back to where it was read"),
            (
                self.verify && self.operations.len() > 1,
                "verify: on zones what is written is verified afterwards, and not while it is written",
            ),
            (!has_order, "access: on zones it is sequential, or random without runs"),
            (self.shift_bytes > 0, "shift: writes begin at write pointers"),
            (self.file_state == FileState::Append, "file_state: zones are parts of what is there"),
            (self.drop_cache_each_pass, "drop_cache_each_pass: zones have no passes"),
            (
                self.durability.method == DurabilityMethod::SyncFileRange,
                "durability: sync_file_range is for the page cache",
            ),
            (
                zoned.zone_capacity_bytes > 0 && zoned.zone_capacity_bytes > zoned.zone_size_bytes,
                "zone_capacity_bytes: at most zone_size_bytes, which goes with it",
            ),
            (
                !is_fraction(zoned.reset_threshold) || !is_fraction(zoned.reset_frequency),
                "reset_threshold, reset_frequency: 0 to 1",
            ),
        ]
    }
}
