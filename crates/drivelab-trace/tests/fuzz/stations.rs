//! What must be true of every life.

use drivelab_trace::follow::Collected;
use drivelab_trace::lifetime::{Bio, Class, Command, Moment};

fn in_order(what: &dyn std::fmt::Debug, moments: &[Moment]) {
    let known: Vec<u64> = moments.iter().filter_map(|moment| *moment).collect();
    assert!(known.is_sorted(), "{known:?} of {what:?}");
}

fn check_bio(bio: &Bio, is_in_order: bool) {
    assert_eq!(bio.issued_first.is_some(), bio.issued_last.is_some(), "{bio:?}");
    assert!(bio.fragments >= 1, "{bio:?}");
    assert!(bio.completed.is_some() || bio.ended.is_none() || bio.bytes == 0, "{bio:?}");
    if !is_in_order {
        return;
    }
    let queued = Some(bio.queued);
    in_order(bio, &[queued, bio.issued_first, bio.issued_last, bio.completed, bio.ended]);
    for station in [bio.remapped, bio.slept, bio.got_request, bio.inserted, bio.merged] {
        in_order(bio, &[queued, station]);
        // before D a flush's turn may come late
        if bio.bytes > 0 {
            in_order(bio, &[station, bio.ended]);
        }
    }
    in_order(bio, &[queued, bio.preflushed, bio.ended]);
}

fn check_command(command: &Command, is_in_order: bool) {
    if is_in_order {
        in_order(command, &[Some(command.issued), command.completed]);
    }
    let class = Class::of(command.category, command.bytes);
    assert!(
        command.bytes > 0 || matches!(class, Class::Flush | Class::Other | Class::Discard),
        "{command:?}"
    );
}

/// Looks at every life; `is_in_order`: no record was earlier than the one before it.
pub fn check(lives: &Collected, is_in_order: bool) {
    lives.bios.iter().for_each(|bio| check_bio(bio, is_in_order));
    lives.commands.iter().for_each(|command| check_command(command, is_in_order));
}
