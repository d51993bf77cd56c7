//! Full blocks by how many of their pages are valid, so that the emptiest one is found at once.

/// Where a full block belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// Filled by the host.
    Normal,
    /// Filled with copies alone.
    Cold,
}

const NONE: u32 = u32::MAX;
/// The block is not full, so that it is in no list.
const UNSEALED: u8 = u8::MAX;

#[derive(Debug, Clone, Copy)]
struct Block {
    valid: u32,
    next: u32,
    previous: u32,
    region: u8,
}

/// Both regions.
#[derive(Debug, Clone)]
pub struct Regions {
    blocks: Vec<Block>,
    /// First block of each list: one for each region and number of valid pages.
    heads: [Vec<u32>; 2],
    /// No list below this one holds a block.
    least: [usize; 2],
    invalid: [u64; 2],
    pages_per_block: u32,
}

impl Regions {
    /// Blocks that are all empty.
    pub fn new(block_count: usize, pages_per_block: u32) -> Self {
        let empty = Block { valid: 0, next: NONE, previous: NONE, region: UNSEALED };
        let heads = vec![NONE; pages_per_block as usize + 1];
        Self {
            blocks: vec![empty; block_count],
            heads: [heads.clone(), heads],
            least: [pages_per_block as usize; 2],
            invalid: [0; 2],
            pages_per_block,
        }
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: u32) -> u32 {
        self.blocks[block as usize].valid
    }

    /// Invalid pages in the full blocks of a region.
    pub fn invalid(&self, region: Region) -> u64 {
        self.invalid[region as usize]
    }

    /// One more page of a block that is not full is valid.
    #[inline]
    pub fn validate(&mut self, block: u32) {
        self.blocks[block as usize].valid += 1;
    }

    /// One page of a block is valid no more.
    #[inline]
    pub fn invalidate(&mut self, block: u32) {
        let region = self.blocks[block as usize].region;
        if region == UNSEALED {
            self.blocks[block as usize].valid -= 1;
            return;
        }
        self.unlink(block);
        self.blocks[block as usize].valid -= 1;
        self.invalid[region as usize] += 1;
        self.link(block);
    }

    /// Puts a full block into a region.
    pub fn seal(&mut self, block: u32, region: Region) {
        self.blocks[block as usize].region = region as u8;
        self.invalid[region as usize] += u64::from(self.pages_per_block - self.valid(block));
        self.link(block);
    }

    /// A block holds nothing any more, and is in no region.
    pub fn erase(&mut self, block: u32) {
        self.blocks[block as usize].valid = 0;
    }

    /// Valid pages of the emptiest block of a region; those of a full one when there is none.
    pub fn least_valid(&mut self, region: Region) -> usize {
        let number = region as usize;
        let from = self.least[number];
        let found = self.heads[number][from..].iter().position(|head| *head != NONE);
        self.least[number] = found.map_or(self.pages_per_block as usize, |step| from + step);
        self.least[number]
    }

    /// Takes the emptiest block out of a region.
    pub fn take_emptiest(&mut self, region: Region) -> Option<u32> {
        let least = self.least_valid(region);
        let block = self.heads[region as usize][least];
        if block == NONE {
            return None;
        }
        self.unlink(block);
        self.invalid[region as usize] -= u64::from(self.pages_per_block - self.valid(block));
        self.blocks[block as usize].region = UNSEALED;
        Some(block)
    }

    #[inline]
    fn link(&mut self, block: u32) {
        let Block { valid, region, .. } = self.blocks[block as usize];
        let (valid, region) = (valid as usize, region as usize);
        let next = std::mem::replace(&mut self.heads[region][valid], block);
        self.blocks[block as usize].next = next;
        self.blocks[block as usize].previous = NONE;
        if next != NONE {
            self.blocks[next as usize].previous = block;
        }
        self.least[region] = self.least[region].min(valid);
    }

    #[inline]
    fn unlink(&mut self, block: u32) {
        let Block { valid, next, previous, region } = self.blocks[block as usize];
        if previous == NONE {
            self.heads[region as usize][valid as usize] = next;
        } else {
            self.blocks[previous as usize].next = next;
        }
        if next != NONE {
            self.blocks[next as usize].previous = previous;
        }
    }
}
