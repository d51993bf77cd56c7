//! Pages that were written last: one that is written again is merged with what waits, and never reaches the flash.

const NONE: u32 = u32::MAX;

/// The pages of a write cache by when they were written last.
#[derive(Debug, Clone)]
pub struct Recent {
    /// The slot of each page, or none.
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    newest: u32,
    oldest: u32,
    capacity: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    page: u32,
    newer: u32,
    older: u32,
}

/// What became of a page that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It waits, and nothing had to make room for it.
    Added,
    /// It was there already.
    Merged,
    /// It waits, and this one has to be written out.
    Instead(u32),
}

impl Recent {
    /// Room for so many of `page_count` pages, at least one.
    #[must_use]
    pub fn new(page_count: u32, capacity: usize) -> Self {
        let slots = Vec::with_capacity(capacity);
        Self { slot_of: vec![NONE; page_count as usize], slots, newest: NONE, oldest: NONE, capacity }
    }

    /// Whether a page waits.
    #[must_use]
    pub fn holds(&self, page: u32) -> bool {
        self.slot_of[page as usize] != NONE
    }

    /// Takes a page.
    pub fn put(&mut self, page: u32) -> Kept {
        let known = self.slot_of[page as usize];
        if known != NONE {
            self.unlink(known);
            self.link(known);
            return Kept::Merged;
        }
        let (slot, kept) = if self.slots.len() < self.capacity {
            self.slots.push(Slot { page, newer: NONE, older: NONE });
            ((self.slots.len() - 1) as u32, Kept::Added)
        } else {
            let slot = self.oldest;
            let gone = self.slots[slot as usize].page;
            self.unlink(slot);
            self.slot_of[gone as usize] = NONE;
            (slot, Kept::Instead(gone))
        };
        self.slots[slot as usize].page = page;
        self.slot_of[page as usize] = slot;
        self.link(slot);
        kept
    }

    fn link(&mut self, slot: u32) {
        let older = std::mem::replace(&mut self.newest, slot);
        self.slots[slot as usize].newer = NONE;
        self.slots[slot as usize].older = older;
        match older {
            NONE => self.oldest = slot,
            older => self.slots[older as usize].newer = slot,
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_that_was_written_longest_ago_makes_room() {
        let mut recent = Recent::new(10, 3);
        assert_eq!([1, 2, 3].map(|page| recent.put(page)), [Kept::Added; 3]);
        assert_eq!(recent.put(1), Kept::Merged);
        assert_eq!([4, 5, 6].map(|page| recent.put(page)), [2, 3, 1].map(Kept::Instead));
        assert!(recent.holds(4) && !recent.holds(1));
    }
}
