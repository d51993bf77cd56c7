//! Which processor a job runs on.

use crate::error::{Code, EngineError, Result};
use crate::processor::keep_thread_on;
use crate::workload::Workload;

/// Keeps the thread of a job to its processor, where the workload names some.
pub(super) fn pin(workload: &Workload, job: u32) -> Result<()> {
    let cpus = &workload.pin_cpus;
    if cpus.is_empty() {
        return Ok(());
    }
    let cpu = cpus[job as usize % cpus.len()];
    if keep_thread_on(cpu).is_ok() {
        return Ok(());
    }
    Err(EngineError::new(Code::InvalidWorkload, format!("processor {cpu} cannot be used"))
        .at("pin_cpus")
        .advise("name processors that this process may use (taskset -p $$)"))
}
