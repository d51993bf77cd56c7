//! What an operation waits for beside its own bios, as plainly as it can be written.

use drivelab_trace::join::{Kind, Operation};
use drivelab_trace::lifetime::{Bio, Class};

use crate::oracle::{Oracle, Who, end_of};

impl Oracle<'_> {
    /// Whether it waits for what the kernel reads, or for all that it does.
    pub fn waits_for(&self, operation: &Operation, is_read: bool) -> bool {
        let is_durable = operation.is_durable || matches!(operation.kind, Kind::Sync | Kind::DurableWrite);
        let reads = operation.kind == Kind::Read;
        is_durable || operation.is_synchronous && (!reads || is_read) && self.has_waited(operation)
    }

    fn has_waited(&self, operation: &Operation) -> bool {
        let (start, end) = (operation.start_ns, operation.end_ns);
        let is_own =
            |bio: &Bio| self.who(bio.pid) == Who::Own(operation.thread) && (start..end).contains(&bio.queued);
        let is_kernels = |bio: &Bio| match self.who(bio.pid) {
            Who::Foreign => false,
            Who::Kernel => true,
            Who::Own(_) => self.is_journal(bio),
        };
        // in the later half of its time; these operations are shorter than the tens of us that it may take to go on
        let lets_go_on = |bio: &Bio| {
            let is_in_time =
                end_of(bio).is_some_and(|ended| ended < end && ended >= start + (end - start) / 2);
            let may_matter =
                operation.kind != Kind::Read || Class::of(bio.category, bio.bytes) == Class::Read;
            is_in_time && may_matter && is_kernels(bio)
        };
        operation.has_slept.unwrap_or_else(|| self.bios.iter().any(|bio| is_own(bio) || lets_go_on(bio)))
    }
}
