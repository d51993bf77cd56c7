//! Inputs that are made of bytes: rubble, and recordings with changes.

use crate::campaign::Kept;
use crate::case::File;
use crate::lives::Dice;
use crate::soup;
use crate::support::bytes::{Form, append};
use crate::support::golden::rewritten;
use crate::support::plain::golden_files;
use std::sync::OnceLock;

const GOLDENS: [&str; 6] =
    ["ext4_append1", "raw_over1", "relaylike", "trunctail", "wt_raw_over1", "xfs_append1"];
/// Numbers at which something ends.
const EDGES: [u64; 14] = [
    0,
    1,
    7,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fe00,
    0xffff_ffff,
    1 << 55,
    i64::MAX as u64,
    u64::MAX,
];
/// What of a record is worth a change: offset in version 7, and length.
const FIELDS: [(usize, usize); 12] =
    [(0, 4), (4, 4), (8, 8), (16, 8), (24, 4), (28, 2), (30, 2), (32, 4), (36, 4), (40, 4), (44, 2), (46, 2)];

/// One of several.
pub fn one_of<T: Clone>(dice: &mut Dice, all: &[T]) -> T {
    all[dice.roll(0, all.len() as u64) as usize].clone()
}

/// Once in so many times.
pub fn is_rare(dice: &mut Dice, times: u64) -> bool {
    dice.roll(0, times) == 0
}

/// A number of any magnitude, often one at an edge.
pub fn any_number(dice: &mut Dice) -> u64 {
    if dice.is_true() {
        one_of(dice, &EDGES)
    } else {
        let shift = dice.roll(0, 64);
        dice.roll(0, u64::MAX) >> shift
    }
}

/// How records are written.
pub fn any_form(dice: &mut Dice) -> Form {
    Form { version: if dice.is_true() { 7 } else { 8 }, is_swapped: dice.is_true(), counts_sequence: true }
}

fn noise(dice: &mut Dice, most: u64) -> Vec<u8> {
    let length = dice.roll(0, most + 1);
    (0..length).map(|_| dice.roll(0, 256) as u8).collect()
}

/// The kernel's text about lost events, well or badly written.
pub fn lost_text(dice: &mut Dice) -> Vec<u8> {
    let (cpu, count) = (any_number(dice), any_number(dice));
    let text = match dice.roll(0, 4) {
        0 => format!("CPU:{} [LOST {} EVENTS]\n", dice.roll(0, 3), dice.roll(0, 100)),
        1 => format!("CPU:{cpu} [LOST {count} EVENTS]\n"),
        2 => format!("CPU:{} [LOST EVENTS]\n", dice.roll(0, 3)),
        _ => format!("CPU:{cpu} [LOST -{count} EVENTS"),
    };
    text.into_bytes()
}

fn piece(dice: &mut Dice) -> Vec<u8> {
    match dice.roll(0, 6) {
        0 => noise(dice, 80),
        1 => {
            let magic = 0x6561_7400 | dice.roll(5, 10) as u32;
            (if dice.is_true() { magic.swap_bytes() } else { magic }).to_ne_bytes().to_vec()
        }
        2 => lost_text(dice),
        3 => vec![0; dice.roll(0, 80) as usize],
        _ => {
            let (mut bytes, record, form) = (Vec::new(), soup::record(dice), any_form(dice));
            append(&record, form, &mut bytes);
            let end = if dice.is_true() { bytes.len() as u64 } else { dice.roll(0, bytes.len() as u64) };
            bytes.truncate(end as usize);
            bytes
        }
    }
}

/// Bytes that look like a recording more or less.
pub fn rubble(dice: &mut Dice, kept: &Kept) -> Vec<File> {
    if !kept.cases.is_empty() && dice.is_true() {
        return further(dice, kept);
    }
    let files = dice.roll(1, 4);
    let file = |dice: &mut Dice| {
        let pieces = dice.roll(0, 60);
        (0..pieces).flat_map(|_| piece(dice)).collect()
    };
    let named = |number: u64, dice: &mut Dice| {
        let cpu = dice.is_true().then_some(number as u32);
        File { name: "rubble".to_owned(), cpu, bytes: file(dice) }
    };
    (0..files).map(|number| named(number, dice)).collect()
}

fn goldens() -> &'static Vec<Vec<File>> {
    static ALL: OnceLock<Vec<Vec<File>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let files = |case: &&str| {
            let named = |(name, cpu, bytes)| File { name, cpu, bytes };
            golden_files(case).into_iter().map(named).collect()
        };
        GOLDENS.iter().map(files).collect()
    })
}

/// A small one of them, as it is.
pub fn real_recording() -> Vec<File> {
    goldens()[4].clone()
}

/// Starts of the records of a version 7 file of this machine.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (0, Vec::new());
    while at + 48 <= bytes.len() {
        found.push(at);
        at += 48 + usize::from(u16::from_ne_bytes([bytes[at + 46], bytes[at + 47]]));
    }
    found
}

/// A stretch of every file of a real recording, from about the same time.
fn stretch_of_a_recording(dice: &mut Dice) -> Vec<File> {
    let mut files = one_of(dice, goldens());
    let (from, length) = (dice.roll(0, 1000) as usize, dice.roll(1, 200) as usize);
    for file in &mut files {
        let starts = starts(&file.bytes);
        let first = starts.len() * from / 1000;
        let last = (first + length).min(starts.len() - 1);
        file.bytes = file.bytes[starts[first]..starts[last]].to_vec();
    }
    if dice.is_true() {
        let form = any_form(dice);
        files.iter_mut().for_each(|file| file.bytes = rewritten(&file.bytes, form));
    }
    if is_rare(dice, 20) {
        let again = files.clone();
        files.extend(again);
    }
    files
}

/// A number written over bytes, in either order.
fn put(bytes: &mut [u8], at: usize, size: usize, number: u64, is_swapped: bool) {
    let native = number.to_le_bytes();
    for (offset, byte) in native[..size].iter().enumerate() {
        let place = at + if is_swapped { size - 1 - offset } else { offset };
        if let Some(old) = bytes.get_mut(place) {
            *old = *byte;
        }
    }
}

/// Changes something.
pub fn change(dice: &mut Dice, bytes: &mut Vec<u8>, others: &[u8]) {
    let length = bytes.len() as u64;
    if length == 0 {
        return bytes.extend(piece(dice));
    }
    let at = dice.roll(0, length) as usize;
    let record = at - at % if dice.is_true() { 48 } else { 64 };
    let run = (dice.roll(1, 300) as usize).min(bytes.len() - at);
    match dice.roll(0, 10) {
        0 => bytes[at] ^= 1 << dice.roll(0, 8),
        1 => bytes[at] = dice.roll(0, 256) as u8,
        2..5 => {
            let (offset, size) = one_of(dice, &FIELDS);
            let (number, is_swapped) = (any_number(dice), is_rare(dice, 4));
            put(bytes, record + offset, size, number, is_swapped);
        }
        5 => drop(bytes.drain(at..at + run)),
        6 => drop(bytes.splice(at..at, piece(dice))),
        7 => {
            let copy = bytes[record..(record + run).min(bytes.len())].to_vec();
            let to = dice.roll(0, length) as usize;
            drop(bytes.splice(to - to % 48..to - to % 48, copy));
        }
        8 if !others.is_empty() => {
            let from = dice.roll(0, others.len() as u64) as usize;
            let copy = &others[from..(from + 5 * run).min(others.len())];
            drop(bytes.splice(at..at, copy.iter().copied()));
        }
        _ => bytes.truncate(at),
    }
}

/// Changes a few things.
pub fn change_some(dice: &mut Dice, files: &mut [File], kept: &Kept) {
    let others = if kept.cases.is_empty() { vec![] } else { one_of(dice, &kept.cases) };
    let others = others.first().map_or(&[][..], |file| &file.bytes[..]);
    let count = 1 << dice.roll(0, 6);
    for _ in 0..count {
        let file = dice.roll(0, files.len() as u64) as usize;
        change(dice, &mut files[file].bytes, others);
    }
}

/// What was kept, changed further.
pub fn further(dice: &mut Dice, kept: &Kept) -> Vec<File> {
    let mut files = one_of(dice, &kept.cases);
    if !files.is_empty() {
        change_some(dice, &mut files, kept);
    }
    files
}

/// A real recording that was changed.
pub fn changed_recording(dice: &mut Dice, kept: &Kept) -> Vec<File> {
    if !kept.cases.is_empty() && dice.is_true() {
        return further(dice, kept);
    }
    let mut files = stretch_of_a_recording(dice);
    change_some(dice, &mut files, kept);
    files
}
