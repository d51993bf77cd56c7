//! Adds up lives as they end, and stations as they pass.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::depth::{Depth, Where};
use super::phase::{Phase, Times};
use super::seeks::Seeks;
use crate::follow::places::SectorMap;
use crate::lifetime::{Bio, Class, Command, Sink};
use crate::record::{Record, major, minor};

pub(super) const CLASSES: [Class; 7] =
    [Class::Read, Class::Write, Class::FuaWrite, Class::Metadata, Class::Flush, Class::Discard, Class::Other];

/// A power of two, and what lies between two of them.
const SIZES: usize = 66;

/// Devices are told apart up to so many, since each takes a megabyte; those beyond are one.
const DEVICES_MAX: usize = 256;
const OTHER: u32 = u32::MAX;

/// Sizes of requests that carry data.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes {
    pub commands: u64,
    min: u32,
    max: u32,
    sum: u64,
}

/// Of one device.
pub(super) struct OfDevice {
    pub number: u32,
    pub times: Times,
    pub depth: Depth,
    pub bios: u64,
    pub sizes: Sizes,
    read_bytes: u64,
    written_bytes: u64,
    commands: u64,
    issue_seeks: Seeks,
    queue_seeks: Seeks,
    last_queued: Option<u64>,
}

#[derive(Default)]
struct Process {
    bios: u64,
    bytes: u64,
    flushes: u64,
}

#[derive(Clone, Copy, Default)]
struct Work {
    n: u64,
    bytes: u64,
}

/// Everything that is added up.
#[derive(Default)]
pub(super) struct Totals {
    pub devices: Vec<OfDevice>,
    last_device: usize,
    classes: [Times; CLASSES.len()],
    sizes: Vec<Option<Box<Times>>>,
    commands: [Work; CLASSES.len()],
    processes: SectorMap<u32, Process>,
    depth: Depth,
    /// Times from one Q to the next, whatever the device.
    queued: Times,
    last_queued: Option<u64>,
    /// Time of the first record.
    begin_ns: u64,
    /// Bios with data whose last C was seen.
    pub completed_bios: u64,
    pub completed_ns: u128,
    /// Of commands that have ended.
    pub flushes: u64,
    pub flush_ns: u64,
    pub preflush_bios: u64,
    pub preflush_ns: u64,
    pub failed_bios: u64,
    pub split_bios: u64,
    pub requeued_bios: u64,
    pub discard_bios: u64,
}

impl OfDevice {
    fn new(number: u32) -> Self {
        Self {
            number,
            times: Times::default(),
            depth: Depth::default(),
            bios: 0,
            sizes: Sizes::default(),
            read_bytes: 0,
            written_bytes: 0,
            commands: 0,
            issue_seeks: Seeks::default(),
            queue_seeks: Seeks::default(),
            last_queued: None,
        }
    }

    pub(super) fn name(&self) -> String {
        match self.number {
            OTHER => "other".to_owned(),
            number => format!("{}:{}", major(number), minor(number)),
        }
    }
}

impl Totals {
    pub(super) fn new() -> Self {
        Self { sizes: vec![None; SIZES], ..Self::default() }
    }

    fn device_of(&mut self, number: u32) -> usize {
        if self.devices.get(self.last_device).is_none_or(|device| device.number != number) {
            let found = self.devices.iter().position(|device| device.number == number);
            self.last_device = found.unwrap_or_else(|| self.add_device(number));
        }
        self.last_device
    }

    fn add_device(&mut self, number: u32) -> usize {
        if self.devices.len() <= DEVICES_MAX {
            let is_other = self.devices.len() == DEVICES_MAX;
            let mut device = OfDevice::new(if is_other { OTHER } else { number });
            device.depth.begin(self.begin_ns);
            self.devices.push(device);
        }
        self.devices.len() - 1
    }

    /// Depths are those of the whole recording, whenever a device comes into it.
    pub(super) fn begin(&mut self, now: u64) {
        self.begin_ns = now;
        self.depth.begin(now);
    }

    /// The last record has been.
    pub(super) fn end(&mut self, now: u64) {
        self.depth.end(now);
        self.devices.iter_mut().for_each(|device| device.depth.end(now));
    }

    /// A bio with data was queued.
    pub(super) fn queued(&mut self, record: &Record) {
        let place = self.device_of(record.device);
        let device = &mut self.devices[place];
        device.queue_seeks.add(record.sector, record.end_sector());
        if let Some(last) = device.last_queued.replace(record.time_ns) {
            device.times.add(Phase::Q2q, record.time_ns.saturating_sub(last));
        }
        if let Some(last) = self.last_queued.replace(record.time_ns) {
            self.queued.add(Phase::Q2q, record.time_ns.saturating_sub(last));
        }
    }

    /// A command with data was issued for the first time.
    pub(super) fn issued(&mut self, record: &Record) {
        let place = self.device_of(record.device);
        self.devices[place].issue_seeks.add(record.sector, record.end_sector());
    }

    /// After a record: what its device holds now.
    pub(super) fn holds(&mut self, device: u32, now: u64, (queued, in_flight): (u32, u32)) {
        let place = self.device_of(device);
        let depth = &mut self.devices[place].depth;
        let before = depth.now();
        depth.set(now, queued, in_flight);
        let (all_queued, all_in_flight) = self.depth.now();
        self.depth.set(now, all_queued - before.0 + queued, all_in_flight - before.1 + in_flight);
    }

    fn spend(&mut self, place: Where, device: usize, from: u64, to: u64) {
        self.devices[device].depth.add(place, from, to);
        self.depth.add(place, from, to);
    }

    fn count_bio(&mut self, bio: &Bio, class: Class) {
        let process = self.processes.entry(bio.pid).or_default();
        process.bios += 1;
        process.bytes += u64::from(bio.bytes);
        process.flushes += u64::from(class == Class::Flush);
        self.split_bios += u64::from(bio.fragments > 1);
        self.requeued_bios += u64::from(bio.requeues > 0);
        self.failed_bios += u64::from(bio.error != 0);
        self.discard_bios += u64::from(class == Class::Discard);
        if let (Some(got), Some(preflushed)) = (bio.got_request, bio.preflushed) {
            self.preflush_bios += 1;
            self.preflush_ns = self.preflush_ns.saturating_add(preflushed.saturating_sub(got));
        }
        if let (Some(completed), true) = (bio.completed, bio.bytes > 0) {
            self.completed_bios += 1;
            self.completed_ns += u128::from(completed.saturating_sub(bio.queued));
        }
    }

    /// How often a phase was passed on any device, and the sum of its ns.
    pub(super) fn sum_of(&self, phase: Phase) -> (u64, u64) {
        let found = self.devices.iter().filter_map(|device| device.times.of(phase));
        found.fold((0, 0), |(n, ns), times| (n + times.count, ns.saturating_add(times.sum)))
    }

    pub(super) fn times_json(&self) -> Value {
        Times::sum_json(self.devices.iter().map(|device| &device.times), &self.queued)
    }

    pub(super) fn classes_json(&self) -> Value {
        let named = CLASSES.iter().zip(&self.classes).filter(|(_, times)| !times.is_empty());
        named.map(|(class, times)| (class.name().to_owned(), times.json())).collect::<Map<_, _>>().into()
    }

    /// Keys are bytes: `4096`, or `4097-8191` for what lies between two powers of two.
    pub(super) fn sizes_json(&self) -> Value {
        let mut sizes = Map::new();
        for (position, times) in self.sizes.iter().enumerate() {
            if let Some(times) = times {
                let low = 1_u64 << (position / 2);
                let name =
                    if position % 2 == 0 { low.to_string() } else { format!("{}-{}", low + 1, 2 * low - 1) };
                sizes.insert(name, times.json());
            }
        }
        sizes.into()
    }

    pub(super) fn commands_json(&self) -> Value {
        let named = CLASSES.iter().zip(&self.commands).filter(|(_, work)| work.n > 0);
        named
            .map(|(class, work)| (class.name().to_owned(), json!({"n": work.n, "bytes": work.bytes})))
            .collect::<Map<_, _>>()
            .into()
    }

    pub(super) fn processes_json(&self, names: &HashMap<u32, String>) -> Value {
        let mut processes: Vec<_> = self.processes.iter().collect();
        processes.sort_by_key(|(pid, process)| (std::cmp::Reverse((process.bytes, process.bios)), **pid));
        let row = |(pid, process): (&u32, &Process)| {
            json!({
                "pid": pid,
                "name": names.get(pid),
                "bios": process.bios,
                "bytes": process.bytes,
                "flushes": process.flushes,
            })
        };
        processes.into_iter().map(row).collect()
    }

    pub(super) fn depth_json(&self, origin_ns: u64, has_losses: bool) -> Value {
        json!({
            "all": self.depth.json(origin_ns, has_losses),
            "devices": self.by_device(|device| device.depth.json(origin_ns, has_losses)),
        })
    }

    pub(super) fn by_device(&self, of: impl Fn(&OfDevice) -> Value) -> Value {
        self.devices.iter().map(|device| (device.name(), of(device))).collect::<Map<_, _>>().into()
    }
}

impl OfDevice {
    pub(super) fn seeks_json(&self) -> Value {
        json!({"D2D": self.issue_seeks.json(), "Q2Q": self.queue_seeks.json()})
    }

    pub(super) fn load_json(&self, covered_ns: u64) -> Value {
        let seconds = covered_ns as f64 / 1e9;
        let per_s = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
        let active = self.depth.active_ns() as f64 / 1e9;
        let share = (seconds > 0.0).then(|| active / seconds);
        json!({
            "active_s": active,
            "active_share": share,
            "idle_share": share.map(|share| 1.0 - share),
            "read_bytes_per_s": per_s(self.read_bytes),
            "write_bytes_per_s": per_s(self.written_bytes),
            "commands_per_s": per_s(self.commands),
        })
    }

    pub(super) fn requests_json(&self) -> Value {
        let Sizes { commands, min, max, sum } = self.sizes;
        json!({
            "bios": self.bios,
            "commands": commands,
            "merge_ratio": (commands > 0).then(|| self.bios as f64 / commands as f64),
            "min_bytes": (commands > 0).then_some(min),
            "mean_bytes": (commands > 0).then(|| sum as f64 / commands as f64),
            "max_bytes": (commands > 0).then_some(max),
        })
    }
}

impl Sink for Totals {
    fn bio(&mut self, bio: Bio) {
        let class = Class::of(bio.category, bio.bytes);
        let device = self.device_of(bio.device);
        self.count_bio(&bio, class);
        if bio.bytes > 0 {
            self.devices[device].bios += 1;
            // devices without requests (md, dm) never issue
            if let Some(to) = bio.issued_first.or(bio.ended) {
                self.spend(Where::Queue, device, bio.queued, to);
            }
        }
        let of_size = bio.bytes.checked_ilog2().map(|power| {
            let position = 2 * power as usize + usize::from(!bio.bytes.is_power_of_two());
            self.sizes[position].get_or_insert_with(Box::default)
        });
        let (of_device, of_class) = (&mut self.devices[device].times, &mut self.classes[class as usize]);
        let mut groups = [Some(of_device), Some(of_class), of_size.map(Box::as_mut)];
        Phase::of_bio(&bio, |phase, ns| {
            for times in groups.iter_mut().flatten() {
                times.add(phase, ns);
            }
        });
    }

    fn command(&mut self, command: Command) {
        let class = Class::of(command.category, command.bytes);
        let place = self.device_of(command.device);
        let work = &mut self.commands[class as usize];
        work.n += 1;
        work.bytes += u64::from(command.bytes);
        let device = &mut self.devices[place];
        device.commands += 1;
        let bytes = u64::from(command.bytes);
        if command.bytes > 0 {
            let sizes = &mut device.sizes;
            sizes.min = if sizes.commands == 0 { command.bytes } else { sizes.min.min(command.bytes) };
            sizes.max = sizes.max.max(command.bytes);
            sizes.sum += bytes;
            sizes.commands += 1;
        }
        match class {
            Class::Read => device.read_bytes += bytes,
            Class::Write | Class::FuaWrite | Class::Metadata => device.written_bytes += bytes,
            _ => {}
        }
        let Some(completed) = command.completed else { return };
        self.spend(Where::Device, place, command.issued, completed);
        if class == Class::Flush {
            let ns = completed.saturating_sub(command.issued);
            self.flushes += 1;
            self.flush_ns = self.flush_ns.saturating_add(ns);
            self.devices[place].times.add(Phase::Flush, ns);
            self.classes[class as usize].add(Phase::Flush, ns);
        }
    }
}
