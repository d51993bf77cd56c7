//! Lives are made up first, records derived from them, and the follower has to find the lives again.

#[path = "support/flush_machine.rs"]
mod flush_machine;
#[path = "support/lives.rs"]
mod lives;
#[path = "support/scenarios.rs"]
mod scenarios;

use drivelab_trace::follow::{Collected, Counts, Follower};
use lives::{Dice, Story};
use proptest::prelude::*;

fn sorted(mut lives: Collected) -> Collected {
    lives.bios.sort_by_key(|bio| (bio.queued, bio.device, bio.sector));
    lives.commands.sort_by_key(|command| (command.issued, command.device, command.sector));
    lives
}

fn followed(story: &Story) -> (Collected, Counts) {
    let mut records = story.records.clone();
    records.sort_by_key(|record| record.time_ns);
    let (mut follower, mut lives) = (Follower::new(), Collected::default());
    for record in &records {
        follower.push(record, &mut lives);
    }
    assert_eq!(follower.depths().1 as usize, follower_open(story, records.last().map(|last| last.device)));
    follower.finish(&mut lives);
    (sorted(lives), *follower.counts())
}

fn follower_open(story: &Story, device: Option<u32>) -> usize {
    let commands = story.lives.commands.iter();
    commands.filter(|command| Some(command.device) == device && command.completed.is_none()).count()
}

fn assert_same(found: &Collected, expected: &Collected) {
    for (found, expected) in found.bios.iter().zip(&expected.bios) {
        assert_eq!(found, expected);
    }
    for (found, expected) in found.commands.iter().zip(&expected.commands) {
        assert_eq!(found, expected);
    }
    assert_eq!((found.bios.len(), found.commands.len()), (expected.bios.len(), expected.commands.len()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lives_are_found_again(kinds in prop::collection::vec((0..scenarios::KINDS, any::<u64>()), 1..40)) {
        let (mut story, mut dice) = (Story::default(), Dice(kinds[0].1));
        for (index, (kind, seed)) in kinds.iter().enumerate() {
            scenarios::tell(*kind, *seed, dice.roll(1, 200_000), 10_000 * (index as u64 + 1), &mut story);
        }
        let (found, counts) = followed(&story);
        assert_same(&found, &sorted(story.lives.clone()));
        let open = story.lives.bios.iter().filter(|bio| bio.ended.is_none()).count() as u64;
        prop_assert_eq!(counts.bios_open_at_end, open);
        prop_assert_eq!(counts.bios_closed + open, counts.bios_opened);
        prop_assert_eq!(counts.orphan_completions + counts.orphan_issues + counts.orphan_requests, 0);
    }

    #[test]
    fn the_flush_machine_is_understood(seed in any::<u64>(), count in 1_u64..60, has_fua in any::<bool>()) {
        let mut story = Story::default();
        flush_machine::tell(seed, count, 8 << 20, has_fua, &mut story);
        let (found, counts) = followed(&story);
        assert_same(&found, &sorted(story.lives.clone()));
        prop_assert_eq!((counts.bios_open_at_end, counts.orphan_completions, counts.given_up), (0, 0, 0));
    }
}
