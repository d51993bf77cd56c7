//! Real recordings: counts as the manifest has them, numbers as btt has them.

#[path = "support/lives.rs"]
mod lives;
#[path = "support/plain.rs"]
mod plain;

use drivelab_trace::follow::{Collected, Counts};
use drivelab_trace::lifetime::{Bio, Class};
use drivelab_trace::record::category;
use serde_json::{Value, json};

fn followed(case: &str) -> (Collected, Counts) {
    lives::followed(&plain::recording(case))
}

fn manifest(case: &str) -> Value {
    let text = std::fs::read_to_string(plain::golden("manifest.json")).expect("the manifest");
    serde_json::from_str::<Value>(&text).expect("JSON")[case].clone()
}

fn counted(lives: &Collected, key: &str) -> u64 {
    let bios = |wanted: &dyn Fn(&Bio) -> bool| lives.bios.iter().filter(|bio| wanted(bio)).count() as u64;
    let has = |bio: &Bio, bits: u32| bio.category & bits == bits;
    let is_write = |bio: &Bio| has(bio, category::WRITE) && bio.bytes > 0;
    let bytes = |wanted: &dyn Fn(&Bio) -> bool| -> u64 {
        lives.bios.iter().filter(|bio| wanted(bio)).map(|bio| u64::from(bio.bytes)).sum()
    };
    let commands = |wanted: &dyn Fn(Class) -> bool| {
        let classes = lives.commands.iter().map(|command| Class::of(command.category, command.bytes));
        classes.filter(|class| wanted(*class)).count() as u64
    };
    let data_pid = lives.bios.iter().find(|bio| is_write(bio)).map(|bio| bio.pid);
    match key {
        "read_bios" => bios(&|bio| has(bio, category::READ) && bio.bytes > 0),
        "write_bios" => bios(&is_write),
        "write_bytes" => bytes(&is_write),
        "write_requests" => {
            commands(&|class| matches!(class, Class::Write | Class::Metadata | Class::FuaWrite))
        }
        "meta_write_bytes" => bytes(&|bio| is_write(bio) && has(bio, category::META)),
        "write_bios_other_pid" => bios(&|bio| is_write(bio) && Some(bio.pid) != data_pid),
        "fua_bios" => bios(&|bio| has(bio, category::FUA)),
        "preflush_bios" => bios(&|bio| has(bio, category::FLUSH) && bio.bytes > 0),
        "device_flushes" => commands(&|class| class == Class::Flush),
        "flush_bios" => bios(&|bio| Class::of(bio.category, bio.bytes) == Class::Flush),
        "own_Q" => bios(&|bio| Some(bio.pid) == data_pid),
        _ => panic!("the manifest has a count of {key}"),
    }
}

#[test]
fn lives_have_the_counts_of_the_manifest() {
    for case in ["raw_over1", "ext4_append1", "xfs_append1", "wt_raw_over1"] {
        let (lives, _) = followed(case);
        let truth = manifest(case)["io_truth"].as_object().expect("counts").clone();
        for (key, expected) in truth {
            if !matches!(key.as_str(), "ops" | "mean_op_us" | "own_Q_inside_own_op_window") {
                assert_eq!(json!(counted(&lives, &key)), expected, "{case} {key}");
            }
        }
    }
}

#[test]
fn every_life_of_a_whole_recording_has_all_its_stations() {
    for case in ["raw_over1", "ext4_append1", "xfs_append1", "wt_raw_over1"] {
        let (lives, counts) = followed(case);
        assert_eq!((counts.bios_open_at_end, counts.commands_open_at_end), (0, 0), "{case}");
        assert_eq!(counts.bios_opened, counts.bios_closed, "{case}");
        let orphans =
            counts.orphan_requests + counts.orphan_issues + counts.orphan_completions + counts.orphan_merges;
        assert_eq!(orphans, 0, "{case}");
        for bio in &lives.bios {
            let stations = [bio.got_request.or(bio.merged), bio.issued_first, bio.completed, bio.ended];
            let mut last = bio.queued;
            for station in stations {
                let station = station.unwrap_or_else(|| panic!("{case}: {bio:?}"));
                assert!(station > last || (station == last && bio.ended == bio.completed), "{case}: {bio:?}");
                last = station;
            }
            let waits = bio.bytes == 0 || bio.category & (category::FUA | category::FLUSH) != 0;
            assert_eq!(bio.ended != bio.completed, waits, "{case}: {bio:?}");
            assert_eq!(bio.preflushed.is_some(), bio.bytes > 0 && bio.category & category::FLUSH != 0);
        }
    }
}

fn mean_s(values: &[u64]) -> String {
    let sum: u64 = values.iter().sum();
    let seconds = (sum / 1_000_000_000) as f64 + (sum % 1_000_000_000) as f64 / 1e9;
    format!("{:.9}", seconds / values.len() as f64)
}

fn phase(lives: &Collected, name: &str) -> Vec<u64> {
    let value = |bio: &Bio| match name {
        "Q2G" => Some(bio.got_request? - bio.queued),
        "G2I" => Some(bio.inserted? - bio.got_request?),
        "Q2M" => Some(bio.merged? - bio.queued),
        "I2D" => Some(bio.issued_first? - bio.inserted?),
        "M2D" if bio.inserted.is_none() => Some(bio.issued_first? - bio.merged?),
        "D2C" => Some(bio.completed? - bio.issued_first?),
        "Q2C" => Some(bio.completed? - bio.queued),
        _ => None,
    };
    lives.bios.iter().filter(|bio| bio.bytes > 0).filter_map(value).collect()
}

#[test]
fn without_splits_the_means_are_those_of_btt() {
    for case in ["raw_over1", "ext4_append1", "xfs_append1", "wt_raw_over1", "relaylike", "trunctail"] {
        let (lives, _) = followed(case);
        for row in manifest(case)["expected_btt_1_2_0"].as_array().expect("rows") {
            let name = row[0].as_str().expect("a name");
            if name == "Q2Q" {
                continue;
            }
            let values = phase(&lives, name);
            assert_eq!(
                (json!(mean_s(&values)), json!(values.len())),
                (row[2].clone(), row[4].clone()),
                "{case} {name}"
            );
        }
    }
}
