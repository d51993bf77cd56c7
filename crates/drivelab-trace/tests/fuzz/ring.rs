//! Pages of the kernel's ring buffer that no kernel would write, and `format` files that none would show.

use std::collections::HashMap;

use crate::bytes::{any_number, change, further, is_rare, one_of};
use crate::campaign::{Kept, Reached};
use crate::case::{Case, File};
use crate::lives::Dice;
use crate::made_up::kernel::{DISK, EVENTS, Kernel, NEW, OLD, PARTITION, entry, two_words};
use crate::memory::measured;
use crate::on_disk;
use drivelab_trace::events::clock::ClockLine;
use drivelab_trace::events::convert::{Converter, Subject};
use drivelab_trace::events::layout::Layout;
use drivelab_trace::follow::{Collected, Follower};
use drivelab_trace::record::Record;

const LETTERS: [&str; 12] = ["R", "W", "WS", "WFS", "FWFSM", "FF", "D", "N", "", "FN", "RAM", "ZWS"];

fn file(name: &str, bytes: Vec<u8>) -> File {
    File { name: name.to_owned(), cpu: None, bytes }
}

fn event(dice: &mut Dice, kernel: &Kernel) -> Vec<u8> {
    let name = one_of(dice, &EVENTS);
    let device = one_of(dice, &[DISK, DISK, DISK, PARTITION, 8 << 20]);
    let place = if dice.is_true() { 8 * dice.roll(0, 20) } else { any_number(dice) };
    let length = if dice.is_true() { 8 } else { any_number(dice) };
    let mut numbers = vec![("dev", u64::from(device)), ("sector", place)];
    match name {
        "block_split" => numbers.push(("new_sector", any_number(dice))),
        "block_plug" => numbers.clear(),
        "block_unplug" => numbers = vec![("nr_rq", length)],
        "print" => numbers = vec![("ip", length)],
        "block_bio_remap" => {
            numbers.extend([
                ("nr_sector", length),
                ("old_dev", u64::from(PARTITION)),
                ("old_sector", length),
            ]);
        }
        "block_rq_issue" | "block_rq_insert" => numbers.extend([("nr_sector", length), ("bytes", length)]),
        _ => numbers.push(("nr_sector", length)),
    }
    let texts: Vec<(&str, &str)> = match name {
        "print" => vec![("buf", "drivelab 1\n")],
        "block_plug" | "block_unplug" => vec![("comm", "job")],
        _ => vec![("rwbs", one_of(dice, &LETTERS))],
    };
    kernel.event(name, any_number(dice) as i32 % 80, &numbers, &texts)
}

fn blk_entry(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = vec![0_u8; if dice.is_true() { 56 } else { 72 }];
    bytes[28..32].copy_from_slice(&(1_u32 << 20 | dice.roll(1, 16) as u32).to_ne_bytes());
    for at in [36, 40] {
        bytes[at..at + 4].copy_from_slice(&DISK.to_ne_bytes());
    }
    bytes[46..48].copy_from_slice(&8_u16.to_ne_bytes());
    bytes
}

fn page(dice: &mut Dice, kernel: &Kernel) -> Vec<u8> {
    let part = |dice: &mut Dice| match dice.roll(0, 8) {
        0 => two_words(dice.roll(0, 32) as u32, dice.roll(0, 1 << 27) as u32, any_number(dice) as u32),
        1 => entry(dice.roll(0, 1 << 27) as u32, &blk_entry(dice)),
        _ => entry(dice.roll(0, 1 << 27) as u32, &event(dice, kernel)),
    };
    let parts: Vec<Vec<u8>> = (0..dice.roll(0, 25)).map(|_| part(dice)).collect();
    let flags = if is_rare(dice, 3) { dice.roll(0, 4) << 30 } else { 0 };
    let behind = any_number(dice).to_ne_bytes();
    kernel.page(any_number(dice), &parts, flags, &behind)
}

fn change_text(dice: &mut Dice, text: &str) -> Vec<u8> {
    let number = any_number(dice).to_string();
    let digits: Vec<usize> =
        text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at).collect();
    let mut bytes = text.as_bytes().to_vec();
    if dice.is_true() {
        let at = one_of(dice, &digits);
        drop(bytes.splice(at..=at, number.bytes()));
    } else {
        change(dice, &mut bytes, b"field:unsigned int x;\toffset:8;\tsize:8;\tsigned:1;\n");
    }
    bytes
}

/// `header_page`, `format` files and pages.
pub fn pages(dice: &mut Dice, kept: &Kept) -> Vec<File> {
    if !kept.cases.is_empty() && is_rare(dice, 3) {
        return further(dice, kept);
    }
    let kernel = if dice.is_true() { NEW } else { OLD };
    let formats = EVENTS.iter().map(|event| kernel.format(event));
    let mut files = vec![file("header_page", kernel.header_page().into_bytes())];
    files.extend(formats.map(|text| file("format", text.into_bytes())));
    if is_rare(dice, 3) {
        let place = dice.roll(0, files.len() as u64) as usize;
        let text = String::from_utf8(files[place].bytes.clone()).expect("just written");
        files[place].bytes = change_text(dice, &text);
    }
    for _ in 0..dice.roll(0, 5) {
        let mut bytes = page(dice, &kernel);
        if is_rare(dice, 3) {
            change(dice, &mut bytes, &[]);
        }
        files.push(file("page", bytes));
    }
    files
}

fn clock(dice: &mut Dice) -> ClockLine {
    let moments = [any_number(dice), any_number(dice), any_number(dice), any_number(dice)];
    let line = ClockLine::through((moments[0], moments[1]), (moments[2], moments[3]));
    line.filter(|_| dice.is_true()).unwrap_or_else(ClockLine::same)
}

/// Converts the pages, and follows what comes of them.
pub fn check(case: &Case) -> Reached {
    let mut dice = Dice(case.seed);
    let texts: Vec<_> = case.files.iter().map(|file| String::from_utf8_lossy(&file.bytes)).collect();
    let named = |name: &str| {
        let with_name = case.files.iter().zip(&texts).filter(move |(file, _)| file.name == name);
        with_name.map(|(_, text)| text.as_ref()).collect::<Vec<&str>>()
    };
    let header_page = named("header_page").first().copied().unwrap_or_default();
    let layouts = [Layout::parse(header_page, named("format")), Layout::of_blk_tracer(header_page)];
    let subject = Subject {
        device: DISK,
        devices: HashMap::from([(DISK, DISK), (PARTITION, DISK)]),
        processes: HashMap::from([(71, "job".to_owned())]),
        clock: clock(&mut dice),
    };
    let mut reached = Reached::new();
    if is_rare(&mut dice, 100) {
        on_disk::check_pages(case, header_page, &named("format"), &mut dice);
    }
    for (kind, layout) in layouts.iter().enumerate() {
        let Ok(layout) = layout else { continue };
        let (counts, taken) = measured(|| convert(case, layout, &subject));
        assert!(taken.peak <= (1 << 20) + 200 * case.bytes(), "{taken:?} for {} bytes", case.bytes());
        let magnitude = |(place, count): (usize, u64)| {
            (kind as u64) << 32 | (place as u64) << 6 | u64::from(64 - count.leading_zeros())
        };
        reached.extend(counts.into_iter().enumerate().map(magnitude));
    }
    reached
}

fn convert(case: &Case, layout: &Layout, subject: &Subject) -> Vec<u64> {
    let mut converter = Converter::new(layout, subject, 0);
    let (mut follower, mut lives) = (Follower::new(), Collected::default());
    let (mut count, mut notices) = (0, 0_u64);
    for file in case.files.iter().filter(|file| file.name == "page") {
        let taken = converter.page(&file.bytes, &mut |record: &Record| {
            count += u64::from(!record.is_notice());
            notices += u64::from(record.is_notice());
            assert!(record.payload.len() <= usize::from(u16::MAX));
            follower.push(record, &mut lives);
            Ok::<(), ()>(())
        });
        assert_eq!(taken, Ok(()));
    }
    let converted = converter.end();
    follower.finish(&mut lives);
    let bytes = case.bytes() as u64;
    assert!(count <= bytes / 4 && notices <= bytes / 4, "{count} records of {bytes} bytes");
    let followed = follower.counts();
    assert_eq!(lives.bios.len() as u64, followed.bios_opened);
    let of_actions: u64 = converted.by_action.iter().sum();
    assert!(converted.records <= count && of_actions <= converted.records);
    let mut counts = vec![
        converted.records,
        converted.lost,
        converted.foreign,
        converted.damaged_pages,
        followed.bios_opened,
        followed.commands_issued,
    ];
    counts.extend(converted.by_action);
    counts
}
