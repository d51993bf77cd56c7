//! C: data are there, and who waited is told.

use super::open::{Flushed, State, Waiter};
use super::places::NONE;
use super::{Follower, end_of};
use crate::lifetime::Sink;
use crate::record::{Record, category};

impl Follower {
    pub(super) fn complete<S: Sink>(&mut self, record: &Record, sink: &mut S) {
        self.counts.errors += u64::from(record.error != 0);
        if record.bytes == 0 {
            return self.complete_without_data(record, sink);
        }
        let end = end_of(record);
        let issued = self.pick(record.sector, |request| {
            let length = match request.end.cmp(&end) {
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Greater => 1,
                std::cmp::Ordering::Less => 2,
            };
            let rank = length + 4 * u8::from(request.losses != self.losses);
            (request.state == State::Issued).then_some(rank)
        });
        if let Some(request) = issued {
            self.advance(request, end, record, sink);
        } else if let Some(untold) = self.untold_data(record.sector) {
            // before 2.6.37 a barrier is completed twice, with its bytes
            self.tell(untold, record, sink);
        } else if let Some(request) = self.take_waiting(record.sector, end, sink) {
            // a device without requests (md, dm), or its D is lost
            self.gather(request, end, record.has(category::DISCARD));
            self.advance(request, end, record, sink);
        } else {
            self.counts.orphan_completions += 1;
        }
    }

    /// Data up to a sector are there.
    fn advance<S: Sink>(&mut self, request: u32, end: u64, record: &Record, sink: &mut S) {
        let place = self.here(self.requests[request].start);
        let open = &self.requests[request];
        let has_ended = end >= open.end || open.state != State::Issued;
        if record.error != 0 {
            self.note_error(request, end, record.error);
        }
        if has_ended {
            self.places.remove(&mut self.requests, place, request);
            return self.end_request(request, record, sink);
        }
        self.counts.partial_completions += 1;
        self.places.remove(&mut self.requests, place, request);
        self.requests[request].start = end;
        self.put_in_place(request, sink);
        loop {
            let at = self.requests[request].first_fragment;
            if at == NONE || self.fragments[at].end > end {
                break;
            }
            let fragment = self.fragments.remove(at);
            let open = &mut self.requests[request];
            open.first_fragment = fragment.next;
            if fragment.next == NONE {
                open.last_fragment = NONE;
            }
            self.complete_fragment(fragment.bio, record.time_ns);
            self.end_fragment(fragment.bio, record.time_ns, sink);
        }
    }

    /// The first error counts, for the command and for each bio of which a part was completed with it.
    fn note_error(&mut self, request: u32, end: u64, error: i32) {
        let open = &mut self.requests[request];
        if open.life.error == 0 {
            open.life.error = error;
        }
        let mut at = open.first_fragment;
        while at != NONE && self.fragments[at].start < end {
            let fragment = &self.fragments[at];
            let life = &mut self.bios[fragment.bio].life;
            if life.error == 0 {
                life.error = error;
            }
            at = fragment.next;
        }
    }

    fn end_request<S: Sink>(&mut self, request: u32, record: &Record, sink: &mut S) {
        let now = record.time_ns;
        let is_issued = self.requests[request].state == State::Issued;
        let open = &mut self.requests[request];
        if open.was_issued() {
            open.life.completed = Some(now);
            sink.command(open.life.clone());
            self.counts.commands_completed += 1;
        }
        self.devices[self.device].in_flight -= u32::from(is_issued);
        let mut at = self.requests[request].first_fragment;
        let is_durable = self.requests[request].life.category & category::FUA != 0;
        let (mut waits, mut is_immediate) = (false, true);
        while at != NONE {
            let fragment = &self.fragments[at];
            let (bio, next) = (fragment.bio, fragment.next);
            let needs_flush = fragment.category & category::FUA != 0 && !is_durable;
            waits |= is_issued && (needs_flush || fragment.category & category::FLUSH != 0);
            is_immediate &= !needs_flush;
            self.complete_fragment(bio, now);
            at = next;
        }
        if !waits {
            return self.free_request(request, now, sink);
        }
        let open = &mut self.requests[request];
        open.state = State::Untold;
        let first = &self.fragments[open.first_fragment];
        let extent = (first.start, first.end);
        self.add_untold(Waiter::Data(request), extent, now, is_immediate, sink);
    }

    pub(super) fn free_request<S: Sink>(&mut self, request: u32, now: u64, sink: &mut S) {
        let mut at = self.requests.remove(request).first_fragment;
        while at != NONE {
            let fragment = self.fragments.remove(at);
            self.end_fragment(fragment.bio, now, sink);
            at = fragment.next;
        }
    }

    fn complete_fragment(&mut self, bio: u32, now: u64) {
        let open = &mut self.bios[bio];
        open.to_complete -= 1;
        if open.to_complete == 0 && !open.is_given_up {
            open.life.completed = Some(now);
        }
    }

    /// One fragment less; after the last one the bio is handed out.
    pub(super) fn end_fragment<S: Sink>(&mut self, bio: u32, now: u64, sink: &mut S) {
        let open = &mut self.bios[bio];
        open.to_end -= 1;
        // one that had to wait for nothing may be told late, with an end before that of others
        open.told = open.told.max(now).max(open.life.completed.unwrap_or(0));
        if open.to_end > 0 {
            return;
        }
        let mut open = self.bios.remove(bio);
        if open.life.issued_first.is_none() && open.life.bytes > 0 {
            let device = &mut self.devices[self.device];
            device.queued = device.queued.saturating_sub(1);
        }
        if !open.is_given_up {
            open.life.ended = Some(open.told);
            self.counts.bios_closed += 1;
        }
        sink.bio(open.life);
    }

    /// Without bytes: a flush command has ended, or who waited for one is told.
    fn complete_without_data<S: Sink>(&mut self, record: &Record, sink: &mut S) {
        let is_of_command = record.has(category::FLUSH) || record.has(category::PASSTHROUGH);
        let untold = self.untold_at(record.sector);
        // the kernel takes the bit off a bio that has waited; a trace made of other events may still have it
        let is_bio = record.has(category::WRITE) && record.sector != u64::MAX && self.should_be_told(untold);
        if is_of_command && !is_bio && self.complete_flush(record, sink) {
            return;
        }
        if let Some(untold) = untold {
            self.tell(untold, record, sink);
        } else if record.sector != u64::MAX || is_of_command || !self.complete_flush(record, sink) {
            self.counts.orphan_completions += 1;
        }
    }

    fn untold_data(&self, sector: u64) -> Option<usize> {
        let mut untold = self.devices[self.device].untold.iter();
        untold.position(|untold| matches!(untold.who, Waiter::Data(_)) && untold.sector == sector)
    }

    /// Who is told by a C without bytes: the first in line that a flush has helped.
    fn untold_at(&self, sector: u64) -> Option<usize> {
        let device = &self.devices[self.device];
        let mut best: Option<(u8, usize)> = None;
        for (position, untold) in device.untold.iter().enumerate() {
            let distance = match untold.who {
                _ if untold.sector == sector => 0,
                Waiter::Data(_) if untold.end == sector => 1,
                Waiter::Flush(_) => 2,
                Waiter::Data(_) => continue,
            };
            let was_helped =
                untold.is_immediate || device.flushed().any(|flush| flush.issued >= untold.since);
            let is_doubtful = untold.is_forgotten || untold.losses != self.losses;
            let rank = 8 * u8::from(!was_helped) + 4 * u8::from(is_doubtful) + distance;
            let is_newer = self.is_newest_first;
            if best.is_none_or(|(lowest, _)| rank < lowest || (is_newer && rank == lowest)) {
                best = Some((rank, position));
            }
        }
        best.map(|(_, position)| position)
    }

    fn should_be_told(&self, untold: Option<usize>) -> bool {
        let device = &self.devices[self.device];
        untold.and_then(|position| device.untold.get(position)).is_some_and(|untold| {
            !untold.is_forgotten && device.flushed().any(|flush| flush.issued >= untold.since)
        })
    }

    fn tell<S: Sink>(&mut self, position: usize, record: &Record, sink: &mut S) {
        let Some(untold) = self.devices[self.device].untold.remove(position) else { return };
        match untold.who {
            Waiter::Data(request) => {
                if record.error != 0 {
                    let first = &self.fragments[self.requests[request].first_fragment];
                    self.bios[first.bio].life.error = record.error;
                }
                self.free_request(request, record.time_ns, sink);
            }
            Waiter::Flush(bio) => {
                let flush = self.flush_for(untold.since, record.cpu);
                let life = &mut self.bios[bio].life;
                life.error = record.error;
                if let Some(Flushed { issued, completed, error, .. }) = flush {
                    (life.issued_first, life.issued_last) = (Some(issued), Some(issued));
                    life.completed = Some(completed);
                    life.error = if record.error == 0 { error } else { record.error };
                }
                self.end_fragment(bio, record.time_ns, sink);
            }
        }
    }
}
