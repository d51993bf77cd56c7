//! Orders of addresses, against the laws they are named after.

use std::collections::HashSet;

use super::*;
use crate::workload::Zone;
use proptest::prelude::*;

fn access(kind: AccessKind) -> Access {
    Access {
        kind,
        stride_bytes: 8192,
        zipf_theta: 0.99,
        hot_range_fraction: 0.1,
        hot_access_fraction: 0.9,
        pareto_h: 0.2,
        normal_deviation: 0.1,
        run_blocks: 1,
        random_fraction: 1.0,
        covers_once: false,
        zones: vec![
            Zone { range_fraction: 0.05, access_fraction: 0.5 },
            Zone { range_fraction: 0.15, access_fraction: 0.3 },
            Zone { range_fraction: 0.8, access_fraction: 0.2 },
        ],
        zone_bytes: 0,
        zone_io_bytes: 0,
        zone_skip_bytes: 0,
    }
}

const KINDS: [AccessKind; 10] = [
    AccessKind::Sequential,
    AccessKind::Reverse,
    AccessKind::Random,
    AccessKind::Strided,
    AccessKind::Zipf,
    AccessKind::HotCold,
    AccessKind::Pareto,
    AccessKind::Normal,
    AccessKind::Same,
    AccessKind::Zoned,
];

proptest! {
    #[test]
    fn offsets_stay_in_the_range_and_on_the_grid(
        kind in 0_usize..10, seed in any::<u64>(), start in 0_u64..1 << 40, units in 1_u64..5000, blocks in 1_u64..4,
        run_blocks in 1_u64..9, random_fraction in 0.01..=1.0_f64, once in any::<bool>(),
    ) {
        let (unit, size) = (512, 512 * blocks);
        let length = (units + blocks) * unit + 100;
        let access = Access { run_blocks, random_fraction, ..access(KINDS[kind]) };
        let mut random = random_for_job(seed, 0);
        let mut addresses = Addresses::new(&access, start, length, unit);
        if once {
            addresses = addresses.each_once(size, &mut random);
        }
        for _ in 0..300 {
            let offset = addresses.next(&mut random, size, unit);
            prop_assert!(offset >= start && offset + size <= start + length);
            prop_assert_eq!((offset - start) % unit, 0);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_offsets_and_another_job_gives_others() {
    let draw = |seed, job| {
        let mut random = random_for_job(seed, job);
        let mut addresses = Addresses::new(&access(AccessKind::Random), 0, 1 << 30, 4096);
        (0..50).map(|_| addresses.next(&mut random, 4096, 4096)).collect::<Vec<_>>()
    };
    assert_eq!(draw(7, 0), draw(7, 0));
    assert_ne!(draw(7, 0), draw(7, 1));
    assert_ne!(draw(7, 0), draw(8, 0));
}

#[test]
fn random_offsets_reach_every_block_about_equally_often() {
    let mut random = random_for_job(1, 0);
    let mut addresses = Addresses::new(&access(AccessKind::Random), 0, 64 * 4096, 4096);
    let mut hits = [0_f64; 64];
    for _ in 0..64_000 {
        hits[(addresses.next(&mut random, 4096, 4096) / 4096) as usize] += 1.0;
    }
    let chi_square: f64 = hits.iter().map(|hit| (hit - 1000.0).powi(2) / 1000.0).sum();
    assert!(chi_square < 103.4, "chi-square {chi_square} with 63 degrees of freedom: above the 99.9 % point");
}

#[test]
fn every_block_comes_once_in_an_order_that_the_seed_decides() {
    for blocks in [1_u64, 2, 3, 1000, 4096, 10_007] {
        let order = |seed| {
            let mut random = random_for_job(seed, 0);
            let range = Addresses::new(&access(AccessKind::Random), 512, blocks * 4096 + 100, 512);
            let mut addresses = range.each_once(4096, &mut random);
            (0..blocks).map(|_| addresses.next(&mut random, 4096, 4096)).collect::<Vec<_>>()
        };
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(block, offset)| *offset == 512 + 4096 * block as u64));
        assert!(blocks < 1000 || (order(1) != order(2) && order(1) != sorted));
    }
}

#[test]
fn blocks_of_several_sizes_are_cut_so_that_every_unit_comes_once() {
    for units in [1_u64, 5, 64, 1000, 4099] {
        let mut random = random_for_job(3, 0);
        let range = Addresses::new(&access(AccessKind::Random), 512, units * 4096 + 100, 4096);
        let mut addresses = range.each_unit_once();
        for pass in 0..2 {
            let mut hits = vec![0; units as usize];
            let mut whole = 0;
            while hits.iter().sum::<u64>() < units {
                let asked = 4096 * (1 + below(&mut random, 4));
                let (offset, size) = addresses.next_cut(&mut random, asked, 4096);
                assert!(size <= asked && size.is_multiple_of(4096) && size > 0);
                assert_eq!(addresses.take_wrapped(), pass > 0 && hits.iter().all(|hit| *hit == 0));
                let first = (offset - 512) / 4096;
                hits[first as usize..(first + size / 4096) as usize].iter_mut().for_each(|hit| *hit += 1);
                whole += u64::from(size == asked);
            }
            assert!(hits.iter().all(|hit| *hit == 1), "{units} units: {hits:?}");
            assert!(whole > 0 || units < 64);
        }
    }
}

#[test]
fn zipf_ranks_follow_the_law() {
    let zipf = Zipf::new(1000, 0.99);
    let mut random = random_for_job(3, 0);
    let mut hits = vec![0_u64; 1000];
    for _ in 0..400_000 {
        hits[zipf.rank(&mut random) as usize] += 1;
    }
    let norm: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.99)).sum();
    for rank in [1, 2, 5, 20, 100] {
        let expected = 400_000.0 * f64::from(rank).powf(-0.99) / norm;
        let seen = hits[rank as usize - 1] as f64;
        assert!((seen - expected).abs() < 5.0 * expected.sqrt(), "rank {rank}: {seen} against {expected}");
    }
}

#[test]
fn nine_tenths_of_hot_cold_accesses_go_to_the_hot_tenth() {
    let mut random = random_for_job(5, 0);
    let mut addresses = Addresses::new(&access(AccessKind::HotCold), 0, 1000 * 4096, 4096);
    let hot = (0..100_000).filter(|_| addresses.next(&mut random, 4096, 4096) < 100 * 4096).count();
    assert!((hot as i64 - 90_000).abs() < 500, "{hot}");
}

#[test]
fn each_zone_gets_its_share_of_the_accesses_evenly() {
    let mut random = random_for_job(5, 0);
    let mut addresses = Addresses::new(&access(AccessKind::Zoned), 0, 1000 * 4096, 4096);
    let mut hits = [0_i64; 1000];
    for _ in 0..200_000 {
        hits[(addresses.next(&mut random, 4096, 4096) / 4096) as usize] += 1;
    }
    for (zone, asked) in [(0..50, 100_000), (50..200, 60_000), (200..1000, 40_000)] {
        let seen: i64 = hits[zone.clone()].iter().sum();
        assert!((seen - asked).abs() < 1000, "{zone:?}: {seen}");
        let mean = seen as f64 / zone.len() as f64;
        let worst = hits[zone].iter().map(|&one| (one as f64 - mean).abs()).fold(0.0, f64::max);
        assert!(worst < 5.5 * mean.sqrt(), "{worst} off {mean}");
    }
}

#[test]
fn sequential_offsets_follow_each_other_and_say_when_they_begin_again() {
    let mut random = random_for_job(5, 0);
    let mut addresses = Addresses::new(&access(AccessKind::Sequential), 4096, 3 * 4096, 4096);
    let offsets: Vec<_> = (0..4).map(|_| addresses.next(&mut random, 4096, 4096)).collect();
    assert_eq!(offsets, [4096, 8192, 12288, 4096]);
    assert!(addresses.take_wrapped());
    assert!(!addresses.take_wrapped(), "told once");
}

#[test]
fn reverse_offsets_go_down_from_the_end() {
    let mut random = random_for_job(5, 0);
    let mut addresses = Addresses::new(&access(AccessKind::Reverse), 0, 3 * 4096, 4096);
    let offsets: Vec<_> = (0..4).map(|_| addresses.next(&mut random, 4096, 4096)).collect();
    assert_eq!(offsets, [8192, 4096, 0, 8192]);
}

fn offsets(access: &Access, blocks: u64, count: u64) -> Vec<u64> {
    let mut random = random_for_job(17, 0);
    let mut addresses = Addresses::new(access, 0, blocks * 4096, 4096);
    if access.covers_once {
        addresses = addresses.each_once(4096, &mut random);
    }
    (0..count).map(|_| addresses.next(&mut random, 4096, 4096) / 4096).collect()
}

#[test]
fn each_pass_has_every_block_once_in_another_order() {
    for (blocks, run_blocks) in [(1_u64, 1_u64), (1000, 1), (1024, 8), (1003, 8), (5, 7)] {
        let access = Access { covers_once: true, run_blocks, ..access(AccessKind::Random) };
        let all = offsets(&access, blocks, 3 * blocks);
        for pass in all.chunks(blocks as usize) {
            let mut sorted = pass.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..blocks).collect::<Vec<_>>(), "{blocks} {run_blocks}");
        }
        assert!(blocks < 1000 || all[..blocks as usize] != all[blocks as usize..2 * blocks as usize]);
    }
}

#[test]
fn an_order_of_a_few_blocks_is_any_order() {
    let mut random = random_for_job(3, 0);
    let range = Addresses::new(&access(AccessKind::Random), 0, 8 * 4096, 4096);
    let mut addresses = range.each_once(4096, &mut random);
    let (mut first, mut orders) = ([0_i64; 8], HashSet::new());
    for _ in 0..4000 {
        let order: Vec<_> = (0..8).map(|_| addresses.next(&mut random, 4096, 4096) / 4096).collect();
        first[order[0] as usize] += 1;
        orders.insert(order);
    }
    // five standard deviations of the binomial law
    assert!(first.iter().all(|count| (count - 500).abs() < 5 * 21), "{first:?}");
    // of 40320 that are as likely 4000 draws have 3808
    assert!((3700..3900).contains(&orders.len()), "{}", orders.len());
}

#[test]
fn an_order_that_has_every_block_once_says_when_another_one_begins() {
    let mut random = random_for_job(5, 0);
    let range = Addresses::new(&access(AccessKind::Random), 0, 3 * 4096, 4096);
    let mut addresses = range.each_once(4096, &mut random);
    let wrapped: Vec<_> = (0..7)
        .map(|_| {
            addresses.next(&mut random, 4096, 4096);
            addresses.take_wrapped()
        })
        .collect();
    assert_eq!(wrapped, [false, false, false, true, false, false, true]);
}

#[test]
fn the_same_place_comes_again_and_again() {
    assert!(offsets(&access(AccessKind::Same), 1000, 100).iter().all(|block| *block == 0));
}

#[test]
fn each_random_place_is_followed_by_the_rest_of_its_run() {
    let access = Access { run_blocks: 5, ..access(AccessKind::Zipf) };
    let all = offsets(&access, 1_000_000, 5000);
    assert!(all.chunks(5).all(|run| run.windows(2).all(|pair| pair[1] == pair[0] + 1)));
    let jumps = all.chunks(5).zip(all.chunks(5).skip(1)).filter(|(run, next)| next[0] != run[4] + 1);
    assert!(jumps.count() > 990);
}

#[test]
fn the_part_that_is_random_goes_to_other_places_and_the_rest_follows() {
    let access = Access { random_fraction: 0.3, ..access(AccessKind::Random) };
    let all = offsets(&access, 1 << 40, 20_000);
    let jumps = all.windows(2).filter(|pair| pair[1] != pair[0] + 1).count() as f64;
    // 4 standard deviations of the binomial law
    assert!((jumps - 6000.0).abs() < 4.0 * (20_000.0 * 0.3 * 0.7_f64).sqrt(), "{jumps}");
}

#[test]
fn by_paretos_law_a_part_h_of_the_places_gets_a_part_1_minus_h_of_the_ios() {
    for h in [0.1, 0.2, 0.5, 0.8] {
        let access = Access { pareto_h: h, ..access(AccessKind::Pareto) };
        let mut hits = vec![0_u64; 1000];
        for block in offsets(&access, 1000, 400_000) {
            hits[block as usize] += 1;
        }
        // The law has no memory of which place is which: only how many I/Os the most popular ones get.
        let exact = |rank: f64| (rank / 1000.0).powf((1.0 - h).ln() / h.ln());
        let mut expected = vec![0.0; 1000];
        for rank in 0..1000_u64 {
            expected[scatter(rank, 1000) as usize] += exact(rank as f64 + 1.0) - exact(rank as f64);
        }
        for (place, (hit, share)) in hits.iter().zip(&expected).enumerate() {
            let mean = 400_000.0 * share;
            assert!(
                (*hit as f64 - mean).abs() < 5.0 * mean.sqrt() + 5.0,
                "{h} {place}: {hit} against {mean}"
            );
        }
        assert!((exact(1000.0 * h) - (1.0 - h)).abs() < 1e-9, "{h}");
    }
}

#[test]
fn the_normal_law_lies_around_the_middle_with_the_deviation_that_was_asked_for() {
    // Shares of ten tenths of the range, by the normal distribution function cut off at both ends.
    let tables = [
        (0.1, [0.000_031, 0.001_318, 0.021_400, 0.135_905, 0.341_345]),
        (0.5, [0.077_927, 0.091_400, 0.103_012, 0.111_562, 0.116_099]),
    ];
    for (deviation, half) in tables {
        let access = Access { normal_deviation: deviation, ..access(AccessKind::Normal) };
        let mut hits = [0.0_f64; 10];
        for block in offsets(&access, 1000, 400_000) {
            hits[block as usize / 100] += 1.0;
        }
        let expected = half.iter().chain(half.iter().rev());
        for (tenth, (hit, share)) in hits.iter().zip(expected).enumerate() {
            let mean = 400_000.0 * share;
            assert!(
                (hit - mean).abs() < 5.0 * mean.sqrt() + 1.0,
                "{deviation} {tenth}: {hit} against {mean}"
            );
        }
    }
}

#[test]
fn an_operation_with_larger_blocks_of_its_own_has_its_own_grid() {
    let mut random = random_for_job(3, 0);
    let mut addresses = Addresses::new(&access(AccessKind::Random), 512, 1 << 20, 4096);
    let large: Vec<_> = (0..200).map(|_| addresses.next(&mut random, 65_536, 65_536)).collect();
    assert!(large.iter().all(|offset| (offset - 512).is_multiple_of(65_536)));
    let small = (0..200).map(|_| addresses.next(&mut random, 4096, 4096));
    assert!(small.filter(|offset| !(offset - 512).is_multiple_of(65_536)).count() > 150);
}

/// The places of so many 4 KiB blocks in a range of 64 of them, in blocks.
fn zoned(kind: AccessKind, zone: u64, moved: u64, skip: u64, ios: usize) -> Vec<u64> {
    let blocks = |count: u64| count * 4096;
    let zones = Access {
        zone_bytes: blocks(zone),
        zone_io_bytes: blocks(moved),
        zone_skip_bytes: blocks(skip),
        ..access(kind)
    };
    let mut random = random_for_job(7, 0);
    let mut addresses = Addresses::new(&zones, blocks(100), blocks(64), 4096).each_once(4096, &mut random);
    (0..ios).map(|_| addresses.next(&mut random, 4096, 4096) / 4096 - 100).collect()
}

#[test]
fn zones_have_their_turn_one_after_the_other() {
    let found = zoned(AccessKind::Sequential, 8, 2, 24, 6);
    assert_eq!(found, [0, 1, 32, 33, 0, 1]);
    let again = zoned(AccessKind::Sequential, 2, 4, 30, 10);
    assert_eq!(again, [0, 1, 0, 1, 32, 33, 32, 33, 0, 1]);
}

#[test]
fn a_random_order_has_each_block_of_a_zone_once_in_each_round() {
    for (round, blocks) in zoned(AccessKind::Random, 8, 16, 8, 128).chunks(8).enumerate() {
        let start = round as u64 / 2 * 16 % 64;
        let mut sorted = blocks.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (start..start + 8).collect::<Vec<_>>());
    }
}
