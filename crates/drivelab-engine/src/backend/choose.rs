//! Which backend a workload gets when it leaves the choice open, and why.

use super::{aio, uring};
use crate::error::{Code, EngineError, Result};
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
/// [`Code::Unsupported`] when the backend asked for, or every one, cannot do the workload,
/// [`Code::UringUnusable`] or [`Code::AioUnusable`] when the kernel does not allow it.
pub fn choose(workload: &Workload, is_block_device: bool) -> Result<Choice> {
    let asked = workload.backend;
    if asked == BackendName::Auto {
        return automatic(workload, is_block_device);
    }
    refuse_impossible(asked, workload, is_block_device)?;
    match asked {
        BackendName::Uring => uring::probe()?,
        BackendName::Aio => aio::probe()?,
        _ => {}
    }
    Ok(Choice { backend: asked, reason: "asked for".to_owned() })
}

fn automatic(workload: &Workload, is_block_device: bool) -> Result<Choice> {
    let choice = |backend, reason: String| Ok(Choice { backend, reason });
    if workload.uses(Operation::Trim) && is_block_device && !workload.polled_submission {
        return choice(BackendName::Sync, "discards of a block device need a call each".to_owned());
    }
    if workload.queue_depth == 1 && !workload.polled_completion && !workload.polled_submission {
        return choice(BackendName::Sync, "one I/O at a time: the plain call costs least".to_owned());
    }
    // What only io_uring can do is refused here in its words.
    refuse_impossible(BackendName::Uring, workload, is_block_device)?;
    let unusable = match uring::probe() {
        Ok(()) => {
            return choice(BackendName::Uring, "queue depth above 1, and io_uring is allowed".to_owned());
        }
        Err(error) => error,
    };
    if workload.polled_submission {
        return Err(unusable);
    }
    let aio = refuse_impossible(BackendName::Aio, workload, is_block_device).and_then(|()| aio::probe());
    match aio {
        Ok(()) => choice(BackendName::Aio, unusable.what),
        // One I/O at a time is less than was asked for; what was achieved stands beside it.
        Err(error) => choice(BackendName::Sync, format!("{}; {}", unusable.what, error.what)),
    }
}

fn refuse_impossible(backend: BackendName, workload: &Workload, is_block_device: bool) -> Result<()> {
    let trims = workload.uses(Operation::Trim);
    let refusal = match backend {
        BackendName::Sync if workload.queue_depth > 1 => Some((
            "the sync backend keeps one I/O outstanding per job",
            "use --jobs for parallelism, or --backend uring",
        )),
        BackendName::Uring if trims && is_block_device => {
            Some(("io_uring cannot discard a range of a block device", "use --backend sync"))
        }
        BackendName::Uring if workload.polled_completion && workload.durability.needs_sync_call() => Some((
            "a ring with polled completions has no sync call",
            "use --durability rwf_dsync, or do not poll",
        )),
        BackendName::Uring if workload.polled_completion && !workload.direct => {
            Some(("only direct I/O can be polled for", "use --direct, or do not poll"))
        }
        BackendName::Aio if workload.polled_completion => {
            Some(("asynchronous I/O has no polled completions", "use --backend uring or sync"))
        }
        BackendName::Aio if trims => Some(("asynchronous I/O has no discard", "use --backend sync")),
        BackendName::Aio if workload.durability.method == DurabilityMethod::SyncFileRange => {
            Some(("asynchronous I/O has no sync_file_range", "use --backend sync or uring"))
        }
        BackendName::Null if workload.verify => {
            Some(("the null backend reads nothing that could be verified", "use another backend"))
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
