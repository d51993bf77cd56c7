//! The flash translation layer: a map of pages, and the collection of what became invalid.
//!
//! Pages are written one after the other into an open block. When no block is left, blocks are collected: their valid
//! pages are copied and the block is erased. Beside the blocks that a drive has there is one that only receives copies,
//! so that the share of valid pages is exactly the share that was asked for.

mod regions;

use std::collections::VecDeque;

use self::regions::{Region, Regions};
use crate::model::Collection;

/// No page, and no block.
const NONE: u32 = u32::MAX;

/// What a write had to do before there was room for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Valid pages that were copied.
    pub copies: u32,
    /// Blocks that were erased.
    pub erases: u32,
}

/// Where each page lies.
#[derive(Debug, Clone)]
pub struct Translation {
    collection: Collection,
    /// A block has two to the power of this pages.
    block_shift: u32,
    /// Physical page of each logical one, or none.
    physical_of: Vec<u32>,
    /// Logical page that was last written to each physical one; it is valid only while it still points back.
    logical_of: Vec<u32>,
    /// Pages written in each block since it was erased.
    written: Vec<u32>,
    regions: Regions,
    /// Blocks that can be written, in the order of their turns; copies may fill a part of them.
    writable: VecDeque<u32>,
    /// Pages that can be written without collecting, those of the open block left out.
    writable_pages: u64,
    open: u32,
    /// Receives copies only.
    spare: u32,
    victims: Vec<u32>,
}

impl Translation {
    /// An empty drive of so many logical pages on so many blocks; `pages_per_block` is a power of two.
    ///
    /// # Panics
    ///
    /// When the blocks don't hold two blocks more than the logical pages.
    #[must_use]
    pub fn new(collection: Collection, logical_pages: u32, block_count: u32, pages_per_block: u32) -> Self {
        let physical_pages = u64::from(block_count + 1) * u64::from(pages_per_block);
        assert!(pages_per_block.is_power_of_two() && physical_pages < u64::from(NONE));
        assert!(u64::from(logical_pages) + 3 * u64::from(pages_per_block) <= physical_pages);
        Self {
            collection,
            block_shift: pages_per_block.trailing_zeros(),
            physical_of: vec![NONE; logical_pages as usize],
            logical_of: vec![0; physical_pages as usize],
            written: vec![0; block_count as usize + 1],
            regions: Regions::new(block_count as usize + 1, pages_per_block),
            writable: (1..block_count).collect(),
            writable_pages: u64::from(block_count - 1) * u64::from(pages_per_block),
            open: 0,
            spare: block_count,
            victims: Vec::new(),
        }
    }

    /// Logical pages.
    #[must_use]
    pub fn page_count(&self) -> u32 {
        self.physical_of.len() as u32
    }

    /// Where a logical page lies; `None` when nothing was written there, or it was trimmed.
    #[inline]
    #[must_use]
    pub fn place(&self, page: u32) -> Option<u32> {
        let place = self.physical_of[page as usize];
        (place != NONE).then_some(place)
    }

    /// Writes a logical page.
    #[inline]
    pub fn write(&mut self, page: u32) -> Collected {
        let mut collected = Collected::default();
        if self.written[self.open as usize] == self.pages_per_block() {
            collected = self.open_next();
        }
        let old = self.physical_of[page as usize];
        if old != NONE {
            self.regions.invalidate(old >> self.block_shift);
        }
        self.append(self.open, page);
        collected
    }

    /// Forgets a logical page; whether there was one.
    pub fn trim(&mut self, page: u32) -> bool {
        let old = std::mem::replace(&mut self.physical_of[page as usize], NONE);
        if old != NONE {
            self.regions.invalidate(old >> self.block_shift);
        }
        old != NONE
    }

    /// Pages that the open block still takes.
    #[inline]
    #[must_use]
    pub fn open_pages(&self) -> u32 {
        self.pages_per_block() - self.written[self.open as usize]
    }

    /// Pages that can be written before something has to be collected.
    #[must_use]
    pub fn ready_pages(&self) -> u64 {
        self.writable_pages + u64::from(self.open_pages())
    }

    /// Collects ahead of need; `None` where too little is invalid to make that worth while.
    pub fn collect_ahead(&mut self) -> Option<Collected> {
        let most = self.regions.invalid(Region::Normal).max(self.regions.invalid(Region::Cold));
        (most >= u64::from(self.pages_per_block())).then(|| self.collect())
    }

    fn pages_per_block(&self) -> u32 {
        1 << self.block_shift
    }

    #[inline]
    fn append(&mut self, block: u32, page: u32) {
        let written = &mut self.written[block as usize];
        let place = (block << self.block_shift) + *written;
        *written += 1;
        self.logical_of[place as usize] = page;
        self.physical_of[page as usize] = place;
        self.regions.validate(block);
    }

    #[cold]
    fn open_next(&mut self) -> Collected {
        self.regions.seal(self.open, Region::Normal);
        let mut collected = Collected::default();
        while self.writable.is_empty() {
            let more = self.collect();
            collected.copies += more.copies;
            collected.erases += more.erases;
        }
        self.open = self.writable.pop_front().expect("a block was collected");
        self.writable_pages -= u64::from(self.open_pages());
        collected
    }

    fn collect(&mut self) -> Collected {
        let mut victims = std::mem::take(&mut self.victims);
        match self.collection {
            Collection::Greedy => victims.extend(self.regions.take_emptiest(Region::Normal)),
            Collection::TwoRegions => self.choose_victims(&mut victims),
        }
        let copies = self.move_valid_pages(&victims);
        let erases = victims.len() as u32;
        victims.clear();
        self.victims = victims;
        Collected { copies, erases }
    }

    /// Blocks of one region whose invalid pages make up a block: of the region that has the emptiest block.
    fn choose_victims(&mut self, victims: &mut Vec<u32>) {
        let block = u64::from(self.pages_per_block());
        let region = if self.regions.invalid(Region::Cold) < block {
            Region::Normal
        } else if self.regions.invalid(Region::Normal) < block
            || self.regions.least_valid(Region::Cold) <= self.regions.least_valid(Region::Normal)
        {
            Region::Cold
        } else {
            Region::Normal
        };
        let mut invalid = 0;
        while invalid < block {
            let Some(victim) = self.regions.take_emptiest(region) else { break };
            invalid += block - u64::from(self.regions.valid(victim));
            victims.push(victim);
        }
    }

    /// Copies what is valid in some blocks, erases them, and makes them writable; how many pages were copied.
    fn move_valid_pages(&mut self, victims: &[u32]) -> u32 {
        let pages = self.pages_per_block();
        let mut destination = self.spare;
        let mut erased = VecDeque::new();
        let mut copies = 0;
        // the emptiest block comes last: what is left of it, the least cold pages, shares a block with new data
        for &victim in victims.iter().rev() {
            let first = victim << self.block_shift;
            for place in first..first + pages {
                let page = self.logical_of[place as usize];
                if self.physical_of[page as usize] != place {
                    continue;
                }
                if self.written[destination as usize] == pages {
                    self.regions.seal(destination, Region::Cold);
                    destination = erased.pop_front().expect("a block was erased for each that was filled");
                }
                self.append(destination, page);
                copies += 1;
            }
            self.written[victim as usize] = 0;
            self.regions.erase(victim);
            erased.push_back(victim);
        }
        self.hand_out(destination, erased);
        copies
    }

    /// Keeps one erased block as the spare one and makes the others writable, the one with copies last.
    fn hand_out(&mut self, destination: u32, mut erased: VecDeque<u32>) {
        let pages = self.pages_per_block();
        let filled = self.written[destination as usize];
        if filled == 0 {
            erased.push_back(destination);
        }
        self.spare = erased.pop_back().expect("blocks that were collected free at least one");
        self.writable_pages += erased.len() as u64 * u64::from(pages);
        self.writable.extend(erased);
        match filled {
            0 => {}
            full if full == pages => self.regions.seal(destination, Region::Cold),
            part => {
                self.writable_pages += u64::from(pages - part);
                self.writable.push_back(destination);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_page(state: &mut u64, pages: u32) -> u32 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*state >> 32) % u64::from(pages)) as u32
    }

    #[test]
    fn every_page_is_where_the_map_says_and_counts_as_valid_once() {
        for collection in [Collection::Greedy, Collection::TwoRegions] {
            let mut drive = Translation::new(collection, 400, 32, 16);
            let mut state = 7;
            for round in 0..20_000 {
                let page = random_page(&mut state, 400);
                let _ = if round % 7 == 0 { drive.trim(page) } else { drive.write(page).erases > 0 };
            }
            let mapped: Vec<u32> = (0..400).filter(|page| drive.place(*page).is_some()).collect();
            for &page in &mapped {
                assert_eq!(drive.logical_of[drive.place(page).unwrap() as usize], page);
            }
            let valid: u32 = (0..33).map(|block| drive.regions.valid(block)).sum();
            assert_eq!(valid as usize, mapped.len(), "{collection:?}");
        }
    }

    #[test]
    fn writing_in_order_copies_nothing() {
        let mut drive = Translation::new(Collection::Greedy, 400, 32, 16);
        let copies: u32 = (0..4000).map(|page| drive.write(page % 400).copies).sum();
        assert_eq!(copies, 0);
    }

    #[test]
    fn what_was_trimmed_is_not_copied() {
        let mut drive = Translation::new(Collection::Greedy, 480, 32, 16);
        for page in 0..480 {
            let _ = drive.write(page);
        }
        for page in (0..480).filter(|page| page % 16 != 0) {
            drive.trim(page);
        }
        let copies: u32 = (0..60).map(|_| drive.write(0).copies).sum();
        assert!(copies <= 2 * 4, "{copies} pages were copied");
    }

    #[test]
    fn collecting_ahead_leaves_nothing_to_collect_later() {
        let mut drive = Translation::new(Collection::Greedy, 400, 32, 16);
        let mut state = 3;
        for _ in 0..5000 {
            let _ = drive.write(random_page(&mut state, 400));
        }
        while drive.ready_pages() < 64 {
            let _ = drive.collect_ahead().expect("something is invalid");
        }
        let later: u32 = (0..64).map(|_| drive.write(random_page(&mut state, 400)).copies).sum();
        assert_eq!(later, 0);
    }
}
