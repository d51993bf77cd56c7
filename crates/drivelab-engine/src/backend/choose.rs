//! Which backend a workload gets when it leaves the choice open, and why.

use super::{aio, uring};
use crate::error::{Code, EngineError, Result};
use crate::target::Target;
use crate::workload::{BackendName, DurabilityMethod, Operation, Workload};

/// The backend of a run and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Never `Auto`.
    pub backend: BackendName,
    /// Why, for the reader of a result.
    pub reason: String,
}

/// Chooses a backend for a workload on a target.
///
/// # Errors
///
/// [`Code::Unsupported`] when the backend asked for cannot do the workload,
/// [`Code::UringUnusable`] or [`Code::AioUnusable`] when the kernel does not allow it.
pub fn choose(workload: &Workload, target: &Target) -> Result<Choice> {
    let asked = workload.backend;
    if asked == BackendName::Auto {
        return Ok(automatic(workload, target));
    }
    refuse_impossible(workload, target)?;
    match asked {
        BackendName::Uring => uring::probe()?,
        BackendName::Aio => aio::probe()?,
        _ => {}
    }
    Ok(Choice { backend: asked, reason: "asked for".to_owned() })
}

fn automatic(workload: &Workload, target: &Target) -> Choice {
    let choice = |backend, reason: String| Choice { backend, reason };
    if workload.uses(Operation::Trim) && target.is_block_device() {
        return choice(BackendName::Sync, "discards of a block device need a call each".to_owned());
    }
    if workload.queue_depth == 1 && !workload.polled_completion && !workload.polled_submission {
        return choice(BackendName::Sync, "one I/O at a time: the plain call costs least".to_owned());
    }
    let refusal = match uring::probe() {
        Ok(()) => {
            return choice(BackendName::Uring, "queue depth above 1, and io_uring is allowed".to_owned());
        }
        Err(error) => error.what,
    };
    match aio::probe() {
        Ok(()) => choice(BackendName::Aio, refusal),
        Err(error) => choice(BackendName::Sync, format!("{refusal}; {}", error.what)),
    }
}

fn refuse_impossible(workload: &Workload, target: &Target) -> Result<()> {
    let trims = workload.uses(Operation::Trim);
    let refusal = match workload.backend {
        BackendName::Sync if workload.queue_depth > 1 => Some((
            "the sync backend keeps one I/O outstanding per job",
            "use --jobs for parallelism, or --backend uring",
        )),
        BackendName::Uring if trims && target.is_block_device() => {
            Some(("io_uring cannot discard a range of a block device", "use --backend sync"))
        }
        BackendName::Uring if workload.polled_completion && workload.durability.needs_sync_call() => Some((
            "a ring with polled completions has no sync call",
            "use --durability rwf_dsync, or do not poll",
        )),
        BackendName::Aio if workload.polled_completion => {
            Some(("asynchronous I/O has no polled completions", "use --backend uring or sync"))
        }
        BackendName::Aio if trims => Some(("asynchronous I/O has no discard", "use --backend sync")),
        BackendName::Aio if workload.durability.method == DurabilityMethod::SyncFileRange => {
            Some(("asynchronous I/O has no sync_file_range", "use --backend sync or uring"))
        }
        BackendName::Aio | BackendName::Sync | BackendName::Null if workload.polled_submission => {
            Some(("polled submission is a feature of io_uring", "use --backend uring"))
        }
        _ => None,
    };
    match refusal {
        Some((what, advice)) => Err(EngineError::new(Code::Unsupported, what).at("backend").advise(advice)),
        None => Ok(()),
    }
}
