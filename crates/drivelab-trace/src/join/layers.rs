//! Devices between the program and its drives: which bio above a bio came from.
//!
//! A layer (device mapper, md, loop) says of most of what it sends down where that came from: an A, then a Q at the
//! place that it names. What it sends down of its own accord (metadata, parity, a file's writeback) is for all that
//! wait in it then; what waits for data to be read waits for reads alone.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use serde::Deserialize;

use super::Pool;
use super::carried::end_of;
use super::timeline::LAYERS;
use crate::lifetime::{Bio, Class, Remap};
use crate::record::category;

/// Where ends were lost, bios are open for ever: beyond so many the lists end.
const LISTED_FREE: usize = 1 << 20;
const LISTED_PER_LIFE: usize = 32;
/// Of the bios open in a layer, so many are compared with what it sends down: the nearest before its end.
const COMPARED: usize = 512;

/// A stretch of a device, in sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Stretch {
    /// `major << 20 | minor` of the traced device.
    pub device: u32,
    /// First sector.
    pub start: u64,
    /// First sector after it.
    pub end: u64,
}

/// A device between the program and its drives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Layer {
    /// `major << 20 | minor` of the traced device.
    pub device: u32,
    /// What it lies on directly.
    pub below: Vec<Stretch>,
}

/// The layers of a trace, each before all that it lies on.
#[derive(Debug)]
pub struct Layers<'a> {
    layers: &'a [Layer],
    ranks: HashMap<u32, usize>,
}

impl<'a> Layers<'a> {
    /// From the list that the caller knows.
    pub fn new(layers: &'a [Layer]) -> Self {
        let ranks = layers.iter().enumerate().map(|(rank, layer)| (layer.device, rank)).collect();
        Self { layers, ranks }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// How many there are, those beyond [`LAYERS`] as one with the last.
    pub fn told_apart(&self) -> usize {
        self.layers.len().min(LAYERS)
    }

    /// Which layer a device is; None for a drive.
    pub fn rank(&self, device: u32) -> Option<usize> {
        self.ranks.get(&device).copied()
    }

    /// How many layers lie below this one at least: the less, the further down.
    pub fn height(&self, rank: usize) -> u8 {
        u8::try_from(self.layers.len() - 1 - rank).unwrap_or(u8::MAX)
    }

    /// Whether some layer lies on a device.
    fn is_below(&self, device: u32) -> bool {
        self.layers.iter().any(|layer| layer.below.iter().any(|stretch| stretch.device == device))
    }

    /// Devices of the layers that lie on this place directly; a flush has no place.
    fn above(&self, device: u32, sector: u64, bytes: u32) -> impl Iterator<Item = u32> + '_ {
        let holds = move |stretch: &Stretch| {
            stretch.device == device && (bytes == 0 || (stretch.start..stretch.end).contains(&sector))
        };
        self.layers.iter().filter(move |layer| layer.below.iter().any(holds)).map(|layer| layer.device)
    }
}

/// Of every bio of a pool, and of every command of which no bio is known, the bios above that it came from.
#[derive(Debug, Default)]
pub struct Above {
    bios: Vec<Option<(usize, usize)>>,
    is_told: Vec<bool>,
    commands: HashMap<usize, (usize, usize)>,
    found: Vec<usize>,
}

impl Above {
    /// Of a bio, by their places in the pool; None when no layer sent it down.
    pub fn of_bio(&self, bio: usize) -> Option<&[usize]> {
        self.bios.get(bio).copied().flatten().map(|(start, end)| &self.found[start..end])
    }

    /// Whether a layer said where a bio came from. Otherwise it may be what was left in the layer's memory before, and
    /// what waits above says nothing of what it is.
    pub fn is_told(&self, bio: usize) -> bool {
        self.is_told[bio]
    }

    /// The bios that a layer sent down, each behind those that it came from.
    pub fn sent(&self, pool: &Pool<'_>, layers: &Layers<'_>) -> Vec<usize> {
        let rank = |at: usize| layers.rank(pool.bios[at].1.device).unwrap_or(usize::MAX);
        let mut sent: Vec<usize> = (0..self.bios.len()).filter(|&at| self.bios[at].is_some()).collect();
        sent.sort_unstable_by_key(|&at| (rank(at), pool.bios[at].1.queued, at));
        sent
    }

    /// Of a command.
    pub fn of_command(&self, command: usize) -> Option<&[usize]> {
        self.commands.get(&command).map(|&(start, end)| &self.found[start..end])
    }
}

/// What is open in the layers at one moment of the sweep.
struct Sweep<'a> {
    pool: &'a Pool<'a>,
    layers: &'a Layers<'a>,
    open: BTreeSet<(u32, u64, usize)>,
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    longest: u64,
    room: usize,
    above: Above,
}

const REMAP: u8 = 0;
const BIO: u8 = 1;
const COMMAND: u8 = 2;

/// What happens, in order: a bio is queued before it is sent on, and that before it is queued below, also where all
/// has one time.
fn steps(
    pool: &Pool<'_>,
    layers: &Layers<'_>,
    remaps: &[Remap],
    lone: &[usize],
) -> Vec<(u64, usize, u8, usize)> {
    let rank = |device: u32| layers.rank(device).unwrap_or(usize::MAX);
    let bios = pool.bios.iter().enumerate().map(|(at, (_, bio))| (bio.queued, rank(bio.device), BIO, at));
    let remaps = remaps.iter().enumerate();
    let remaps = remaps.map(|(at, remap)| (remap.time_ns, rank(remap.device), REMAP, at));
    let commands = lone.iter().map(|&at| (pool.commands[at].1.issued, usize::MAX, COMMAND, at));
    let mut steps: Vec<_> = bios.chain(remaps).chain(commands).collect();
    steps.sort_unstable();
    steps
}

/// Finds what every bio below a layer came from. `is_kernel` tells whether a thread is the kernel's, `lone` are
/// the commands without a bio.
pub fn above(
    pool: &Pool<'_>,
    layers: &Layers<'_>,
    remaps: &[Remap],
    lone: &[usize],
    is_kernel: impl Fn(u32) -> bool,
) -> Above {
    if layers.is_empty() {
        return Above::default();
    }
    let mut sweep = Sweep {
        pool,
        layers,
        open: BTreeSet::new(),
        ends: BinaryHeap::new(),
        longest: 0,
        room: LISTED_FREE + LISTED_PER_LIFE * pool.bios.len(),
        above: Above {
            bios: vec![None; pool.bios.len()],
            is_told: vec![false; pool.bios.len()],
            ..Above::default()
        },
    };
    let mut sent: HashMap<(u32, u64), (usize, usize)> = HashMap::new();
    for (time, _, step, at) in steps(pool, layers, remaps, lone) {
        sweep.close_until(time);
        match step {
            REMAP => {
                let remap = &remaps[at];
                let came_from = match layers.rank(remap.from_device) {
                    Some(_) => Some(sweep.origin(remap)),
                    // a partition becomes its disk
                    None => sent.remove(&(remap.device, remap.from_sector)),
                };
                sent.extend(came_from.map(|came_from| ((remap.device, remap.sector), came_from)));
            }
            BIO => {
                let bio = pool.bios[at].1;
                let told = sent.remove(&(bio.device, bio.sector));
                sweep.above.is_told[at] = told.is_some();
                sweep.above.bios[at] = told.or_else(|| sweep.waiting_above(bio, &is_kernel));
                sweep.open(at);
            }
            _ => {
                let command = pool.commands[at].1;
                let told = sweep.all_above(command.device, command.sector, command.bytes, command.category);
                sweep.above.commands.extend(told.map(|told| (at, told)));
            }
        }
    }
    sweep.above
}

impl Sweep<'_> {
    fn open(&mut self, at: usize) {
        let bio = self.pool.bios[at].1;
        if self.layers.rank(bio.device).is_some() {
            self.longest = self.longest.max(u64::from(bio.bytes >> 9));
            self.open.insert((bio.device, bio.sector, at));
            self.ends.extend(end_of(bio).map(|end| Reverse((end, at))));
        }
    }

    fn open_in(&self, device: u32) -> impl Iterator<Item = &(u32, u64, usize)> {
        self.open.range((device, 0, 0)..=(device, u64::MAX, usize::MAX))
    }

    fn close_until(&mut self, time: u64) {
        while let Some(&Reverse((_, at))) = self.ends.peek().filter(|end| end.0.0 < time) {
            let bio = self.pool.bios[at].1;
            self.open.remove(&(bio.device, bio.sector, at));
            self.ends.pop();
        }
    }

    fn listed(&mut self, bios: impl Iterator<Item = usize>) -> (usize, usize) {
        let start = self.above.found.len();
        self.above.found.extend(bios.take(self.room.saturating_sub(start)));
        self.above.found[start..].sort_unstable_by_key(|&at| (self.pool.bios[at].1.queued, at));
        (start, self.above.found.len())
    }

    /// The bio that a layer sends on: of those that hold the place one of its direction, the last; of a flush all that
    /// ask for one. Parity and the like have no such bio: they are for all that wait in the layer.
    fn origin(&mut self, remap: &Remap) -> (usize, usize) {
        let device = remap.from_device;
        let of = |&(_, _, at): &(u32, u64, usize)| (self.pool.bios[at].1, at);
        let found: Vec<usize> = if remap.bytes == 0 {
            let asks = |bio: &Bio| bio.category & (category::FLUSH | category::FUA) != 0;
            let waiting = self.open_in(device).take(COMPARED).map(of);
            waiting.filter(|(bio, _)| asks(bio)).map(|(_, at)| at).collect()
        } else {
            let (start, end) =
                (remap.from_sector, remap.from_sector.saturating_add(u64::from(remap.bytes >> 9)));
            let near = (device, start.saturating_sub(self.longest), 0)..(device, end, 0);
            let holds = |bio: &Bio| bio.sector.saturating_add(u64::from(bio.bytes >> 9)) > start;
            let candidates = self.open.range(near).rev().take(COMPARED).map(of).filter(|(bio, _)| holds(bio));
            candidates.max_by_key(|(bio, at)| (bio.queued, *at)).map(|(_, at)| at).into_iter().collect()
        };
        if found.is_empty() {
            return self.every_in(&[device], |_| true);
        }
        self.listed(found.into_iter())
    }

    /// Of a bio of which no layer said where it came from, what waits above; none when another program queued it.
    fn waiting_above(&mut self, bio: &Bio, is_kernel: impl Fn(u32) -> bool) -> Option<(usize, usize)> {
        let told = || self.all_above(bio.device, bio.sector, bio.bytes, bio.category);
        is_kernel(bio.pid).then(told).flatten()
    }

    fn all_above(&mut self, device: u32, sector: u64, bytes: u32, category: u32) -> Option<(usize, usize)> {
        let above: Vec<u32> = self.layers.above(device, sector, bytes).collect();
        let reads = |category, bytes| Class::of(category, bytes) == Class::Read;
        let may_wait = |bio: &Bio| reads(category, bytes) || !reads(bio.category, bio.bytes);
        self.layers.is_below(device).then(|| self.every_in(&above, may_wait))
    }

    /// All that waits in some layers and may wait for this, as far as there is room.
    fn every_in(&mut self, devices: &[u32], may_wait: impl Fn(&Bio) -> bool) -> (usize, usize) {
        let room = self.room.saturating_sub(self.above.found.len());
        let open = devices.iter().flat_map(|&device| self.open_in(device)).map(|key| key.2);
        let every: Vec<usize> = open.filter(|&at| may_wait(self.pool.bios[at].1)).take(room).collect();
        self.listed(every.into_iter())
    }
}

/// Until when what was sent down matters to whoever waits above: until the last of those bios has ended.
pub fn matters_until(pool: &Pool<'_>, above: Option<&[usize]>) -> u64 {
    let ends = above.into_iter().flatten().map(|&at| end_of(pool.bios[at].1).unwrap_or(u64::MAX));
    above.map_or(u64::MAX, |_| ends.max().unwrap_or(u64::MAX))
}
