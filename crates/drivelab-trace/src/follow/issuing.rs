//! D and R: a request is handed to the driver, or put back.

use super::open::{Request, State};
use super::places::NONE;
use super::{Follower, end_of, is_flush};
use crate::lifetime::{Command, Sink};
use crate::record::{Record, category};

/// So far after a gap in a request its other fragments are looked for.
const GAP_SECTORS_MAX: u64 = 4096;

impl Follower {
    pub(super) fn issue<S: Sink>(&mut self, record: &Record, sink: &mut S) {
        if record.bytes == 0 {
            if is_flush(record) {
                self.issue_flush(record, sink);
            } else {
                self.counts.without_bytes += 1;
            }
            return;
        }
        let end = end_of(record);
        let request = match self.take_waiting(record.sector, end, sink) {
            Some(request) => request,
            None => self.issue_unknown(record, sink),
        };
        self.requests[request].state = State::Issued;
        self.gather(request, end, record.has(category::DISCARD));
        self.note_issue(request, record);
        self.devices[self.device].in_flight += 1;
    }

    /// A request at a sector that waits for its D, and is no longer than the record's extent: it is cut there.
    pub(super) fn take_waiting<S: Sink>(&mut self, sector: u64, end: u64, sink: &mut S) -> Option<u32> {
        let request = self.pick(sector, |request| {
            let state = match request.state {
                State::Got | State::Inserted | State::Requeued => 0,
                State::Merged => 1,
                State::Queued => 2,
                _ => return None,
            };
            let length = if request.end <= end { u8::from(request.end != end) } else { 2 };
            Some(4 * length + state)
        })?;
        if self.requests[request].end > end {
            // one that can't be cut is taken as it is
            self.cut(request, end, sink);
        }
        self.devices[self.device].waiting -= 1;
        Some(request)
    }

    fn issue_unknown<S: Sink>(&mut self, record: &Record, sink: &mut S) -> u32 {
        self.counts.orphan_issues += 1;
        let request = self.requests.insert(Request {
            state: State::Issued,
            start: record.sector,
            end: record.sector,
            first_fragment: NONE,
            last_fragment: NONE,
            ..Request::default()
        });
        self.put_in_place(request, sink);
        request
    }

    /// Takes into a request what was merged into it: the requests that start where it ends, up to a sector.
    pub(super) fn gather(&mut self, request: u32, end: u64, is_discard: bool) {
        let mut at = self.requests[request].end;
        let gap_max = at.saturating_add(GAP_SECTORS_MAX);
        let mut has_gap = self.requests[request].first_fragment == NONE;
        while at < end && self.devices[self.device].waiting > 0 {
            let found = self.pick(at, |other| {
                let rank = match other.state {
                    State::Merged => 0,
                    State::Got | State::Inserted if !has_gap => 1,
                    State::Queued if !has_gap => 2,
                    _ => return None,
                };
                (at < other.end && other.end <= end).then_some(rank)
            });
            if let Some(other) = found {
                at = self.requests[other].end;
                self.absorb(request, other);
            } else if is_discard || at > gap_max || !self.may_step_over(at) {
                // the ranges of one discard need not touch
                break;
            } else {
                // its neighbour was queued before the trace began
                has_gap = true;
                at += 1;
            }
        }
        let life = &mut self.requests[request];
        life.end = life.end.max(end);
    }

    fn may_step_over(&mut self, sector: u64) -> bool {
        let place = self.here(sector);
        let steps = 1 + self.places.count(place);
        self.may_take(steps.into())
    }

    fn absorb(&mut self, request: u32, other: u32) {
        let place = self.here(self.requests[other].start);
        self.places.remove(&mut self.requests, place, other);
        let other = self.requests.remove(other);
        self.devices[self.device].waiting -= 1;
        let last = self.requests[request].last_fragment;
        if last == NONE {
            self.requests[request].first_fragment = other.first_fragment;
        } else {
            self.fragments[last].next = other.first_fragment;
        }
        self.requests[request].last_fragment = other.last_fragment;
    }

    fn note_issue(&mut self, request: u32, record: &Record) {
        let losses = self.losses;
        let open = &mut self.requests[request];
        open.losses = losses;
        let life = &mut open.life;
        let is_again = life.bytes > 0;
        if !is_again {
            self.counts.commands_issued += 1;
            *life = Command {
                device: record.device,
                sector: record.sector,
                bytes: record.bytes,
                category: record.category,
                requeues: life.requeues,
                ..Command::default()
            };
        }
        (life.pid, life.issued) = (record.pid, record.time_ns);
        let mut at = open.first_fragment;
        while at != NONE && (!is_again || self.may_take(1)) {
            let (bio, category, next) = {
                let fragment = &self.fragments[at];
                (fragment.bio, fragment.category, fragment.next)
            };
            let life = &mut self.bios[bio].life;
            life.issued_last = Some(record.time_ns);
            if life.issued_first.is_none() {
                life.issued_first = Some(record.time_ns);
                let device = &mut self.devices[self.device];
                device.queued = device.queued.saturating_sub(1);
            }
            if category & category::FLUSH != 0 && self.bios[bio].life.preflushed.is_none() {
                self.end_preflush(bio, record.time_ns);
            }
            at = next;
        }
    }

    pub(super) fn requeue(&mut self, record: &Record) {
        self.counts.requeues += 1;
        if is_flush(record) {
            if !self.requeue_flush() {
                self.counts.orphan_requeues += 1;
            }
            return;
        }
        let end = end_of(record);
        let found = self.pick(record.sector, |request| {
            let rank = if request.state == State::Issued { 0 } else { 2 };
            (request.is_waiting() || request.state == State::Issued)
                .then_some(rank + u8::from(request.end != end))
        });
        let Some(request) = found else {
            self.counts.orphan_requeues += 1;
            return;
        };
        let open = &mut self.requests[request];
        open.life.requeues += 1;
        if open.state == State::Issued {
            open.state = State::Requeued;
            let device = &mut self.devices[self.device];
            device.in_flight -= 1;
            device.waiting += 1;
        }
        let mut at = open.first_fragment;
        while at != NONE && self.may_take(1) {
            let fragment = &self.fragments[at];
            self.bios[fragment.bio].life.requeues += 1;
            at = fragment.next;
        }
    }
}
