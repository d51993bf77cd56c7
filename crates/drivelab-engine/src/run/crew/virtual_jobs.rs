//! The jobs of a simulated drive: one thread does all of them, always the one whose time is earliest.

use std::sync::mpsc::{Receiver, Sender};

use super::{Message, guarded};
use crate::backend::simulated::Simulated;
use crate::buffer::Buffers;
use crate::error::Result;
use crate::job::{Job, JobOutcome, JobParts};
use crate::simulated::SimulatedDrive;

/// A job and the moment it has come to.
struct Turn {
    now: u64,
    number: u32,
    job: Job<Simulated>,
}

/// Does all jobs from the common start until the last one has ended, and reports each.
pub(super) fn run_all(
    all: Vec<JobParts>,
    drive: &SimulatedDrive,
    gate: &Receiver<u64>,
    messages: &Sender<Message>,
) {
    let _entered = drive.time().enter();
    let buffers: Result<Vec<_>> = all.iter().map(|parts| Buffers::new(&parts.workload, parts.job)).collect();
    let buffers = match buffers {
        Ok(buffers) => buffers,
        Err(error) => return drop(messages.send(Message::Ready(Err(error)))),
    };
    for _ in &all {
        let _ = messages.send(Message::Ready(Ok(())));
    }
    let Ok(start) = gate.recv() else { return };
    let mut turns = Vec::new();
    for (mut parts, buffers) in all.into_iter().zip(buffers) {
        parts.start_ticks = start;
        let backend = Simulated::new(&parts.workload, drive);
        let number = parts.job;
        let mut job = Job::new(parts, backend, buffers);
        job.wait_for_start();
        turns.push(Turn { now: drive.time().now(), number, job });
    }
    let mut end = start;
    while let Some(next) = (0..turns.len()).min_by_key(|&place| (turns[place].now, turns[place].number)) {
        let turn = &mut turns[next];
        drive.time().set(turn.now);
        let stepped = turn.job.step();
        turn.now = drive.time().now();
        end = end.max(turn.now);
        if !matches!(stepped, Ok(true)) {
            let Turn { number, job, .. } = turns.swap_remove(next);
            let outcome = guarded(|| stepped.map(|_| job.finish()));
            let outcome = outcome.map(|outcome| JobOutcome { job: number, ..outcome });
            let _ = messages.send(Message::Done(number, Box::new(outcome)));
        }
    }
    drive.time().set(end);
}
