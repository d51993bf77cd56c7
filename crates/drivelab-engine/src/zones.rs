//! Zones that are written from their start on: which of them an I/O goes to, and when one is reset.
//!
//! A drive of zones takes a write only at the write pointer of its zone. So an order of addresses says here what an I/O
//! would like, and the zones say what it gets: the rules are those of fio's `zonemode=zbd`. All jobs of a drive
//! share its zones, also those of workloads that run beside each other.

mod device;
mod of_job;
mod place;
mod state;

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use self::device::Model;
pub use self::of_job::{Next, OwnZones, Resets};
use self::state::Zones;
use crate::error::{Code, EngineError, Result};
use crate::target::Target;
use crate::workload::{Operation, Workload, ZonedDrive};

/// How long a job waits for a zone that another one writes to before it looks whether it should end.
const PATIENCE: Duration = Duration::from_millis(20);

/// The zones of a drive, shared by all who use it.
#[derive(Debug)]
pub struct ZoneTable {
    model: Model,
    asked: ZonedDrive,
    zones: Mutex<Zones>,
    /// Told whenever I/O in a zone has ended, or a zone was reset.
    changed: Condvar,
    jobs: AtomicU32,
}

impl ZoneTable {
    /// The zones of a workload's target, as the drive reports them now; `None` where it has no use for zones.
    ///
    /// # Errors
    ///
    /// [`Code::Unsupported`] where there are no zones and none are asked for, or where writes would go through the page
    /// cache of a drive that wants them in order; [`Code::Misaligned`] where the drive has zones of another size.
    pub fn of(workload: &Workload, target: &Target) -> Result<Option<Arc<Self>>> {
        let Some(asked) = &workload.zoned_drive else { return Ok(None) };
        let name = &workload.target.path;
        let Some(metadata) = target.metadata() else {
            return Err(EngineError::new(Code::Unsupported, "zones are parts of a drive or a file").at(name));
        };
        let model = device::model_of(target);
        if model == Model::Sequential && workload.changes_target() && !workload.direct {
            let what = "a zoned drive takes writes only in order, and the page cache keeps none";
            return Err(EngineError::new(Code::Unsupported, what).at(name).advise("add --direct"));
        }
        let key = key_of(&metadata, target.is_block_device());
        let mut known = lock(known_tables());
        if let Some(table) = known.get(&key) {
            let is_in_use = Arc::strong_count(table) > 1;
            if is_in_use && table.asked != *asked && workload.changes_target() {
                let what = "workloads that share zones ask for other limits of them";
                return Err(EngineError::new(Code::Unsupported, what).at(name).advise("ask for the same"));
            }
            // zones that are made up are nowhere else: what one workload wrote, the next one of the process finds
            if is_in_use || model == Model::MadeUp && table.asked == *asked {
                if !is_in_use {
                    lock(&table.zones).begin_again();
                }
                return Ok(Some(Arc::clone(table)));
            }
        }
        let mut zones = match model {
            Model::Sequential => Zones::new(device::report(target, asked, name)?, asked),
            Model::MadeUp => Zones::made_up(target.end(), asked).map_err(|error| error.at(name))?,
        };
        zones.max_open = device::max_open(target, model, asked).map_err(|error| error.at(name))?;
        let table = Arc::new(Self {
            model,
            asked: asked.clone(),
            zones: Mutex::new(zones),
            changed: Condvar::new(),
            jobs: AtomicU32::new(1),
        });
        known.insert(key, Arc::clone(&table));
        Ok(Some(table))
    }

    /// The zones as one job of a workload uses them, which may use `range` of the target.
    ///
    /// # Errors
    ///
    /// [`Code::TooSmall`] where the range has no whole zone, [`Code::Unsupported`] where more zones are open than may
    /// be, [`Code::Misaligned`] where blocks are of sizes that no zone takes.
    pub fn for_job(
        self: &Arc<Self>,
        workload: &Workload,
        target: &Target,
        range: (u64, u64),
    ) -> Result<OwnZones> {
        let name = &workload.target.path;
        let job = self.jobs.fetch_add(1, Ordering::Relaxed);
        let mut zones = lock(&self.zones);
        zones.refuse_blocks(workload).map_err(|error| error.at(name))?;
        let asked_bytes = range.1;
        let range = zones.whole_zones(range, workload.changes_target()).map_err(|error| error.at(name))?;
        if workload.uses(Operation::Write) {
            zones.open_those_in_use(range, job, &self.asked).map_err(|error| error.at(name))?;
        }
        drop(zones);
        let mut own = OwnZones::new(Arc::clone(self), target.fd(), job, (range, asked_bytes), workload);
        let failed = |(error, offset)| EngineError::from_os(&resetting(offset), name, &error);
        own.begin_empty().map_err(failed)?;
        Ok(own)
    }

    /// Start and end of the zone at an offset.
    fn bounds_at(&self, offset: u64) -> (u64, u64) {
        let zones = lock(&self.zones);
        zones.list.get(zones.at(offset)).map_or((offset, offset), |zone| (zone.start, zone.end))
    }

    fn wait(&self) {
        drop(self.changed.wait_timeout(lock(&self.zones), PATIENCE));
    }
}

/// What failed, where a zone was to be made empty or full.
pub(crate) fn resetting(offset: u64) -> String {
    format!("reset the zone at {offset} B")
}

/// Device and number of a drive or a file, and when that was made: numbers come again.
type Key = (u64, u64, Option<SystemTime>);

fn key_of(metadata: &Metadata, is_block_device: bool) -> Key {
    match is_block_device {
        true => (0, metadata.rdev(), None),
        false => (metadata.dev(), metadata.ino(), metadata.created().ok()),
    }
}

/// Tables by the drive or file that they are of.
fn known_tables() -> &'static Mutex<HashMap<Key, Arc<ZoneTable>>> {
    static KNOWN: OnceLock<Mutex<HashMap<Key, Arc<ZoneTable>>>> = OnceLock::new();
    KNOWN.get_or_init(Mutex::default)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
