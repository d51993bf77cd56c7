//! Which processor a job runs on.

use crate::error::{Code, EngineError, Result};
use crate::workload::Workload;

/// Keeps the thread of a job to its processor, where the workload names some.
pub(super) fn pin(workload: &Workload, job: u32) -> Result<()> {
    let cpus = &workload.pin_cpus;
    if cpus.is_empty() {
        return Ok(());
    }
    let cpu = cpus[job as usize % cpus.len()];
    // SAFETY: a zeroed set is empty, and the kernel only reads it.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu < libc::CPU_SETSIZE as usize {
            libc::CPU_SET(cpu, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 {
        return Ok(());
    }
    Err(EngineError::new(Code::InvalidWorkload, format!("processor {cpu} cannot be used"))
        .at("pin_cpus")
        .advise("name processors that this process may use (taskset -p $$)"))
}
