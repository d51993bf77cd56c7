//! Where the kernel's structures have their members, as it describes its own types (BTF).

use std::fs;

const DESCRIBED: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
const STRUCT: u32 = 4;
const MEMBER_BYTES: usize = 12;
// of a structure that has bit fields, the length of one is in the upper byte of its place
const PLACE_BITS: u32 = 0x00ff_ffff;

/// Where a task counts how often it slept; None where the kernel does not say so.
pub(super) fn sleeps() -> Option<i16> {
    i16::try_from(place_in(&fs::read(DESCRIBED).ok()?, b"task_struct", b"nvcsw")?).ok()
}

/// The place of a member in a structure, in bytes.
fn place_in(types: &[u8], structure: &[u8], member: &[u8]) -> Option<usize> {
    let word = |at: usize| Some(u32::from_ne_bytes(*types.get(at..)?.first_chunk()?));
    let magic = u16::from_ne_bytes(*types.first_chunk()?);
    let (behind_header, start, length, texts) = (word(4)?, word(8)?, word(12)?, word(16)?);
    let (start, texts) = (behind_header as usize + start as usize, behind_header as usize + texts as usize);
    if magic != MAGIC || types.len() < HEADER_BYTES {
        return None;
    }
    let is_called = |place: u32, name: &[u8]| {
        let rest = types.get(texts + place as usize..).unwrap_or_default();
        rest.strip_prefix(name).is_some_and(|behind| behind.first() == Some(&0))
    };
    let mut at = start;
    while at < start + length as usize {
        let (name, facts) = (word(at)?, word(at + 4)?);
        let (kind, count) = (facts >> 24 & 0x1f, (facts & 0xffff) as usize);
        at += MEMBER_BYTES;
        if kind == STRUCT && is_called(name, structure) {
            let mut members = (0..count).map(|number| at + number * MEMBER_BYTES);
            let found = members.find(|&it| word(it).is_some_and(|name| is_called(name, member)))?;
            return Some((word(found + 8)? & PLACE_BITS) as usize / 8);
        }
        at += bytes_behind(kind, count)?;
    }
    None
}

/// How much follows the first three words of a type.
fn bytes_behind(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,
        2 | 7..=12 | 16 | 18 => 0,
        3 => 12,
        4 | 5 | 15 | 19 => 12 * count,
        6 | 13 => 8 * count,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: &[u8] = b"\0int\0task\0nvcsw\0nv\0";

    /// A number, another structure, and one called `task` with `nv` at 16 and `nvcsw` at 24.
    fn types() -> Vec<u8> {
        let members = |kind: u32, count: u32| kind << 24 | count;
        let words = [1, members(1, 0), 8, 0x40, 0, members(STRUCT, 1), 8, 10, 1, 0];
        let task = [5, members(STRUCT, 2), 32, 16, 1, 128, 10, 1, 192];
        let words: Vec<u32> = words.into_iter().chain(task).collect();
        let length = 4 * words.len() as u32;
        let header = [u32::from(MAGIC) | 1 << 16, HEADER_BYTES as u32, 0, length, length, TEXTS.len() as u32];
        let bytes = header.into_iter().chain(words).flat_map(u32::to_ne_bytes);
        bytes.chain(TEXTS.iter().copied()).collect()
    }

    #[test]
    fn a_member_is_found_in_its_own_structure_by_its_whole_name() {
        let types = types();
        assert_eq!(place_in(&types, b"task", b"nvcsw"), Some(24));
        assert_eq!(place_in(&types, b"task", b"nv"), Some(16));
        assert_eq!(place_in(&types, b"task", b"nvc"), None);
        assert_eq!(place_in(&types, b"tas", b"nvcsw"), None);
    }

    #[test]
    fn what_is_cut_off_or_not_understood_tells_nothing() {
        let types = types();
        (0..types.len() - TEXTS.len())
            .for_each(|end| assert_eq!(place_in(&types[..end], b"task", b"nv"), None));
        let mut unknown = types.clone();
        unknown[HEADER_BYTES + 7] = 0x1f;
        assert_eq!(place_in(&unknown, b"task", b"nvcsw"), None);
        assert_eq!(place_in(&types[1..], b"task", b"nvcsw"), None);
    }
}
