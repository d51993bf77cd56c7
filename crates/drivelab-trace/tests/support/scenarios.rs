//! What can happen to an I/O, as stories.

#![allow(dead_code)]

use super::lives::{Dice, Story, Teller, WRITE};
use drivelab_trace::lifetime::{Bio, Command};
use drivelab_trace::record::{Action, category};

/// Number of kinds that [`tell`] knows.
pub const KINDS: u8 = 9;
const DISK: u32 = 259 << 20;
const MAPPER: u32 = 253 << 20;

fn teller(seed: u64, begin: u64, story: &mut Story) -> Teller<'_> {
    Teller { dice: Dice(seed), now: begin, device: DISK, pid: 100 + (seed % 3) as u32, story }
}

/// Adds an I/O of a kind that has sectors from `sector` to itself.
pub fn tell(kind: u8, seed: u64, begin: u64, sector: u64, story: &mut Story) {
    let mut teller = teller(seed, begin, story);
    match kind {
        0 => plain(&mut teller, sector),
        1 => merged(&mut teller, sector),
        2 => split(&mut teller, sector),
        3 => same_place(&mut teller, sector),
        4 => mapped(&mut teller, sector),
        5 => unfinished(&mut teller, sector),
        6 => durable(&mut teller, sector),
        7 => same_place_other_lengths(&mut teller, sector),
        _ => split_and_merged(&mut teller, sector),
    }
}

fn get_request(teller: &mut Teller<'_>, bio: &mut Bio) {
    if teller.dice.roll(0, 4) == 0 {
        bio.slept = Some(teller.add(Action::SleepRequest, bio.sector, bio.bytes, bio.category));
    }
    bio.got_request = Some(teller.add(Action::GetRequest, bio.sector, bio.bytes, bio.category));
}

fn plain(teller: &mut Teller<'_>, sector: u64) {
    let (bytes, category) = (teller.bytes(), teller.direction());
    let mut bio = teller.queue(sector, bytes, category);
    get_request(teller, &mut bio);
    if teller.dice.is_true() {
        bio.inserted = Some(teller.add(Action::Insert, sector, bytes, category));
    }
    let served = teller.serve(sector, bytes, category);
    served.tell(&mut bio, sector, sector + u64::from(bytes / 512));
    teller.story.lives.bios.push(bio);
}

fn merged(teller: &mut Teller<'_>, sector: u64) {
    let (count, is_front) = (teller.dice.roll(2, 8), teller.dice.is_true());
    let category = teller.direction();
    let mut bios: Vec<Bio> = Vec::new();
    // in the middle of what belongs to it, so that it can grow to both sides
    let (mut start, mut end) = (sector + 1000, sector + 1000);
    for index in 0..count {
        let bytes = teller.bytes();
        let sectors = u64::from(bytes / 512);
        let at = if is_front { start - sectors } else { end };
        let mut bio = teller.queue(at, bytes, category);
        if index == 0 {
            get_request(teller, &mut bio);
        } else {
            let action = if is_front { Action::FrontMerge } else { Action::BackMerge };
            bio.merged = Some(teller.add(action, at, bytes, category));
        }
        (start, end) = (start.min(at), end.max(at + sectors));
        bios.push(bio);
    }
    let bytes = ((end - start) * 512) as u32;
    if teller.dice.is_true() {
        let inserted = teller.add(Action::Insert, start, bytes, category);
        let first = bios.iter_mut().find(|bio| bio.sector == start).expect("one starts there");
        first.inserted = Some(inserted);
    }
    let served = teller.serve(start, bytes, category);
    for mut bio in bios {
        let (from, to) = (bio.sector, bio.sector + u64::from(bio.bytes / 512));
        served.tell(&mut bio, from, to);
        teller.story.lives.bios.push(bio);
    }
}

/// Cuts at ascending sectors; each piece is served on its own, all at the same time.
fn split(teller: &mut Teller<'_>, sector: u64) {
    let category = teller.direction();
    let sizes: Vec<u64> = (0..teller.dice.roll(2, 7)).map(|_| teller.dice.roll(1, 50)).collect();
    let total: u64 = sizes.iter().sum();
    let mut bio = teller.queue(sector, (total * 512) as u32, category);
    bio.fragments = sizes.len() as u32;
    let (mut at, end, mut servings) = (sector, sector + total, Vec::new());
    for size in sizes {
        let bytes = (size * 512) as u32;
        if at + size < end {
            teller.add(Action::Split, at, bytes, category);
            let payload = (at + size).to_be_bytes().to_vec();
            teller.story.records.last_mut().expect("just added").payload = payload;
        }
        let got = teller.add(Action::GetRequest, at, bytes, category);
        bio.got_request.get_or_insert(got);
        servings.push((at, bytes));
        at += size;
    }
    let (begun, mut last) = (teller.now, teller.now);
    for (at, bytes) in servings {
        teller.now = begun;
        teller.serve(at, bytes, category).tell(&mut bio, at, at + u64::from(bytes / 512));
        last = last.max(teller.now);
    }
    teller.now = last;
    teller.story.lives.bios.push(bio);
}

/// The second half of a bio that was split takes a second bio with it.
fn split_and_merged(teller: &mut Teller<'_>, sector: u64) {
    let (middle, end) = (sector + 16, sector + 32);
    let mut long = teller.queue(sector, 16384, WRITE);
    teller.add(Action::Split, sector, 8192, WRITE);
    teller.story.records.last_mut().expect("just added").payload = middle.to_be_bytes().to_vec();
    long.fragments = 2;
    long.got_request = Some(teller.add(Action::GetRequest, sector, 8192, WRITE));
    teller.add(Action::GetRequest, middle, 8192, WRITE);
    let mut short = teller.queue(end, 4096, WRITE);
    short.merged = Some(teller.add(Action::BackMerge, end, 4096, WRITE));
    let begun = teller.now;
    teller.serve(sector, 8192, WRITE).tell(&mut long, sector, middle);
    teller.now = begun;
    let second = teller.serve(middle, 8192 + 4096, WRITE);
    second.tell(&mut long, middle, end);
    second.tell(&mut short, end, end + 8);
    teller.story.lives.bios.extend([long, short]);
}

/// Several of one length at one sector at the same time: the first to come is the first to go.
fn same_place(teller: &mut Teller<'_>, sector: u64) {
    let (bytes, category) = (teller.bytes(), teller.direction());
    let mut bios: Vec<Bio> =
        (0..teller.dice.roll(2, 5)).map(|_| teller.queue(sector, bytes, category)).collect();
    for bio in &mut bios {
        bio.got_request = Some(teller.add(Action::GetRequest, sector, bytes, category));
    }
    for bio in &mut bios {
        bio.issued_first = Some(teller.add(Action::Issue, sector, bytes, category));
        bio.issued_last = bio.issued_first;
    }
    for mut bio in bios {
        bio.completed = Some(teller.add(Action::Complete, sector, bytes, category));
        bio.ended = bio.completed;
        let (device, pid, completed) = (bio.device, bio.pid, bio.completed);
        let issued = bio.issued_first.expect("just issued");
        let command =
            Command { device, sector, bytes, category, pid, issued, completed, ..Command::default() };
        teller.story.lives.commands.push(command);
        teller.story.lives.bios.push(bio);
    }
}

/// Two of different lengths at one sector: whatever comes first, the lengths say who is meant.
fn same_place_other_lengths(teller: &mut Teller<'_>, sector: u64) {
    let category = teller.direction();
    let mut bios = [teller.queue(sector, 4096, category), teller.queue(sector, 8192, category)];
    let mut in_turn = |teller: &mut Teller<'_>, action: Action| {
        let first = usize::from(teller.dice.is_true());
        for place in [first, 1 - first] {
            let time = Some(teller.add(action, sector, bios[place].bytes, category));
            match action {
                Action::GetRequest => bios[place].got_request = time,
                Action::Issue => (bios[place].issued_first, bios[place].issued_last) = (time, time),
                _ => (bios[place].completed, bios[place].ended) = (time, time),
            }
        }
    };
    for action in [Action::GetRequest, Action::Issue, Action::Complete] {
        in_turn(teller, action);
    }
    for bio in bios {
        let (bytes, pid, completed) = (bio.bytes, bio.pid, bio.completed);
        let issued = bio.issued_first.expect("just issued");
        let command = Command {
            device: bio.device,
            sector,
            bytes,
            category,
            pid,
            issued,
            completed,
            ..Command::default()
        };
        teller.story.lives.commands.push(command);
        teller.story.lives.bios.push(bio);
    }
}

/// A device without requests sends the bio on in two parts.
fn mapped(teller: &mut Teller<'_>, sector: u64) {
    let category = teller.direction();
    let sectors = [teller.dice.roll(1, 50), teller.dice.roll(1, 50)];
    teller.device = MAPPER;
    let mut upper = teller.queue(sector, ((sectors[0] + sectors[1]) * 512) as u32, category);
    teller.device = DISK;
    let mut at = sector;
    for (part, count) in sectors.into_iter().enumerate() {
        let (there, bytes) = (sector + 200 + 300 * part as u64, (count * 512) as u32);
        let sent = teller.add(Action::Remap, there, bytes, category);
        let mut payload = MAPPER.to_be_bytes().to_vec();
        payload.extend(DISK.to_be_bytes());
        payload.extend(at.to_be_bytes());
        teller.story.records.last_mut().expect("just added").payload = payload;
        upper.remapped.get_or_insert(sent);
        let mut lower = teller.queue(there, bytes, category);
        get_request(teller, &mut lower);
        teller.serve(there, bytes, category).tell(&mut lower, there, there + count);
        teller.story.lives.bios.push(lower);
        at += count;
    }
    teller.device = MAPPER;
    upper.completed = Some(teller.add(Action::Complete, sector, upper.bytes, category));
    upper.ended = upper.completed;
    teller.story.lives.bios.push(upper);
}

/// The trace ends before it does.
fn unfinished(teller: &mut Teller<'_>, sector: u64) {
    let mut bio = teller.queue(sector, 4096, WRITE);
    if teller.dice.is_true() {
        bio.got_request = Some(teller.add(Action::GetRequest, sector, 4096, WRITE));
        let issued = teller.add(Action::Issue, sector, 4096, WRITE);
        (bio.issued_first, bio.issued_last) = (Some(issued), Some(issued));
        let (device, bytes, category, pid) = (DISK, 4096, WRITE, teller.pid);
        let command = Command { device, sector, bytes, category, pid, issued, ..Command::default() };
        teller.story.lives.commands.push(command);
    }
    teller.story.lives.bios.push(bio);
}

/// FUA that the device has: D carries it, and its C is the end.
fn durable(teller: &mut Teller<'_>, sector: u64) {
    let category = WRITE | category::FUA;
    let mut bio = teller.queue(sector, 4096, category);
    bio.got_request = Some(teller.add(Action::GetRequest, sector, 4096, category));
    teller.serve(sector, 4096, category).tell(&mut bio, sector, sector + 8);
    teller.story.lives.bios.push(bio);
}
