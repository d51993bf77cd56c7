//! How many bios waited and how many commands were at the device, over time.

use serde_json::{Value, json};

/// No more points than that; when the trace grows beyond them, neighbours are merged.
const BINS: usize = 600;
/// Of a bin, in ns, as a power of two: divisions would cost more than all else here.
const FIRST_WIDTH_BITS: u32 = 10;

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    /// Sums of the times that lives spent there, within the bin.
    device_ns: u64,
    queue_ns: u64,
    device_max: u32,
    queue_max: u32,
}

/// Where a life spends its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// Between D and C.
    Device,
    /// Between Q and D.
    Queue,
}

/// Depths of a device, or of all together. Means come from lives that have ended, so that one whose end was lost
/// does not count for ever; maxima from what was open at each record.
#[derive(Debug, Clone)]
pub(super) struct Depth {
    begin_ns: Option<u64>,
    last_ns: u64,
    width_bits: u32,
    bins: Vec<Bin>,
    queued: u32,
    in_flight: u32,
    active_ns: u64,
}

impl Default for Depth {
    fn default() -> Self {
        Self {
            begin_ns: None,
            last_ns: 0,
            width_bits: FIRST_WIDTH_BITS,
            bins: Vec::new(),
            queued: 0,
            in_flight: 0,
            active_ns: 0,
        }
    }
}

impl Depth {
    /// Nothing was there from this time on, until more is told.
    pub(super) fn begin(&mut self, now: u64) {
        self.begin_ns.get_or_insert(now);
    }

    /// The trace is over.
    pub(super) fn end(&mut self, now: u64) {
        self.set(now, self.queued, self.in_flight);
    }

    /// Bios that wait and commands at the device, from this time on.
    pub(super) fn set(&mut self, now: u64, queued: u32, in_flight: u32) {
        let begin = *self.begin_ns.get_or_insert(now);
        let now = now.max(begin).max(self.last_ns);
        let last = self.last_ns.max(begin);
        if self.in_flight > 0 {
            self.active_ns += now - last;
        }
        let (from, to) = (self.bin_of(last, now), self.bin_of(now, now));
        for bin in &mut self.bins[from..=to] {
            bin.device_max = bin.device_max.max(self.in_flight);
            bin.queue_max = bin.queue_max.max(self.queued);
        }
        let bin = &mut self.bins[to];
        bin.device_max = bin.device_max.max(in_flight);
        bin.queue_max = bin.queue_max.max(queued);
        (self.last_ns, self.queued, self.in_flight) = (now, queued, in_flight);
    }

    /// Current depths.
    pub(super) fn now(&self) -> (u32, u32) {
        (self.queued, self.in_flight)
    }

    /// A life that was there from one time to another.
    pub(super) fn add(&mut self, place: Where, from: u64, to: u64) {
        let Some(begin) = self.begin_ns else { return };
        let (from, to) = (from.max(begin), to.max(begin));
        if from >= to {
            return;
        }
        let last = self.bin_of(to - 1, to);
        let first = self.bin_of(from, to);
        for position in first..=last {
            let start = begin + ((position as u64) << self.width_bits);
            let within = to.min(start.saturating_add(self.width_ns())) - from.max(start);
            let bin = &mut self.bins[position];
            match place {
                Where::Device => bin.device_ns = bin.device_ns.saturating_add(within),
                Where::Queue => bin.queue_ns = bin.queue_ns.saturating_add(within),
            }
        }
    }

    fn width_ns(&self) -> u64 {
        1 << self.width_bits
    }

    /// The bin of a time; makes the series reach to `reach` first.
    fn bin_of(&mut self, time: u64, reach: u64) -> usize {
        let begin = self.begin_ns.unwrap_or(0);
        while (reach.max(time) - begin) >> self.width_bits >= BINS as u64 {
            self.halve();
        }
        let needed = ((reach.max(time) - begin) >> self.width_bits) as usize + 1;
        if self.bins.len() < needed {
            self.bins.resize(needed, Bin::default());
        }
        ((time - begin) >> self.width_bits) as usize
    }

    fn halve(&mut self) {
        self.width_bits += 1;
        for pair in 0..self.bins.len().div_ceil(2) {
            let second = self.bins.get(2 * pair + 1).copied().unwrap_or_default();
            let first = self.bins[2 * pair];
            self.bins[pair] = Bin {
                device_ns: first.device_ns.saturating_add(second.device_ns),
                queue_ns: first.queue_ns.saturating_add(second.queue_ns),
                device_max: first.device_max.max(second.device_max),
                queue_max: first.queue_max.max(second.queue_max),
            };
        }
        self.bins.truncate(self.bins.len().div_ceil(2));
    }

    /// ns in which at least one command was at the device, until the last record.
    pub(super) fn active_ns(&self) -> u64 {
        self.active_ns
    }

    /// Where ends were lost, nobody knows how many there were at most: maxima are null.
    pub(super) fn json(&self, origin_ns: u64, has_losses: bool) -> Value {
        let begin = self.begin_ns.unwrap_or(0);
        let covered = self.last_ns.saturating_sub(begin);
        let mean = |sum: u64, ns: u64| if ns == 0 { 0.0 } else { sum as f64 / ns as f64 };
        let total = |pick: fn(&Bin) -> u64| {
            mean(self.bins.iter().fold(0, |sum, bin| sum.saturating_add(pick(bin))), covered)
        };
        let max =
            |pick: fn(&Bin) -> u32| (!has_losses).then(|| self.bins.iter().map(pick).max().unwrap_or(0));
        let maxima =
            |pick: fn(&Bin) -> u32| (!has_losses).then(|| self.bins.iter().map(pick).collect::<Vec<_>>());
        let lengths = (0..self.bins.len() as u64).map(|position| {
            let start = position << self.width_bits;
            (start, self.width_ns().min(covered.saturating_sub(start)))
        });
        let series = |pick: fn(&Bin) -> u64| -> Vec<f64> {
            lengths.clone().zip(&self.bins).map(|((_, length), bin)| mean(pick(bin), length)).collect()
        };
        let starts = lengths.clone().map(|(start, _)| (begin + start).saturating_sub(origin_ns) as f64 / 1e9);
        json!({
            "device": {"mean": total(|bin| bin.device_ns), "max": max(|bin| bin.device_max)},
            "queue": {"mean": total(|bin| bin.queue_ns), "max": max(|bin| bin.queue_max)},
            "series": {
                "width_s": self.width_ns() as f64 / 1e9,
                "start_s": starts.collect::<Vec<_>>(),
                "device_mean": series(|bin| bin.device_ns),
                "device_max": maxima(|bin| bin.device_max),
                "queue_mean": series(|bin| bin.queue_ns),
                "queue_max": maxima(|bin| bin.queue_max),
            },
        })
    }
}
