//! What is written, and by what a read can tell whether it is right.

use serde::Deserialize;

use crate::workload::Workload;

/// Bytes that the offset of a block takes in a pattern.
pub const OFFSET_SIZE: usize = 8;
const PATTERN_MAX: usize = 4096;

/// Kind of data written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentsKind {
    /// Random data, every block unique.
    Random,
    /// Zeros.
    Zeros,
    /// The bytes of a pattern, again and again from the start of each block.
    Pattern,
}

/// By what a read can tell whether a block is right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Stamps of drivelab in random data; a pattern is compared as it is.
    #[default]
    Stamps,
    /// Headers of fio, and what is behind them where that is a pattern.
    Header,
    /// Headers of fio that say that a pattern follows.
    PatternHeader,
    /// Headers of fio with the MD5 of what follows.
    Md5,
    /// ... with its CRC-32.
    Crc32,
    /// ... with its CRC-32C.
    Crc32c,
    /// ... with its SHA-256.
    Sha256,
    /// ... with its XXH32.
    Xxhash,
}

/// What is written.
#[derive(Debug, Clone, Deserialize)]
pub struct Contents {
    /// Kind of data.
    pub kind: ContentsKind,
    /// Part of every 4 KiB that is zeros.
    pub compressible_fraction: f64,
    /// Part of the writes that repeat one block.
    pub duplicate_fraction: f64,
    /// The bytes of a pattern as hexadecimal digits; `%o` is the offset of the block, the lowest byte first.
    #[serde(default)]
    pub pattern: String,
    /// By what a read can tell whether it is right.
    #[serde(default)]
    pub check: Check,
    /// Distance between two headers; 0 is that of blocks.
    #[serde(default)]
    pub check_bytes: u64,
    /// Where in each such part its header lies.
    #[serde(default)]
    pub check_offset: u64,
}

impl Contents {
    /// Whether random data carry drivelab's own stamps.
    pub(super) fn has_stamps(&self) -> bool {
        self.kind == ContentsKind::Random && self.check == Check::Stamps
    }

    /// Whether nothing but such stamps could tell whether data are right.
    pub(super) fn has_stamps_or_nothing(&self) -> bool {
        self.kind != ContentsKind::Pattern && self.check == Check::Stamps
    }

    /// The bytes of the pattern, and where in them offsets of blocks lie; `None` if it is none.
    #[must_use]
    pub fn pattern_bytes(&self) -> Option<(Vec<u8>, Vec<usize>)> {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        let mut rest = self.pattern.as_bytes();
        while !rest.is_empty() {
            if let Some(behind) = rest.strip_prefix(b"%o") {
                places.push(bytes.len());
                bytes.extend([0; OFFSET_SIZE]);
                rest = behind;
                continue;
            }
            let (digits, behind) = rest.split_at_checked(2)?;
            let digit = |at: usize| char::from(digits[at]).to_digit(16);
            bytes.push((digit(0)? << 4 | digit(1)?) as u8);
            rest = behind;
        }
        (1..=PATTERN_MAX).contains(&bytes.len()).then_some((bytes, places))
    }
}

impl Workload {
    pub(super) fn rules_of_data(&self) -> Vec<(bool, &'static str)> {
        let contents = &self.contents;
        let is_fraction = |fraction: f64| (0.0..=1.0).contains(&fraction);
        let is_pattern = contents.kind == ContentsKind::Pattern;
        let has_headers = contents.check != Check::Stamps;
        let part = if contents.check_bytes > 0 { contents.check_bytes } else { self.smallest_block() };
        // the header is exchanged with as many bytes where it lies
        let used = crate::buffer::header_size(contents.check) as u64;
        let needed =
            if contents.check_offset > 0 { contents.check_offset.saturating_add(used) } else { used + 1 };
        let fits = part >= needed
            && part <= u64::from(u32::MAX)
            && (contents.check_offset == 0 || contents.check_offset >= used);
        let fills = part > 0 && self.issued_sizes().all(|bytes| bytes.is_multiple_of(part));
        vec![
            (
                !is_fraction(contents.compressible_fraction) || !is_fraction(contents.duplicate_fraction),
                "compressible_fraction, duplicate_fraction: 0 to 1",
            ),
            (
                is_pattern && contents.pattern_bytes().is_none(),
                "pattern: 1 to 4096 bytes, two hexadecimal digits each, or %o for the 8 of a block's offset",
            ),
            (
                has_headers && !(fits && fills),
                "check_bytes: room for a header, and a divisor of every block size",
            ),
            (
                (has_headers || is_pattern) && (self.rewrites() || self.tree.is_some()),
                "contents: patterns and headers are for blocks, and not for what is written back",
            ),
            (
                self.verify && !self.can_verify(),
                "verify: needs a pattern, headers, or random contents without duplicates, and one block size of at \
                 least 16 B or several that are multiples of 4 KiB",
            ),
        ]
    }
}
