//! btt's table, number for number: the state machine of btt 1.2.0, and that of the releases before it.
//!
//! This is what scripts and papers know as *Q2C* and *D2C*, with everything that btt does not see: flushes, bios
//! that were split, devices whose major number it takes for a mapper's. [`crate::follow`] has the truth.

mod phase;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::HashMap;
use std::fmt::Write;

pub use self::phase::{Phase, Row, Totals};
use self::tree::{Outstanding, Place, Tree, UNSET};
use crate::record::{Record, category, major, minor, notice};

// low 16 bits of the action; with the bit of a cgroup id btt knows none of them
const QUEUE: u16 = 1;
const BACK_MERGE: u16 = 2;
const FRONT_MERGE: u16 = 3;
const GET_REQUEST: u16 = 4;
const SLEEP_REQUEST: u16 = 5;
const REQUEUE: u16 = 6;
const ISSUE: u16 = 7;
const COMPLETE: u16 = 8;
const INSERT: u16 = 12;
const REMAP: u16 = 15;

/// Majors that btt takes for md and the device mapper; 253 and 254 are given to whoever comes first, virtio for one.
const REMAPPER_MAJORS: [u32; 3] = [9, 253, 254];

/// A bounded table gives up when there are more.
const MEETINGS_FREE: u64 = 1 << 22;
const MEETINGS_PER_RECORD: u64 = 256;

/// The phases that `btt -A` lists for each device, before and after a blank line.
const LISTED_REMAPPER: [Phase; 3] = [Phase::Q2qRemapper, Phase::Q2aRemapper, Phase::Q2cRemapper];
const LISTED: [Phase; 9] = [
    Phase::Q2q,
    Phase::Q2a,
    Phase::Q2g,
    Phase::S2g,
    Phase::G2i,
    Phase::Q2m,
    Phase::I2d,
    Phase::D2c,
    Phase::Q2c,
];

/// Whose numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// btt of blktrace 1.2.0 and later: a Q takes the place of an unfinished one at the same sector.
    V1_2,
    /// btt before that: such a Q is ignored.
    Legacy,
}

/// Whether btt takes a device for one that maps to others.
#[must_use]
pub fn is_remapper(device: u32) -> bool {
    REMAPPER_MAJORS.contains(&major(device))
}

#[derive(Debug)]
struct Device {
    number: u32,
    is_remapper: bool,
    /// Nothing counts before the first Q or A.
    has_begun: bool,
    last_queued: u64,
    outstanding: Tree,
    totals: Totals,
}

/// btt's state, fed one record after the other in the order of blkparse.
#[derive(Debug)]
pub struct Table {
    flavour: Flavour,
    devices: Vec<Device>,
    place_of: HashMap<u32, usize>,
    last_device: usize,
    last_queued: u64,
    totals: Totals,
    found: Vec<Place>,
    bios_completed: u64,
    is_bounded: bool,
    has_given_up: bool,
    records: u64,
    /// How often a record has met a bio.
    meetings: u64,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            devices: Vec::new(),
            place_of: HashMap::new(),
            last_device: 0,
            last_queued: UNSET,
            totals: Totals::default(),
            found: Vec::new(),
            bios_completed: 0,
            is_bounded: false,
            has_given_up: false,
            records: 0,
            meetings: 0,
        }
    }

    /// A table that gives up where records meet so many bios that its time would grow with the square of theirs.
    ///
    /// btt never does; but no trace of a drive is so, and whoever only compares need not wait for it.
    #[must_use]
    pub fn bounded(flavour: Flavour) -> Self {
        Self { is_bounded: true, ..Self::new(flavour) }
    }

    /// Whether it has given up, and means nothing.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// Takes the next record.
    pub fn push(&mut self, record: &Record) {
        if self.has_given_up {
            return;
        }
        self.records += 1;
        if record.is_notice() {
            if record.action_bits == notice::MESSAGE && record.category == category::NOTIFY {
                // a message alone makes a device known
                self.device_of(record.device);
            }
            return;
        }
        let is_known = matches!(record.action_bits, QUEUE..=COMPLETE | INSERT | REMAP);
        let may_be_empty = matches!(record.action_bits, REQUEUE | REMAP);
        if record.has(category::PASSTHROUGH) || !is_known || (record.bytes == 0 && !may_be_empty) {
            return;
        }
        let place = self.device_of(record.device);
        let device = &mut self.devices[place];
        device.has_begun |= matches!(record.action_bits, QUEUE | REMAP);
        if !device.has_begun {
            return;
        }
        match record.action_bits {
            QUEUE => self.queue(place, record),
            GET_REQUEST => self.get_request(place, record),
            SLEEP_REQUEST => self.sleep(place, record),
            INSERT => self.insert(place, record),
            BACK_MERGE | FRONT_MERGE => self.merge(place, record),
            ISSUE => self.issue(place, record),
            COMPLETE => self.complete(place, record),
            REMAP => self.remap(record),
            _ => {}
        }
    }

    /// The rows of all devices together, in btt's order.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.totals.rows()
    }

    /// Devices in the order in which btt met them, with their rows.
    pub fn devices(&self) -> impl Iterator<Item = (u32, Vec<Row>)> + '_ {
        self.devices.iter().map(|device| (device.number, device.totals.rows()))
    }

    /// Bios whose Q btt still waits for an end of.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.devices.iter().map(|device| device.outstanding.len()).sum()
    }

    /// Bios that btt saw to their end.
    #[must_use]
    pub fn bios_completed(&self) -> u64 {
        self.bios_completed
    }

    /// The rows of all devices as btt prints them below "All Devices".
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in self.rows() {
            row.write(row.phase.name(), &mut text);
        }
        text
    }

    /// The section "Per Device" as `btt -A` prints it.
    #[must_use]
    pub fn per_device_text(&self) -> String {
        let mut text = String::from("==================== Per Device ====================\n\n");
        for phase in LISTED_REMAPPER {
            self.write_phase(phase, &mut text);
        }
        text.push('\n');
        for phase in LISTED {
            self.write_phase(phase, &mut text);
        }
        text
    }

    fn write_phase(&self, phase: Phase, text: &mut String) {
        let (name, rule) = (phase.name(), "-------------");
        writeln!(text, "{name:>15} {:>13} {:>13} {:>13} {:>11}", "MIN", "AVG", "MAX", "N")
            .expect("a string takes everything");
        writeln!(text, "--------------- {rule} {rule} {rule} -----------")
            .expect("a string takes everything");
        for device in &self.devices {
            if let Some(row) = device.totals.row(phase) {
                row.write(&device_name(device.number), text);
            }
        }
        text.push('\n');
    }

    fn device_of(&mut self, number: u32) -> usize {
        if self.devices.get(self.last_device).is_none_or(|device| device.number != number) {
            self.last_device = *self.place_of.entry(number).or_insert(self.devices.len());
        }
        if self.last_device == self.devices.len() {
            self.devices.push(Device {
                number,
                is_remapper: is_remapper(number),
                has_begun: false,
                last_queued: UNSET,
                outstanding: Tree::default(),
                totals: Totals::default(),
            });
        }
        self.last_device
    }

    fn queue(&mut self, place: usize, record: &Record) {
        let device = &mut self.devices[place];
        let bio = Outstanding::new(record.sector, record.end_sector(), record.time_ns);
        if !device.outstanding.insert(bio, self.flavour == Flavour::V1_2) {
            return;
        }
        let phase = if device.is_remapper { Phase::Q2qRemapper } else { Phase::Q2q };
        for (last, totals) in
            [(&mut device.last_queued, &mut device.totals), (&mut self.last_queued, &mut self.totals)]
        {
            if *last != UNSET {
                totals.add(phase, elapsed(*last, record.time_ns));
            }
            *last = record.time_ns;
        }
    }

    fn get_request(&mut self, place: usize, record: &Record) {
        let device = &mut self.devices[place];
        let Some(bio) = device.outstanding.find(record.sector) else { return };
        bio.got_request = record.time_ns;
        let (queued, slept) = (bio.queued, bio.slept);
        self.add(place, Phase::Q2g, elapsed(queued, record.time_ns));
        if slept != 0 {
            self.add(place, Phase::S2g, elapsed(slept, record.time_ns));
        }
    }

    fn sleep(&mut self, place: usize, record: &Record) {
        if let Some(bio) = self.devices[place].outstanding.find(record.sector) {
            bio.slept = record.time_ns;
        }
    }

    fn insert(&mut self, place: usize, record: &Record) {
        let Some(bio) = self.devices[place].outstanding.find(record.sector) else { return };
        bio.inserted = record.time_ns;
        let got_request = bio.got_request;
        if got_request != UNSET {
            self.add(place, Phase::G2i, elapsed(got_request, record.time_ns));
        }
    }

    fn merge(&mut self, place: usize, record: &Record) {
        let Some(bio) = self.devices[place].outstanding.find(record.sector) else { return };
        bio.merged = record.time_ns;
        let queued = bio.queued;
        self.add(place, Phase::Q2m, elapsed(queued, record.time_ns));
    }

    fn issue(&mut self, place: usize, record: &Record) {
        let found = self.found_inside(place, record);
        for one in &found {
            let bio = self.devices[place].outstanding.bio_mut(*one);
            bio.issued = record.time_ns;
            let Outstanding { inserted, merged, .. } = *bio;
            if inserted != UNSET {
                self.add(place, Phase::I2d, elapsed(inserted, record.time_ns));
            } else if merged != UNSET {
                self.add(place, Phase::M2d, elapsed(merged, record.time_ns));
            }
        }
        self.found = found;
    }

    fn complete(&mut self, place: usize, record: &Record) {
        let found = self.found_inside(place, record);
        let phase = if self.devices[place].is_remapper { Phase::Q2cRemapper } else { Phase::Q2c };
        for one in &found {
            let Outstanding { queued, issued, .. } = *self.devices[place].outstanding.bio(*one);
            self.add(place, phase, elapsed(queued, record.time_ns));
            if issued != UNSET {
                self.add(place, Phase::D2c, elapsed(issued, record.time_ns));
            }
            self.devices[place].outstanding.remove(*one);
            self.bios_completed += 1;
        }
        self.found = found;
    }

    /// Outstanding bios that lie wholly in the extent of a record; the list is to be given back.
    fn found_inside(&mut self, place: usize, record: &Record) -> Vec<Place> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.devices[place].outstanding.find_inside(record.sector, record.end_sector(), &mut found);
        self.meetings += found.len() as u64;
        self.has_given_up =
            self.is_bounded && self.meetings > MEETINGS_FREE + MEETINGS_PER_RECORD * self.records;
        found
    }

    fn remap(&mut self, record: &Record) {
        let Some((device, sector)) = record.remapped_from() else { return };
        let Some(&place) = self.place_of.get(&device) else { return };
        let Some(bio) = self.devices[place].outstanding.find(sector) else { return };
        let queued = bio.queued;
        let phase = if self.devices[place].is_remapper { Phase::Q2aRemapper } else { Phase::Q2a };
        self.add(place, phase, elapsed(queued, record.time_ns));
    }

    fn add(&mut self, place: usize, phase: Phase, ns: u64) {
        self.totals.add(phase, ns);
        self.devices[place].totals.add(phase, ns);
    }
}

/// Time that went by; where the clock went back, or stood still, btt counts 1 ns.
fn elapsed(from: u64, to: u64) -> u64 {
    if from < to { to - from } else { 1 }
}

/// A device as btt names it: `(  7,  1)`.
#[must_use]
pub fn device_name(device: u32) -> String {
    format!("({:3},{:3})", major(device), minor(device))
}
