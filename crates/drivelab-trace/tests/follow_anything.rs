//! Whatever the records say, the follower keeps its books: nothing panics, nothing is handed out twice.

use drivelab_trace::follow::{Collected, Follower};
use drivelab_trace::phases::{Options, Phases};
use drivelab_trace::read::ReadSummary;
use drivelab_trace::record::Record;
use proptest::prelude::*;

prop_compose! {
    fn any_record()(
        time_ns in prop_oneof![9 => 0_u64..100_000, 1 => any::<u64>()],
        sector in prop_oneof![9 => 0_u64..64, 1 => Just(u64::MAX), 1 => any::<u64>()],
        bytes in prop_oneof![1 => Just(0_u32), 9 => (0_u32..32).prop_map(|sectors| sectors * 512), 1 => any::<u32>()],
        action_bits in 0_u16..20,
        category in prop_oneof![9 => 0_u32..8, 3 => (0_u32..8).prop_map(|bits| bits | 0x8000), 1 => 0_u32..0x1_0000],
        cut in 0_u64..64,
        pid in 0_u32..3,
        minor in 0_u32..2,
        sequence in prop_oneof![9 => Just(0_u32), 1 => 0_u32..5],
        error in prop_oneof![9 => Just(0_i32), 1 => Just(-5)],
    ) -> Record {
        let payload = match action_bits {
            15 => [&minor.to_be_bytes()[..], &[0; 4], &cut.to_be_bytes()].concat(),
            _ => cut.to_be_bytes().to_vec(),
        };
        Record {
            sequence, time_ns, sector, bytes, action_bits, category, pid, device: minor, error, payload,
            ..Record::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_life_is_handed_out_once(
        records in prop::collection::vec(any_record(), 1..400),
        is_lossy in any::<bool>(),
    ) {
        let mut follower = if is_lossy { Follower::of_lossy_trace() } else { Follower::new() };
        let mut lives = Collected::default();
        for record in &records {
            follower.push(record, &mut lives);
        }
        follower.finish(&mut lives);
        let counts = follower.counts();
        prop_assert_eq!(lives.bios.len() as u64, counts.bios_opened);
        prop_assert_eq!(lives.commands.len() as u64, counts.commands_issued);
        let ended = lives.bios.iter().filter(|bio| bio.ended.is_some()).count() as u64;
        prop_assert_eq!(ended, counts.bios_closed);
        let completed = lives.commands.iter().filter(|command| command.completed.is_some()).count() as u64;
        prop_assert_eq!(completed, counts.commands_completed);
    }
}

proptest! {
    // each aggregate holds megabytes of histograms
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_aggregate_has_its_keys(records in prop::collection::vec(any_record(), 0..300)) {
        let mut phases = Phases::new(Options::default());
        for record in &records {
            phases.push(record);
        }
        let told = phases.finish(&ReadSummary::default());
        for key in ["all", "devices", "classes", "sizes", "depth", "seeks", "requests", "load", "processes"] {
            prop_assert!(told.get(key).is_some());
        }
    }
}
