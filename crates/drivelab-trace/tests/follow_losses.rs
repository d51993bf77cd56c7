//! Where records are missing, what was lost stays alone: it takes nothing from the I/O that comes after it.

#[path = "support/lives.rs"]
mod lives;

use drivelab_trace::follow::{Counts, Follower};
use drivelab_trace::lifetime::Bio;
use drivelab_trace::record::{Action, Record, category};
use lives::{WRITE, followed, followed_by, record};

const FLUSH: u32 = category::READ | category::FLUSH;

/// Q G D C of one writer that waits for each write, always at one sector.
fn rewrite(number: u64) -> Vec<Record> {
    let begin = 1_000 * number;
    let one = |after, action| record(begin + after, action, 64, 4096, WRITE);
    vec![
        one(0, Action::Queue),
        one(10, Action::GetRequest),
        one(20, Action::Issue),
        one(100, Action::Complete),
    ]
}

/// Q G of a bio without data, D C of the device, C of the bio.
fn flush(number: u64) -> Vec<Record> {
    let begin = 1_000 * number;
    vec![
        record(begin, Action::Queue, 0, 0, WRITE | category::FLUSH),
        record(begin + 10, Action::GetRequest, 0, 0, WRITE | category::FLUSH),
        record(begin + 20, Action::Issue, 0, 0, FLUSH),
        record(begin + 200, Action::Complete, 0, 0, FLUSH),
        record(begin + 210, Action::Complete, 0, 0, WRITE),
    ]
}

fn bios_of(
    follower: Follower,
    records: &[Record],
    is_loss_before: impl Fn(usize) -> bool,
) -> (Vec<Bio>, Counts) {
    let (mut lives, counts) = followed_by(follower, records, is_loss_before);
    lives.bios.sort_by_key(|bio| bio.queued);
    (lives.bios, counts)
}

fn latencies(bios: &[Bio]) -> Vec<Option<u64>> {
    bios.iter().map(|bio| bio.ended.map(|ended| ended - bio.queued)).collect()
}

#[test]
fn a_lost_completion_is_not_taken_from_the_next_writes_when_the_loss_is_known() {
    let mut records: Vec<_> = (1..=6).flat_map(rewrite).collect();
    // the C of the second
    records.remove(7);
    let (bios, counts) = bios_of(Follower::new(), &records, |position| position == 7);
    let expected = [Some(100), None, Some(100), Some(100), Some(100), Some(100)];
    assert_eq!(latencies(&bios), expected);
    assert_eq!((counts.bios_open_at_end, counts.commands_open_at_end, counts.losses), (1, 1, 1));

    let (bios, _) = bios_of(Follower::of_lossy_trace(), &records, |_| false);
    assert_eq!(latencies(&bios), expected);
}

#[test]
fn a_gap_in_the_numbers_of_a_processor_is_a_known_loss() {
    let mut records: Vec<_> = (1..=6).flat_map(rewrite).collect();
    for (number, record) in records.iter_mut().enumerate() {
        record.sequence = number as u32 + 1;
    }
    records.remove(7);
    let (bios, counts) = bios_of(Follower::new(), &records, |_| false);
    assert_eq!(latencies(&bios), [Some(100), None, Some(100), Some(100), Some(100), Some(100)]);
    assert_eq!(counts.losses, 1);
}

#[test]
fn a_flush_whose_submitter_was_never_told_is_forgotten() {
    let mut records: Vec<_> = (1..=5).flat_map(flush).collect();
    // the C of the second bio; nothing else says that it is lost
    records.remove(9);
    let (bios, _) = bios_of(Follower::new(), &records, |_| false);
    assert_eq!(latencies(&bios), [Some(210), None, Some(210), Some(210), Some(210)]);
    let served: Vec<_> = bios.iter().map(|bio| bio.issued_first.map(|issued| issued - bio.queued)).collect();
    assert_eq!(served, [Some(20), None, Some(20), Some(20), Some(20)]);
}

#[test]
fn what_has_lost_its_end_long_ago_is_stale() {
    let mut records = rewrite(1);
    records.pop();
    records.push(record(3_000_000_000, Action::Queue, 8, 4096, WRITE));
    let (bios, counts) = bios_of(Follower::new(), &records, |_| false);
    assert_eq!((bios.len(), counts.bios_open_at_end, counts.bios_stale), (2, 2, 1));
    assert_eq!((counts.commands_open_at_end, counts.commands_stale), (1, 1));
}

#[test]
fn the_beginning_of_a_trace_may_cut_through_ios() {
    // only the C, then D and C, then G D C, of writes that began before
    let records: Vec<_> = [&rewrite(1)[3..], &rewrite(2)[2..], &rewrite(3)[1..]].concat();
    let (lives, counts) = followed(&records);
    assert!(lives.bios.is_empty());
    let commands: Vec<_> = lives.commands.iter().map(|command| (command.issued, command.completed)).collect();
    assert_eq!(commands, [(2_020, Some(2_100)), (3_020, Some(3_100))]);
    assert_eq!((counts.orphan_completions, counts.orphan_issues, counts.orphan_requests), (1, 2, 1));
}

#[test]
fn what_was_merged_into_a_request_from_before_the_trace_ends_with_it() {
    let records = [
        record(10, Action::Queue, 72, 4096, WRITE),
        record(11, Action::BackMerge, 72, 4096, WRITE),
        record(20, Action::Queue, 80, 4096, WRITE),
        record(21, Action::BackMerge, 80, 4096, WRITE),
        record(30, Action::Issue, 64, 12288, WRITE),
        record(90, Action::Complete, 64, 12288, WRITE),
    ];
    let (bios, counts) = bios_of(Follower::new(), &records, |_| false);
    assert_eq!(latencies(&bios), [Some(80), Some(70)]);
    assert_eq!((counts.orphan_issues, counts.bios_open_at_end), (1, 0));
}

#[test]
fn a_lost_d_does_not_keep_a_bio_open() {
    let mut records = rewrite(1);
    records.remove(2);
    let (bios, _) = bios_of(Follower::new(), &records, |_| false);
    assert_eq!((latencies(&bios), bios[0].issued_first), (vec![Some(100)], None));
}

#[test]
fn thousands_that_never_end_at_one_sector_do_not_take_memory_for_ever() {
    let records: Vec<_> = (0..5_000).map(|time| record(time, Action::Queue, 64, 4096, WRITE)).collect();
    let (bios, counts) = bios_of(Follower::new(), &records, |_| false);
    assert_eq!((bios.len(), counts.given_up, counts.bios_open_at_end), (5_000, 3_976, 1_024));
    assert!(bios.iter().all(|bio| bio.ended.is_none()));
}
