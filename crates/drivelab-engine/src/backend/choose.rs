//! Which backend a workload gets when it leaves the choice open, and why.

use super::{aio, ring, uring_cmd};
use crate::error::{Code, EngineError, Result};
use crate::workload::{BackendName, DurabilityMethod, FileState, Operation, SyncOrder, Workload};

/// The backend of a run and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Never `Auto`.
    pub backend: BackendName,
    /// Why, for the reader of a result.
    pub reason: String,
}

/// What cannot be done, and what to do instead.
type Refusal = (&'static str, &'static str);

/// Chooses a backend for a workload on a target.
///
/// # Errors
///
/// [`Code::Unsupported`] when the backend asked for, or every one, cannot do the workload,
/// [`Code::UringUnusable`] or [`Code::AioUnusable`] when the kernel does not allow it.
pub fn choose(workload: &Workload) -> Result<Choice> {
    let asked = workload.backend;
    if workload.target.simulated.is_some() {
        return simulated(workload);
    }
    if workload.tree.is_some() {
        return calls_on_files(workload);
    }
    if asked == BackendName::Auto {
        return automatic(workload);
    }
    let keeps_to_zones = matches!(asked, BackendName::Sync | BackendName::Uring | BackendName::Aio);
    if workload.zoned_drive.is_some() && !keeps_to_zones {
        let what = format!("the {} backend does not keep to zones", asked.name());
        return Err(EngineError::new(Code::Unsupported, what)
            .at("backend")
            .advise("use --backend sync, uring or aio"));
    }
    refuse_impossible(asked, workload)?;
    match asked {
        BackendName::Uring => ring::probe()?,
        BackendName::UringCmd => uring_cmd::probe()?,
        BackendName::Aio => aio::probe()?,
        _ => {}
    }
    Ok(Choice { backend: asked, reason: "asked for".to_owned() })
}

/// A simulated drive takes commands, and knows no kernel.
fn simulated(workload: &Workload) -> Result<Choice> {
    let refusals: [(bool, Refusal); 6] = [
        (
            workload.backend != BackendName::Auto,
            ("a simulated drive is reached through no interface of the kernel", "leave out --backend"),
        ),
        (workload.zoned_drive.is_some(), ("a simulated drive has no zones", "leave the zones out")),
        (workload.tree.is_some(), ("a simulated drive has no file system", "use reads and writes of blocks")),
        (workload.verify, ("a simulated drive keeps no data that could be verified", "leave out --verify")),
        (
            workload.polled_completion || workload.polled_submission || !workload.pin_cpus.is_empty(),
            ("a simulated drive keeps no processor busy", "leave out what polls and pins"),
        ),
        (
            workload.durability.method == DurabilityMethod::SyncFileRange,
            ("a drive has no sync_file_range", "use --durability fdatasync (a flush) or o_dsync (FUA)"),
        ),
    ];
    match refusals.into_iter().find(|refusal| refusal.0) {
        Some((_, (what, advice))) => {
            Err(EngineError::new(Code::Unsupported, what).at(&workload.target.path).advise(advice))
        }
        None => {
            let reason = "the drive is simulated: nothing real was measured".to_owned();
            Ok(Choice { backend: BackendName::Simulated, reason })
        }
    }
}

/// Operations on files are system calls, one after the other.
fn calls_on_files(workload: &Workload) -> Result<Choice> {
    let is_possible = matches!(workload.backend, BackendName::Auto | BackendName::Sync);
    if is_possible && workload.queue_depth == 1 {
        let reason = "operations on files are calls that return when they are done".to_owned();
        return Ok(Choice { backend: BackendName::Sync, reason });
    }
    Err(EngineError::new(Code::Unsupported, "operations on files are done one at a time by each job")
        .at("backend")
        .advise("use --jobs for parallelism, with a queue depth of 1 and --backend sync"))
}

fn automatic(workload: &Workload) -> Result<Choice> {
    let choice = |backend, reason: String| Ok(Choice { backend, reason });
    let polls = workload.polled_completion || workload.polled_submission;
    if workload.operations.iter().all(|share| share.operation == Operation::Trim) && !polls {
        return choice(BackendName::Sync, "a discard is a call that returns when it is done".to_owned());
    }
    if workload.queue_depth == 1 && !polls {
        return choice(BackendName::Sync, "one I/O at a time: the plain call costs least".to_owned());
    }
    // What only io_uring can do is refused here in its words.
    refuse_impossible(BackendName::Uring, workload)?;
    let unusable = match ring::probe() {
        Ok(()) => {
            return choice(BackendName::Uring, "queue depth above 1, and io_uring is allowed".to_owned());
        }
        Err(error) => error,
    };
    if workload.polled_submission {
        return Err(unusable);
    }
    let aio = refuse_impossible(BackendName::Aio, workload).and_then(|()| aio::probe());
    match aio {
        Ok(()) => choice(BackendName::Aio, unusable.what),
        // One I/O at a time is less than was asked for; what was achieved stands beside it.
        Err(error) => choice(BackendName::Sync, format!("{}; {}", unusable.what, error.what)),
    }
}

/// What copies to and from a mapping cannot do.
fn refusal_of_mapping(workload: &Workload) -> Option<Refusal> {
    use DurabilityMethod::{ODsync, OSync, RwfDsync};
    let refusals = [
        (
            workload.queue_depth > 1,
            ("the mmap backend copies one block at a time in each job", "use --jobs for parallelism"),
        ),
        (
            workload.direct,
            (
                "a mapping is the page cache itself: it cannot bypass it",
                "leave out --direct, or use --backend sync",
            ),
        ),
        (
            workload.polled_completion || workload.polled_submission,
            ("a copy is not submitted, so nothing is polled", "use --backend uring"),
        ),
        (
            workload.file_state == FileState::Append,
            ("a mapping does not grow with its file", "use --file-state overwrite, or --backend sync"),
        ),
        (
            matches!(workload.durability.method, ODsync | OSync | RwfDsync),
            (
                "a copy to a mapping is no write call, which O_DSYNC, O_SYNC and RWF_DSYNC are about",
                "use --durability fdatasync (msync) or fsync",
            ),
        ),
    ];
    refusals.into_iter().find(|refusal| refusal.0).map(|refusal| refusal.1)
}

/// What fread and fwrite cannot do.
fn refusal_of_streams(workload: &Workload) -> Option<Refusal> {
    let refusals = [
        (
            workload.queue_depth > 1,
            ("fread and fwrite move one block at a time in each job", "use --jobs for parallelism"),
        ),
        (
            workload.direct,
            (
                "the C library's buffer is not aligned for direct I/O",
                "leave out --direct, or use --backend sync",
            ),
        ),
        (
            workload.polled_completion || workload.polled_submission,
            ("fread and fwrite do not poll", "use --backend uring"),
        ),
        (workload.uses(Operation::Trim), ("the C library has no discard", "use --backend sync")),
        (
            workload.durability.method == DurabilityMethod::RwfDsync,
            ("fwrite takes no flags", "use --durability o_dsync or fdatasync"),
        ),
    ];
    refusals.into_iter().find(|refusal| refusal.0).map(|refusal| refusal.1)
}

/// What calls in place of pread and pwrite cannot do.
fn refusal_of_transfers(workload: &Workload) -> Option<Refusal> {
    let refusals = [
        (workload.queue_depth > 1, ("it does one I/O at a time in each job", "use --jobs for parallelism")),
        (
            workload.polled_completion || workload.polled_submission,
            ("a pipe is not polled for completions", "use --backend uring"),
        ),
        (
            workload.durability.method == DurabilityMethod::RwfDsync,
            ("splice takes no such flag", "use --durability o_dsync or fdatasync"),
        ),
        (
            workload.backend == BackendName::Falloc && workload.verify,
            ("it reserves space, and reads nothing that could be verified", "use another backend"),
        ),
    ];
    refusals.into_iter().find(|refusal| refusal.0).map(|refusal| refusal.1)
}

/// What commands of our own cannot do.
fn refusal_of_commands(workload: &Workload) -> Option<Refusal> {
    let refusals = [
        (!workload.direct, ("commands that go past the block layer know no page cache", "add --direct")),
        (workload.uses(Operation::Trim), ("it sends reads, writes and flushes only", "use --backend uring")),
        (
            workload.durability.method == DurabilityMethod::SyncFileRange,
            ("a drive has no sync_file_range", "use --durability fdatasync (a flush) or o_dsync (FUA)"),
        ),
        (
            workload.polled_completion && workload.durability.needs_sync_call(),
            ("a ring with polled completions sends no flush", "use --durability o_dsync, or do not poll"),
        ),
    ];
    refusals.into_iter().find(|refusal| refusal.0).map(|refusal| refusal.1)
}

fn refuse_impossible(backend: BackendName, workload: &Workload) -> Result<()> {
    let refusal = match backend {
        BackendName::Sync if workload.queue_depth > 1 => Some((
            "the sync backend keeps one I/O outstanding per job",
            "use --jobs for parallelism, or --backend uring",
        )),
        BackendName::Mmap => refusal_of_mapping(workload),
        BackendName::Stdio => refusal_of_streams(workload),
        BackendName::Splice | BackendName::Falloc => refusal_of_transfers(workload),
        BackendName::UringCmd => refusal_of_commands(workload),
        BackendName::Uring if workload.polled_completion && workload.durability.needs_sync_call() => Some((
            "a ring with polled completions has no sync call",
            "use --durability rwf_dsync, or do not poll",
        )),
        BackendName::Uring if workload.polled_completion && !workload.direct => {
            Some(("only direct I/O can be polled for", "use --direct, or do not poll"))
        }
        BackendName::Aio | BackendName::Posixaio if workload.polled_completion => {
            Some(("asynchronous I/O has no polled completions", "use --backend uring or sync"))
        }
        BackendName::Aio | BackendName::Posixaio
            if workload.durability.method == DurabilityMethod::SyncFileRange
                && (backend == BackendName::Posixaio
                    || workload.durability.order == SyncOrder::AfterWrite) =>
        {
            Some(("asynchronous I/O has no sync_file_range", "use --backend sync or uring"))
        }
        BackendName::Posixaio if workload.durability.method == DurabilityMethod::RwfDsync => {
            Some(("aio_write takes no flags", "use --durability o_dsync or fdatasync"))
        }
        BackendName::Null if workload.verify => {
            Some(("the null backend reads nothing that could be verified", "use another backend"))
        }
        BackendName::Aio | BackendName::Posixaio | BackendName::Sync | BackendName::Null
            if workload.polled_submission =>
        {
            Some(("polled submission is a feature of io_uring", "use --backend uring"))
        }
        _ => None,
    };
    match refusal {
        Some((what, advice)) => Err(EngineError::new(Code::Unsupported, what).at("backend").advise(advice)),
        None => Ok(()),
    }
}
