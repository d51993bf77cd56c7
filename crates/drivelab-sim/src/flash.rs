//! Flash in time: units that read, write and erase side by side.

use std::ops::Range;

use crate::cache::Cache;
use crate::model::{FlashModel, Model};
use crate::recent::{Kept, Recent};
use crate::translation::{Collected, Translation};

/// Flash behind a translation layer and a write cache.
#[derive(Debug, Clone)]
pub struct Flash {
    model: FlashModel,
    page_shift: u32,
    translation: Translation,
    cache: Cache,
    recent: Option<Recent>,
    units: Vec<Unit>,
    /// Time that units owe for copies and erases: paid with the writes that follow, until the next collection.
    debt_ns: f64,
    slc_pages: u64,
    slc_used: u64,
    last_used: u64,
    /// Pages and blocks.
    pub(crate) written_pages: f64,
    pub(crate) erased_blocks: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    free_at: u64,
    reads_free_at: u64,
}

/// Bytes of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Extent {
    /// The pages that it touches, each of two to the power of `shift` bytes.
    fn pages(self, shift: u32) -> Range<u32> {
        let end = self.offset + self.bytes + (1 << shift) - 1;
        (self.offset >> shift) as u32..(end >> shift) as u32
    }
}

impl Flash {
    pub(crate) fn new(drive: &Model, model: &FlashModel) -> Self {
        let page = model.page_bytes;
        let pages_per_block = (model.block_bytes / page) as u32;
        let blocks = (model.raw_bytes / model.block_bytes) as u32;
        let logical_pages = drive.size_bytes.div_ceil(page) as u32;
        Self {
            page_shift: page.trailing_zeros(),
            translation: Translation::new(model.collection, logical_pages, blocks, pages_per_block),
            cache: Cache::new((drive.cache.size_bytes / page) as usize),
            recent: (model.merging_bytes >= page)
                .then(|| Recent::new(logical_pages, (model.merging_bytes / page) as usize)),
            units: vec![Unit::default(); model.units as usize],
            debt_ns: 0.0,
            slc_pages: model.slc_bytes / page,
            slc_used: 0,
            last_used: 0,
            written_pages: 0.0,
            erased_blocks: 0,
            model: model.clone(),
        }
    }

    pub(crate) fn drained_at(&self) -> u64 {
        self.cache.drained_at()
    }

    /// When a read ends that begins at `now`.
    #[inline]
    pub(crate) fn read(&mut self, now: u64, extent: Extent, factor: f64) -> u64 {
        self.wake(now);
        let pages = extent.pages(self.page_shift);
        pages.map(|page| self.read_page(now, page, factor)).max().unwrap_or(now)
    }

    /// When a write ends that begins at `now`: in the cache, or on the medium.
    #[inline]
    pub(crate) fn write(&mut self, now: u64, extent: Extent, stored_share: f64, factor: f64) -> u64 {
        self.wake(now);
        let page_bytes = self.model.page_bytes;
        let share = if self.model.compresses { stored_share } else { 1.0 };
        let mut end = now;
        for page in extent.pages(self.page_shift) {
            let start = u64::from(page) * page_bytes;
            let is_whole = extent.offset <= start && start + page_bytes <= extent.offset + extent.bytes;
            let admitted = self.cache.admits_at(now);
            let ready = if is_whole { admitted } else { self.read_page(admitted, page, factor) };
            let kept = self.recent.as_mut().map_or(Kept::Instead(page), |recent| recent.put(page));
            let Kept::Instead(oldest) = kept else {
                end = end.max(ready);
                continue;
            };
            let written = self.program(ready, oldest, share, factor);
            end = end.max(self.cache.put(admitted, written));
        }
        self.last_used = self.last_used.max(end);
        end
    }

    /// Puts something into the pages that hold nothing, in no time and uncounted.
    pub(crate) fn lay_out(&mut self, extent: Extent) {
        for page in extent.pages(self.page_shift) {
            if self.translation.place(page).is_none() {
                self.translation.write(page);
            }
        }
    }

    /// Forgets the pages that lie wholly inside; when that is done.
    pub(crate) fn trim(&mut self, now: u64, extent: Extent) -> u64 {
        self.wake(now);
        let page = self.model.page_bytes;
        let pages = extent.offset.div_ceil(page) as u32..((extent.offset + extent.bytes) / page) as u32;
        for page in pages {
            // what is forgotten need not be folded back
            self.slc_used = self.slc_used.saturating_sub(u64::from(self.translation.trim(page)));
        }
        now
    }

    #[inline]
    fn read_page(&mut self, now: u64, page: u32, factor: f64) -> u64 {
        let is_in_cache = self.recent.as_ref().is_some_and(|recent| recent.holds(page));
        let place = self.translation.place(page).filter(|_| !is_in_cache);
        let Some(place) = place else { return now };
        let number = (place % self.model.units) as usize;
        let unit = &mut self.units[number];
        let read_ns = (self.model.read_ns as f64 * factor) as u64;
        let start = if self.model.reads_first {
            let at_most = now + (self.model.program_ns as f64 * factor) as u64;
            unit.free_at.clamp(now, at_most).max(unit.reads_free_at)
        } else {
            now.max(unit.free_at)
        };
        unit.reads_free_at = start + read_ns;
        unit.free_at = unit.free_at.max(start) + read_ns;
        self.last_used = self.last_used.max(start);
        start + read_ns
    }

    #[inline]
    fn program(&mut self, ready: u64, page: u32, share: f64, factor: f64) -> u64 {
        let model = &self.model;
        let collected = self.translation.write(page);
        if collected.erases > 0 {
            self.debt_ns += self.cost_of(collected);
        }
        let is_fast = self.slc_used < self.slc_pages;
        let program_ns = if is_fast { model.slc_program_ns } else { model.program_ns };
        self.slc_used += u64::from(is_fast);
        self.written_pages += (share + f64::from(collected.copies)) * (1.0 + model.metadata_share);
        let mut cost = program_ns as f64 * share * (1.0 + model.metadata_share);
        if self.debt_ns > 0.0 {
            let part = self.debt_ns / (self.translation.ready_pages() + 1) as f64;
            self.debt_ns -= part;
            cost += part;
        }
        self.erased_blocks += u64::from(collected.erases);
        let number = (self.translation.place(page).unwrap_or_default() % self.model.units) as usize;
        let unit = &mut self.units[number];
        unit.free_at = unit.free_at.max(ready) + (cost * factor) as u64;
        unit.free_at
    }

    /// The units' time for a collection.
    fn cost_of(&self, collected: Collected) -> f64 {
        let copy =
            self.model.read_ns as f64 + self.model.program_ns as f64 * (1.0 + self.model.metadata_share);
        let erase = self.model.erase_ns as f64 * self.units.len() as f64;
        f64::from(collected.copies) * copy + f64::from(collected.erases) * erase
    }

    /// What the drive did with the time in which nobody asked it for anything.
    #[inline]
    fn wake(&mut self, now: u64) {
        let asleep = self.model.idle_after_ns;
        if asleep > 0 && now > self.last_used.max(self.drained_at()).saturating_add(asleep) {
            self.clean_up(now - self.last_used.max(self.drained_at()) - asleep);
        }
        self.last_used = self.last_used.max(now);
    }

    #[cold]
    fn clean_up(&mut self, idle_ns: u64) {
        let mut left = idle_ns as f64 * self.units.len() as f64 - self.debt_ns;
        self.debt_ns = (-left).max(0.0);
        let fold_ns = (self.model.read_ns + self.model.program_ns) as f64;
        let folded = ((left / fold_ns).max(0.0) as u64).min(self.slc_used);
        self.slc_used -= folded;
        self.written_pages += folded as f64;
        left -= folded as f64 * fold_ns;
        let raw_pages = self.model.raw_bytes / self.model.page_bytes;
        let wanted = (raw_pages as f64 * self.model.idle_writable_share) as u64;
        while left > 0.0 && self.translation.ready_pages() < wanted {
            let Some(collected) = self.translation.collect_ahead() else { break };
            left -= self.cost_of(collected);
            self.written_pages += f64::from(collected.copies) * (1.0 + self.model.metadata_share);
            self.erased_blocks += u64::from(collected.erases);
        }
    }
}
