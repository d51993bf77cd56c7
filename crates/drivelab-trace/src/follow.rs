//! Follows every bio from Q to its end: through splits, merges, requeues, partial completions and flushes.
//!
//! Unlike btt, which keeps the whole extent of a Q and loses it when it is split, this keeps *fragments*: a split
//! cuts one in two, a D takes those that lie in its extent, and a bio has ended when its last fragment has. Fragments
//! are found by the sector at which they start; where several start at one sector the oldest is meant, unless
//! records were lost since it came.

mod collected;
mod completing;
mod counts;
mod flushing;
mod issuing;
mod open;
pub(crate) mod places;
mod queueing;

pub use self::collected::Collected;
pub use self::counts::Counts;
use self::open::{Device, Fragment, OpenBio, Request, Waiter};
use self::places::{Place, Places, SectorMap, Slab};
use crate::lifetime::Sink;
use crate::record::{Action, Record, category};

/// What had not ended this long before the trace did has lost its end.
const STALE_NS: u64 = 1_000_000_000;

/// Extra steps that may be taken, see `Follower::may_take`.
const STEPS_FREE: u64 = 1 << 20;
const STEPS_PER_RECORD: u64 = 256;

/// Fed with the records of a trace in their order, it hands lives to a [`Sink`] as they end.
#[derive(Debug, Default)]
pub struct Follower {
    bios: Slab<OpenBio>,
    fragments: Slab<Fragment>,
    requests: Slab<Request>,
    places: Places,
    devices: Vec<Device>,
    /// Where in `devices` the device of a number is.
    device_places: SectorMap<u32, usize>,
    /// Position of the device of the record at hand.
    device: usize,
    counts: Counts,
    last_ns: u64,
    losses: u32,
    is_newest_first: bool,
    /// Steps through lists that a record of a sound trace does not need.
    extra_steps: u64,
}

impl Follower {
    /// One that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One for a trace of which records are known to be lost, but not where.
    ///
    /// Of several I/Os at one sector the newest is taken to end: one whose end was lost then stays open alone,
    /// instead of taking the end of the next one, which takes that of the one after it, and so on.
    #[must_use]
    pub fn of_lossy_trace() -> Self {
        Self { is_newest_first: true, ..Self::default() }
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Of the device of the last record: bios with data between Q and D, commands between D and C.
    #[must_use]
    pub fn depths(&self) -> (u32, u32) {
        self.devices.get(self.device).map_or((0, 0), |device| (device.queued, device.in_flight))
    }

    /// Records were lost here: what is open may never end.
    pub fn mark_loss(&mut self) {
        self.losses += 1;
        self.counts.losses += 1;
    }

    /// Takes the next record of the merged stream. Notices are of no interest here.
    pub fn push<S: Sink>(&mut self, record: &Record, sink: &mut S) {
        if record.is_notice() {
            return;
        }
        self.counts.records += 1;
        if record.time_ns < self.last_ns {
            self.counts.backward_times += 1;
        } else {
            self.last_ns = record.time_ns;
        }
        let Some(action) = record.action() else {
            self.counts.unknown_actions += 1;
            return;
        };
        self.device = self.device_of(record.device);
        if record.sequence != 0 {
            self.check_sequence(record);
        }
        if record.has(category::PASSTHROUGH) && !is_cache_flush(record) {
            self.counts.passthrough += u64::from(action == Action::Issue);
            return;
        }
        match action {
            Action::Queue => self.queue(record, sink),
            Action::GetRequest => self.get_request(record),
            Action::SleepRequest => self.sleep(record),
            Action::Insert => self.insert(record),
            Action::BackMerge | Action::FrontMerge => self.merge(record),
            Action::Split => self.split(record, sink),
            Action::Remap => self.remap(record, sink),
            Action::Issue => self.issue(record, sink),
            Action::Requeue => self.requeue(record),
            Action::Complete => self.complete(record, sink),
            Action::Plug
            | Action::Unplug
            | Action::UnplugTimer
            | Action::Bounce
            | Action::Abort
            | Action::DriverData => {}
        }
    }

    /// The trace is over: hands out what is still open, the oldest first, and forgets it.
    pub fn finish<S: Sink>(&mut self, sink: &mut S) {
        for device in 0..self.devices.len() {
            self.device = device;
            for untold in std::mem::take(&mut self.devices[device].untold) {
                // nothing had to come after its data; that it was not told then is a matter of the trace
                if let (Waiter::Data(request), true) = (untold.who, untold.is_immediate) {
                    self.free_request(request, untold.since, sink);
                }
            }
        }
        let mut commands: Vec<_> = self
            .requests
            .values_mut()
            .filter(|request| request.was_issued())
            .map(|request| std::mem::take(&mut request.life))
            .collect();
        for device in &mut self.devices {
            commands.extend(device.flushes.drain(..).map(|flush| flush.life));
        }
        commands.sort_by_key(|command| command.issued);
        for command in commands {
            self.counts.commands_open_at_end += 1;
            self.counts.commands_stale += u64::from(self.last_ns.saturating_sub(command.issued) > STALE_NS);
            sink.command(command);
        }
        let mut bios: Vec<_> = self
            .bios
            .values_mut()
            .filter(|bio| bio.to_end > 0)
            .map(|bio| std::mem::take(&mut bio.life))
            .collect();
        bios.sort_by_key(|bio| bio.queued);
        for bio in bios {
            self.counts.bios_open_at_end += 1;
            self.counts.bios_stale += u64::from(self.last_ns.saturating_sub(bio.queued) > STALE_NS);
            sink.bio(bio);
        }
        (self.bios, self.fragments, self.requests) = Default::default();
        (self.places, self.devices, self.device) = Default::default();
        self.device_places.clear();
    }

    fn device_of(&mut self, number: u32) -> usize {
        if self.devices.get(self.device).is_some_and(|device| device.number == number) {
            return self.device;
        }
        *self.device_places.entry(number).or_insert_with(|| {
            self.devices.push(Device::new(number));
            self.devices.len() - 1
        })
    }

    fn check_sequence(&mut self, record: &Record) {
        const CPUS_MAX: u32 = 1 << 16;
        if record.cpu >= CPUS_MAX {
            return;
        }
        let last = self.devices[self.device].sequences.entry(record.cpu).or_default();
        let before = std::mem::replace(last, record.sequence);
        // after the largest number comes 0, which is none
        if before != 0 && record.sequence > before.wrapping_add(1).max(1) {
            self.mark_loss();
        }
    }

    /// Whether so many more steps may be taken: the time for a trace must not grow with the square of its length.
    fn may_take(&mut self, steps: u64) -> bool {
        let may = self.extra_steps + steps <= STEPS_FREE + STEPS_PER_RECORD * self.counts.records;
        self.extra_steps += if may { steps } else { 0 };
        may
    }

    fn here(&self, sector: u64) -> Place {
        Place { sector, device: self.device as u32 }
    }

    /// The request with the lowest rank that starts at a sector of the device at hand.
    fn pick(&self, sector: u64, rank: impl Fn(&Request) -> Option<u8>) -> Option<u32> {
        self.places.pick(&self.requests, self.here(sector), self.is_newest_first, rank)
    }
}

/// First sector after a record's extent; sectors of damaged records may be anything.
fn end_of(record: &Record) -> u64 {
    record.sector.saturating_add(u64::from(record.bytes >> 9))
}

/// Before 2.6.37 some drivers flushed by a SCSI command: SYNCHRONIZE CACHE of 10 or 16 bytes.
fn is_cache_flush(record: &Record) -> bool {
    record.bytes == 0 && matches!(record.data().first(), Some(0x35 | 0x91))
}

/// Whether it is about a flush command, or a bio that asks for nothing else.
fn is_flush(record: &Record) -> bool {
    record.bytes == 0 && (record.has(category::FLUSH) || record.has(category::PASSTHROUGH))
}
