//! The aggregate against slow and exact ones, and against btt's table.

#[path = "support/lives.rs"]
mod lives;
#[path = "support/plain.rs"]
mod plain;
#[path = "support/scenarios.rs"]
mod scenarios;

use drivelab_trace::compat::{Flavour, Table};
use drivelab_trace::lifetime::{Bio, Class};
use drivelab_trace::phases::{Options, Phases};
use drivelab_trace::read::{DamageKind, ReadSummary};
use drivelab_trace::record::Record;
use lives::{Dice, Story};
use serde_json::{Value, json};

fn told(records: &[Record]) -> Value {
    let mut phases = Phases::new(Options::default());
    for record in records {
        phases.push(record);
    }
    phases.finish(&ReadSummary::default())
}

fn story(kinds: &[u8], count: u64) -> (Story, Vec<Record>) {
    let (mut story, mut dice) = (Story::default(), Dice(kinds.len() as u64));
    for index in 0..count {
        let kind = kinds[dice.roll(0, kinds.len() as u64) as usize];
        scenarios::tell(kind, dice.roll(0, u64::MAX), dice.roll(1, 3_000_000), 10_000 * index, &mut story);
    }
    let mut records = story.records.clone();
    records.sort_by_key(|record| record.time_ns);
    (story, records)
}

fn exact(mut values: Vec<u64>) -> Value {
    values.sort_unstable();
    let (n, sum) = (values.len(), values.iter().sum::<u64>());
    let rank = |at: f64| values[((at * n as f64).ceil() as usize).clamp(1, n) - 1] as f64;
    json!({"n": n, "min_ns": values[0], "max_ns": values[n - 1], "sum_ns": sum, "mean_ns": sum as f64 / n as f64,
        "p50_ns": rank(0.5), "p90_ns": rank(0.9), "p99_ns": rank(0.99)})
}

fn assert_row(found: &Value, values: Vec<u64>, what: &str) {
    let carried: Vec<_> = [("p90_ns", 0.1), ("p99_ns", 0.01), ("p99.9_ns", 0.001)].into();
    for (key, beyond) in carried {
        assert_eq!(found[key].is_null(), (values.len() as f64 * beyond) < 3.69, "{what} {key}");
    }
    for (key, expected) in exact(values).as_object().expect("a row") {
        let (found, expected) = (found[key].as_f64(), expected.as_f64().expect("a number"));
        let Some(found) = found else { continue };
        let allowed = if key.starts_with('p') { expected / 1000.0 + 1.0 } else { expected * 1e-12 };
        assert!((found - expected).abs() <= allowed, "{what} {key}: {found} and not {expected}");
    }
}

fn q2c(story: &Story, is_wanted: impl Fn(&Bio) -> bool) -> Vec<u64> {
    let bios = story.lives.bios.iter().filter(|bio| bio.bytes > 0 && is_wanted(bio));
    bios.filter_map(|bio| Some(bio.completed? - bio.queued)).collect()
}

#[test]
fn rows_are_those_of_an_exact_sum_over_lives() {
    let (story, records) = story(&[0, 1, 2, 3, 4, 6, 7, 8], 3_000);
    let told = told(&records);
    assert_row(&told["all"]["Q2C"], q2c(&story, |_| true), "all");
    assert_row(&told["devices"]["259:0"]["Q2C"], q2c(&story, |bio| bio.device == 259 << 20), "device");
    assert_row(&told["sizes"]["4096"]["Q2C"], q2c(&story, |bio| bio.bytes == 4096), "size");
    let between = q2c(&story, |bio| bio.bytes > 4096 && bio.bytes < 8192);
    assert_row(&told["sizes"]["4097-8191"]["Q2C"], between, "sizes between");
    let is_read = |bio: &Bio| Class::of(bio.category, bio.bytes) == Class::Read;
    assert_row(&told["classes"]["read"]["Q2C"], q2c(&story, is_read), "class");
    let bios = story.lives.bios.iter();
    assert_row(
        &told["all"]["D2C"],
        bios.clone().filter_map(|bio| Some(bio.completed? - bio.issued_first?)).collect(),
        "D2C",
    );
    assert_row(
        &told["all"]["Q2A"],
        bios.clone().filter_map(|bio| Some(bio.remapped? - bio.queued)).collect(),
        "Q2A",
    );
    assert_row(
        &told["all"]["S2G"],
        bios.clone().filter_map(|bio| Some(bio.got_request? - bio.slept?)).collect(),
        "S2G",
    );
    let mut queued: Vec<_> = bios.map(|bio| bio.queued).collect();
    queued.sort_unstable();
    assert_row(&told["all"]["Q2Q"], queued.windows(2).map(|pair| pair[1] - pair[0]).collect(), "Q2Q");
}

#[test]
fn without_splits_and_overlaps_rows_are_those_of_btt() {
    let cases = ["raw_over1", "ext4_append1", "xfs_append1", "wt_raw_over1", "relaylike", "trunctail"];
    for records in cases.map(plain::recording) {
        let (told, mut table) = (told(&records), Table::new(Flavour::V1_2));
        records.iter().for_each(|record| table.push(record));
        for row in table.rows() {
            let ours = &told["all"][row.phase.name()];
            let preflush = if row.phase.name() == "G2I" {
                told["all"]["preflush_wait"]["sum_ns"].as_u64()
            } else {
                None
            };
            let sum = ours["sum_ns"].as_u64().expect("a sum") + preflush.unwrap_or(0);
            assert_eq!((json!(row.n), row.total_ns), (ours["n"].clone(), sum), "{}", row.phase.name());
        }
    }
}

#[test]
fn mean_depths_are_the_times_of_lives_over_the_time_of_the_trace() {
    let (story, records) = story(&[0, 1, 2], 2_000);
    let told = told(&records);
    let begin = records[0].time_ns;
    let covered = records.last().expect("records").time_ns - begin;
    let device = &told["depth"]["all"]["device"];
    let commands = story.lives.commands.iter();
    let lived = |to: u64| {
        commands.clone().map(move |one| one.completed.map_or(0, |end| end.min(to) - one.issued.min(to)))
    };
    // the last D after a requeue is the one that counts
    let expected = lived(u64::MAX).sum::<u64>() as f64 / covered as f64;
    assert!((device["mean"].as_f64().expect("a mean") - expected).abs() < expected * 1e-9);

    let series = &told["depth"]["all"]["series"];
    let starts = series["start_s"].as_array().expect("starts");
    assert!(starts.len() > 200 && starts.len() <= 600, "{}", starts.len());
    let (width, means) =
        (series["width_s"].as_f64().expect("s") * 1e9, series["device_mean"].as_array().expect("means"));
    for (start, mean) in starts.iter().zip(means) {
        let from = begin + (start.as_f64().expect("s") * 1e9).round() as u64;
        let length = (width as u64).min(begin + covered - from);
        let expected: u64 = lived(from + length).sum::<u64>() - lived(from).sum::<u64>();
        let found = mean.as_f64().expect("a mean") * length as f64;
        assert!((found - expected as f64).abs() < 1.0 + expected as f64 * 1e-9, "{found} {expected}");
    }
}

#[test]
fn depths_are_those_of_the_whole_recording() {
    let (_, mut records) = story(&[0], 500);
    let before = told(&records);
    let plug = |time_ns| Record { time_ns, action_bits: 9, sector: 0, bytes: 0, ..records[0].clone() };
    let (first, last) = (records[0].time_ns, records.last().expect("records").time_ns);
    let (early, late) = (plug(first), plug(last + 3 * (last - first)));
    records.insert(0, early);
    records.push(late);
    let after = told(&records);
    for place in ["device", "queue"] {
        let mean = |told: &Value, of: &str| told["depth"][of].clone();
        let all = |told: &Value| mean(told, "all")[place]["mean"].as_f64().expect("a mean");
        let one = |told: &Value| mean(told, "devices")["259:0"][place]["mean"].as_f64().expect("a mean");
        assert!((all(&before) / all(&after) - 4.0).abs() < 1e-6, "{} {}", all(&before), all(&after));
        assert_eq!(one(&after), all(&after));
    }
}

#[test]
fn after_losses_nobody_knows_the_deepest_moment() {
    let (_, records) = story(&[0, 2], 200);
    let mut phases = Phases::new(Options::default());
    phases.mark_loss();
    records.iter().for_each(|record| phases.push(record));
    let damage_counts = [(DamageKind::LostEvents, 1)].into();
    let told = phases.finish(&ReadSummary { damage_counts, ..ReadSummary::default() });
    assert_eq!(told["depth"]["all"]["device"]["max"], Value::Null);
    assert_eq!(told["depth"]["all"]["series"]["queue_max"], Value::Null);
    assert!(told["depth"]["all"]["device"]["mean"].as_f64() > Some(0.0));
}

#[test]
fn the_deepest_moment_is_found() {
    let (story, records) = story(&[0, 2], 1_500);
    let told = told(&records);
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for bio in story.lives.bios.iter().filter(|bio| bio.bytes > 0) {
        changes.push((bio.queued, 1));
        changes.push((bio.issued_first.expect("all were issued"), -1));
    }
    changes.sort_unstable();
    let (mut depth, mut deepest) = (0, 0);
    for (_, change) in changes {
        depth += change;
        deepest = deepest.max(depth);
    }
    let queue = &told["depth"]["all"]["queue"];
    assert!(queue["max"].as_i64().expect("a depth").abs_diff(deepest) <= 1, "{queue} {deepest}");
    assert_eq!(told["depth"]["devices"]["259:0"]["queue"]["max"], queue["max"]);
}

#[test]
fn seeks_sizes_and_shares_are_counted() {
    use drivelab_trace::record::{Action, category};
    let mut records = Vec::new();
    for (number, (sector, bytes)) in
        [(0, 4096), (8, 4096), (16, 8192), (1_000, 512), (992, 4096)].into_iter().enumerate()
    {
        let begin = 1_000 * (number as u64 + 1);
        for (after, action) in
            [(0, Action::Queue), (100, Action::GetRequest), (200, Action::Issue), (700, Action::Complete)]
        {
            let (action_bits, category) = (action as u16, category::READ);
            records.push(Record {
                time_ns: begin + after,
                sector,
                bytes,
                action_bits,
                category,
                device: 8 << 20,
                ..Record::default()
            });
        }
    }
    let told = told(&records);
    let seeks = &told["seeks"]["8:0"]["D2D"];
    assert_eq!(
        (
            &seeks["n"],
            &seeks["mode_sectors"],
            &seeks["mode_n"],
            &seeks["max_sectors"],
            &seeks["mean_sectors"]
        ),
        (&json!(4), &json!(0), &json!(3), &json!(968), &json!(242.0))
    );
    assert_eq!((&seeks["sequential_share"], seeks), (&json!(0.5), &told["seeks"]["8:0"]["Q2Q"]));
    let requests = &told["requests"]["8:0"];
    assert_eq!(
        (&requests["min_bytes"], &requests["max_bytes"], &requests["mean_bytes"]),
        (&json!(512), &json!(8192), &json!(4198.4))
    );
    assert_eq!((&requests["merge_ratio"], &told["load"]["8:0"]["active_s"]), (&json!(1.0), &json!(2.5e-6)));
    assert_eq!(told["commands"], json!({"read": {"n": 5, "bytes": 20992}}));
}

fn warning(told: &Value, key: &str) -> Value {
    let found = told["warnings"].as_array().expect("a list").iter().find(|one| one["key"] == key);
    found.unwrap_or_else(|| panic!("no warning of {key}: {}", told["warnings"]))["numbers"].clone()
}

#[test]
fn every_trap_that_is_there_is_named_and_no_other() {
    let keys = |told: &Value| -> Vec<String> {
        let warnings = told["warnings"].as_array().expect("a list").iter();
        warnings.map(|one| one["key"].as_str().expect("a key").to_owned()).collect()
    };
    assert_eq!(keys(&told(&plain::recording("wt_raw_over1"))), ["no_scheduler"]);
    let appended = told(&plain::recording("ext4_append1"));
    assert_eq!(keys(&appended), ["flushes_hidden", "preflush_in_g2i", "no_scheduler"]);
    assert_eq!(warning(&appended, "flushes_hidden")["flushes"], 2004);
    assert_eq!(warning(&appended, "preflush_in_g2i")["bios"], 1000);

    let (_, mut records) = story(&[0, 1, 2, 4, 5], 400);
    let (begun, first) = (records[0].time_ns, records[5].clone());
    records.push(Record { time_ns: begun, action_bits: 1 | 0x100, ..first });
    let told = told(&records);
    let expected = [
        "backward_times",
        "cgroup_ids",
        "discards",
        "errors",
        "incomplete",
        "no_scheduler",
        "partial_completions",
        "remapper_majors",
        "requeues",
        "splits",
    ];
    let mut found = keys(&told);
    found.sort();
    assert_eq!(found, expected);
    let numbers = warning(&told, "splits");
    assert!(numbers["btt_bios"].as_u64() < numbers["bios"].as_u64(), "{numbers}");
    assert_eq!(warning(&told, "remapper_majors")["devices"], json!(["253:0"]));
}

#[test]
fn what_the_reader_found_is_told() {
    let read =
        ReadSummary { lost: vec![(1, 7)], duplicates: 3, missing_cpus: vec![2], ..ReadSummary::default() };
    let told = Phases::new(Options { with_btt: false }).finish(&read);
    assert_eq!(warning(&told, "lost_records")["lost"], 7);
    assert_eq!(warning(&told, "lost_records")["missing_cpus"], json!([2]));
    assert_eq!(warning(&told, "duplicates")["duplicates"], 3);
}

#[test]
fn several_at_one_sector_are_named_when_btt_forgets_some() {
    let (_, mut records) = story(&[3], 50);
    let numbers = warning(&told(&records), "overlaps");
    assert!(numbers["btt_bios"].as_u64() < numbers["bios"].as_u64(), "{numbers}");
    // what btt drops for another reason is no sign of them
    records.iter_mut().for_each(|record| record.action_bits |= 0x100);
    let told = told(&records);
    assert_eq!(warning(&told, "cgroup_ids")["records"], records.len());
    let keys = told["warnings"].as_array().expect("a list").iter().map(|one| one["key"].as_str());
    assert_eq!(keys.filter(|key| *key == Some("overlaps")).count(), 0);
}
