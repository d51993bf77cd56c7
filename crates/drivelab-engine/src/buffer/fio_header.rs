//! Blocks that fio wrote with `verify`: each part of a block begins with a header that names its place, and with the
//! sum of what follows.

use super::checksums::{crc32, crc32c, md5, sha256, xxh32};

const MAGIC: [u8; 2] = 0xACCA_u16.to_le_bytes();
/// The third byte of headers since fio 3.41, with the kind of sum behind it; before, it was that kind.
const VERSION: u8 = 0x81;
/// Where the sum of the header itself begins: it ends the header, which newer ones have made longer.
const SUM_AT: [usize; 2] = [36, 44];
const META: u8 = 1;
const MD5: u8 = 2;
const CRC32: u8 = 4;
const CRC32C: u8 = 5;
const CRC32C_BY_INSTRUCTION: u8 = 6;
const SHA256: u8 = 9;
const XXHASH: u8 = 15;

/// Whether data that were read at `offset` are parts that fio wrote there, each as it was written.
///
/// Of kinds of sums that are not known here only the headers are looked at.
pub(super) fn are_intact(data: &[u8], offset: u64) -> bool {
    let mut begin = 0;
    while begin < data.len() {
        match length_of_intact(&data[begin..], offset + begin as u64) {
            Some(length) => begin += length,
            None => return false,
        }
    }
    !data.is_empty()
}

/// Bytes of the part that data begin with; `None` if it is not one that fio wrote there.
fn length_of_intact(data: &[u8], offset: u64) -> Option<usize> {
    let header = data.get(..SUM_AT[1] + 4)?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let kind = if header[2] == VERSION { header[3] } else { header[2] };
    let sum_at = SUM_AT.into_iter().find(|&at| number(at) == crc32c(&header[..at]))?;
    let length = number(4) as usize;
    let is_of_here = header[..2] == MAGIC && header[16..24] == offset.to_le_bytes();
    if !is_of_here || length <= sum_at + 4 || length > data.len() {
        return None;
    }
    has_its_sum(kind, &data[sum_at + 4..length]).then_some(length)
}

/// Whether the sum of a kind that data begin with is that of what follows it.
fn has_its_sum(kind: u8, data: &[u8]) -> bool {
    let holds = |room: usize, sum: &dyn Fn(&[u8]) -> Vec<u8>| {
        data.split_at_checked(room).is_some_and(|(kept, rest)| {
            let sum = sum(rest);
            kept[..sum.len()] == sum
        })
    };
    match kind {
        MD5 => holds(16, &|rest| md5(rest).to_vec()),
        CRC32 => holds(4, &|rest| crc32(rest).to_le_bytes().to_vec()),
        CRC32C | CRC32C_BY_INSTRUCTION => holds(4, &|rest| crc32c(rest).to_le_bytes().to_vec()),
        SHA256 => holds(64, &|rest| sha256(rest).to_vec()),
        XXHASH => holds(4, &|rest| xxh32(rest, 1).to_le_bytes().to_vec()),
        kind => kind >= META,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part as fio 3.33 writes it.
    fn part(offset: u64, length: usize) -> Vec<u8> {
        let mut data: Vec<u8> = (0..length).map(|place| (place * 7) as u8).collect();
        data[..2].copy_from_slice(&MAGIC);
        data[2..4].copy_from_slice(&[CRC32C, 0]);
        data[4..8].copy_from_slice(&(length as u32).to_le_bytes());
        data[16..24].copy_from_slice(&offset.to_le_bytes());
        let sum = crc32c(&data[..36]).to_le_bytes();
        data[36..40].copy_from_slice(&sum);
        let sum = crc32c(&data[44..]).to_le_bytes();
        data[40..44].copy_from_slice(&sum);
        data
    }

    #[test]
    fn a_block_is_intact_where_each_part_is_of_its_place_and_has_its_sum() {
        let block = [part(8192, 1024), part(8192 + 1024, 1024)].concat();
        assert!(are_intact(&block, 8192));
        assert!(!are_intact(&block, 4096), "it belongs elsewhere");
        for place in 0..block.len() {
            let mut damaged = block.clone();
            damaged[place] ^= 1;
            assert!(!are_intact(&damaged, 8192), "byte {place}");
        }
        assert!(!are_intact(&block[..1500], 8192) && !are_intact(&[], 0) && !are_intact(&[0; 4096], 0));
    }
}
