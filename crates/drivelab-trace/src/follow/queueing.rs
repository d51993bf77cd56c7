//! From Q until a request waits for its D: queue, split, remap, get a request, merge, insert.

use super::open::{Fragment, OpenBio, State, Untold, Waiter, request_of};
use super::places::{NONE, Place};
use super::{Follower, end_of, is_flush};
use crate::lifetime::{Bio, Command, Remap, Sink};
use crate::record::{Record, category};

/// So many at one sector of one device are no queue but a damaged trace: the oldest is given up.
const SAME_PLACE_MAX: u32 = 1024;

/// Nobody keeps more bios waiting for a flush.
const UNTOLD_MAX: usize = 4096;

impl Follower {
    pub(super) fn queue<S: Sink>(&mut self, record: &Record, sink: &mut S) {
        if record.bytes == 0 {
            return self.queue_without_data(record, sink);
        }
        let end = end_of(record);
        if self.counts.splits > 0 && self.is_remainder(record, end) {
            return;
        }
        let bio = self.open_bio(record);
        self.devices[self.device].queued += 1;
        let life = Command { pid: record.pid, ..Command::default() };
        self.add_fragment(bio, (record.sector, end), record.category, life, sink);
    }

    /// Kernels 4.3 to 4.11 queue what a split left over once more: that is no other bio.
    fn is_remainder(&mut self, record: &Record, end: u64) -> bool {
        let found = self.pick(record.sector, |request| {
            let is_same = request.is_remainder && request.end == end && request.life.pid == record.pid;
            (is_same && request.state == State::Queued).then_some(0)
        });
        if let Some(request) = found {
            self.requests[request].is_remainder = false;
        }
        found.is_some()
    }

    fn queue_without_data<S: Sink>(&mut self, record: &Record, sink: &mut S) {
        if !is_flush(record) {
            self.counts.without_bytes += 1;
            return;
        }
        let bio = self.open_bio(record);
        self.add_untold(Waiter::Flush(bio), (record.sector, record.sector), record.time_ns, false, sink);
    }

    fn open_bio(&mut self, record: &Record) -> u32 {
        self.counts.bios_opened += 1;
        let life = Bio {
            device: record.device,
            sector: record.sector,
            bytes: record.bytes,
            category: record.category,
            pid: record.pid,
            queued: record.time_ns,
            fragments: 1,
            ..Bio::default()
        };
        self.bios.insert(OpenBio { life, to_complete: 1, to_end: 1, told: 0, is_given_up: false })
    }

    fn add_fragment<S: Sink>(
        &mut self,
        bio: u32,
        (start, end): (u64, u64),
        category: u32,
        life: Command,
        sink: &mut S,
    ) -> u32 {
        let fragment = self.fragments.insert(Fragment { bio, start, end, category, next: NONE });
        let request = self.requests.insert(request_of(fragment, start, end, life, self.losses));
        self.devices[self.device].waiting += 1;
        self.put_in_place(request, sink);
        request
    }

    /// Lets a request be found by its start.
    pub(super) fn put_in_place<S: Sink>(&mut self, request: u32, sink: &mut S) {
        let place = self.here(self.requests[request].start);
        if self.places.append(&mut self.requests, place, request) > SAME_PLACE_MAX {
            self.give_up(place, sink);
        }
    }

    fn give_up<S: Sink>(&mut self, place: Place, sink: &mut S) {
        let Some(oldest) = self.places.first(place) else { return };
        self.places.remove(&mut self.requests, place, oldest);
        let (open, device) = (&self.requests[oldest], &mut self.devices[self.device]);
        if open.state == State::Issued {
            device.in_flight -= 1;
        } else {
            device.waiting -= 1;
        }
        if open.was_issued() {
            sink.command(open.life.clone());
        }
        self.counts.given_up += 1;
        self.forget(oldest, sink);
    }

    /// Frees a request whose bios will not be seen to end.
    pub(super) fn forget<S: Sink>(&mut self, request: u32, sink: &mut S) {
        let mut at = self.requests.remove(request).first_fragment;
        while at != NONE {
            let fragment = self.fragments.remove(at);
            self.bios[fragment.bio].is_given_up = true;
            self.end_fragment(fragment.bio, 0, sink);
            at = fragment.next;
        }
    }

    pub(super) fn add_untold<S: Sink>(
        &mut self,
        who: Waiter,
        (sector, end): (u64, u64),
        since: u64,
        is_immediate: bool,
        sink: &mut S,
    ) {
        let losses = self.losses;
        let untold = &mut self.devices[self.device].untold;
        untold.push_back(Untold { who, sector, end, since, is_immediate, is_forgotten: false, losses });
        if untold.len() <= UNTOLD_MAX {
            return;
        }
        let Some(oldest) = self.devices[self.device].untold.pop_front() else { return };
        match oldest.who {
            Waiter::Data(request) if oldest.is_immediate => self.free_request(request, oldest.since, sink),
            Waiter::Data(request) => {
                self.counts.given_up += 1;
                self.forget(request, sink);
            }
            Waiter::Flush(bio) => {
                self.counts.given_up += 1;
                self.bios[bio].is_given_up = true;
                self.end_fragment(bio, 0, sink);
            }
        }
    }

    /// The fragment that a record before D is about: it starts there and, if there is a choice, has the same length
    /// and thread.
    fn pick_queued(&self, record: &Record) -> Option<u32> {
        let end = end_of(record);
        self.pick(record.sector, |request| {
            let rank = u8::from(request.end != end) * 2 + u8::from(request.life.pid != record.pid);
            (request.state == State::Queued).then_some(rank)
        })
    }

    /// The first flush bio in line without a station; one of the record's thread, if there is any.
    fn flush_bio(&self, record: &Record, is_wanted: impl Fn(&Bio) -> bool) -> Option<(usize, u32)> {
        let find = |is_of_any: bool| {
            let mut untold = self.devices[self.device].untold.iter().enumerate();
            untold.find_map(|(position, untold)| {
                let Waiter::Flush(bio) = untold.who else { return None };
                let life = &self.bios[bio].life;
                (is_wanted(life) && (is_of_any || life.pid == record.pid)).then_some((position, bio))
            })
        };
        find(false).or_else(|| find(true))
    }

    pub(super) fn get_request(&mut self, record: &Record) {
        let now = record.time_ns;
        if is_flush(record) {
            if let Some((position, bio)) = self.flush_bio(record, |life| life.got_request.is_none()) {
                self.bios[bio].life.got_request = Some(now);
                self.devices[self.device].untold[position].since = now;
                return;
            }
        } else if let Some(request) = self.pick_queued(record) {
            self.requests[request].state = State::Got;
            let fragment = &mut self.fragments[self.requests[request].first_fragment];
            fragment.category = record.category;
            self.bios[fragment.bio].life.got_request.get_or_insert(now);
            return;
        }
        self.counts.orphan_requests += 1;
    }

    pub(super) fn sleep(&mut self, record: &Record) {
        if let Some(request) = self.pick_queued(record) {
            let fragment = &self.fragments[self.requests[request].first_fragment];
            self.bios[fragment.bio].life.slept.get_or_insert(record.time_ns);
        }
    }

    pub(super) fn merge(&mut self, record: &Record) {
        let end = end_of(record);
        // a whole request can be merged too
        let is_whole = |request: &super::Request| {
            (matches!(request.state, State::Got | State::Inserted) && request.end == end).then_some(0)
        };
        let Some(request) = self.pick_queued(record).or_else(|| self.pick(record.sector, is_whole)) else {
            self.counts.orphan_merges += 1;
            return;
        };
        self.counts.merges += 1;
        self.requests[request].state = State::Merged;
        let bio = self.fragments[self.requests[request].first_fragment].bio;
        self.bios[bio].life.merged.get_or_insert(record.time_ns);
    }

    /// I names the request by its first fragment, and has the length of all.
    pub(super) fn insert(&mut self, record: &Record) {
        let now = record.time_ns;
        if is_flush(record) {
            if let Some((_, bio)) = self.flush_bio(record, |life| life.inserted.is_none()) {
                self.bios[bio].life.inserted = Some(now);
            }
            return;
        }
        let end = end_of(record);
        let found = self.pick(record.sector, |request| {
            let rank = match request.state {
                State::Got => 0,
                State::Merged => 2,
                State::Queued => 4,
                State::Requeued => 6,
                State::Inserted => 8,
                _ => return None,
            };
            (request.end <= end).then_some(rank + u8::from(request.end != end))
        });
        let Some(request) = found else {
            self.counts.orphan_inserts += 1;
            return;
        };
        if self.requests[request].state == State::Requeued {
            return;
        }
        self.requests[request].state = State::Inserted;
        let (bio, category) = {
            let fragment = &self.fragments[self.requests[request].first_fragment];
            (fragment.bio, fragment.category)
        };
        if category & category::FLUSH != 0 {
            self.end_preflush(bio, now);
            self.bios[bio].life.inserted = Some(now);
        } else {
            self.bios[bio].life.inserted.get_or_insert(now);
        }
    }

    pub(super) fn split<S: Sink>(&mut self, record: &Record, sink: &mut S) {
        let Some(cut) = record.split_sector() else { return };
        let found = self.places.pick(&self.requests, self.here(record.sector), true, |request| {
            let rank =
                u8::from(request.life.pid != record.pid) + 2 * u8::from(request.state != State::Queued);
            (request.is_waiting() && request.start < cut && cut < request.end).then_some(rank)
        });
        if let Some(request) = found.filter(|&request| self.cut(request, cut, sink)) {
            self.counts.splits += 1;
            self.requests[request].is_remainder = false;
        } else {
            self.counts.orphan_splits += 1;
        }
    }

    /// Cuts a request of one fragment in two; the second half waits for a request of its own.
    pub(super) fn cut<S: Sink>(&mut self, request: u32, cut: u64, sink: &mut S) -> bool {
        let Some(whole) = self.places_of_one_fragment(request) else { return false };
        let fragment = &mut self.fragments[whole];
        let (bio, end, category) = (fragment.bio, fragment.end, fragment.category);
        fragment.end = cut;
        self.requests[request].end = cut;
        let life = Command { pid: self.requests[request].life.pid, ..Command::default() };
        let open = &mut self.bios[bio];
        open.life.fragments += 1;
        open.to_complete += 1;
        open.to_end += 1;
        let rest = self.add_fragment(bio, (cut, end), category, life, sink);
        self.requests[rest].is_remainder = true;
        true
    }

    fn places_of_one_fragment(&self, request: u32) -> Option<u32> {
        let request = &self.requests[request];
        (request.first_fragment != NONE && request.first_fragment == request.last_fragment)
            .then_some(request.first_fragment)
    }

    /// The record is about the lower device; the payload says where the bio was queued.
    pub(super) fn remap<S: Sink>(&mut self, record: &Record, sink: &mut S) {
        self.counts.remaps += 1;
        let Some((number, sector)) = record.remapped_from() else { return };
        sink.remap(Remap {
            device: record.device,
            sector: record.sector,
            from_device: number,
            from_sector: sector,
            bytes: record.bytes,
            time_ns: record.time_ns,
        });
        let Some(&device) = self.device_places.get(&number) else { return };
        let place = Place { sector, device: device as u32 };
        let found = self.places.pick(&self.requests, place, false, |request| {
            let is_new = request.first_fragment != NONE
                && self.bios[self.fragments[request.first_fragment].bio].life.remapped.is_none();
            (request.is_waiting() && is_new).then_some(0)
        });
        if let Some(request) = found {
            let bio = self.fragments[self.requests[request].first_fragment].bio;
            self.bios[bio].life.remapped = Some(record.time_ns);
        }
    }
}
