//! Flush commands, and which bio each of them served.
//!
//! The kernel's flush machine lets one command serve all bios that wait when it is issued, then tells them one after
//! the other, on the processor on which the command has ended.

use super::Follower;
use super::open::{FlushCommand, Flushed};
use crate::lifetime::{Command, Sink};
use crate::record::Record;

/// So many flushes at one device are no queue but a damaged trace: the oldest is given up.
const FLUSHES_MAX: usize = 1024;

impl Follower {
    pub(super) fn issue_flush<S: Sink>(&mut self, record: &Record, sink: &mut S) {
        let device = &mut self.devices[self.device];
        device.in_flight += 1;
        if let Some(flush) = device.flushes.iter_mut().find(|flush| flush.is_requeued) {
            flush.is_requeued = false;
            (flush.life.pid, flush.life.issued) = (record.pid, record.time_ns);
            return;
        }
        self.counts.commands_issued += 1;
        let life = Command {
            device: record.device,
            sector: record.sector,
            category: record.category,
            pid: record.pid,
            issued: record.time_ns,
            ..Command::default()
        };
        let was_alone = device.flushes.is_empty();
        device.flushes.push_back(FlushCommand { life, is_requeued: false, was_alone, losses: self.losses });
        if device.flushes.len() > FLUSHES_MAX
            && let Some(oldest) = device.flushes.pop_front()
        {
            device.in_flight -= u32::from(!oldest.is_requeued);
            self.counts.given_up += 1;
            sink.command(oldest.life);
        }
    }

    pub(super) fn requeue_flush(&mut self) -> bool {
        let device = &mut self.devices[self.device];
        let Some(flush) = device.flushes.iter_mut().rfind(|flush| !flush.is_requeued) else { return false };
        flush.is_requeued = true;
        flush.life.requeues += 1;
        device.in_flight -= 1;
        true
    }

    /// Ends the flush that was issued first; one from before a loss only if there is no other.
    pub(super) fn complete_flush<S: Sink>(&mut self, record: &Record, sink: &mut S) -> bool {
        let (losses, is_newest_first) = (self.losses, self.is_newest_first);
        let device = &mut self.devices[self.device];
        let is_sure = |flush: &FlushCommand| !flush.is_requeued && flush.losses == losses;
        let sure = if is_newest_first {
            device.flushes.iter().rposition(is_sure)
        } else {
            device.flushes.iter().position(is_sure)
        };
        let position = sure.or_else(|| device.flushes.iter().position(|flush| !flush.is_requeued));
        let Some(FlushCommand { mut life, was_alone, .. }) =
            position.and_then(|position| device.flushes.remove(position))
        else {
            return false;
        };
        life.completed = Some(record.time_ns);
        life.error = record.error;
        let flush =
            Flushed { issued: life.issued, completed: record.time_ns, cpu: record.cpu, error: record.error };
        device.in_flight -= 1;
        self.counts.commands_completed += 1;
        sink.command(life);
        for untold in &mut device.untold {
            // who needs no flush is told right after its data
            untold.is_forgotten |= untold.is_immediate && untold.since <= flush.issued;
        }
        if was_alone {
            self.find_forgotten(flush.issued);
        }
        self.devices[self.device].remember_flush(flush);
        true
    }

    /// Whoever a flush served that had ended before this one was issued should have been told by now.
    fn find_forgotten(&mut self, issued: u64) {
        let device = &mut self.devices[self.device];
        let Some(latest_helpful) =
            device.flushed().filter(|flush| flush.completed <= issued).map(|flush| flush.issued).max()
        else {
            return;
        };
        for untold in &mut device.untold {
            untold.is_forgotten |= untold.since <= latest_helpful;
        }
    }

    /// The flush that served one who waited: the newest that ended on the processor that tells it.
    pub(super) fn flush_for(&self, since: u64, cpu: u32) -> Option<Flushed> {
        let helpful = || self.devices[self.device].flushed().filter(move |flush| flush.issued >= since);
        helpful().find(|flush| flush.cpu == cpu).or_else(|| helpful().next())
    }

    /// A bio whose data had to wait for a flush goes on.
    pub(super) fn end_preflush(&mut self, bio: u32, now: u64) {
        let life = &self.bios[bio].life;
        let since = life.got_request.unwrap_or(life.queued);
        let mut flushed = self.devices[self.device].flushed();
        let flush = flushed.find(|flush| flush.completed <= now && flush.completed >= since);
        self.bios[bio].life.preflushed = flush.map(|flush| flush.completed);
    }
}
