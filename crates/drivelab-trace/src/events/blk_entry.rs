//! Entries of the kernel's `blk` tracer in the pages of its ring buffer.
//!
//! The kernel keeps each as the record that blktrace would write, with the common begin of every entry in
//! the place of magic and number, and without a time: that is the page's. No `format` file describes them,
//! so an entry is taken for one only if device, processor and length agree.

use crate::record::{CGROUP_BIT, Record};

const V7_BYTES: usize = 48;
const V8_BYTES: usize = 64;
const CGROUP_BYTES: usize = 8;
// what the ring buffer rounds lengths up to, at most
const ROUNDED_BYTES: usize = 8;

/// Fills a record from an entry; false when it is none of this device and processor.
pub(super) fn read_entry(record: &mut Record, entry: &[u8]) -> bool {
    read_v7(record, entry) || read_v8(record, entry)
}

fn half(entry: &[u8], at: usize) -> u16 {
    entry.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_ne_bytes)
}

fn word(entry: &[u8], at: usize) -> u32 {
    entry.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn double(entry: &[u8], at: usize) -> u64 {
    entry.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

fn read_v7(record: &mut Record, entry: &[u8]) -> bool {
    let is_ours = word(entry, 36) == record.device && word(entry, 40) == record.cpu;
    is_ours && read_rest(record, entry, V7_BYTES, u64::from(word(entry, 28)), half(entry, 46)) && {
        record.pid = word(entry, 32);
        record.error = error(half(entry, 44));
        true
    }
}

fn read_v8(record: &mut Record, entry: &[u8]) -> bool {
    let is_ours = word(entry, 40) == record.device && word(entry, 44) == record.cpu;
    is_ours && read_rest(record, entry, V8_BYTES, double(entry, 32), half(entry, 50)) && {
        record.pid = word(entry, 28);
        record.error = error(half(entry, 48));
        true
    }
}

fn read_rest(record: &mut Record, entry: &[u8], header_bytes: usize, action: u64, payload: u16) -> bool {
    let action_bits = action as u16;
    let cgroup_bytes = if action_bits & CGROUP_BIT == 0 { 0 } else { CGROUP_BYTES };
    // versions differ in whether the length of the payload counts the cgroup id
    let end = header_bytes + usize::from(payload);
    let fits = |end: usize| (end..end + ROUNDED_BYTES).contains(&entry.len());
    let end = if fits(end) { end } else { end + cgroup_bytes };
    if !fits(end) {
        return false;
    }
    record.action_bits = action_bits;
    // version 8 has more categories than the 16 of version 7, none of which anybody asks for
    record.category = (action >> 16) as u32 & 0xffff;
    record.sector = double(entry, 16);
    record.bytes = word(entry, 24);
    record.payload.clear();
    record.payload.extend(&entry[header_bytes..end]);
    true
}

fn error(stored: u16) -> i32 {
    i32::from(stored.cast_signed())
}
