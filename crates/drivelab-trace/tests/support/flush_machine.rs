//! The kernel's flush machine, as a story: one flush at a time serves all who wait when it begins.

#![allow(dead_code)]

use super::lives::{Dice, Story, Teller, WRITE};
use drivelab_trace::lifetime::{Bio, Command};
use drivelab_trace::record::{Action, category};

const WORKER: u32 = 9;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// It waits for a flush, then its data are sent.
    Preflush,
    /// It waits for a flush, then its submitter is told.
    Postflush,
}

struct Waiting {
    bio: Bio,
    step: Step,
    since: u64,
}

/// `count` bios of all kinds that need flushes, at a device of their own.
pub fn tell(seed: u64, count: u64, device: u32, has_fua: bool, story: &mut Story) {
    let mut teller = Teller { dice: Dice(seed), now: 1_000, device, pid: 70, story };
    let mut arrivals: Vec<Bio> = (0..count).map(|index| arrive(&mut teller, index)).collect();
    arrivals.reverse();
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut now = 0;
    loop {
        while arrivals.last().is_some_and(|bio| waiting.is_empty() || bio.got_request <= Some(now + 1)) {
            let bio = arrivals.pop().expect("just seen");
            now = now.max(bio.got_request.expect("all got one"));
            enter(&mut teller, bio, has_fua, &mut waiting);
            now = now.max(teller.now);
        }
        if waiting.is_empty() {
            return;
        }
        teller.now = now;
        flush(&mut teller, &mut waiting, has_fua);
        now = teller.now;
    }
}

fn arrive(teller: &mut Teller<'_>, index: u64) -> Bio {
    let (sector, category) = (100_000 * (index + 1), WRITE | category::META);
    let (sector, bytes, category) = match teller.dice.roll(0, 4) {
        0 => (0, 0, WRITE | category::FLUSH),
        1 => (sector, 4096, category | category::FUA),
        2 => (sector, 1536, category | category::FLUSH),
        _ => (sector, 8192, category | category::FLUSH | category::FUA),
    };
    teller.now += teller.dice.roll(1, 40_000);
    let mut bio = teller.queue(sector, bytes, category);
    bio.got_request = Some(teller.add(Action::GetRequest, sector, bytes, category));
    bio
}

fn enter(teller: &mut Teller<'_>, bio: Bio, has_fua: bool, waiting: &mut Vec<Waiting>) {
    let since = bio.got_request.expect("all got one");
    if bio.category & category::FLUSH == 0 {
        teller.now = since;
        return send(teller, bio, has_fua, waiting);
    }
    let step = if bio.bytes == 0 { Step::Postflush } else { Step::Preflush };
    waiting.push(Waiting { bio, step, since });
}

/// The data go to the device.
fn send(teller: &mut Teller<'_>, mut bio: Bio, has_fua: bool, waiting: &mut Vec<Waiting>) {
    let wants_fua = bio.category & category::FUA != 0;
    let dropped = category::FLUSH | if has_fua { 0 } else { category::FUA };
    let (sector, bytes, sent) = (bio.sector, bio.bytes, bio.category & !dropped);
    let goes_through_machine = bio.category & category::FLUSH != 0 || !has_fua;
    if goes_through_machine {
        bio.inserted = Some(teller.add(Action::Insert, sector, bytes, sent));
    }
    teller.pid = WORKER;
    let served = teller.serve(sector, bytes, sent);
    teller.pid = 70;
    served.tell(&mut bio, sector, sector + u64::from(bytes / 512));
    if wants_fua && !has_fua {
        return waiting.push(Waiting { bio, step: Step::Postflush, since: teller.now });
    }
    if goes_through_machine {
        bio.ended = Some(teller.add(Action::Complete, sector, 0, sent));
    }
    teller.story.lives.bios.push(bio);
}

fn flush(teller: &mut Teller<'_>, waiting: &mut Vec<Waiting>, has_fua: bool) {
    let category = category::READ | category::FLUSH;
    let began = teller.now;
    let (served, late): (Vec<_>, Vec<_>) = waiting.drain(..).partition(|one| one.since <= began + 1);
    *waiting = late;
    teller.pid = WORKER;
    let issued = teller.at(began + 1, Action::Issue, 0, 0, category);
    teller.now = issued + teller.dice.roll(1_000, 200_000);
    let is_of_events = teller.dice.is_true();
    let completed = teller.add(Action::Complete, if is_of_events { u64::MAX } else { 0 }, 0, category);
    teller.pid = 70;
    let (device, completed) = (teller.device, Some(completed));
    let command = Command { device, category, pid: WORKER, issued, completed, ..Command::default() };
    teller.story.lives.commands.push(command);
    let (told, sent): (Vec<_>, Vec<_>) = served.into_iter().partition(|one| one.step == Step::Postflush);
    for Waiting { mut bio, .. } in told {
        if bio.bytes == 0 {
            (bio.issued_first, bio.issued_last, bio.completed) = (Some(issued), Some(issued), completed);
        }
        bio.ended = Some(teller.add(Action::Complete, bio.sector, 0, bio.category & !category::FLUSH));
        teller.story.lives.bios.push(bio);
    }
    for Waiting { mut bio, .. } in sent {
        bio.preflushed = completed;
        send(teller, bio, has_fua, waiting);
    }
}
