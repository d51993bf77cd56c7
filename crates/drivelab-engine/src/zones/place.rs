//! Which zone an I/O goes to that would like to be somewhere: the rules of fio's `zonemode=zbd`, in its order.

use super::state::{NOBODY, Zones, writes_per_reset};
use crate::workload::ZonedDrive;

/// What an I/O would like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    pub(super) offset: u64,
    pub(super) size: u64,
    /// Fewer bytes are no I/O.
    pub(super) least: u64,
    pub(super) is_random: bool,
    /// The job, and the range that it uses: start and length.
    pub(super) job: u32,
    pub(super) range: (u64, u64),
    /// Whether what was written is to stay, to be verified.
    pub(super) keeps: bool,
    /// Whether nothing of the job is outstanding.
    pub(super) is_alone: bool,
    /// Whether it is known already whether a zone is reset before it.
    pub(super) is_judged: bool,
}

/// What comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It goes there, with so many bytes.
    At(u64, u64),
    /// What is outstanding has to end before.
    WaitForOwn,
    /// Another job has I/O where it is to go.
    WaitForOthers,
    /// This zone, which is held now, has to be made empty, and the I/O goes there.
    Reset(usize),
    /// This zone, which is held now, has to be made full, and the I/O asked for again.
    Finish(usize),
    /// There is no place for it.
    Nowhere,
}

impl Zones {
    /// Where a read goes.
    pub(super) fn place_read(&mut self, wish: &Wish, asked: &ZonedDrive) -> Step {
        let wished = self.at(wish.offset);
        let Some(zone) = self.list.get(wished) else { return Step::Nowhere };
        if !zone.has_pointer {
            return Step::At(wish.offset, wish.size);
        }
        if asked.reads_beyond_write_pointer && zone.is_readable {
            self.list[wished].reads += 1;
            return Step::At(wish.offset, wish.size);
        }
        let written = if zone.is_readable { zone.filled().min(zone.writable_end - zone.start) } else { 0 };
        let is_behind = !wish.is_random && wish.offset + wish.least > zone.start + written;
        let (number, mut offset) = if written < wish.least || is_behind {
            let Some(other) = self.readable_beside(wished, wish) else { return Step::Nowhere };
            (other, if wish.is_random { wish.offset } else { self.list[other].start })
        } else {
            (wished, wish.offset)
        };
        let (origin, zone) = (self.list[wished].start, &mut self.list[number]);
        let written = zone.filled().min(zone.writable_end - zone.start);
        if written <= wish.size {
            offset = zone.start;
        } else if wish.is_random {
            let within = (wish.offset - origin) % (written - wish.size);
            offset = zone.start + within / wish.least * wish.least;
        }
        let size = wish.size.min(zone.start + written - offset) / wish.least * wish.least;
        zone.reads += u32::from(zone.has_pointer);
        Step::At(offset, size)
    }

    /// The next zone that holds enough to be read; for random places the nearest one.
    fn readable_beside(&self, number: usize, wish: &Wish) -> Option<usize> {
        let (first, end) = self.numbers_of(wish);
        let holds = |&other: &usize| {
            let zone = &self.list[other];
            zone.is_readable && zone.filled() >= wish.least
        };
        if !wish.is_random {
            return (number + 1..end).find(holds);
        }
        let distances = 1..=(end - first);
        distances
            .flat_map(|distance| [number.checked_add(distance), number.checked_sub(distance)])
            .flatten()
            .filter(|other| (first..end).contains(other))
            .find(holds)
    }

    /// Where a trim goes: to a whole zone, which is reset; a random one to the nearest zone that holds data.
    pub(super) fn place_trim(&mut self, wish: &Wish) -> Step {
        let wished = self.at(wish.offset);
        let Some(zone) = self.list.get(wished) else { return Step::Nowhere };
        if !zone.has_pointer {
            return Step::At(wish.offset, wish.size);
        }
        let number = match zone.filled() > 0 || !wish.is_random {
            true => wished,
            false => match self.readable_beside(wished, &Wish { least: 1, ..*wish }) {
                Some(number) if self.list[number].has_pointer => number,
                _ => return Step::Nowhere,
            },
        };
        self.hold(number, wish).unwrap_or(Step::At(self.list[number].start, wish.size))
    }

    fn numbers_of(&self, wish: &Wish) -> (usize, usize) {
        (self.at(wish.range.0), self.at(wish.range.0 + wish.range.1))
    }

    /// Where a write goes.
    pub(super) fn place_write(&mut self, wish: &mut Wish, asked: &ZonedDrive) -> Step {
        let wished = self.at(wish.offset);
        let Some(zone) = self.list.get(wished) else { return Step::Nowhere };
        if !zone.has_pointer {
            return self.place_without_pointer(wished, wish);
        }
        if wish.size > zone.end - zone.start {
            return Step::Nowhere;
        }
        let number = match self.zone_for_write(wished, wish, asked) {
            Ok(number) => number,
            Err(step) => return step,
        };
        let zone = &self.list[number];
        if zone.writes > 0 {
            // one at a time, as fio does it
            return if wish.is_alone { Step::WaitForOthers } else { Step::WaitForOwn };
        }
        if 0 < zone.room() && zone.room() < wish.least {
            return self.finish_or_wait(number, wish);
        }
        let resets_early = asked.reset_frequency > 0.0 && !wish.keeps;
        let is_due = resets_early && !wish.is_judged && self.reset_is_due(wish, asked);
        wish.is_judged = true;
        let zone = &mut self.list[number];
        zone.wants_reset |= is_due;
        if zone.wants_reset || zone.room() < wish.least {
            if zone.filled() > 0 {
                return self.hold(number, wish).unwrap_or(Step::Reset(number));
            }
            zone.wants_reset = false;
        }
        self.write_to(number, wish)
    }

    /// A write to the write pointer of a zone that has room for it.
    pub(super) fn write_to(&mut self, number: usize, wish: &Wish) -> Step {
        let zone = &mut self.list[number];
        let size = wish.size.min(zone.room()) / wish.least * wish.least;
        if size == 0 {
            return Step::Nowhere;
        }
        let offset = zone.pointer;
        zone.pointer += size;
        zone.writes += 1;
        zone.held_by = wish.job;
        self.written_bytes += size;
        Step::At(offset, size)
    }

    /// A write where zones have no write pointers ends where the first one begins that has one.
    fn place_without_pointer(&self, number: usize, wish: &Wish) -> Step {
        let zone = &self.list[number];
        let next_has_pointer = self.list.get(number + 1).is_some_and(|next| next.has_pointer);
        if !next_has_pointer || wish.offset + wish.size <= zone.end {
            return Step::At(wish.offset, wish.size);
        }
        let is_too_late = wish.offset + wish.least > zone.end;
        let offset = if is_too_late { zone.start } else { wish.offset };
        Step::At(offset, wish.size.min(zone.end - offset) / wish.least * wish.least)
    }

    /// The zone that a write may go to: the one that it is meant for, or another one where so many are open already.
    fn zone_for_write(&mut self, wished: usize, wish: &Wish, asked: &ZonedDrive) -> Result<usize, Step> {
        self.refuse_held(wished, wish)?;
        let room = self.list[wished].room();
        if 0 < room && room < wish.least {
            return Err(self.finish_or_wait(wished, wish));
        }
        if self.may_open(wished, wish, asked) {
            return Ok(wished);
        }
        // there may be none: those that are full are closed
        let from = self.open_zone_for(wish);
        if let Some(from) = from {
            self.refuse_held(from, wish)?;
            if self.list[from].room() >= wish.least {
                return Ok(from);
            }
        }
        self.another_zone(from.filter(|_| !wish.is_random).unwrap_or(wished), wish, asked)
    }

    /// Makes a zone one of those that are written to, if it may be; one that would have to be reset may not where what
    /// was written is to stay.
    fn may_open(&mut self, number: usize, wish: &Wish, asked: &ZonedDrive) -> bool {
        let stays_full = wish.keeps && self.list[number].room() < wish.least;
        !stays_full && self.open(number, wish.job, asked.job_max_open_zones)
    }

    /// One of the zones of the job's range that are written to: which one, the wished place decides.
    fn open_zone_for(&self, wish: &Wish) -> Option<usize> {
        let (first, end) = self.numbers_of(wish);
        let count = self.open.len();
        let share = u128::from(wish.offset - wish.range.0) * count as u128 / u128::from(wish.range.1.max(1));
        let turn = (0..count).map(|step| self.open[(share as usize + step) % count]);
        turn.into_iter().find(|number| (first..end).contains(number))
    }

    /// The next zone that may be written to; then one of those that are and have room; then the room that one has left
    /// is given up.
    fn another_zone(&mut self, from: usize, wish: &Wish, asked: &ZonedDrive) -> Result<usize, Step> {
        let (first, end) = self.numbers_of(wish);
        for step in 1..=end - first {
            let number = first + (from - first + step) % (end - first);
            let zone = &self.list[number];
            if !zone.has_pointer || zone.opened_by != NOBODY {
                continue;
            }
            if zone.held_by != NOBODY && zone.held_by != wish.job {
                continue;
            }
            if self.may_open(number, wish, asked) {
                return Ok(number);
            }
        }
        let open: Vec<_> = self.open.iter().copied().filter(|number| (first..end).contains(number)).collect();
        let mut waits_for_others = false;
        for &number in &open {
            let zone = &self.list[number];
            let is_held = zone.held_by != NOBODY && zone.held_by != wish.job;
            if zone.room() >= wish.least && !is_held {
                return Ok(number);
            }
            waits_for_others |= is_held;
        }
        if !wish.is_alone {
            return Err(Step::WaitForOwn);
        }
        if waits_for_others || self.list.iter().any(|zone| zone.writes > 0) {
            return Err(Step::WaitForOthers);
        }
        let given_up = (wish.is_random && !wish.keeps).then(|| self.open_zone_for(wish)).flatten();
        Err(given_up.map_or(Step::Nowhere, |number| self.finish_or_wait(number, wish)))
    }

    /// Refuses a zone in which another job has I/O to write.
    fn refuse_held(&self, number: usize, wish: &Wish) -> Result<(), Step> {
        match self.list[number].held_by {
            NOBODY => Ok(()),
            job if job == wish.job => Ok(()),
            _ if wish.is_alone => Err(Step::WaitForOthers),
            _ => Err(Step::WaitForOwn),
        }
    }

    fn finish_or_wait(&mut self, number: usize, wish: &Wish) -> Step {
        self.hold(number, wish).unwrap_or(Step::Finish(number))
    }

    /// Keeps all others from a zone in which nothing is outstanding; what is to be waited for, where something is.
    fn hold(&mut self, number: usize, wish: &Wish) -> Option<Step> {
        if !wish.is_alone {
            return Some(Step::WaitForOwn);
        }
        let zone = &mut self.list[number];
        if zone.reads > 0 || zone.writes > 0 || zone.held_by != NOBODY {
            return Some(Step::WaitForOthers);
        }
        zone.held_by = wish.job;
        None
    }

    /// Whether a zone is to be reset before this write although it is not full.
    fn reset_is_due(&mut self, wish: &Wish, asked: &ZonedDrive) -> bool {
        let threshold = wish.range.1 as f64 * asked.reset_threshold;
        if asked.reset_threshold > 0.0 && (self.written_bytes as f64) < threshold {
            return false;
        }
        self.writes_until_reset -= 1;
        if self.writes_until_reset > 0 {
            return false;
        }
        self.writes_until_reset = writes_per_reset(asked);
        true
    }
}
