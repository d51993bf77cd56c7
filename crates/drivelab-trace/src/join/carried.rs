//! Which bios a command carries, and which bios asked for a flush.

use std::collections::BTreeSet;

use super::Pool;
use crate::lifetime::{Bio, Class, Command};
use crate::record::category;

/// What tells a read from a write and from a discard.
const DIRECTION: u32 = category::WRITE | category::DISCARD;

/// Where ends were lost, bios are open for ever, and each flush would list all of them: beyond so many the lists end.
const LISTED_FREE: usize = 1 << 20;
const LISTED_PER_LIFE: usize = 32;

/// For every command of a pool its bios, by their places in the pool, in the order of their Q.
#[derive(Debug, Default)]
pub struct Carried {
    ranges: Vec<(usize, usize)>,
    bios: Vec<usize>,
    /// So many bios may be listed in all.
    room: usize,
}

impl Carried {
    /// Bios of a command.
    pub fn of(&self, command: usize) -> &[usize] {
        let (start, end) = self.ranges[command];
        &self.bios[start..end]
    }

    fn set(&mut self, command: usize, bios: impl Iterator<Item = usize>, queued: impl Fn(usize) -> u64) {
        let start = self.bios.len();
        self.bios.extend(bios.take(self.room.saturating_sub(start)));
        self.bios[start..].sort_unstable_by_key(|&bio| (queued(bio), bio));
        self.ranges[command] = (start, self.bios.len());
    }
}

/// Whether a command is a flush of the write cache.
pub fn is_flush(command: &Command) -> bool {
    Class::of(command.category, command.bytes) == Class::Flush
}

/// When the submitter was told; None when the trace does not say.
pub fn end_of(bio: &Bio) -> Option<u64> {
    bio.ended.or(bio.completed)
}

/// Whether the driver took a bio as it was: it has no requests (brd, zram, pmem), so no command is seen.
pub fn is_without_requests(bio: &Bio) -> bool {
    (bio.bytes > 0 || bio.category & category::FLUSH != 0)
        && bio.issued_last.or(bio.issued_first).is_none()
        && bio.got_request.is_none()
        && bio.merged.is_none()
        && end_of(bio).is_some()
}

/// Finds the bios of every command.
pub fn carried(pool: &Pool<'_>) -> Carried {
    let room = LISTED_FREE + LISTED_PER_LIFE * (pool.bios.len() + pool.commands.len());
    let mut found = Carried { ranges: vec![(0, 0); pool.commands.len()], bios: Vec::new(), room };
    carry_data(pool, &mut found);
    carry_flushes(pool, &mut found);
    found
}

/// A bio with data is in the commands that were issued between its first D and its last and share its sectors.
fn carry_data(pool: &Pool<'_>, found: &mut Carried) {
    const BEGIN: u8 = 0;
    const COMMAND: u8 = 1;
    const END: u8 = 2;
    let mut steps: Vec<(u64, u8, usize)> = Vec::new();
    let mut longest = 0;
    for (at, (_, bio)) in pool.bios.iter().enumerate() {
        let (Some(first), true) = (bio.issued_first, bio.bytes > 0) else { continue };
        longest = longest.max(sectors(bio.bytes));
        steps.push((first, BEGIN, at));
        steps.push((bio.issued_last.unwrap_or(first).max(first), END, at));
    }
    let with_data = |&(_, (_, command)): &(usize, &(usize, &Command))| !is_flush(command);
    let commands = pool.commands.iter().enumerate().filter(with_data);
    steps.extend(commands.map(|(at, (_, command))| (command.issued, COMMAND, at)));
    steps.sort_unstable();
    let mut at_device: BTreeSet<(u32, u64, usize)> = BTreeSet::new();
    for (_, step, at) in steps {
        if step == COMMAND {
            let command = pool.commands[at].1;
            let (start, end) = (command.sector, command.sector.saturating_add(sectors(command.bytes)));
            let near = (command.device, start.saturating_sub(longest), 0)..(command.device, end, 0);
            let bios = at_device.range(near).map(|&(_, _, bio)| bio).filter(|&place| {
                let bio = pool.bios[place].1;
                bio.sector.saturating_add(sectors(bio.bytes)) > start
                    && bio.category & DIRECTION == command.category & DIRECTION
            });
            found.set(at, bios, |place| pool.bios[place].1.queued);
            continue;
        }
        let bio = pool.bios[at].1;
        let key = (bio.device, bio.sector, at);
        let _ = if step == BEGIN { at_device.insert(key) } else { at_device.remove(&key) };
    }
}

fn sectors(bytes: u32) -> u64 {
    u64::from(bytes).div_ceil(512)
}

/// A flush is for the bios that were there when it was issued and had not ended when it was completed: empty
/// ones, those whose data came after it, and those with FUA whose data came before.
fn carry_flushes(pool: &Pool<'_>, found: &mut Carried) {
    let asks = |bio: &Bio| bio.category & (category::FLUSH | category::FUA) != 0;
    let mut bios: Vec<usize> = (0..pool.bios.len()).filter(|&at| asks(pool.bios[at].1)).collect();
    bios.sort_unstable_by_key(|&at| (pool.bios[at].1.queued, at));
    let mut flushes: Vec<usize> =
        (0..pool.commands.len()).filter(|&at| is_flush(pool.commands[at].1)).collect();
    flushes.sort_unstable_by_key(|&at| (pool.commands[at].1.issued, at));
    let (mut next, mut open): (usize, Vec<usize>) = (0, Vec::new());
    for at in flushes {
        let flush = pool.commands[at].1;
        while let Some(&bio) = bios.get(next).filter(|&&bio| pool.bios[bio].1.queued <= flush.issued) {
            open.push(bio);
            next += 1;
        }
        open.retain(|&bio| end_of(pool.bios[bio].1).is_none_or(|end| end >= flush.issued));
        let asked = open.iter().copied().filter(|&bio| asked_for(pool.bios[bio].1, flush));
        found.set(at, asked, |place| pool.bios[place].1.queued);
    }
}

/// Whether a bio that was open when a flush was issued waited for this flush.
pub fn asked_for(bio: &Bio, flush: &Command) -> bool {
    let was_open = match (end_of(bio), flush.completed) {
        (Some(end), Some(completed)) => end >= completed,
        (Some(_), None) => false,
        (None, _) => true,
    };
    let has = |bits: u32| bio.category & bits != 0;
    let is_not_after = |end: Option<u64>, moment: Option<u64>| match (end, moment) {
        (Some(end), Some(moment)) => end <= moment,
        (_, None) => true,
        (None, Some(_)) => false,
    };
    let is_its_own = bio.bytes == 0 && bio.issued_first.is_none_or(|issued| issued == flush.issued);
    let is_before = bio.bytes > 0
        && has(category::FLUSH)
        && match bio.preflushed {
            Some(preflushed) => flush.completed == Some(preflushed),
            None => is_not_after(flush.completed, bio.issued_first),
        };
    let is_after =
        bio.bytes > 0 && has(category::FUA) && bio.completed.is_some_and(|data| data <= flush.issued);
    bio.device == flush.device && was_open && (is_its_own || is_before || is_after)
}
