//! A disk: zones of tracks, an arm that seeks, and platters that turn.

use crate::cache::Cache;
use crate::flash::Extent;
use crate::model::{DiskModel, Model};

/// A cache is divided into places of this size.
const PLACE_BYTES: u64 = 4096;

/// Platters behind a write cache; commands are done in their order.
#[derive(Debug, Clone)]
pub struct Disk {
    model: DiskModel,
    cache: Cache,
    zones: Vec<Zone>,
    tracks: f64,
    free_at: u64,
    track: f64,
    /// Where the last command ended, and when.
    last_end: u64,
}

#[derive(Debug, Clone, Copy)]
struct Zone {
    first_byte: f64,
    first_track: f64,
    track_bytes: f64,
}

impl Disk {
    pub(crate) fn new(drive: &Model, model: &DiskModel) -> Self {
        let (outer, inner) = (model.outer_track_bytes as f64, model.inner_track_bytes as f64);
        let count = f64::from(model.zones.max(1));
        let track_bytes = |zone: u32| outer - (outer - inner) * f64::from(zone) / (count - 1.0).max(1.0);
        let mean = (0..model.zones.max(1)).map(track_bytes).sum::<f64>() / count;
        let tracks = drive.size_bytes as f64 / mean;
        let mut first_byte = 0.0;
        let zones = (0..model.zones.max(1)).map(|zone| {
            let made = Zone {
                first_byte,
                first_track: tracks * f64::from(zone) / count,
                track_bytes: track_bytes(zone),
            };
            first_byte += tracks / count * made.track_bytes;
            made
        });
        Self {
            zones: zones.collect(),
            tracks,
            cache: Cache::new((drive.cache.size_bytes / PLACE_BYTES) as usize),
            free_at: 0,
            track: 0.0,
            last_end: u64::MAX,
            model: model.clone(),
        }
    }

    pub(crate) fn drained_at(&self) -> u64 {
        self.cache.drained_at()
    }

    pub(crate) fn read(&mut self, now: u64, extent: Extent, factor: f64) -> u64 {
        // it reads ahead while nobody asks
        let follows = extent.offset == self.last_end;
        self.access(now, extent, factor, follows)
    }

    pub(crate) fn write(&mut self, now: u64, extent: Extent, factor: f64) -> u64 {
        let admitted = self.cache.admits_at(now);
        // once it has written all that it had, the place where this goes has passed below the head
        let follows = extent.offset == self.last_end && admitted <= self.free_at;
        let written = self.access(admitted, extent, factor, follows);
        let places = extent.bytes.div_ceil(PLACE_BYTES);
        (0..places).map(|_| self.cache.put(self.cache.admits_at(now), written)).max().unwrap_or(written)
    }

    fn access(&mut self, now: u64, extent: Extent, factor: f64, follows: bool) -> u64 {
        let turn = self.model.turn_ns as f64 * factor;
        let at = extent.offset as f64;
        let number = self.zones.partition_point(|zone| zone.first_byte <= at).max(1) - 1;
        let zone = self.zones[number];
        let turns = (at - zone.first_byte) / zone.track_bytes;
        let transfer = extent.bytes as f64 / zone.track_bytes * turn;
        let track = zone.first_track + turns.floor();
        let start = now.max(self.free_at);
        let end = if follows && self.cache.exists() {
            // what follows was read ahead, or waited in the cache
            now.max(self.free_at + transfer as u64)
        } else {
            let arrived = start as f64 + self.seek_ns(track) * factor;
            let wait = (turns.fract() - (arrived / turn).fract()).rem_euclid(1.0) * turn;
            (arrived + wait + transfer) as u64
        };
        self.track = track;
        self.last_end = extent.offset + extent.bytes;
        self.free_at = end;
        end
    }

    fn seek_ns(&self, track: f64) -> f64 {
        let distance = (track - self.track).abs();
        if distance < 1.0 {
            return 0.0;
        }
        let (shortest, longest) = (self.model.shortest_seek_ns as f64, self.model.longest_seek_ns as f64);
        shortest + (longest - shortest) * (distance / self.tracks).sqrt()
    }
}
