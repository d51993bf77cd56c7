//! Lives first, records from them: what a follower has to give back is known exactly.

#![allow(dead_code)]

use drivelab_trace::follow::{Collected, Counts, Follower};
use drivelab_trace::lifetime::{Bio, Command};
use drivelab_trace::record::{Action, Record, category};

/// Directions of bios.
pub const WRITE: u32 = category::WRITE | category::SYNC;

/// A record of the one thread and drive of a story that is told record by record.
pub fn record(time_ns: u64, action: Action, sector: u64, bytes: u32, category: u32) -> Record {
    Record {
        time_ns,
        sector,
        bytes,
        action_bits: action as u16,
        category,
        pid: 7,
        device: 8 << 20,
        ..Record::default()
    }
}

/// What a follower makes of records.
pub fn followed(records: &[Record]) -> (Collected, Counts) {
    followed_by(Follower::new(), records, |_| false)
}

/// What some follower makes of records; it is told of the places before which some were lost.
pub fn followed_by(
    mut follower: Follower,
    records: &[Record],
    is_loss_before: impl Fn(usize) -> bool,
) -> (Collected, Counts) {
    let mut lives = Collected::default();
    for (position, record) in records.iter().enumerate() {
        if is_loss_before(position) {
            follower.mark_loss();
        }
        follower.push(record, &mut lives);
    }
    follower.finish(&mut lives);
    (lives, *follower.counts())
}

/// Numbers that follow from a seed.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// A number from `low` up to, not including, `high`.
    pub fn roll(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (mixed ^ (mixed >> 31)) % (high - low)
    }

    /// Heads.
    pub fn is_true(&mut self) -> bool {
        self.roll(0, 2) == 1
    }
}

/// Records and the lives that they tell of.
#[derive(Debug, Clone, Default)]
pub struct Story {
    pub records: Vec<Record>,
    pub lives: Collected,
}

/// One I/O that is being told.
pub struct Teller<'a> {
    pub dice: Dice,
    pub now: u64,
    pub device: u32,
    pub pid: u32,
    pub story: &'a mut Story,
}

impl Teller<'_> {
    /// Time goes by.
    pub fn pass(&mut self) -> u64 {
        self.now += self.dice.roll(1, 5_000);
        self.now
    }

    /// One record a while later.
    pub fn add(&mut self, action: Action, sector: u64, bytes: u32, direction: u32) -> u64 {
        self.pass();
        self.at(self.now, action, sector, bytes, direction)
    }

    /// One record at a time.
    pub fn at(&mut self, time_ns: u64, action: Action, sector: u64, bytes: u32, direction: u32) -> u64 {
        self.story.records.push(Record {
            time_ns,
            sector,
            bytes,
            action_bits: action as u16,
            category: direction,
            pid: self.pid,
            device: self.device,
            ..Record::default()
        });
        time_ns
    }

    /// A random direction of data.
    pub fn direction(&mut self) -> u32 {
        [category::READ, WRITE, WRITE | category::META, category::WRITE | category::DISCARD]
            [self.dice.roll(0, 4) as usize]
    }

    /// A random length.
    pub fn bytes(&mut self) -> u32 {
        self.dice.roll(1, 64) as u32 * 512
    }

    /// Q.
    pub fn queue(&mut self, sector: u64, bytes: u32, category: u32) -> Bio {
        let queued = self.add(Action::Queue, sector, bytes, category);
        let (device, pid) = (self.device, self.pid);
        Bio { device, sector, bytes, category, pid, queued, fragments: 1, ..Bio::default() }
    }

    fn command(&mut self, sector: u64, bytes: u32, category: u32) -> Command {
        let issued = self.add(Action::Issue, sector, bytes, category);
        Command { device: self.device, sector, bytes, category, pid: self.pid, issued, ..Command::default() }
    }

    /// D, now and then R and D again; then a C for all, or for parts.
    pub fn serve(&mut self, sector: u64, bytes: u32, category: u32) -> Served {
        let command = self.command(sector, bytes, category);
        let end = sector + u64::from(bytes / 512);
        let mut served = Served { issues: vec![command.issued], command, requeues: vec![], parts: vec![] };
        let mut at = sector;
        while at < end {
            let left = ((end - at) * 512) as u32;
            if self.dice.roll(0, 5) == 0 {
                served.requeues.push(self.add(Action::Requeue, at, left, category));
                if self.dice.is_true() {
                    self.add(Action::Insert, at, left, category);
                }
                served.command.issued = self.add(Action::Issue, at, left, category);
                served.command.requeues += 1;
                served.issues.push(served.command.issued);
            }
            let is_partial = left > 512 && self.dice.roll(0, 4) == 0;
            let to = if is_partial { at + self.dice.roll(1, u64::from(left / 512)) } else { end };
            let done = self.add(Action::Complete, at, ((to - at) * 512) as u32, category);
            let error = if self.dice.roll(0, 10) == 0 { -5 } else { 0 };
            self.story.records.last_mut().expect("just added").error = error;
            if served.command.error == 0 {
                served.command.error = error;
            }
            served.parts.push(Part { from: at, to, done, error });
            served.command.completed = Some(done);
            at = to;
        }
        self.story.lives.commands.push(served.command.clone());
        served
    }
}

/// A completion.
#[derive(Debug, Clone)]
pub struct Part {
    pub from: u64,
    pub to: u64,
    pub done: u64,
    pub error: i32,
}

/// What became of a request.
#[derive(Debug, Clone)]
pub struct Served {
    pub command: Command,
    pub issues: Vec<u64>,
    pub requeues: Vec<u64>,
    pub parts: Vec<Part>,
}

impl Served {
    /// Writes into a bio's life what happened to its sectors from `start` to `end`.
    pub fn tell(&self, bio: &mut Bio, start: u64, end: u64) {
        let done = self.parts.iter().find(|part| part.to >= end).expect("all parts were completed").done;
        let issues = self.issues.iter().copied().filter(|time| *time < done);
        bio.issued_first = Some(bio.issued_first.unwrap_or(u64::MAX).min(self.issues[0]));
        bio.issued_last = bio.issued_last.max(issues.max());
        bio.requeues += self.requeues.iter().filter(|time| **time < done).count() as u32;
        bio.completed = bio.completed.max(Some(done));
        bio.ended = bio.completed;
        let mine = self.parts.iter().filter(|part| part.from < end && part.to > start);
        if bio.error == 0 {
            bio.error = mine.map(|part| part.error).find(|error| *error != 0).unwrap_or(0);
        }
    }
}
