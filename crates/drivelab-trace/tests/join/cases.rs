//! One rule each, with numbers that can be checked by hand.

use std::collections::HashMap;

use drivelab_trace::join::{Extent, Joined, Kind, Operation, Parts, Reason, Surroundings, Target, join};
use drivelab_trace::lifetime::{Bio, Command};
use drivelab_trace::record::category::{DISCARD, FLUSH, FUA, META, READ, WRITE};

const JOB: u32 = 100;
const OTHER_JOB: u32 = 101;
const JOURNAL: u32 = 200;
const WORKER: u32 = 201;
const RING_WORKER: u32 = 202;
const STRANGER: u32 = 300;

fn around() -> Surroundings {
    let names = [
        (JOB, "drivelab-job-0"),
        (OTHER_JOB, "drivelab-job-1"),
        (JOURNAL, "jbd2/sda1-8"),
        (WORKER, "kworker/0:1H"),
        (RING_WORKER, "iou-wrk-100"),
        (STRANGER, "postgres"),
    ];
    let names = names.into_iter().map(|(pid, name)| (pid, name.to_owned())).collect();
    Surroundings { names, ..Surroundings::default() }
}

fn durable_write(thread: u32, start_ns: u64, end_ns: u64) -> Operation {
    Operation {
        job: thread - JOB,
        thread,
        kind: Kind::DurableWrite,
        start_ns,
        submitted_ns: end_ns,
        end_ns,
        offset: 0,
        size: 4096,
        is_synchronous: true,
        is_durable: false,
        has_slept: None,
    }
}

fn read(thread: u32, start_ns: u64, end_ns: u64) -> Operation {
    Operation { kind: Kind::Read, ..durable_write(thread, start_ns, end_ns) }
}

/// Q, D and C of a bio of one page; its command has the same.
fn bio(pid: u32, sector: u64, category: u32, (queued, issued, completed): (u64, u64, u64)) -> Bio {
    Bio {
        sector,
        bytes: 4096,
        category,
        pid,
        queued,
        got_request: Some(queued),
        issued_first: Some(issued),
        issued_last: Some(issued),
        completed: Some(completed),
        ended: Some(completed),
        fragments: 1,
        ..Bio::default()
    }
}

fn empty_flush(pid: u32, (queued, issued, completed): (u64, u64, u64)) -> Bio {
    Bio { bytes: 0, ..bio(pid, 0, WRITE | FLUSH, (queued, issued, completed)) }
}

fn command_of(bio: &Bio) -> Command {
    let is_flush = bio.bytes == 0;
    Command {
        sector: bio.sector,
        bytes: bio.bytes,
        category: if is_flush { READ | FLUSH } else { bio.category & !(FLUSH | FUA) },
        pid: if is_flush { WORKER } else { bio.pid },
        issued: bio.issued_first.unwrap(),
        completed: bio.completed,
        ..Command::default()
    }
}

/// With a command for each bio that was issued.
fn joined(operations: &[Operation], bios: &[Bio], around: &Surroundings) -> Joined {
    let commands: Vec<Command> =
        bios.iter().filter(|bio| bio.issued_first.is_some()).map(command_of).collect();
    join(operations, bios, &commands, around)
}

fn six(parts: &Parts) -> [u64; 6] {
    [parts.fs_in_ns, parts.queue_ns, parts.device_ns, parts.flush_ns, parts.between_ns, parts.return_ns]
}

#[test]
fn a_durable_write_is_taken_apart_instant_by_instant() {
    let bios = [bio(JOB, 8, WRITE, (10, 15, 40)), empty_flush(JOB, (50, 52, 90))];
    let joined = joined(&[durable_write(JOB, 0, 100)], &bios, &around());
    assert_eq!(six(&joined.operations[0].parts), [10, 5 + 2, 25, 38, 10, 10]);
    let work = &joined.operations[0].work;
    assert_eq!((work.device_writes, work.flushes, work.bios, work.bytes_written), (1, 1, 2, 4096));
}

#[test]
fn an_operation_that_needs_no_bio_never_leaves_the_file_system() {
    let joined = joined(&[read(JOB, 5, 8)], &[], &around());
    assert_eq!(six(&joined.operations[0].parts), [3, 0, 0, 0, 0, 0]);
}

#[test]
fn a_commit_that_two_wait_for_takes_the_time_of_both_and_is_counted_once() {
    let operations = [durable_write(OTHER_JOB, 10, 90), durable_write(JOB, 0, 80)];
    let bios = [bio(JOURNAL, 8, WRITE | META, (20, 30, 70))];
    let joined = joined(&operations, &bios, &around());
    assert_eq!(six(&joined.operations[0].parts), [10, 10, 40, 0, 0, 20]);
    assert_eq!(six(&joined.operations[1].parts), [20, 10, 40, 0, 0, 10]);
    assert!(joined.operations.iter().all(|operation| operation.is_shared));
    assert_eq!(joined.bios, [Ok(1)], "the one that began first");
    assert_eq!((joined.operations[0].work.bios, joined.operations[1].work.journal_writes), (0, 1));
}

#[test]
fn a_log_that_one_thread_writes_takes_the_time_of_the_other_that_waits() {
    let operations = [durable_write(JOB, 0, 100), durable_write(OTHER_JOB, 10, 90), read(OTHER_JOB, 90, 99)];
    let bios = [bio(JOB, 8, WRITE | META, (20, 30, 70)), bio(JOB, 16, WRITE, (75, 80, 95))];
    let joined = joined(&operations, &bios, &around());
    assert_eq!(six(&joined.operations[1].parts), [10, 10, 40, 0, 0, 20]);
    assert_eq!(six(&joined.operations[2].parts), [9, 0, 0, 0, 0, 0], "its data are its own");
    assert_eq!((joined.operations[0].work.journal_writes, joined.operations[1].work.journal_writes), (1, 0));
    let shared: Vec<bool> = joined.operations.iter().map(|operation| operation.is_shared).collect();
    assert_eq!(shared, [true, true, false]);
}

#[test]
fn a_commit_across_two_operations_is_the_work_of_the_first_and_time_of_both() {
    let operations = [durable_write(JOB, 0, 50), durable_write(JOB, 50, 100)];
    let bios = [bio(JOURNAL, 8, WRITE | META, (30, 40, 60))];
    let joined = joined(&operations, &bios, &around());
    assert_eq!(six(&joined.operations[0].parts), [30, 10, 10, 0, 0, 0]);
    assert_eq!(six(&joined.operations[1].parts), [0, 0, 10, 0, 0, 40]);
    assert_eq!(joined.commands, [Ok(0)]);
    assert!(!joined.operations[1].is_shared, "they did not wait at the same time");
}

#[test]
fn a_flush_with_a_commit_block_goes_before_and_after_its_data() {
    let commit = Bio {
        preflushed: Some(40),
        ended: Some(95),
        ..bio(JOURNAL, 8, WRITE | META | FUA | FLUSH, (10, 50, 60))
    };
    let flush = |issued, completed| Command {
        category: READ | FLUSH,
        pid: WORKER,
        issued,
        completed: Some(completed),
        ..Command::default()
    };
    let commands = [flush(20, 40), command_of(&commit), flush(65, 90)];
    let joined = join(&[durable_write(JOB, 0, 100)], &[commit], &commands, &around());
    assert_eq!(six(&joined.operations[0].parts), [10, 10 + 10, 10, 20 + 25, 5 + 5, 5]);
    let work = &joined.operations[0].work;
    assert_eq!((work.flushes, work.fua_writes, work.preflush_writes, work.journal_writes), (2, 1, 1, 1));
}

#[test]
fn behind_another_program_an_operation_waits_and_is_charged_nothing_of_it() {
    let bios = [empty_flush(STRANGER, (0, 5, 60)), bio(JOB, 8, WRITE, (10, 62, 70))];
    let joined = joined(&[durable_write(JOB, 0, 80)], &bios, &around());
    assert_eq!(six(&joined.operations[0].parts), [10, 52, 8, 0, 0, 10]);
    assert_eq!(joined.bios, [Err(Reason::Foreign), Ok(0)]);
    assert_eq!(joined.commands[0], Err(Reason::Foreign), "though a worker of the kernel issued it");
    assert_eq!((joined.unmatched.flushes, joined.operations[0].work.flushes), (1, 0));
}

#[test]
fn a_read_does_not_wait_for_the_journal_but_for_the_kernels_reads() {
    let bios = [bio(JOURNAL, 8, WRITE | META, (10, 20, 60)), bio(WORKER, 16, READ, (30, 40, 50))];
    let joined = joined(&[read(JOB, 0, 100)], &bios, &around());
    assert_eq!(six(&joined.operations[0].parts), [30, 10, 10, 0, 0, 50]);
    assert_eq!(joined.bios, [Err(Reason::Background), Ok(0)]);
}

fn buffered_write(has_slept: Option<bool>, end_ns: u64) -> Operation {
    Operation { kind: Kind::Write, has_slept, ..durable_write(JOB, 0, end_ns) }
}

#[test]
fn a_call_that_slept_waited_for_the_commit_beside_it_and_one_that_did_not_waited_for_nothing() {
    let commit = [bio(JOURNAL, 8, WRITE | META, (20, 30, 70))];
    let slept = joined(&[buffered_write(Some(true), 100)], &commit, &around());
    assert_eq!(six(&slept.operations[0].parts), [20, 10, 40, 0, 0, 30]);
    assert_eq!((slept.bios[0], slept.operations[0].work.journal_writes), (Ok(0), 1));
    let awake = joined(&[buffered_write(Some(false), 100)], &commit, &around());
    assert_eq!(six(&awake.operations[0].parts), [100, 0, 0, 0, 0, 0]);
    assert_eq!((awake.bios[0], awake.operations[0].work.bios), (Err(Reason::Background), 0));
    let data = [bio(WORKER, 8, READ, (20, 30, 70))];
    let cached = Operation { has_slept: Some(false), ..read(JOB, 0, 100) };
    assert_eq!(six(&joined(&[cached], &data, &around()).operations[0].parts), [100, 0, 0, 0, 0, 0]);
    let sync = Operation { kind: Kind::Sync, ..buffered_write(Some(false), 100) };
    assert_eq!(six(&joined(&[sync], &commit, &around()).operations[0].parts), [20, 10, 40, 0, 0, 30]);
}

#[test]
fn a_commit_is_the_work_of_who_slept_also_where_another_began_before_and_did_not() {
    let awake = Operation { thread: OTHER_JOB, ..buffered_write(Some(false), 100) };
    let slept = Operation { start_ns: 10, ..buffered_write(Some(true), 90) };
    let joined = joined(&[awake, slept], &[bio(JOURNAL, 8, WRITE | META, (20, 30, 70))], &around());
    assert_eq!((joined.bios[0], joined.commands[0]), (Ok(1), Ok(1)));
    assert!(joined.operations.iter().all(|operation| !operation.is_shared));
}

#[test]
fn where_nobody_knows_who_slept_a_call_waited_for_what_ended_shortly_before_it_did() {
    let software_ns = |end_ns: u64, commit: (u64, u64, u64)| {
        let commit = [bio(JOURNAL, 8, WRITE | META, commit)];
        let joined = joined(&[buffered_write(None, end_ns)], &commit, &around());
        let parts = &joined.operations[0].parts;
        assert_eq!(joined.bios[0].is_ok(), parts.queue_ns > 0);
        parts.fs_in_ns + parts.between_ns + parts.return_ns
    };
    assert_eq!(software_ns(100, (20, 30, 70)), 50);
    assert_eq!(software_ns(100, (20, 30, 160)), 100, "it went on through the end");
    assert_eq!(software_ns(100, (20, 30, 40)), 100, "most of its time came after it");
    assert_eq!(software_ns(1_000_000, (20, 30, 950_000)), 50_020);
    assert_eq!(software_ns(1_000_000, (20, 30, 850_000)), 1_000_000, "it would have gone on at once");
    let own = [bio(JOB, 16, WRITE, (5, 6, 10)), bio(JOURNAL, 8, WRITE | META, (20, 30, 160))];
    let joined = joined(&[buffered_write(None, 100)], &own, &around());
    assert_eq!(six(&joined.operations[0].parts), [5, 1 + 10, 4 + 70, 0, 10, 0]);
}

#[test]
fn between_the_pieces_of_a_split_bio_the_rest_is_queued() {
    let whole = Bio {
        bytes: 8192,
        issued_last: Some(40),
        completed: Some(60),
        ended: Some(60),
        ..bio(JOB, 0, READ, (10, 15, 60))
    };
    let piece = |sector, issued, completed| Command {
        sector,
        bytes: 4096,
        category: READ,
        issued,
        completed: Some(completed),
        ..Command::default()
    };
    let joined = join(&[read(JOB, 0, 70)], &[whole], &[piece(0, 15, 30), piece(8, 40, 60)], &around());
    assert_eq!(six(&joined.operations[0].parts), [10, 5 + 10, 15 + 20, 0, 0, 10]);
    assert_eq!(joined.operations[0].work.device_reads, 2);
}

#[test]
fn a_driver_without_requests_has_no_queue() {
    let ram_disk =
        Bio { got_request: None, issued_first: None, issued_last: None, ..bio(JOB, 8, READ, (10, 0, 40)) };
    let joined = joined(&[read(JOB, 0, 50)], &[ram_disk], &around());
    assert_eq!(six(&joined.operations[0].parts), [10, 0, 30, 0, 0, 10]);
}

#[test]
fn a_worker_of_io_uring_works_for_the_thread_that_submitted() {
    let operation = Operation { is_synchronous: false, submitted_ns: 5, ..durable_write(JOB, 0, 100) };
    let bios = [bio(RING_WORKER, 8, WRITE, (20, 25, 40)), empty_flush(RING_WORKER, (50, 55, 90))];
    let joined = joined(&[operation], &bios, &around());
    assert_eq!(six(&joined.operations[0].parts), [20, 10, 15, 35, 10, 10]);
}

fn two_in_flight(kind: Kind) -> [Operation; 2] {
    let first = Operation { kind, is_synchronous: false, submitted_ns: 10, ..durable_write(JOB, 0, 60) };
    [first.clone(), Operation { start_ns: 2, end_ns: 90, offset: 1 << 20, ..first }]
}

#[test]
fn of_several_in_flight_each_has_the_bio_at_its_address() {
    let extents = vec![Extent { offset: 0, device_offset: 512 * 2048, length: u64::MAX }];
    let targets = HashMap::from([(0, Target { device: 0, extents })]);
    let bios = [bio(JOB, 2048 + 2048, READ, (5, 6, 80)), bio(JOB, 2048, READ, (8, 9, 50))];
    let joined = joined(&two_in_flight(Kind::Read), &bios, &Surroundings { targets, ..around() });
    assert_eq!(joined.bios, [Ok(1), Ok(0)]);
    assert_eq!(six(&joined.operations[0].parts), [8, 1, 41, 0, 0, 10]);
    assert_eq!(six(&joined.operations[1].parts), [3, 1, 74, 0, 0, 10]);
}

#[test]
fn writeback_of_other_files_is_charged_to_nobody_where_the_programs_place_is_known() {
    let extents = vec![Extent { offset: 0, device_offset: 512 * 2048, length: 4096 }];
    let targets = HashMap::from([(0, Target { device: 0, extents })]);
    let bios = [
        bio(WORKER, 8, WRITE, (10, 15, 20)),
        bio(WORKER, 8, DISCARD, (10, 15, 20)),
        bio(WORKER, 2048, WRITE, (30, 35, 40)),
        bio(WORKER, 8, WRITE | META, (50, 55, 60)),
        // with its commit the journal writes the data of other files too, and the operation waits for these
        bio(JOURNAL, 8, WRITE, (70, 75, 80)),
    ];
    let operations = [durable_write(JOB, 0, 100)];
    let known = joined(&operations, &bios, &Surroundings { targets, ..around() });
    let nobodys = Err(Reason::Background);
    assert_eq!(known.bios, [nobodys, nobodys, Ok(0), Ok(0), Ok(0)]);
    assert_eq!(known.commands, known.bios);
    assert_eq!(six(&known.operations[0].parts), [30, 15, 15, 0, 20, 20]);
    assert_eq!(known.operations[0].work.bytes_written, 3 * 4096);
    assert_eq!(joined(&operations, &bios, &around()).bios, [Ok(0); 5]);
}

#[test]
fn without_addresses_they_come_in_the_order_of_their_submission() {
    let bios = [bio(JOB, 4096, READ, (5, 6, 50)), bio(JOB, 8, READ, (8, 9, 80))];
    let joined = joined(&two_in_flight(Kind::Read), &bios, &around());
    assert_eq!(joined.bios, [Ok(0), Ok(1)]);
}

#[test]
fn an_asynchronous_write_does_not_wait_for_the_kernel_unless_it_must_be_durable() {
    let commit = [bio(JOURNAL, 8, WRITE | META, (20, 30, 50))];
    let plain = joined(&two_in_flight(Kind::Write), &commit, &around());
    assert_eq!(plain.bios, [Err(Reason::Background)]);
    let durable = two_in_flight(Kind::Write).map(|operation| Operation { is_durable: true, ..operation });
    let durable = joined(&durable, &commit, &around());
    assert_eq!(six(&durable.operations[1].parts), [18, 10, 20, 0, 0, 40]);
    assert!(durable.operations[0].is_shared);
}

#[test]
fn what_is_not_known_to_its_end_makes_the_operations_after_it_partial() {
    let endless = Bio { completed: None, ended: None, ..bio(JOURNAL, 8, WRITE, (60, 65, 0)) };
    let operations = [durable_write(JOB, 0, 50), durable_write(JOB, 50, 100)];
    let partial = |around: &Surroundings| -> Vec<bool> {
        let joined = joined(&operations, std::slice::from_ref(&endless), around);
        joined.operations.iter().map(|operation| operation.is_partial).collect()
    };
    assert_eq!(partial(&around()), [false, true]);
    assert_eq!(partial(&Surroundings { lost_events: 1, ..around() }), [true, true]);
}

#[test]
fn a_thread_without_a_name_is_the_kernels_only_where_nobody_has_one() {
    let bios = [bio(999, 8, WRITE | META, (20, 30, 50))];
    let charge = |around: &Surroundings| {
        let joined = joined(&[durable_write(JOB, 0, 100)], &bios, around);
        (joined.bios[0], joined.unnamed)
    };
    assert_eq!(charge(&around()), (Err(Reason::Foreign), 1));
    assert_eq!(charge(&Surroundings::default()), (Ok(0), 1));
}

#[test]
fn what_the_programs_thread_does_between_operations_is_nobodys() {
    let bios = [bio(JOB, 8, READ, (60, 65, 70))];
    let joined = joined(&[read(JOB, 0, 50), read(JOB, 80, 90)], &bios, &around());
    assert_eq!(joined.bios, [Err(Reason::Outside)]);
    assert_eq!((joined.unmatched.bios, joined.unmatched.device_reads), (1, 1));
}
