//! What must be true of all that is told as JSON.

use serde_json::Value;

/// Where nothing can be said, null is.
const MAY_BE_NULL: [&str; 19] = [
    "p90_ns",
    "p99_ns",
    "p99.9_ns",
    "merge_ratio",
    "min_bytes",
    "mean_bytes",
    "max_bytes",
    "active_share",
    "idle_share",
    "read_bytes_per_s",
    "write_bytes_per_s",
    "commands_per_s",
    "name",
    "mean_q2c_ns",
    "btt_mean_q2c_ns",
    "share_of_time",
    // what ended unseen may have been there at the same time
    "max",
    "device_max",
    "queue_max",
];

/// Whether it can be read again.
pub fn is_json(text: &str) {
    if let Err(error) = serde_json::from_str::<Value>(text) {
        panic!("{error}: {text}");
    }
}

fn number(row: &Value, key: &str) -> Option<f64> {
    row.get(key).and_then(Value::as_f64)
}

/// NaN and infinity become null.
fn walk(key: &str, value: &Value) {
    match value {
        Value::Null => assert!(MAY_BE_NULL.contains(&key), "{key} is null"),
        Value::Number(number) => {
            let number = number.as_f64().expect("a number");
            assert!(number >= -1e-6 && number.is_finite(), "{key} is {number}");
        }
        Value::Array(values) => values.iter().for_each(|value| walk(key, value)),
        Value::Object(rows) => rows.iter().for_each(|(key, value)| walk(key, value)),
        _ => {}
    }
}

fn check_phase(name: &str, row: &Value) {
    let known = ["min_ns", "p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "max_ns"];
    let values: Vec<f64> = known.into_iter().filter_map(|key| number(row, key)).collect();
    assert!(values.is_sorted(), "{name}: {row}");
    let [min, mean, max] = ["min_ns", "mean_ns", "max_ns"].map(|key| number(row, key).expect("is there"));
    // a sum that is larger than any number stays at the largest
    let is_saturated = row["sum_ns"].as_u64() == Some(u64::MAX);
    let is_between = min <= mean * (1.0 + 1e-12) && mean <= max * (1.0 + 1e-12);
    assert!(is_saturated || is_between, "{name}: {row}");
}

fn times_of<'a>(group: &'a Value, phase: &str) -> u64 {
    let rows: Vec<&'a Value> = group.as_object().map(|rows| rows.values().collect()).unwrap_or_default();
    rows.into_iter().filter_map(|row| row[phase]["n"].as_u64()).sum()
}

/// Looks at what a recording comes to.
pub fn check(told: &Value) {
    walk("", told);
    is_json(&told.to_string());
    for (name, row) in told["all"].as_object().expect("phases") {
        check_phase(name, row);
    }
    for group in ["devices", "classes", "sizes"] {
        for rows in told[group].as_object().expect("groups").values() {
            rows.as_object().expect("phases").iter().for_each(|(name, row)| check_phase(name, row));
        }
    }
    for phase in told["phases"].as_array().expect("phases").iter().filter_map(Value::as_str) {
        let all = told["all"][phase]["n"].as_u64().unwrap_or(0);
        if phase != "Q2Q" {
            assert_eq!(all, times_of(&told["devices"], phase), "{phase} of devices");
            assert_eq!(all, times_of(&told["classes"], phase), "{phase} of classes");
        }
    }
    let depths = told["depth"]["devices"].as_object().expect("devices").values();
    for depth in depths.chain([&told["depth"]["all"]]) {
        let series = depth["series"].as_object().expect("series");
        let lengths = series.values().filter_map(Value::as_array).map(Vec::len);
        assert!(lengths.clone().max() == lengths.clone().min() && lengths.max() <= Some(601));
    }
    let counts = &told["counts"];
    for warning in told["warnings"].as_array().expect("warnings") {
        assert!(warning["text"].as_str().is_some_and(|text| !text.contains("NaN") && !text.contains("inf ")));
    }
    assert!(counts["records"].as_u64().is_some());
}
