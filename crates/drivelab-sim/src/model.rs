//! What a simulated drive is made of. Rates are per second, `_ns` are nanoseconds; what is 0 or left out is not there.

use serde::Deserialize;

/// A drive.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What the host sees.
    pub size_bytes: u64,
    /// What the controller takes for each command; it does one after the other.
    pub command_ns: u64,
    /// Added to every read.
    pub read_latency_ns: u64,
    /// Added to every write, trim and flush.
    pub write_latency_ns: u64,
    /// Mean of an exponential delay that is added to every command.
    #[serde(default)]
    pub jitter_ns: u64,
    /// What the link moves.
    #[serde(default)]
    pub link_bytes_per_s: u64,
    /// The write cache.
    #[serde(default)]
    pub cache: CacheModel,
    /// Limit of I/Os.
    pub io_limit: Option<BucketModel>,
    /// Limit of bytes.
    pub byte_limit: Option<BucketModel>,
    /// When the drive becomes slow, as one that is hot.
    pub throttling: Option<ThrottlingModel>,
    /// I/Os that fail.
    #[serde(default)]
    pub errors: ErrorModel,
    /// The medium of an SSD.
    pub flash: Option<FlashModel>,
    /// The medium of a disk.
    pub disk: Option<DiskModel>,
}

impl Model {
    /// Returns only if a drive can be made of it.
    ///
    /// # Errors
    ///
    /// What can't be, in words.
    pub fn check(&self) -> Result<(), String> {
        let limits = [&self.io_limit, &self.byte_limit];
        let wrong = [
            (self.size_bytes == 0, "a drive without a size"),
            (self.command_ns == 0, "a command that takes no time"),
            (limits.iter().any(|limit| limit.as_ref().is_some_and(|limit| limit.per_s == 0)), "a limit of 0"),
            (self.throttling.as_ref().is_some_and(|slow| slow.every_ns == 0), "throttling every 0 s"),
            (self.flash.is_some() == self.disk.is_some(), "a drive has either flash or a disk"),
        ];
        let flash = self.flash.iter().find_map(|flash| flash.mistake(self.size_bytes));
        let merges = self.flash.as_ref().is_some_and(|flash| flash.merging_bytes > 0);
        if merges && (self.cache.is_volatile || self.cache.size_bytes == 0) {
            return Err("pages are merged only in a write cache that forgets nothing".to_owned());
        }
        let disk = self.disk.iter().find_map(DiskModel::mistake);
        let found = wrong.iter().find(|wrong| wrong.0).map(|wrong| wrong.1.to_owned());
        found.or(flash).or(disk).map_or(Ok(()), Err)
    }
}

impl FlashModel {
    fn mistake(&self, size_bytes: u64) -> Option<String> {
        let pages_per_block = self.block_bytes.checked_div(self.page_bytes).unwrap_or_default();
        if self.page_bytes < 512 || !self.page_bytes.is_power_of_two() || !pages_per_block.is_power_of_two() {
            return Some("pages and blocks are powers of two, and a page has at least 512 bytes".to_owned());
        }
        let raw_pages = (self.raw_bytes / self.block_bytes + 1) * pages_per_block;
        if raw_pages >= u64::from(u32::MAX) {
            return Some(format!("{raw_pages} pages are more than can be mapped"));
        }
        if size_bytes.div_ceil(self.page_bytes) + 3 * pages_per_block > raw_pages {
            return Some(format!("{} bytes of flash are too few for {size_bytes} bytes", self.raw_bytes));
        }
        (self.units == 0).then(|| "flash without units".to_owned())
    }
}

impl DiskModel {
    fn mistake(&self) -> Option<String> {
        let is_wrong = self.turn_ns == 0
            || self.inner_track_bytes == 0
            || self.outer_track_bytes < self.inner_track_bytes
            || self.longest_seek_ns < self.shortest_seek_ns;
        is_wrong.then(|| "a disk turns, its outer tracks are the larger ones, and seeks cost time".to_owned())
    }
}

/// Memory that takes writes before the medium has them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheModel {
    /// Its size; without one a write ends when the medium has it.
    pub size_bytes: u64,
    /// Whether a flush has to wait for the medium.
    pub is_volatile: bool,
    /// What a flush costs when something has to be written out, beyond that.
    pub flush_ns: u64,
}

/// A bucket of tokens: full at first, refilled at a rate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketModel {
    /// Tokens that arrive in a second.
    pub per_s: u64,
    /// Tokens that it holds.
    pub burst: u64,
}

/// Times at which the medium is slower.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThrottlingModel {
    /// It begins again so often; not at the very beginning.
    pub every_ns: u64,
    /// And lasts so long.
    pub for_ns: u64,
    /// So many times slower.
    pub factor: f64,
}

/// I/Os that fail with EIO.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorModel {
    /// One read of so many.
    #[serde(default)]
    pub reads_per_error: u64,
    /// One write of so many.
    #[serde(default)]
    pub writes_per_error: u64,
    /// First byte that can't be read, and how many.
    #[serde(default)]
    pub unreadable: Vec<(u64, u64)>,
}

/// How blocks to collect are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collection {
    /// The block with the fewest valid pages; copies and writes share a block.
    Greedy,
    /// Copies have blocks of their own, and of the two regions the one with the emptiest block is collected.
    TwoRegions,
}

/// Flash memory and its translation layer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashModel {
    /// All of it, what the host does not see included.
    pub raw_bytes: u64,
    /// What is mapped as one; smaller writes read the rest first.
    pub page_bytes: u64,
    /// Part of the write cache in which pages that are written again are merged; only of one that forgets nothing.
    #[serde(default)]
    pub merging_bytes: u64,
    /// What is erased as one; a power of two of pages.
    pub block_bytes: u64,
    /// How room is made.
    pub collection: Collection,
    /// Parts that work side by side.
    pub units: u32,
    /// A unit's time to read a page.
    pub read_ns: u64,
    /// A unit's time to write a page.
    pub program_ns: u64,
    /// A unit's time to erase its part of a block.
    pub erase_ns: u64,
    /// Whether a read waits for no more than what a unit is doing now.
    #[serde(default)]
    pub reads_first: bool,
    /// What the translation layer writes for itself, as a share of all that is written.
    #[serde(default)]
    pub metadata_share: f64,
    /// Size of the fast cache of flash.
    #[serde(default)]
    pub slc_bytes: u64,
    /// A unit's time to write a page there.
    #[serde(default)]
    pub slc_program_ns: u64,
    /// Idle for so long, the drive begins to clean up.
    #[serde(default)]
    pub idle_after_ns: u64,
    /// Share of the raw flash that it keeps writable when it is idle.
    #[serde(default)]
    pub idle_writable_share: f64,
    /// Whether compressible data cost less to write.
    #[serde(default)]
    pub compresses: bool,
}

/// Platters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskModel {
    /// Time of a turn.
    pub turn_ns: u64,
    /// Bytes of the outermost track, where addresses begin.
    pub outer_track_bytes: u64,
    /// Bytes of the innermost track.
    pub inner_track_bytes: u64,
    /// Groups of tracks that hold as much as each other.
    pub zones: u32,
    /// A seek to the next track.
    pub shortest_seek_ns: u64,
    /// A seek over all tracks.
    pub longest_seek_ns: u64,
}
