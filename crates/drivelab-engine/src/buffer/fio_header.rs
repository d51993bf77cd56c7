//! Blocks that fio wrote with `verify`: each part of a block begins with a header that names its place, and with the
//! sum of what follows.

use crate::workload::Check;

use super::checksums::{crc32, crc32c, last_of_sha256, md5, sha256, xxh32};

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
const PATTERN: u8 = 17;

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

/// Whether data are one part that fio wrote there for a check.
pub(super) fn is_intact(data: &[u8], check: Check, offset: u64) -> bool {
    let is_kind =
        |kind: u8| kind == kind_of(check) || check == Check::Crc32c && kind == CRC32C_BY_INSTRUCTION;
    length_of_intact(data, offset) == Some(data.len())
        && is_kind(if data[2] == VERSION { data[3] } else { data[2] })
}

/// Bytes of the part that data begin with; `None` if it is not one that fio wrote there.
fn length_of_intact(data: &[u8], offset: u64) -> Option<usize> {
    let header = data.get(..SUM_AT[0] + 4)?;
    let number = |at: usize| u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
    let kind = if header[2] == VERSION { header[3] } else { header[2] };
    let has_sum = |at: usize| data.len() >= at + 4 && number(at) == crc32c(&data[..at]);
    let sum_at = SUM_AT.into_iter().find(|&at| has_sum(at))?;
    let length = number(4) as usize;
    let is_of_here = header[..2] == MAGIC && header[16..24] == offset.to_le_bytes();
    if !is_of_here || length <= sum_at + 4 || length > data.len() {
        return None;
    }
    has_its_sum(kind, &data[sum_at + 4..length]).then_some(length)
}

/// Whether the sum of a kind that data begin with is that of what follows it.
fn has_its_sum(kind: u8, data: &[u8]) -> bool {
    match room_of(kind) {
        Some(room) => {
            data.split_at_checked(room).is_some_and(|(kept, rest)| kept.starts_with(&sum_of(kind, rest)))
        }
        None => kind >= META,
    }
}

/// Bytes between a header and the data for the sum of a kind; `None` for kinds that are not known here.
fn room_of(kind: u8) -> Option<usize> {
    Some(match kind {
        META | PATTERN => 0,
        MD5 => 16,
        CRC32 | CRC32C | CRC32C_BY_INSTRUCTION | XXHASH => 4,
        SHA256 => 64,
        _ => return None,
    })
}

/// The sum of data by a kind that is known here.
fn sum_of(kind: u8, data: &[u8]) -> Vec<u8> {
    match kind {
        MD5 => md5(data).to_vec(),
        CRC32 => crc32(data).to_le_bytes().to_vec(),
        CRC32C | CRC32C_BY_INSTRUCTION => crc32c(data).to_le_bytes().to_vec(),
        SHA256 => sha256(data).to_vec(),
        XXHASH => xxh32(data, 1).to_le_bytes().to_vec(),
        _ => Vec::new(),
    }
}

/// The kind of fio's that a check is; 0 is none.
fn kind_of(check: Check) -> u8 {
    match check {
        Check::Stamps => 0,
        Check::Header => META,
        Check::PatternHeader => PATTERN,
        Check::Md5 => MD5,
        Check::Crc32 => CRC32,
        Check::Crc32c => CRC32C,
        Check::Sha256 => SHA256,
        Check::Xxhash => XXHASH,
    }
}

/// Bytes of a header with the sum behind it; 0 where a check has none.
#[must_use]
pub fn header_size(check: Check) -> usize {
    room_of(kind_of(check)).map_or(0, |room| SUM_AT[0] + 4 + room)
}

/// Makes data a part as fio 3.33 writes it at `offset`.
pub(super) fn write(data: &mut [u8], check: Check, offset: u64, number: u64) {
    let (kind, size) = (kind_of(check), header_size(check));
    let length = data.len() as u32;
    let (header, rest) = data.split_at_mut(size);
    header.fill(0);
    header[..2].copy_from_slice(&MAGIC);
    header[2] = kind;
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[16..24].copy_from_slice(&offset.to_le_bytes());
    header[34..36].copy_from_slice(&(number as u16).to_le_bytes());
    let sum = crc32c(&header[..SUM_AT[0]]);
    let (header, room) = header.split_at_mut(SUM_AT[0] + 4);
    header[SUM_AT[0]..].copy_from_slice(&sum.to_le_bytes());
    let sum = sum_of(kind, rest);
    room[..sum.len()].copy_from_slice(&sum);
    if kind == SHA256 {
        // fio compares all 64 bytes in which it works, and what is left there behind the sum is padding
        room[sum.len()..].copy_from_slice(&last_of_sha256(rest)[sum.len()..]);
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

    #[test]
    fn a_part_of_our_own_is_intact_by_its_check_and_where_it_was_written() {
        use Check::{Crc32, Crc32c, Header, Md5, PatternHeader, Sha256, Xxhash};
        for check in [Header, PatternHeader, Md5, Crc32, Crc32c, Sha256, Xxhash] {
            for length in [header_size(check) + 1, 512, header_size(check) + 64 * 7 + 60] {
                let mut part = vec![7; length];
                write(&mut part, check, 4096, 3);
                assert!(is_intact(&part, check, 4096), "{check:?} {length}");
                assert!(!is_intact(&part, check, 8192), "{check:?} {length}");
                assert!(
                    !is_intact(&part, if check == Md5 { Crc32 } else { Md5 }, 4096),
                    "{check:?} {length}"
                );
                *part.last_mut().unwrap() ^= 1;
                assert_eq!(
                    is_intact(&part, check, 4096),
                    matches!(check, Header | PatternHeader),
                    "{check:?}"
                );
            }
        }
    }
}
