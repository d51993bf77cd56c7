//! What makes btt's table of this recording say something else than people read in it, and what the recording lacks.

use serde_json::{Value, json};

use super::phase::Phase;
use super::totals::{OfDevice, Totals};
use crate::compat::{Phase as Row, Table, is_remapper};
use crate::follow::Counts;
use crate::read::ReadSummary;

/// What is known when a recording has been read.
pub(super) struct Evidence<'a> {
    pub totals: &'a Totals,
    pub counts: &'a Counts,
    /// Records with the id of a cgroup.
    pub with_cgroup: u64,
    pub btt: Option<&'a Table>,
    pub read: &'a ReadSummary,
    pub covered_ns: u64,
}

impl Evidence<'_> {
    /// Whether records are missing.
    pub(super) fn has_losses(&self) -> bool {
        self.read.lost_total() > 0 || self.read.loss_places() > 0 || !self.read.missing_cpus.is_empty()
    }
}

type Warning = Option<(String, Value)>;

/// Each trap that is there: `{"key":, "text":, "numbers": {}}`.
pub(super) fn of(evidence: &Evidence<'_>) -> Vec<Value> {
    type Check = fn(&Evidence<'_>) -> Warning;
    let checks: [(&str, Check); 15] = [
        ("lost_records", lost_records),
        ("splits", splits),
        ("overlaps", overlaps),
        ("flushes_hidden", flushes_hidden),
        ("preflush_in_g2i", preflush_in_g2i),
        ("no_scheduler", no_scheduler),
        ("duplicates", duplicates),
        ("remapper_majors", remapper_majors),
        ("partial_completions", partial_completions),
        ("requeues", requeues),
        ("errors", errors),
        ("discards", discards),
        ("backward_times", backward_times),
        ("cgroup_ids", cgroup_ids),
        ("incomplete", incomplete),
    ];
    let found = checks.into_iter().filter_map(|(key, check)| check(evidence).map(|found| (key, found)));
    found.map(|(key, (text, numbers))| json!({"key": key, "text": text, "numbers": numbers})).collect()
}

/// `1 bio`, `2 bios`.
fn many(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Three digits and a unit, as in the tables: `834 us`, `3.61 s`.
fn duration(ns: f64) -> String {
    const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    // 999.7 us is 1 ms
    let fits = |(_, size): &&(&str, f64)| ns < size * 999.5;
    let (unit, size) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    let value = ns / size;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

fn mean(sum: f64, n: u64) -> Option<f64> {
    (n > 0).then(|| sum / n as f64)
}

/// Bios that btt saw to their end, with their mean Q2C in ns.
fn seen_by_btt(table: &Table) -> (u64, Option<f64>) {
    let rows = table.rows();
    let mine = || rows.iter().filter(|row| matches!(row.phase, Row::Q2c | Row::Q2cRemapper));
    let n = mine().map(|row| row.n).sum();
    (n, mean(mine().map(|row| row.total_ns as f64).sum(), n))
}

/// What btt counts of bios that it loses from sight.
fn compared_with_btt(evidence: &Evidence<'_>) -> (String, Value) {
    let (n, total) = (evidence.totals.completed_bios, evidence.totals.completed_ns as f64);
    let (Some(ours), Some(table)) = (mean(total, n), evidence.btt) else {
        return (String::new(), json!({"bios": n}));
    };
    let (seen, theirs) = seen_by_btt(table);
    let means = theirs.map_or(String::new(), |theirs| {
        format!("; its mean Q2C is {}, that of all is {}", duration(theirs), duration(ours))
    });
    let text = format!(" btt counts the end of {seen} of {n} bios{means}.");
    (text, json!({"bios": n, "btt_bios": seen, "mean_q2c_ns": ours, "btt_mean_q2c_ns": theirs}))
}

fn with(mut numbers: Value, key: &str, value: u64) -> Value {
    numbers[key] = json!(value);
    numbers
}

fn lost_records(evidence: &Evidence<'_>) -> Warning {
    let (lost, losses) = (evidence.read.lost_total(), evidence.read.loss_places());
    let missing = &evidence.read.missing_cpus;
    if !evidence.has_losses() {
        return None;
    }
    let mut text = String::new();
    if lost > 0 || losses > 0 {
        let count = if lost > 0 { many(lost, "record") } else { "An unknown number of records".to_owned() };
        let place = if losses > 0 { format!(", at {}", many(losses, "place")) } else { String::new() };
        text += &format!("{count} lost{place}. ");
    }
    if !missing.is_empty() {
        let cpus: Vec<_> = missing.iter().map(u32::to_string).collect();
        let files = if cpus.len() == 1 { "file of CPU" } else { "files of CPUs" };
        text += &format!("Without the {files} {}. ", cpus.join(", "));
    }
    text +=
        "Counts are too low, and an I/O whose records are among the missing ones is not followed to its end.";
    Some((text, json!({"lost": lost, "places": losses, "missing_cpus": missing})))
}

fn splits(evidence: &Evidence<'_>) -> Warning {
    let (splits, bios) = (evidence.counts.splits, evidence.totals.split_bios);
    if splits == 0 {
        return None;
    }
    let (compared, numbers) = compared_with_btt(evidence);
    let text = format!(
        "{} had to be split. The pieces end one by one, so btt never sees the end of the whole, and takes later \
         I/O at its sectors for its own.{compared}",
        many(bios, "bio")
    );
    Some((text, with(with(numbers, "splits", splits), "split_bios", bios)))
}

fn partial_completions(evidence: &Evidence<'_>) -> Warning {
    let parts = evidence.counts.partial_completions;
    if parts == 0 {
        return None;
    }
    let (compared, numbers) = compared_with_btt(evidence);
    let text = format!(
        "{} did not end the request. btt takes a bio for ended only when one completion covers all of it.{compared}",
        many(parts, "partial completion")
    );
    Some((text, with(numbers, "partial_completions", parts)))
}

/// Without all else that hides bios from btt, what it lacks was queued at the sector of another open bio.
fn overlaps(evidence: &Evidence<'_>) -> Warning {
    let (seen, _) = seen_by_btt(evidence.btt?);
    let bios = evidence.totals.completed_bios;
    let is_hidden = evidence.has_losses() || evidence.with_cgroup > 0;
    if is_hidden || evidence.counts.splits > 0 || evidence.counts.partial_completions > 0 || seen >= bios {
        return None;
    }
    let (compared, numbers) = compared_with_btt(evidence);
    let text = format!(
        "Several I/Os were open at the same sector. btt keeps one of them and forgets the others.{compared}"
    );
    Some((text, numbers))
}

fn flushes_hidden(evidence: &Evidence<'_>) -> Warning {
    let (n, ns) = (evidence.totals.flushes, evidence.totals.flush_ns);
    let mean = mean(ns as f64, n)?;
    // devices may lie on each other, and then the flush of one is within that of another
    let is_one =
        evidence.totals.devices.iter().filter(|device| device.times.of(Phase::Flush).is_some()).count() == 1;
    let share = (is_one && evidence.covered_ns > 0).then(|| ns as f64 / evidence.covered_ns as f64);
    let percent =
        share.map_or(String::new(), |share| format!(", {:.1} % of the recorded time", share * 100.0));
    let sum = if is_one { format!(", {} in all{percent}", duration(ns as f64)) } else { String::new() };
    let text = format!(
        "{} of the write cache, {} each{sum}. btt drops records without bytes: these flushes are in none of its rows.",
        many(n, "flush command"),
        duration(mean),
    );
    Some((text, json!({"flushes": n, "total_ns": ns, "mean_ns": mean, "share_of_time": share})))
}

fn preflush_in_g2i(evidence: &Evidence<'_>) -> Warning {
    let (n, ns) = (evidence.totals.preflush_bios, evidence.totals.preflush_ns);
    let mean = mean(ns as f64, n)?;
    let text = format!(
        "{} had to wait for a flush before the data, {} each. btt's G2I holds that wait; here it \
         has a row of its own.",
        many(n, "write"),
        duration(mean)
    );
    Some((text, json!({"bios": n, "total_ns": ns, "mean_ns": mean})))
}

fn no_scheduler(evidence: &Evidence<'_>) -> Warning {
    let (n, ns) = evidence.totals.sum_of(Phase::G2d);
    let mean = mean(ns as f64, n)?;
    let text = format!(
        "{} went from G to D past every scheduler, {} each, the time under a plug included. btt has no row for that: \
         its G2I and I2D need an I. Here it is G2D.",
        many(n, "bio"),
        duration(mean)
    );
    Some((text, json!({"bios": n, "total_ns": ns, "mean_ns": mean})))
}

fn duplicates(evidence: &Evidence<'_>) -> Warning {
    let (n, all) = (evidence.read.duplicates, evidence.read.records);
    (n > 0).then(|| {
        let text = format!(
            "{} came again, as when blkparse is given the file of each CPU by name and reads all of them once for \
             each. btt counts them every time.",
            many(n, "record")
        );
        (text, json!({"duplicates": n, "records": all}))
    })
}

fn remapper_majors(evidence: &Evidence<'_>) -> Warning {
    let taken = evidence.totals.devices.iter().filter(|device| is_remapper(device.number));
    let names: Vec<_> = taken.map(OfDevice::name).collect();
    (!names.is_empty()).then(|| {
        let text = format!(
            "btt takes {} for dm or md because of the major number, which other drives, such as virtio disks, can \
             have too: Q2Q and Q2C stand in Q2Qdm and Q2Cdm, and its overhead table leaves them out.",
            names.join(", ")
        );
        (text, json!({"devices": names}))
    })
}

fn requeues(evidence: &Evidence<'_>) -> Warning {
    let (n, bios) = (evidence.counts.requeues, evidence.totals.requeued_bios);
    (n > 0).then(|| {
        let text = format!(
            "Requests were put back {}, which concerns {}. btt's D2C begins at the last D; here it begins at the \
             first.",
            many(n, "time"),
            many(bios, "bio")
        );
        (text, json!({"requeues": n, "bios": bios}))
    })
}

fn errors(evidence: &Evidence<'_>) -> Warning {
    let (n, bios) = (evidence.counts.errors, evidence.totals.failed_bios);
    (n > 0).then(|| {
        let (completions, concerned) = (many(n, "completion"), many(bios, "bio"));
        let text = format!(
            "{completions} came with an error, which concerns {concerned}. btt counts them like success."
        );
        (text, json!({"errors": n, "bios": bios}))
    })
}

fn discards(evidence: &Evidence<'_>) -> Warning {
    let n = evidence.totals.discard_bios;
    (n > 0).then(|| {
        let discards = many(n, "discard");
        let text = format!(
            "{discards} stand among the bios. btt counts them like reads and writes; see the classes."
        );
        (text, json!({"bios": n}))
    })
}

fn backward_times(evidence: &Evidence<'_>) -> Warning {
    let n = evidence.counts.backward_times;
    (n > 0).then(|| {
        let records = many(n, "record");
        // a clock that is not quite the same on all CPUs does that to few
        let hint = if n * 100 > evidence.counts.records {
            " Files of CPUs that were put one behind the other look like that: name them one by one."
        } else {
            ""
        };
        let text = format!(
            "{records} of an earlier time than one before. btt counts a phase that goes back as 1 ns, here it is \
             0.{hint}"
        );
        (text, json!({"records": n}))
    })
}

fn cgroup_ids(evidence: &Evidence<'_>) -> Warning {
    let n = evidence.with_cgroup;
    (n > 0).then(|| {
        let records = many(n, "record");
        let text =
            format!("{records} with the id of a cgroup: btt does not know such records and drops them.");
        (text, json!({"records": n}))
    })
}

fn incomplete(evidence: &Evidence<'_>) -> Warning {
    let counts = evidence.counts;
    let early = counts.orphan_completions + counts.orphan_issues;
    if counts.bios_open_at_end == 0 && counts.commands_open_at_end == 0 && early == 0 {
        return None;
    }
    let mut text = String::new();
    if counts.bios_open_at_end > 0 || counts.commands_open_at_end > 0 {
        let (bios, commands) =
            (many(counts.bios_open_at_end, "bio"), many(counts.commands_open_at_end, "command"));
        let stale = match counts.bios_stale {
            0 => String::new(),
            stale => format!("; {} queued more than a second before it ends", many(stale, "bio")),
        };
        text += &format!("{bios} and {commands} without an end in the recording{stale}. ");
    }
    if early > 0 {
        text += &format!("{} without the beginning of the I/O. ", many(early, "record"));
    }
    text += "Only the phases that are there count.";
    let numbers = json!({
        "bios_open": counts.bios_open_at_end,
        "bios_stale": counts.bios_stale,
        "commands_open": counts.commands_open_at_end,
        "orphan_records": early,
    });
    Some((text, numbers))
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_have_three_digits_and_the_unit_that_fits() {
        let found =
            [0.0, 434.0, 999.6, 7e6, 833_912.0, 9_996.0, 12_340.0, 3_613_787_705.0, 5e12].map(duration);
        let expected = ["0 ns", "434 ns", "1 us", "7 ms", "834 us", "10 us", "12.3 us", "3.61 s", "5000 s"];
        assert_eq!(found, expected);
    }
}
