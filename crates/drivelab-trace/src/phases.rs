//! What a whole recording comes to: phases of bios and flushes with quantiles, by device, class and size; depths,
//! seeks, requests, processes; and a warning for each trap that btt falls into on it.
//!
//! One pass, in memory that does not grow with the recording.

mod depth;
mod phase;
mod seeks;
mod totals;
mod warnings;

use serde_json::{Value, json};

pub use self::phase::Phase;
use self::totals::Totals;
use crate::compat::{Flavour, Table};
use crate::follow::Follower;
use crate::read::{ReadSummary, Recording};
use crate::record::{Action, CGROUP_BIT, Record};

/// What is to be told.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Also keep btt's own books, to say how far they are off.
    pub with_btt: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { with_btt: true }
    }
}

/// The aggregate, fed record by record.
pub struct Phases {
    follower: Follower,
    totals: Totals,
    with_cgroup: u64,
    btt: Option<Table>,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Phases {
    /// Nothing yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            follower: Follower::new(),
            totals: Totals::new(),
            with_cgroup: 0,
            btt: options.with_btt.then(|| Table::bounded(Flavour::V1_2)),
            first_ns: None,
            last_ns: 0,
        }
    }

    /// Takes the next record of the merged stream.
    pub fn push(&mut self, record: &Record) {
        if record.is_notice() {
            return;
        }
        if self.first_ns.is_none() {
            self.totals.begin(record.time_ns);
        }
        // where the clock goes back, the first record is not the earliest
        self.first_ns = Some(self.first_ns.map_or(record.time_ns, |first| first.min(record.time_ns)));
        self.last_ns = self.last_ns.max(record.time_ns);
        self.with_cgroup += u64::from(record.action_bits & CGROUP_BIT != 0);
        if let Some(btt) = &mut self.btt {
            btt.push(record);
        }
        let opened = |follower: &Follower| (follower.counts().bios_opened, follower.counts().commands_issued);
        let before = opened(&self.follower);
        self.follower.push(record, &mut self.totals);
        let after = opened(&self.follower);
        if record.bytes > 0 {
            if after.0 > before.0 {
                self.totals.queued(record);
            } else if after.1 > before.1 {
                self.totals.issued(record);
            }
        }
        let changes = matches!(
            record.action(),
            Some(Action::Queue | Action::Issue | Action::Complete | Action::Requeue | Action::Split)
        );
        if changes {
            self.totals.holds(record.device, record.time_ns, self.follower.depths());
        }
    }

    /// Takes btt's books that were kept elsewhere, in another thread for instance.
    pub fn set_btt(&mut self, table: Table) {
        self.btt = Some(table);
    }

    /// Records were lost here.
    pub fn mark_loss(&mut self) {
        self.follower.mark_loss();
    }

    /// The trace is over. `read` is what its reader has found; times of series are in s from the earliest record.
    ///
    /// Keys of phases are their names, in the order of `phases`; a quantile that too few values carry is null.
    #[must_use]
    pub fn finish(mut self, read: &ReadSummary) -> Value {
        self.totals.end(self.last_ns);
        self.follower.finish(&mut self.totals);
        let (totals, counts) = (&self.totals, self.follower.counts());
        let first_ns = self.first_ns.unwrap_or(0);
        let covered_ns = self.last_ns.saturating_sub(first_ns);
        let evidence = warnings::Evidence {
            totals,
            counts,
            with_cgroup: self.with_cgroup,
            btt: self.btt.as_ref().filter(|table| !table.has_given_up()),
            read,
            covered_ns,
        };
        json!({
            "start_ns": first_ns,
            "end_ns": self.last_ns,
            "duration_s": covered_ns as f64 / 1e9,
            "phases": Phase::ALL.map(Phase::name),
            "all": totals.times_json(),
            "devices": totals.by_device(|device| device.times.json()),
            "classes": totals.classes_json(),
            "sizes": totals.sizes_json(),
            "depth": totals.depth_json(first_ns, evidence.has_losses()),
            "seeks": totals.by_device(|device| device.seeks_json()),
            "requests": totals.by_device(|device| device.requests_json()),
            "load": totals.by_device(|device| device.load_json(covered_ns)),
            "commands": totals.commands_json(),
            "processes": totals.processes_json(&read.processes),
            "counts": counts,
            "warnings": warnings::of(&evidence),
        })
    }
}

/// Reads a recording to its end. The recording should be opened without duplicates.
#[must_use]
pub fn report(recording: &mut Recording, options: Options) -> Value {
    let (mut phases, mut record, mut losses) = (Phases::new(options), Record::default(), 0);
    while recording.next(&mut record) {
        if recording.losses() != losses {
            losses = recording.losses();
            phases.mark_loss();
        }
        phases.push(&record);
    }
    phases.finish(&recording.summary())
}
