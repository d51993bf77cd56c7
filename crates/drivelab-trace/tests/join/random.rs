//! Random operations, bios and commands: whatever comes, the sums are exact and the oracle agrees.

use std::collections::HashMap;

use drivelab_trace::join::{Extent, Joined, Kind, Operation, Surroundings, Target, Work, join};
use drivelab_trace::lifetime::{Bio, Command};
use drivelab_trace::record::category::{DISCARD, FLUSH, FUA, META, READ, WRITE};
use proptest::prelude::*;

use crate::oracle::Oracle;

/// Own threads, the kernel's, a worker of thread 1, another program's, and one that nobody has named.
const PIDS: [u32; 8] = [1, 2, 3, 10, 11, 21, 30, 40];

fn names() -> HashMap<u32, String> {
    let known =
        [(1, "drivelab-job-0"), (10, "jbd2/sda-8"), (11, "kworker/0:1H"), (21, "iou-wrk-1"), (30, "fio")];
    known.into_iter().map(|(pid, name)| (pid, name.to_owned())).collect()
}

prop_compose! {
    fn operation(is_async: bool)(
        thread in 1_u32..3, kind in 0_u8..5, start in 0_u64..150, length in 0_u64..60, submitted in 0_u64..20,
        offset in 0_u64..4, size in 1_u64..3, is_durable in prop::bool::weighted(0.1),
        has_slept in prop::option::of(prop::bool::ANY)
    ) -> Operation {
        Operation {
            job: thread - 1, thread, kind: Kind::of(kind).unwrap(), start_ns: start,
            submitted_ns: start + submitted.min(length), end_ns: start + length, offset: offset * 4096,
            size: size * 4096, is_synchronous: !is_async, is_durable, has_slept,
        }
    }
}

/// One after the other on each thread, as a program makes them.
fn synchronous() -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec((operation(false), 0_u64..6), 0..12).prop_map(|drawn| {
        let mut ready: HashMap<u32, u64> = HashMap::new();
        let in_a_row = |(operation, pause): (Operation, u64)| {
            let ready = ready.entry(operation.thread).or_default();
            let start_ns = *ready + pause;
            let end_ns = start_ns + (operation.end_ns - operation.start_ns);
            *ready = end_ns;
            Operation { start_ns, submitted_ns: end_ns, end_ns, ..operation }
        };
        drawn.into_iter().map(in_a_row).collect()
    })
}

prop_compose! {
    fn bio()(
        device in prop_oneof![9 => Just(7_u32), 1 => Just(8)], page in 0_u64..6, pages in 0_u32..3,
        category in prop::sample::select(vec![
            READ, WRITE, WRITE, WRITE | FUA, WRITE | FUA | FLUSH | META, WRITE | META, WRITE | DISCARD,
        ]),
        pid in prop::sample::select(PIDS.to_vec()), queued in 0_u64..200,
        gaps in prop::array::uniform4(0_u64..25), reached in 0_u8..12
    ) -> Bio {
        let issued = queued + gaps[0];
        let (last, completed) = (issued + if gaps[1] > 20 { gaps[1] } else { 0 }, issued + gaps[1] + gaps[2]);
        let had = |station: u8, moment: u64| (reached >= station).then_some(moment);
        Bio {
            device, sector: page * 8, bytes: pages * 4096,
            category: if pages == 0 { WRITE | FLUSH } else { category },
            pid, queued, got_request: had(1, queued),
            preflushed: had(5, issued), issued_first: had(2, issued).filter(|_| pages > 0 || reached > 9),
            issued_last: had(2, last).filter(|_| pages > 0 || reached > 9),
            completed: had(3, completed).filter(|_| pages > 0), ended: had(4, completed + gaps[3]),
            fragments: 1, ..Bio::default()
        }
    }
}

prop_compose! {
    fn stray()(
        page in 0_u64..6, pages in 0_u32..3, category in prop::sample::select(vec![READ, WRITE, WRITE | META]),
        pid in prop::sample::select(PIDS.to_vec()), issued in 0_u64..200,
        length in prop::option::weighted(0.9, 0_u64..40)
    ) -> Command {
        Command {
            device: 7, sector: page * 8, bytes: pages * 4096,
            category: if pages == 0 { READ | FLUSH } else { category },
            pid, issued, completed: length.map(|length| issued + length), requeues: 0, error: 0,
        }
    }
}

/// All on the device of the targets.
fn near_bios() -> impl Strategy<Value = Vec<Bio>> {
    let near = |bios: Vec<Bio>| bios.into_iter().map(|bio| Bio { device: 7, ..bio }).collect();
    prop::collection::vec(bio(), 0..14).prop_map(near)
}

/// Commands that carry most of these bios.
fn commands_of(bios: &[Bio]) -> Vec<Command> {
    let command = |bio: &Bio, issued: u64| Command {
        device: bio.device,
        sector: bio.sector,
        bytes: bio.bytes,
        category: if bio.bytes == 0 { READ | FLUSH } else { bio.category & !FUA & !FLUSH },
        pid: 11,
        issued,
        completed: bio.completed,
        requeues: 0,
        error: 0,
    };
    let of_data = bios.iter().filter_map(|bio| bio.issued_first.map(|issued| command(bio, issued)));
    let before =
        bios.iter().filter(|bio| bio.category & FLUSH != 0 && bio.bytes > 0).filter_map(|bio| bio.preflushed);
    let flush = |completed: u64| Command {
        device: 7,
        category: READ | FLUSH,
        pid: 11,
        issued: completed.saturating_sub(5),
        completed: Some(completed),
        ..Command::default()
    };
    of_data.chain(before.map(flush)).collect()
}

fn surroundings(is_addressed: bool, is_apart: bool, lost_events: u64) -> Surroundings {
    let extents = vec![
        Extent { offset: 0, device_offset: 8192, length: 8192 },
        Extent { offset: 8192, device_offset: 0, length: 8192 },
    ];
    let target = |device: u32| Target { device, extents: extents.clone() };
    let targets = match (is_addressed, is_apart) {
        (false, _) => HashMap::new(),
        // the second job's place is not known
        (true, false) => HashMap::from([(0, target(7))]),
        (true, true) => HashMap::from([(0, target(7)), (1, Target { device: 7, extents: vec![] })]),
    };
    Surroundings { names: names(), own_threads: vec![3], targets, lost_events, ..Surroundings::default() }
}

fn total(joined: &Joined) -> Work {
    let mut sum = joined.unmatched;
    joined.operations.iter().for_each(|operation| sum += &operation.work);
    sum
}

fn check(
    operations: &[Operation],
    bios: &[Bio],
    stray: &[Command],
    around: &Surroundings,
) -> Result<(), TestCaseError> {
    let commands: Vec<Command> = commands_of(bios).into_iter().chain(stray.iter().cloned()).collect();
    let joined = join(operations, bios, &commands, around);
    for (operation, explained) in operations.iter().zip(&joined.operations) {
        prop_assert_eq!(explained.parts.sum(), operation.end_ns - operation.start_ns);
    }
    let sum = total(&joined);
    prop_assert_eq!(sum.bios as usize, bios.len());
    let flushes = commands.iter().filter(|command| command.bytes == 0).count();
    prop_assert_eq!(sum.flushes as usize, flushes);
    let written = commands.iter().filter(|command| command.category & (WRITE | DISCARD) == WRITE);
    let was_no_request = |bio: &&Bio| {
        bio.got_request.is_none() && bio.issued_first.is_none() && bio.completed.or(bio.ended).is_some()
    };
    let taken = bios.iter().filter(was_no_request).filter(|bio| bio.category & (WRITE | DISCARD) == WRITE);
    let bytes = written.map(|command| command.bytes).chain(taken.map(|bio| bio.bytes));
    prop_assert_eq!(sum.bytes_written, bytes.map(u64::from).sum::<u64>());
    let expected = Oracle { operations, bios, commands: &commands, around }.join();
    prop_assert_eq!(&joined.bios, &expected.bios);
    prop_assert_eq!(&joined.commands, &expected.commands);
    prop_assert_eq!(&joined.operations, &expected.operations);
    prop_assert_eq!(joined.unmatched, expected.unmatched);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_synchronous_operations_every_nanosecond_and_every_command_is_charged_once(
        operations in synchronous(), bios in prop::collection::vec(bio(), 0..14),
        stray in prop::collection::vec(stray(), 0..4), lost in prop_oneof![9 => Just(0_u64), 1 => Just(3)]
    ) {
        // one pool: without targets, bios of both devices may be anybody's
        check(&operations, &bios, &stray, &surroundings(false, false, lost))?;
    }

    #[test]
    fn of_asynchronous_operations_too(
        operations in prop::collection::vec(operation(true), 0..12), bios in near_bios(),
        stray in prop::collection::vec(stray(), 0..4), is_addressed in any::<bool>()
    ) {
        check(&operations, &bios, &stray, &surroundings(is_addressed, false, 0))?;
    }

    #[test]
    fn of_mixed_operations_that_even_overlap_on_a_thread_too(
        mut operations in synchronous(), more in prop::collection::vec(operation(true), 0..6),
        strange in prop::collection::vec(operation(false), 0..3),
        bios in near_bios(), stray in prop::collection::vec(stray(), 0..3)
    ) {
        operations.extend(more);
        operations.extend(strange);
        check(&operations, &bios, &stray, &surroundings(true, false, 0))?;
    }

    #[test]
    fn with_a_device_for_every_job_what_happens_elsewhere_is_nobodys(
        operations in synchronous(), bios in prop::collection::vec(bio(), 0..14)
    ) {
        let around = surroundings(true, true, 0);
        let commands = commands_of(&bios);
        let joined = join(&operations, &bios, &commands, &around);
        let near: Vec<Bio> = bios.iter().filter(|bio| bio.device == 7).cloned().collect();
        let commands: Vec<Command> = commands.into_iter().filter(|command| command.device == 7).collect();
        let oracle = Oracle { operations: &operations, bios: &near, commands: &commands, around: &around };
        let expected = oracle.join();
        if operations.is_empty() { return Ok(()); }
        prop_assert_eq!(&joined.operations, &expected.operations);
        let elsewhere = bios.iter().zip(&joined.bios).filter(|(bio, _)| bio.device != 7);
        for (_, charge) in elsewhere {
            prop_assert_eq!(charge, &Err(drivelab_trace::join::Reason::OtherDevice));
        }
    }
}
