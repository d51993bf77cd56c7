//! What of a recording btt takes for what it is not, or does not take at all, and no life of an I/O tells.

use std::collections::BTreeSet;

use crate::compat::is_remapper;
use crate::record::{CGROUP_BIT, Record};

/// Devices are told apart up to so many; damaged files must not take all memory.
const DEVICES_MAX: usize = 1 << 10;

/// What btt drops, or takes for what it is not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traps {
    /// Records with a cgroup id, none of which btt knows.
    pub with_cgroup: u64,
    /// Devices (`major << 20 | minor`) that btt takes for those of dm or md.
    pub taken_for_mapper: BTreeSet<u32>,
    last_device: Option<u32>,
}

impl Traps {
    /// Takes the next record.
    #[inline]
    pub fn push(&mut self, record: &Record) {
        if record.is_notice() {
            return;
        }
        self.with_cgroup += u64::from(record.action_bits & CGROUP_BIT != 0);
        if self.last_device != Some(record.device) {
            self.last_device = Some(record.device);
            if is_remapper(record.device) && self.taken_for_mapper.len() < DEVICES_MAX {
                self.taken_for_mapper.insert(record.device);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::category;

    #[test]
    fn every_trap_is_counted_where_it_is() {
        let mut traps = Traps::default();
        let (virtio, drive) = (254 << 20, 8 << 20);
        for one in [
            Record { device: drive, ..Record::default() },
            Record { device: virtio, action_bits: 1 | CGROUP_BIT, ..Record::default() },
            Record { device: virtio, ..Record::default() },
            Record { device: drive, ..Record::default() },
            Record {
                device: 253 << 20,
                category: category::NOTIFY,
                action_bits: CGROUP_BIT,
                ..Record::default()
            },
        ] {
            traps.push(&one);
        }
        assert_eq!((traps.with_cgroup, traps.taken_for_mapper), (1, BTreeSet::from([virtio])));
    }
}
