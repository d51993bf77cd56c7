//! The check sums of blocks that fio wrote: those of libraries, with what fio has otherwise.

use crc::{CRC_32_CKSUM, CRC_32_ISCSI, Crc, Table};
use md5::{Digest, Md5};
use sha2::block_api::compress256;
use twox_hash::XxHash32;

static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
static CKSUM: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_CKSUM);
// what SHA-256 begins with (FIPS 180-4, 5.3.3)
const SHA256_BEGIN: [u32; 8] =
    [0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19];

/// CRC-32C as fio has it: not inverted at the end.
pub(super) fn crc32c(data: &[u8]) -> u32 {
    !CRC32C.checksum(data)
}

/// CRC-32 as fio has it: that of POSIX's cksum, without the length, and not inverted at the end.
pub(super) fn crc32(data: &[u8]) -> u32 {
    !CKSUM.checksum(data)
}

/// XXH32 with a seed.
pub(super) fn xxh32(data: &[u8], seed: u32) -> u32 {
    XxHash32::oneshot(seed, data)
}

/// MD5 (RFC 1321).
pub(super) fn md5(data: &[u8]) -> [u8; 16] {
    Md5::digest(data).into()
}

/// SHA-256 as fio has it: the length is padded in the other order of bytes, and of each word the lowest byte is kept.
pub(super) fn sha256(data: &[u8]) -> [u8; 8] {
    sha256_words(data, (data.len() as u64 * 8).to_le_bytes()).map(|word| word as u8)
}

/// The words of SHA-256 with a length.
fn sha256_words(data: &[u8], length: [u8; 8]) -> [u32; 8] {
    let (whole, rest) = data.as_chunks::<64>();
    let mut state = SHA256_BEGIN;
    compress256(&mut state, whole);
    compress256(&mut state, padded(rest, length).as_chunks().0);
    state
}

/// The block of 64 bytes that fio's SHA-256 takes last.
pub(super) fn last_of_sha256(data: &[u8]) -> [u8; 64] {
    let end = padded(data.as_chunks::<64>().1, (data.len() as u64 * 8).to_le_bytes());
    *end.last_chunk().expect("at least one block is padded")
}

/// What is left of data, with a one, zeros, and the length in bits: one block or two.
fn padded(rest: &[u8], length: [u8; 8]) -> Vec<u8> {
    let mut end = [rest, &[0x80]].concat();
    end.resize((rest.len() + 9).next_multiple_of(64) - 8, 0);
    end.extend(length);
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_that_are_published() {
        assert_eq!(crc32c(b"123456789") ^ !0, 0xE306_9283);
        // cksum inverts it
        assert_eq!(crc32(&[b"123456789".as_slice(), &[9]].concat()) ^ !0, 930_766_865);
        assert_eq!(xxh32(b"", 0), 0x02CC_5D05);
        assert_eq!(xxh32(b"abc", 0), 0x32D1_53FF);
        assert_eq!(xxh32(b"Nobody inspects the spammish repetition", 0), 0xE229_3B2F);
        assert_eq!(u128::from_be_bytes(md5(b"")), 0xd41d_8cd9_8f00_b204_e980_0998_ecf8_427e);
        assert_eq!(u128::from_be_bytes(md5(&[b'a'; 64])), 0x0148_42d4_80b5_7149_5a4a_0363_793f_7367);
        let of_abc = sha256_words(b"abc", 24_u64.to_be_bytes());
        assert_eq!((of_abc[0], of_abc[7]), (0xBA78_16BF, 0xF200_15AD));
    }

    #[test]
    fn lengths_around_a_block_are_padded_as_they_are_to_be() {
        for length in [0, 3, 55, 56, 63, 64, 65, 119, 120, 200] {
            let data = vec![b'a'; length];
            let words = sha256_words(&data, (length as u64 * 8).to_be_bytes());
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            assert_eq!(bytes, sha2::Sha256::digest(&data).to_vec(), "{length}");
        }
    }
}
