//! What kernels, old and new, do that the usual life of an I/O does not show.

#[path = "support/lives.rs"]
mod lives;

use drivelab_trace::record::{Action, Record, category};
use lives::{WRITE, followed, record};

fn split(time_ns: u64, sector: u64, bytes: u32, cut: u64) -> Record {
    Record { payload: cut.to_be_bytes().to_vec(), ..record(time_ns, Action::Split, sector, bytes, WRITE) }
}

#[test]
fn what_a_split_leaves_is_queued_again_by_kernels_4_3_to_4_11_and_is_no_other_bio() {
    let (lives, counts) = followed(&[
        record(1, Action::Queue, 0, 16384, WRITE),
        split(2, 0, 8192, 16),
        record(3, Action::GetRequest, 0, 8192, WRITE),
        record(4, Action::Queue, 16, 8192, WRITE),
        record(5, Action::GetRequest, 16, 8192, WRITE),
        record(6, Action::Issue, 0, 8192, WRITE),
        record(7, Action::Issue, 16, 8192, WRITE),
        record(8, Action::Complete, 16, 8192, WRITE),
        record(9, Action::Complete, 0, 8192, WRITE),
    ]);
    assert_eq!((lives.bios.len(), counts.bios_opened, counts.splits), (1, 1, 1));
    let bio = &lives.bios[0];
    assert_eq!(
        (bio.fragments, bio.issued_first, bio.issued_last, bio.completed),
        (2, Some(6), Some(7), Some(9))
    );
}

#[test]
fn a_barrier_of_kernels_before_2_6_37_is_completed_twice() {
    let (lives, counts) = followed(&[
        record(1, Action::Queue, 64, 4096, WRITE | category::FLUSH),
        record(2, Action::GetRequest, 64, 4096, WRITE | category::FLUSH),
        record(3, Action::Insert, 64, 4096, WRITE | category::FLUSH),
        record(4, Action::Issue, 64, 4096, WRITE | category::FLUSH),
        record(5, Action::Complete, 64, 4096, WRITE | category::FLUSH),
        record(9, Action::Complete, 64, 4096, WRITE | category::FLUSH),
    ]);
    assert_eq!((lives.bios[0].completed, lives.bios[0].ended), (Some(5), Some(9)));
    assert_eq!((lives.commands.len(), counts.orphan_completions), (1, 0));
}

#[test]
fn a_scsi_command_that_empties_the_cache_is_a_flush() {
    let cdb =
        |time, action| Record { payload: vec![0x35, 0], ..record(time, action, 0, 0, category::PASSTHROUGH) };
    let other = Record { payload: vec![0x12], ..record(30, Action::Issue, 0, 36, category::PASSTHROUGH) };
    let (lives, counts) = followed(&[cdb(10, Action::Issue), cdb(20, Action::Complete), other]);
    let seen: Vec<_> = lives.commands.iter().map(|command| (command.issued, command.completed)).collect();
    assert_eq!((seen, counts.passthrough), (vec![(10, Some(20))], 1));
}

#[test]
fn a_request_that_is_merged_into_another_goes_with_it() {
    let (lives, counts) = followed(&[
        record(1, Action::Queue, 0, 4096, WRITE),
        record(2, Action::GetRequest, 0, 4096, WRITE),
        record(3, Action::Queue, 16, 4096, WRITE),
        record(4, Action::GetRequest, 16, 4096, WRITE),
        record(5, Action::Queue, 8, 4096, WRITE),
        record(6, Action::BackMerge, 8, 4096, WRITE),
        record(7, Action::BackMerge, 16, 4096, WRITE),
        record(8, Action::Issue, 0, 12288, WRITE),
        record(9, Action::Complete, 0, 12288, WRITE),
    ]);
    assert!(lives.bios.iter().all(|bio| bio.issued_first == Some(8) && bio.ended == Some(9)));
    assert_eq!((lives.bios.len(), lives.commands.len(), counts.merges), (3, 1, 2));
}

#[test]
fn a_piece_that_is_issued_without_a_split_record_is_cut_there() {
    let (lives, counts) = followed(&[
        record(1, Action::Queue, 0, 16384, WRITE),
        record(2, Action::GetRequest, 0, 16384, WRITE),
        record(3, Action::Issue, 0, 8192, WRITE),
        record(4, Action::Issue, 16, 8192, WRITE),
        record(5, Action::Complete, 0, 8192, WRITE),
        record(8, Action::Complete, 16, 8192, WRITE),
    ]);
    assert_eq!((lives.bios[0].fragments, lives.bios[0].ended, counts.bios_closed), (2, Some(8), 1));
}

#[test]
fn without_a_scheduler_there_is_no_insert_and_with_fua_in_the_drive_no_second_end() {
    let fua = WRITE | category::FUA;
    let (lives, _) = followed(&[
        record(1, Action::Queue, 8, 4096, fua),
        record(2, Action::GetRequest, 8, 4096, fua),
        record(3, Action::Issue, 8, 4096, fua),
        record(9, Action::Complete, 8, 4096, fua),
    ]);
    let bio = &lives.bios[0];
    assert_eq!((bio.inserted, bio.completed, bio.ended), (None, Some(9), Some(9)));
}

#[test]
fn a_preflush_that_is_not_followed_by_a_second_end_does_not_leave_the_bio_open() {
    let queued = WRITE | category::FUA | category::FLUSH;
    let (lives, counts) = followed(&[
        record(1, Action::Queue, 8, 4096, queued),
        record(2, Action::GetRequest, 8, 4096, queued),
        record(3, Action::Issue, 0, 0, category::FLUSH),
        record(6, Action::Complete, u64::MAX, 0, category::FLUSH),
        record(7, Action::Issue, 8, 4096, WRITE | category::FUA),
        record(9, Action::Complete, 8, 4096, WRITE | category::FUA),
    ]);
    let bio = &lives.bios[0];
    assert_eq!((bio.preflushed, bio.issued_first, bio.ended), (Some(6), Some(7), Some(9)));
    assert_eq!((counts.bios_open_at_end, counts.bios_closed), (0, 1));
}

#[test]
fn a_put_back_flush_is_one_command() {
    let flush = |time, action| record(time, action, 0, 0, category::FLUSH);
    let (lives, _) = followed(&[
        flush(1, Action::Issue),
        flush(2, Action::Requeue),
        flush(5, Action::Issue),
        flush(9, Action::Complete),
    ]);
    let command = &lives.commands[0];
    assert_eq!(
        (lives.commands.len(), command.issued, command.completed, command.requeues),
        (1, 5, Some(9), 1)
    );
}
