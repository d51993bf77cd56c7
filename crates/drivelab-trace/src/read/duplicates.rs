//! Records that come twice: a recording that was fed to blkparse several times holds every one as often.

use crate::record::{Action, Record};

/// So many records of the same time are compared.
const KEPT: usize = 64;

/// What two records must have in common to be the same; payloads follow from it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Key {
    sector: u64,
    sequence: u32,
    bytes: u32,
    action: (u16, u32),
    pid: u32,
    device: u32,
    cpu: u32,
    error: i32,
}

impl Key {
    fn of(record: &Record) -> Self {
        Self {
            sector: record.sector,
            sequence: record.sequence,
            bytes: record.bytes,
            action: (record.action_bits, record.category),
            pid: record.pid,
            device: record.device,
            cpu: record.cpu,
            error: record.error,
        }
    }
}

/// Remembers the records of the current time.
pub(crate) struct Recent {
    time_ns: u64,
    keys: [Key; KEPT],
    count: usize,
}

impl Default for Recent {
    fn default() -> Self {
        Self { time_ns: 0, keys: [Key::default(); KEPT], count: 0 }
    }
}

impl Recent {
    /// Whether an equal record of the same time has been here; takes it in if not.
    ///
    /// A plug or an unplug has no place, so that two of a coarse clock may look alike: only their numbers tell.
    #[inline]
    pub(crate) fn has(&mut self, record: &Record) -> bool {
        let key = Key::of(record);
        if record.time_ns != self.time_ns {
            self.time_ns = record.time_ns;
            self.keys[0] = key;
            self.count = 1;
            return false;
        }
        let known = self.keys[..self.count.min(KEPT)].contains(&key);
        if known {
            return record.sequence != 0 || !is_plug(record);
        }
        self.keys[self.count % KEPT] = key;
        self.count += 1;
        if self.count == 2 * KEPT {
            self.count = KEPT;
        }
        false
    }
}

fn is_plug(record: &Record) -> bool {
    matches!(record.action(), Some(Action::Plug | Action::Unplug | Action::UnplugTimer))
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Recent};
    use crate::record::{Action, Record};

    fn record(time_ns: u64, sector: u64) -> Record {
        Record { time_ns, sector, bytes: 4096, action_bits: Action::Queue as u16, ..Record::default() }
    }

    #[test]
    fn equal_records_of_one_time_are_the_same() {
        let mut recent = Recent::default();
        let found: Vec<bool> = [(5, 1), (5, 2), (5, 1), (5, 2), (6, 1), (6, 2)]
            .iter()
            .map(|(time, at)| recent.has(&record(*time, *at)))
            .collect();
        assert_eq!(found, [false, false, true, true, false, false]);
    }

    #[test]
    fn two_plugs_of_a_coarse_clock_are_two() {
        let mut recent = Recent::default();
        let plug = |sequence| Record { sequence, action_bits: Action::Plug as u16, ..record(5, 0) };
        assert_eq!(
            [plug(0), plug(0), plug(1), plug(2), plug(1)].map(|one| recent.has(&one)),
            [false, false, false, false, true]
        );
    }

    #[test]
    fn many_records_of_one_time_take_no_more_memory() {
        let mut recent = Recent::default();
        for sector in 0..10 * KEPT as u64 {
            assert!(!recent.has(&record(5, sector)));
            assert!(recent.has(&record(5, sector)));
        }
    }
}
