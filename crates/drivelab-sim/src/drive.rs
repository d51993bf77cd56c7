//! A whole drive: what it is asked, when it answers, and what it has counted.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bucket::Bucket;
use crate::disk::Disk;
use crate::flash::{Extent, Flash};
use crate::model::{Model, ThrottlingModel};

const EIO: i32 = 5;

/// What a drive can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Data from the drive.
    Read,
    /// Data to the drive.
    Write,
    /// Data that are not needed any more.
    Trim,
    /// What is in the cache goes to the medium.
    Flush,
}

/// One command.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// What to do.
    pub operation: Operation,
    /// First byte.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Whether a write ends only when the medium has it (FUA).
    pub is_forced: bool,
    /// What is left of the data when they are compressed, as a share.
    pub stored_share: f64,
}

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// When.
    pub at_ns: u64,
    /// Bytes moved, or a negative errno.
    pub result: i32,
}

/// What a drive has counted since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counters {
    /// Commands: reads, writes, trims, flushes.
    pub commands: [u64; 4],
    /// Bytes of those commands that succeeded; none of flushes.
    pub bytes: [u64; 4],
    /// Bytes written to flash, copies and the drive's own included.
    pub flash_bytes_written: f64,
    /// Blocks erased.
    pub erased_blocks: u64,
}

enum Medium {
    Flash(Box<Flash>),
    Disk(Box<Disk>),
}

/// A simulated drive.
pub struct Drive {
    model: Model,
    medium: Medium,
    random: Xoshiro256PlusPlus,
    io_limit: Option<Bucket>,
    byte_limit: Option<Bucket>,
    controller_free_at: u64,
    link_free_at: u64,
    link_ns_per_byte: f64,
    /// Whether something was written since the last flush.
    is_dirty: bool,
    counters: Counters,
}

impl Drive {
    /// A drive that was never written to.
    ///
    /// # Errors
    ///
    /// Why no drive can be made of the model.
    pub fn new(model: &Model, seed: u64) -> Result<Self, String> {
        model.check()?;
        let medium = match (&model.flash, &model.disk) {
            (Some(flash), _) => Medium::Flash(Box::new(Flash::new(model, flash))),
            (None, Some(disk)) => Medium::Disk(Box::new(Disk::new(model, disk))),
            (None, None) => return Err("a drive has flash or a disk".to_owned()),
        };
        Ok(Self {
            medium,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            io_limit: model.io_limit.as_ref().map(Bucket::new),
            byte_limit: model.byte_limit.as_ref().map(Bucket::new),
            controller_free_at: 0,
            link_free_at: 0,
            link_ns_per_byte: match model.link_bytes_per_s {
                0 => 0.0,
                rate => 1e9 / rate as f64,
            },
            is_dirty: false,
            counters: Counters::default(),
            model: model.clone(),
        })
    }

    /// What the host sees.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.model.size_bytes
    }

    /// What was counted until now.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let Medium::Flash(flash) = &self.medium else { return self.counters };
        let page_bytes = self.model.flash.as_ref().map_or(0, |flash| flash.page_bytes);
        Counters {
            flash_bytes_written: flash.written_pages * page_bytes as f64,
            erased_blocks: flash.erased_blocks,
            ..self.counters
        }
    }

    /// Have data where there are none, as if they had been written long ago: in no time, and uncounted.
    ///
    /// Flash that holds nothing answers reads at once.
    pub fn lay_out(&mut self, offset: u64, bytes: u64) {
        if let Medium::Flash(flash) = &mut self.medium {
            let bytes = bytes.min(self.model.size_bytes.saturating_sub(offset));
            flash.lay_out(Extent { offset, bytes });
        }
    }

    /// Takes a command at a moment; when it ends, and how: behind the drive's end it fails.
    #[inline]
    pub fn submit(&mut self, now: u64, command: &Command) -> Done {
        let number = command.operation as usize;
        self.counters.commands[number] += 1;
        let begin = self.begin(now, command);
        if self.is_beyond_end(command) {
            return Done { at_ns: begin.max(now + 1), result: -EIO };
        }
        let factor = self.model.throttling.as_ref().map_or(1.0, |throttling| throttling.factor_at(begin));
        let end = match command.operation {
            Operation::Read => self.read(begin, command, factor),
            Operation::Write => self.write(begin, command, factor),
            Operation::Trim => self.trim(begin, command),
            Operation::Flush => self.flush(begin, factor),
        };
        let at_ns = (end + self.jitter()).max(now + 1);
        let result = self.result(command);
        self.counters.bytes[number] += result.max(0) as u64;
        Done { at_ns, result }
    }

    #[inline]
    fn is_beyond_end(&self, command: &Command) -> bool {
        let size = self.model.size_bytes;
        command.operation != Operation::Flush
            && (command.bytes > size || command.offset > size - command.bytes)
    }

    /// When limits and controller let a command begin.
    #[inline]
    fn begin(&mut self, now: u64, command: &Command) -> u64 {
        let mut begin = now;
        if matches!(command.operation, Operation::Read | Operation::Write) {
            if let Some(limit) = &mut self.io_limit {
                begin = begin.max(limit.take(now, 1));
            }
            if let Some(limit) = &mut self.byte_limit {
                begin = begin.max(limit.take(now, command.bytes));
            }
        }
        self.controller_free_at = self.controller_free_at.max(begin) + self.model.command_ns;
        self.controller_free_at
    }

    #[inline]
    fn read(&mut self, begin: u64, command: &Command, factor: f64) -> u64 {
        let extent = Extent { offset: command.offset, bytes: command.bytes };
        let found = match &mut self.medium {
            Medium::Flash(flash) => flash.read(begin, extent, factor),
            Medium::Disk(disk) => disk.read(begin, extent, factor),
        };
        let transfer = self.transfer_ns(command.bytes);
        // commands end in any order, so the link is taken from the beginning on
        self.link_free_at = self.link_free_at.max(begin) + transfer;
        (found + transfer).max(self.link_free_at) + self.model.read_latency_ns
    }

    #[inline]
    fn write(&mut self, begin: u64, command: &Command, factor: f64) -> u64 {
        let extent = Extent { offset: command.offset, bytes: command.bytes };
        self.link_free_at = self.link_free_at.max(begin) + self.transfer_ns(command.bytes);
        let arrived = self.link_free_at;
        self.is_dirty = true;
        let end = match &mut self.medium {
            Medium::Flash(flash) => flash.write(arrived, extent, command.stored_share, factor),
            Medium::Disk(disk) => disk.write(arrived, extent, factor),
        };
        let end =
            if command.is_forced && self.model.cache.is_volatile { end.max(self.drained_at()) } else { end };
        end + self.model.write_latency_ns
    }

    fn trim(&mut self, begin: u64, command: &Command) -> u64 {
        let extent = Extent { offset: command.offset, bytes: command.bytes };
        let end = match &mut self.medium {
            Medium::Flash(flash) => flash.trim(begin, extent),
            Medium::Disk(_) => begin,
        };
        end + self.model.write_latency_ns
    }

    /// Waits for the medium where the cache would forget.
    fn flush(&mut self, begin: u64, factor: f64) -> u64 {
        let has_to_wait = self.model.cache.is_volatile && std::mem::take(&mut self.is_dirty);
        let end = if has_to_wait {
            self.drained_at().max(begin) + (self.model.cache.flush_ns as f64 * factor) as u64
        } else {
            begin
        };
        end + self.model.write_latency_ns
    }

    fn drained_at(&self) -> u64 {
        match &self.medium {
            Medium::Flash(flash) => flash.drained_at(),
            Medium::Disk(disk) => disk.drained_at(),
        }
    }

    fn transfer_ns(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.link_ns_per_byte) as u64
    }

    #[inline]
    fn jitter(&mut self) -> u64 {
        match self.model.jitter_ns {
            0 => 0,
            mean => (-(1.0 - self.unit()).ln() * mean as f64) as u64,
        }
    }

    /// At least 0 and less than 1.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[inline]
    fn result(&mut self, command: &Command) -> i32 {
        let errors = &self.model.errors;
        let is_read = command.operation == Operation::Read;
        let per_error = match command.operation {
            Operation::Read => errors.reads_per_error,
            Operation::Write => errors.writes_per_error,
            Operation::Trim | Operation::Flush => 0,
        };
        let end = command.offset + command.bytes;
        let is_unreadable =
            is_read && errors.unreadable.iter().any(|(at, bytes)| *at < end && command.offset < at + bytes);
        let fails = is_unreadable || per_error > 0 && self.unit() * (per_error as f64) < 1.0;
        match command.operation {
            _ if fails => -EIO,
            Operation::Flush => 0,
            _ => command.bytes as i32,
        }
    }
}

impl ThrottlingModel {
    fn factor_at(&self, now: u64) -> f64 {
        let is_slow = now >= self.every_ns && now % self.every_ns < self.for_ns;
        if is_slow { self.factor } else { 1.0 }
    }
}
