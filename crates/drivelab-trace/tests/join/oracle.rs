//! The rules of the join as plainly as they can be written: everything is looked for in everything, and time
//! is walked from one moment at which something changes to the next.

use drivelab_trace::join::{
    Charge, Explained, Extent, Joined, Kind, Operation, Parts, Reason, Surroundings, Target, Work,
};
use drivelab_trace::lifetime::{Bio, Class, Command};
use drivelab_trace::record::category;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Thread(u32),
    Operation(usize),
    Kernel { is_read: bool },
}

type Going = (u64, Option<u64>, u8, Vec<Owner>);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Own(u32),
    Kernel,
    Foreign,
}

pub struct Oracle<'a> {
    pub operations: &'a [Operation],
    pub bios: &'a [Bio],
    pub commands: &'a [Command],
    pub around: &'a Surroundings,
}

fn is_open(operation: &Operation, time: u64) -> bool {
    operation.start_ns <= time && time < operation.end_ns
}

fn is_submitting(operation: &Operation, time: u64) -> bool {
    let is_known = operation.submitted_ns > operation.start_ns;
    is_open(operation, time) && (!is_known || time < operation.submitted_ns)
}

fn sectors(bytes: u32) -> u64 {
    u64::from(bytes).div_ceil(512)
}

fn meet(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

pub fn end_of(bio: &Bio) -> Option<u64> {
    bio.ended.or(bio.completed)
}

fn is_flush(command: &Command) -> bool {
    Class::of(command.category, command.bytes) == Class::Flush
}

impl Oracle<'_> {
    pub fn join(&self) -> Joined {
        let charged = self.charge_bios();
        let carried: Vec<Vec<usize>> = self.commands.iter().map(|command| self.carried(command)).collect();
        let commands: Vec<(Charge, Vec<Owner>)> =
            (0..self.commands.len()).map(|at| self.charge_command(at, &carried[at], &charged)).collect();
        let mut joined = Joined {
            operations: vec![Explained::default(); self.operations.len()],
            bios: charged.iter().map(|bio| bio.0).collect(),
            commands: commands.iter().map(|command| command.0).collect(),
            ..Joined::default()
        };
        for (at, operation) in self.operations.iter().enumerate() {
            joined.operations[at] = self.explain(at, operation, &charged, &commands, &carried);
        }
        for (bio, charge) in self.bios.iter().zip(joined.bios.clone()) {
            book(&mut joined, charge, &Work::of_bio(bio, self.is_journal(bio)));
        }
        for (at, command) in self.commands.iter().enumerate() {
            let is_journal = carried[at].iter().any(|&bio| self.is_journal(&self.bios[bio]));
            let charge = joined.commands[at];
            book(&mut joined, charge, &Work::of_command(command, is_journal));
        }
        joined
    }

    pub fn is_journal(&self, bio: &Bio) -> bool {
        let by_journal = self.around.names.get(&bio.pid).is_some_and(|name| name.starts_with("jbd2"));
        Class::of(bio.category & category::WRITE | bio.category & category::DISCARD, bio.bytes)
            == Class::Write
            && bio.bytes > 0
            && (by_journal || bio.category & category::META != 0)
    }

    pub fn who(&self, pid: u32) -> Who {
        let is_own = |pid: u32| {
            self.operations.iter().any(|operation| operation.thread == pid)
                || self.around.own_threads.contains(&pid)
        };
        let Some(name) = self.around.names.get(&pid) else {
            return if is_own(pid) { Who::Own(pid) } else { Who::Foreign };
        };
        let worker = name.strip_prefix("iou-wrk-").and_then(|thread| thread.parse().ok());
        match worker.filter(|&thread| is_own(thread)) {
            _ if is_own(pid) => Who::Own(pid),
            Some(thread) => Who::Own(thread),
            None if name.starts_with("jbd2") || name.starts_with("kworker") => Who::Kernel,
            None => Who::Foreign,
        }
    }

    /// Of these operations the one that began first.
    fn earliest(&self, is_wanted: impl Fn(usize, &Operation) -> bool) -> Option<usize> {
        let wanted = self.operations.iter().enumerate().filter(|(at, operation)| is_wanted(*at, operation));
        wanted.min_by_key(|(at, operation)| (operation.start_ns, *at)).map(|found| found.0)
    }

    fn kernel(&self, time: u64, is_read: bool) -> (Charge, Vec<Owner>) {
        let waits =
            self.earliest(|_, operation| is_open(operation, time) && self.waits_for(operation, is_read));
        (waits.ok_or(Reason::Background), vec![Owner::Kernel { is_read }])
    }

    fn synchronous(&self, thread: u32, time: u64) -> Option<usize> {
        let open = self.operations.iter().enumerate().filter(|(_, operation)| {
            operation.is_synchronous && operation.thread == thread && is_open(operation, time)
        });
        open.max_by_key(|(at, operation)| (operation.start_ns, *at)).map(|found| found.0)
    }

    fn charge_bios(&self) -> Vec<(Charge, Vec<Owner>)> {
        let demand = |operation: &Operation| match operation.kind {
            Kind::Read => [operation.size, 0, 0, 0],
            Kind::Write => [0, operation.size, 0, 0],
            Kind::Trim => [0, 0, operation.size, 0],
            Kind::Sync => [0, 0, 0, 1],
            Kind::DurableWrite => [0, operation.size, 0, 1],
        };
        let mut lacks: Vec<[u64; 4]> = self.operations.iter().map(demand).collect();
        let mut order: Vec<usize> = (0..self.bios.len()).collect();
        order.sort_by_key(|&at| (self.bios[at].queued, at));
        let mut charged = vec![(Err(Reason::Foreign), vec![]); self.bios.len()];
        for at in order {
            charged[at] = self.charge_bio(&self.bios[at], &mut lacks);
        }
        charged
    }

    fn charge_bio(&self, bio: &Bio, lacks: &mut [[u64; 4]]) -> (Charge, Vec<Owner>) {
        let time = bio.queued;
        let thread = match self.who(bio.pid) {
            Who::Foreign => return (Err(Reason::Foreign), vec![]),
            Who::Kernel if self.is_elsewhere(bio) => return (Err(Reason::Background), vec![]),
            Who::Kernel => return self.kernel(time, Class::of(bio.category, bio.bytes) == Class::Read),
            Who::Own(thread) => thread,
        };
        let with_journal = |owner: Owner| {
            let journal = self.is_journal(bio).then_some(Owner::Kernel { is_read: false });
            std::iter::once(owner).chain(journal).collect::<Vec<_>>()
        };
        if let Some(at) = self.synchronous(thread, time) {
            return (Ok(at), with_journal(Owner::Thread(thread)));
        }
        let has = |bits: u32| bio.category & bits != 0;
        let direction = match bio.bytes {
            0 => 3,
            _ if has(category::DISCARD) => 2,
            _ => usize::from(has(category::WRITE)),
        };
        let flies = |operation: &Operation| {
            !operation.is_synchronous && operation.thread == thread && is_open(operation, time)
        };
        let by_address =
            self.operations.iter().any(|operation| flies(operation) && !self.bytes(operation).is_empty());
        let of_data = direction != 3 && !has(category::META);
        let start = bio.sector * 512;
        let touches = |operation: &Operation| {
            self.bytes(operation).iter().any(|&bytes| meet(bytes, (start, start + u64::from(bio.bytes))))
        };
        let lacking = |at: usize| lacks[at][direction] > 0;
        let submitting = |operation: &Operation| flies(operation) && is_submitting(operation, time);
        let chosen = if of_data && by_address {
            self.earliest(|at, operation| flies(operation) && touches(operation) && lacking(at))
                .or_else(|| self.earliest(|_, operation| flies(operation) && touches(operation)))
        } else if of_data || direction == 3 {
            self.earliest(|at, operation| submitting(operation) && lacking(at))
                .or_else(|| self.earliest(|at, operation| flies(operation) && lacking(at)))
        } else {
            None
        };
        let chosen = chosen
            .or_else(|| self.earliest(|_, operation| submitting(operation)))
            .or_else(|| self.earliest(|_, operation| flies(operation)));
        let Some(at) = chosen else { return (Err(Reason::Outside), with_journal(Owner::Thread(thread))) };
        lacks[at][direction] = lacks[at][direction].saturating_sub(u64::from(bio.bytes).max(1));
        (Ok(at), with_journal(Owner::Operation(at)))
    }

    /// Plain data outside of all that the program's jobs have on this device; only where that is known.
    fn is_elsewhere(&self, bio: &Bio) -> bool {
        let is_plain = bio.category & (category::META | category::FLUSH | category::FUA) == 0;
        let by_journal = self.around.names.get(&bio.pid).is_some_and(|name| name.starts_with("jbd2"));
        let bytes = (bio.sector * 512, bio.sector * 512 + u64::from(bio.bytes));
        let is_in = |place: &Extent| meet((place.device_offset, place.device_offset + place.length), bytes);
        let is_apart = |target: &Target| !target.extents.is_empty() && !target.extents.iter().any(is_in);
        let mut jobs = self.operations.iter().map(|operation| self.around.targets.get(&operation.job));
        let writes = bio.bytes > 0 && bio.category & (category::WRITE | category::DISCARD) != 0;
        writes && is_plain && !by_journal && jobs.all(|target| target.is_some_and(is_apart))
    }

    /// Where an operation lies on the device.
    fn bytes(&self, operation: &Operation) -> Vec<(u64, u64)> {
        let Some(target) = self.around.targets.get(&operation.job) else { return vec![] };
        let pieces = target.extents.iter().map(|extent| {
            let from = operation.offset.max(extent.offset);
            let until = (operation.offset + operation.size).min(extent.offset + extent.length).max(from);
            (extent.device_offset + from - extent.offset, extent.device_offset + until - extent.offset)
        });
        pieces.filter(|piece| piece.0 < piece.1).collect()
    }

    fn carried(&self, command: &Command) -> Vec<usize> {
        let mut bios: Vec<usize> = (0..self.bios.len())
            .filter(|&at| {
                let bio = &self.bios[at];
                let is_in = if is_flush(command) { asked(bio, command) } else { carries(bio, command) };
                bio.device == command.device && is_in
            })
            .collect();
        bios.sort_by_key(|&at| (self.bios[at].queued, at));
        bios
    }

    fn charge_command(
        &self,
        at: usize,
        carried: &[usize],
        charged: &[(Charge, Vec<Owner>)],
    ) -> (Charge, Vec<Owner>) {
        let command = &self.commands[at];
        if carried.is_empty() {
            let is_read = Class::of(command.category, command.bytes) == Class::Read;
            return match self.who(command.pid) {
                Who::Foreign => (Err(Reason::Foreign), vec![]),
                Who::Kernel => self.kernel(command.issued, is_read),
                Who::Own(thread) => (
                    self.synchronous(thread, command.issued).ok_or(Reason::Outside),
                    vec![Owner::Thread(thread)],
                ),
            };
        }
        let bios: Vec<(Charge, Vec<Owner>)> = carried.iter().map(|&bio| charged[bio].clone()).collect();
        let own = bios.iter().find(|bio| bio.0.is_ok() && !matches!(bio.1[0], Owner::Kernel { .. }));
        let first = own.or_else(|| bios.iter().find(|bio| bio.0.is_ok())).unwrap_or(&bios[0]);
        (first.0, bios.iter().flat_map(|bio| bio.1.clone()).collect())
    }

    fn explain(
        &self,
        at: usize,
        operation: &Operation,
        charged: &[(Charge, Vec<Owner>)],
        commands: &[(Charge, Vec<Owner>)],
        carried: &[Vec<usize>],
    ) -> Explained {
        let counts = |owner: &Owner| match owner {
            Owner::Thread(thread) => operation.is_synchronous && operation.thread == *thread,
            Owner::Operation(place) => *place == at,
            Owner::Kernel { is_read } => self.waits_for(operation, *is_read),
        };
        let shares = |owner: &Owner, time: u64| match owner {
            Owner::Kernel { is_read } => self.operations.iter().enumerate().any(|(other, candidate)| {
                other != at && is_open(candidate, time) && self.waits_for(candidate, *is_read)
            }),
            _ => false,
        };
        let mut goings = self.goings(charged, commands, carried);
        goings.retain(|going| going.3.iter().any(counts));
        let mut explained = Explained {
            is_partial: self.around.lost_events > 0
                || goings.iter().any(|(start, end, level, _)| {
                    end.is_none() && *start < operation.end_ns && (*level != 1)
                }),
            ..Explained::default()
        };
        let mut moments: Vec<u64> = goings.iter().flat_map(|going| [going.0, going.1.unwrap_or(0)]).collect();
        moments.extend(self.operations.iter().flat_map(|other| [other.start_ns, other.end_ns]));
        moments.retain(|&moment| operation.start_ns <= moment && moment <= operation.end_ns);
        moments.sort_unstable();
        let mut walked: Vec<(u64, u8)> = Vec::new();
        for step in moments.windows(2).filter(|step| step[0] < step[1]) {
            let now =
                goings.iter().filter(|going| going.0 <= step[0] && going.1.is_none_or(|end| step[0] < end));
            let mut level = 9;
            for (_, _, going, owners) in now {
                level = if level == 9 { *going } else { level.max(*going) };
                explained.is_shared |= owners.iter().any(|owner| counts(owner) && shares(owner, step[0]));
            }
            walked.push((step[1] - step[0], level));
        }
        let of = |bios: &Vec<usize>| -> Vec<usize> {
            bios.iter().filter_map(|&bio| charged[bio].0.ok()).collect()
        };
        explained.is_shared |= carried
            .iter()
            .map(of)
            .any(|owners| owners.contains(&at) && owners.iter().any(|&other| other != at));
        explained.parts = parts(&walked);
        explained
    }

    /// All that goes on: start, end when it is known, level, owners.
    fn goings(
        &self,
        charged: &[(Charge, Vec<Owner>)],
        commands: &[(Charge, Vec<Owner>)],
        carried: &[Vec<usize>],
    ) -> Vec<Going> {
        let mut goings: Vec<Going> = Vec::new();
        for (bio, (_, owners)) in self.bios.iter().zip(charged) {
            let place = goings.len() / 2;
            let serving = (0..self.commands.len()).filter(|&command| carried[command].contains(&place));
            let serving =
                serving.map(|command| self.commands[command].issued).min().filter(|_| bio.bytes == 0);
            let issue = bio.issued_last.or(bio.issued_first).or(serving);
            let (end, was_request) = (end_of(bio), bio.got_request.or(bio.merged).is_some());
            let at_once = issue.is_none() && !was_request && end.is_some();
            let until = match (issue, end) {
                (Some(issue), Some(end)) => Some(issue.min(end)),
                (issue, end) => issue.or(end),
            };
            goings.push((bio.queued, end, 0, owners.clone()));
            let at_device = 2 + u8::from(bio.bytes == 0);
            goings.push((bio.queued, until, if at_once { at_device } else { 1 }, owners.clone()));
        }
        for (command, (_, owners)) in self.commands.iter().zip(commands) {
            goings.push((
                command.issued,
                command.completed,
                if is_flush(command) { 3 } else { 2 },
                owners.clone(),
            ));
        }
        goings
    }
}

fn carries(bio: &Bio, command: &Command) -> bool {
    const DIRECTION: u32 = category::WRITE | category::DISCARD;
    let Some(first) = bio.issued_first.filter(|_| bio.bytes > 0) else { return false };
    first <= command.issued
        && command.issued <= bio.issued_last.unwrap_or(first).max(first)
        && bio.category & DIRECTION == command.category & DIRECTION
        && meet(
            (bio.sector, bio.sector + sectors(bio.bytes)),
            (command.sector, command.sector + sectors(command.bytes)),
        )
}

fn asked(bio: &Bio, flush: &Command) -> bool {
    let has = |bits: u32| bio.category & bits != 0;
    let infinite = |moment: Option<u64>| moment.unwrap_or(u64::MAX);
    let was_open = bio.queued <= flush.issued && infinite(end_of(bio)) >= infinite(flush.completed);
    if bio.bytes == 0 {
        let is_its_own = bio.issued_first.is_none() || bio.issued_first == Some(flush.issued);
        return has(category::FLUSH) && was_open && is_its_own;
    }
    let before = match bio.preflushed {
        Some(moment) => flush.completed == Some(moment),
        None => infinite(bio.issued_first) >= infinite(flush.completed),
    };
    was_open
        && (has(category::FLUSH) && before || has(category::FUA) && infinite(bio.completed) <= flush.issued)
}

/// Steps of a window with their levels (9: nothing goes on) as parts.
fn parts(walked: &[(u64, u8)]) -> Parts {
    let first = walked.iter().position(|step| step.1 != 9).unwrap_or(walked.len());
    let last = walked.iter().rposition(|step| step.1 != 9).unwrap_or(walked.len());
    let mut parts = Parts::default();
    for (at, &(length, level)) in walked.iter().enumerate() {
        *match level {
            3 => &mut parts.flush_ns,
            2 => &mut parts.device_ns,
            1 => &mut parts.queue_ns,
            _ if at < first => &mut parts.fs_in_ns,
            _ if at > last => &mut parts.return_ns,
            _ => &mut parts.between_ns,
        } += length;
    }
    parts
}

fn book(joined: &mut Joined, charge: Charge, work: &Work) {
    match charge {
        Ok(at) => joined.operations[at].work += work,
        Err(_) => joined.unmatched += work,
    }
}
