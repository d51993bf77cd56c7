//! Events of one CPU, turned into the records that blktrace would have written.

use std::collections::{HashMap, HashSet};

use super::blk_entry::read_entry;
use super::clock::ClockLine;
use super::layout::{Layout, Shape, Station};
use super::notices::Notices;
use super::page::Page;
use super::rwbs::letters;
use crate::record::{Action, Record, category};

const SECTOR_BYTES: u64 = 512;
// a request without a place, a flush for instance; blktrace writes 0
const NO_SECTOR: u64 = u64::MAX;

/// What a recording is of.
#[derive(Debug, Clone)]
pub struct Subject {
    /// `major << 20 | minor` of the device that notices name.
    pub device: u32,
    /// The disk that events of a device are recorded of: they name the partition that a bio was sent to.
    pub devices: HashMap<u32, u32>,
    /// Names of threads that no event names.
    pub processes: HashMap<u32, String>,
    /// From the clock of the trace to CLOCK_MONOTONIC.
    pub clock: ClockLine,
}

/// What became of the events of one CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Converted {
    /// Records made, notices not counted.
    pub records: u64,
    /// The same by action: `by_action[Action::Queue as usize]`.
    pub by_action: [u64; 18],
    /// Events that the pages say were lost; where they give no number, one for each place.
    pub lost: u64,
    /// Events of other devices, or of no known kind.
    pub foreign: u64,
    /// Pages that could not be read to their end.
    pub damaged_pages: u64,
}

/// Turns the pages of one CPU into records.
pub struct Converter<'a> {
    layout: &'a Layout,
    subject: &'a Subject,
    notices: Notices<'a>,
    record: Record,
    converted: Converted,
    // threads that hold a plug of this disk
    plugged: HashSet<u32>,
    // last number of each device
    sequences: HashMap<u32, u32>,
    lost: u32,
    // the last record of ours is a G of this thread
    got_request: Option<u32>,
}

impl<'a> Converter<'a> {
    /// Begins with the first page of a CPU.
    #[must_use]
    pub fn new(layout: &'a Layout, subject: &'a Subject, cpu: u32) -> Self {
        let record = Record { cpu, device: subject.device, ..Record::default() };
        Self {
            layout,
            subject,
            notices: Notices::new(subject, cpu),
            record,
            converted: Converted::default(),
            plugged: HashSet::new(),
            sequences: HashMap::new(),
            lost: 0,
            got_request: None,
        }
    }

    /// Leaves out numbers for events that were lost, so that readers see the gap.
    pub fn lose(&mut self, events: u64) {
        self.converted.lost = self.converted.lost.saturating_add(events);
        self.lost = self.lost.wrapping_add(events as u32);
        self.got_request = None;
    }

    /// Converts one page; `take` gets each record, and the notices before it.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn page<E>(&mut self, page: &[u8], take: &mut impl FnMut(&Record) -> Result<(), E>) -> Result<(), E> {
        let Ok(events) = Page::open(&self.layout.page, page) else {
            self.converted.damaged_pages += 1;
            return Ok(());
        };
        match events.lost_before {
            Some(0) => {}
            lost => self.lose(lost.unwrap_or(1)),
        }
        for event in events {
            let Ok(event) = event else {
                self.converted.damaged_pages += 1;
                break;
            };
            if self.layout.is_blk_tracer {
                self.entry(event.data, event.time, take)?;
                continue;
            }
            let id = event.data.first_chunk::<2>().map(|bytes| u16::from_ne_bytes(*bytes));
            let station = id.and_then(|id| self.layout.stations.get(&id));
            match station {
                Some(station) if self.fill(station, event.data) => {
                    self.record.time_ns = self.subject.clock.convert(event.time);
                    let process = station.process.as_ref().map(|field| field.text(event.data));
                    self.finish(process, take)?;
                }
                Some(station) if station.shape == Shape::Marker => {}
                _ => self.converted.foreign += 1,
            }
        }
        Ok(())
    }

    /// Events that were lost until now.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.converted.lost
    }

    /// Time of the last record, ns of CLOCK_MONOTONIC.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.record.time_ns
    }

    /// What was converted, once there are no more pages.
    #[must_use]
    pub fn end(self) -> Converted {
        self.converted
    }

    fn entry<E>(
        &mut self,
        entry: &[u8],
        time: u64,
        take: &mut impl FnMut(&Record) -> Result<(), E>,
    ) -> Result<(), E> {
        if !read_entry(&mut self.record, entry) {
            self.converted.foreign += 1;
            return Ok(());
        }
        self.record.time_ns = self.subject.clock.convert(time);
        if self.record.is_notice() {
            return take(&self.record);
        }
        self.finish(None, take)
    }

    fn finish<E>(
        &mut self,
        process: Option<&[u8]>,
        take: &mut impl FnMut(&Record) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(notice) = self.notices.before(&self.record, process) {
            take(notice)?;
        }
        let last = self.sequences.entry(self.record.device).or_default();
        *last = last.wrapping_add(1);
        // what was lost may have been of any device
        self.record.sequence = last.wrapping_add(self.lost);
        self.converted.records += 1;
        let action = self.record.action();
        if let Some(count) = action.and_then(|action| self.converted.by_action.get_mut(action as usize)) {
            *count += 1;
        }
        // an interrupt may complete something between a G and the P that belongs to it
        if action != Some(Action::Complete) {
            self.got_request = (action == Some(Action::GetRequest)).then_some(self.record.pid);
        }
        take(&self.record)
    }

    /// Fills the record from an event; false for an event that is not of this disk.
    fn fill(&mut self, station: &Station, event: &[u8]) -> bool {
        let number =
            |field: &Option<super::format::Field>| field.as_ref().map_or(0, |field| field.number(event));
        let pid = station.pid.number(event) as u32;
        let disk_of = |device: u32| self.subject.devices.get(&device).copied();
        let subject = self.subject.device;
        let disk = match station.shape {
            Shape::Marker => None,
            // no device stands there: a plug comes right after the request that it is for
            Shape::Plug => (self.got_request == Some(pid) && self.plugged.insert(pid)).then_some(subject),
            Shape::Unplug => self.plugged.remove(&pid).then_some(subject),
            _ => disk_of(number(&station.device) as u32),
        };
        let Some(disk) = disk else { return false };
        let record = &mut self.record;
        record.device = disk;
        record.pid = pid;
        record.action_bits = station.action as u16;
        record.error = number(&station.error) as u32 as i32;
        record.payload.clear();
        let sectors = number(&station.sectors);
        record.sector = number(&station.sector);
        let mut bytes = sectors.saturating_mul(SECTOR_BYTES);
        match station.shape {
            Shape::Split => {
                let rest = unwrapped(number(&station.new_sector), record.sector);
                bytes = rest.saturating_sub(record.sector).saturating_mul(SECTOR_BYTES);
                record.payload.extend(rest.to_be_bytes());
            }
            Shape::Remap => {
                record.payload.extend((number(&station.old_device) as u32).to_be_bytes());
                record.payload.extend((number(&station.device) as u32).to_be_bytes());
                record.payload.extend(number(&station.old_sector).to_be_bytes());
            }
            Shape::Unplug => record.payload.extend(number(&station.requests).to_be_bytes()),
            // of a driver's own command nothing but this length is known; of others it is the same
            Shape::Request if sectors == 0 => bytes = number(&station.bytes),
            _ => {}
        }
        record.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let text = station.letters.as_ref().map(|field| field.text(event));
        let letters = letters(text.unwrap_or_default(), bytes > 0);
        record.category = letters.category | station.category;
        let has_place = sectors > 0 && record.sector != NO_SECTOR;
        let has_command = station.command.as_ref().is_some_and(|field| !field.text(event).is_empty());
        let is_own = letters.is_other && !has_place && letters.category & category::FLUSH == 0;
        if station.shape == Shape::Request && (is_own || has_command) {
            record.category = record.category & !category::FS | category::PASSTHROUGH;
        }
        if record.sector == NO_SECTOR {
            record.sector = 0;
        }
        true
    }
}

/// First sector of the rest of a split bio: the kernel cuts it to 32 bits, and it lies after `sector`.
fn unwrapped(rest: u64, sector: u64) -> u64 {
    if rest >= sector {
        return rest;
    }
    let whole = sector & !0xffff_ffff | rest;
    if whole >= sector { whole } else { whole.wrapping_add(1 << 32) }
}
