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

fn micros(ns: f64) -> String {
    format!("{:.1} us", ns / 1e3)
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
        format!("; its mean Q2C is {}, that of all is {}", micros(theirs), micros(ours))
    });
    let text = format!(" btt counts the end of {seen} of {n} bios{means}.");
    (text, json!({"bios": n, "btt_bios": seen, "mean_q2c_ns": ours, "btt_mean_q2c_ns": theirs}))
}

fn with(mut numbers: Value, key: &str, value: u64) -> Value {
    numbers[key] = json!(value);
    numbers
}

fn lost_records(evidence: &Evidence<'_>) -> Warning {
    let (lost, losses) = (evidence.read.lost_total(), evidence.counts.losses);
    let missing = &evidence.read.missing_cpus;
    if lost == 0 && losses == 0 && missing.is_empty() {
        return None;
    }
    let cpus = if missing.is_empty() {
        String::new()
    } else {
        format!(" The files of CPUs {missing:?} are missing.")
    };
    let text = format!(
        "{} known to be lost, at {}.{cpus} Counts are too low, and an I/O whose records are among them is not \
         followed to its end. Record again with larger buffers.",
        many(lost, "record"),
        many(losses, "place")
    );
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

/// Without splits and partial completions, what btt lacks was queued at the sector of another open bio.
fn overlaps(evidence: &Evidence<'_>) -> Warning {
    let (seen, _) = seen_by_btt(evidence.btt?);
    let bios = evidence.totals.completed_bios;
    if evidence.counts.splits > 0 || evidence.counts.partial_completions > 0 || seen >= bios {
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
    let share = (evidence.covered_ns > 0).then(|| ns as f64 / evidence.covered_ns as f64);
    let percent =
        share.map_or(String::new(), |share| format!(", {:.1} % of the recorded time", share * 100.0));
    let text = format!(
        "The device has emptied its cache {}, {} each, {:.3} s in all{percent}. btt drops records without \
         bytes: these flushes are in none of its rows.",
        many(n, "time"),
        micros(mean),
        ns as f64 / 1e9
    );
    Some((text, json!({"flushes": n, "total_ns": ns, "mean_ns": mean, "share_of_time": share})))
}

fn preflush_in_g2i(evidence: &Evidence<'_>) -> Warning {
    let (n, ns) = (evidence.totals.preflush_bios, evidence.totals.preflush_ns);
    let mean = mean(ns as f64, n)?;
    let text = format!(
        "{} had to wait for a flush before the data, {} each. btt's G2I holds that wait; here it is \
         preflush_wait.",
        many(n, "write"),
        micros(mean)
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
        micros(mean)
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
            "btt takes the devices {} for those of dm or md because of their major numbers: their Q2Q and Q2C stand \
             in Q2Qdm and Q2Cdm, and their overhead is left out. Other drives, such as virtio disks, can have \
             them too.",
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
        let text = format!("The clock goes back at {records}. btt counts such a time as 1 ns, here it is 0.");
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
    let text = format!(
        "The recording ends before {} (of them {} queued more than a second before) and before {}. {} tell of I/O \
         that began before it. Only the phases that are there count.",
        many(counts.bios_open_at_end, "bio"),
        counts.bios_stale,
        many(counts.commands_open_at_end, "command"),
        many(early, "record")
    );
    let numbers = json!({
        "bios_open": counts.bios_open_at_end,
        "bios_stale": counts.bios_stale,
        "commands_open": counts.commands_open_at_end,
        "orphan_records": early,
    });
    Some((text, numbers))
}
