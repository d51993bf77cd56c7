//! The letters `rwbs` of an event, turned back into the category bits that blktrace would have recorded.

use crate::record::category;

/// What the letters say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Letters {
    /// Direction, flush, FUA, read-ahead, synchronous, metadata, discard.
    pub category: u32,
    /// No operation of which the letters know: a driver's own command, or write zeroes.
    pub is_other: bool,
}

/// Reads the letters (`fill_rwbs` in the kernel's kernel/trace/blktrace.c).
///
/// An `F` in front is a flush before the data, then comes the operation, then its flags.
#[must_use]
pub fn letters(rwbs: &[u8], has_data: bool) -> Letters {
    let mut category = 0;
    let mut rest = rwbs;
    if let [b'F', b'W' | b'D' | b'R' | b'F' | b'N' | b'Z', ..] = rest {
        category |= category::FLUSH;
        rest = &rest[1..];
    }
    let (operation, flags) = rest.split_first().map_or((b'N', rest), |(first, flags)| (*first, flags));
    let flags = match operation {
        // of a zone the next letter is part of the operation
        b'Z' => flags.get(1..).unwrap_or_default(),
        _ => flags,
    };
    category |= match operation {
        b'W' | b'Z' => category::WRITE,
        b'D' => category::WRITE | category::DISCARD,
        b'F' => category::READ | category::FLUSH,
        // what has data and no letter of its own is write zeroes; it counts as a write
        b'N' if has_data => category::WRITE,
        _ => category::READ,
    };
    for flag in flags {
        category |= match flag {
            b'F' => category::FUA,
            b'A' => category::AHEAD,
            b'S' => category::SYNC,
            b'M' => category::META,
            _ => 0,
        };
    }
    Letters { category, is_other: operation == b'N' }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::category::{AHEAD, DISCARD, FLUSH, FUA, META, READ, SYNC, WRITE};

    #[test]
    fn the_letters_give_the_bits_that_they_were_made_of() {
        for (rwbs, bits) in [
            ("R", READ),
            ("RA", READ | AHEAD),
            ("RSM", READ | SYNC | META),
            ("WS", WRITE | SYNC),
            ("WFS", WRITE | FUA | SYNC),
            ("FWFSM", WRITE | FLUSH | FUA | SYNC | META),
            ("FWS", WRITE | FLUSH | SYNC),
            ("FF", READ | FLUSH),
            ("FFS", READ | FLUSH | SYNC),
            ("F", READ | FLUSH),
            ("FN", WRITE | FLUSH),
            ("D", WRITE | DISCARD),
            ("DES", WRITE | DISCARD | SYNC),
            ("WSU", WRITE | SYNC),
            ("ZAS", WRITE | SYNC),
            ("N", WRITE),
        ] {
            assert_eq!(letters(rwbs.as_bytes(), true).category, bits, "{rwbs}");
        }
        assert_eq!(letters(b"N", false), Letters { category: READ, is_other: true });
        assert_eq!(letters(b"FN", false), Letters { category: READ | FLUSH, is_other: true });
        assert_eq!(letters(b"", false), Letters { category: READ, is_other: true });
    }
}
