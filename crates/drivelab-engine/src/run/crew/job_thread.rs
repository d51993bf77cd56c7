//! The thread of a job: what it prepares, what issues its I/O, and what it reports.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use super::processors::pin;
use super::{Message, bug};
use crate::backend::files::{OnFiles, OneFile, SeveralFiles};
use crate::backend::transfer::{Pipe, Reservation, Transferring};
use crate::backend::{
    Backend, aio::Aio, blocking::Blocking, mmap::Mmap, null::Null, on_zones::OnZones, posixaio::Posixaio,
    stdio::Stdio, sync::Sync, tree::Tree, uring::Uring, uring_cmd::UringCmd,
};
use crate::buffer::Buffers;
use crate::error::{EngineError, Result};
use crate::job::{Job, JobOutcome, JobParts};
use crate::target::Target;
use crate::wake;
use crate::workload::BackendName;
use crate::zones::OwnZones;

/// A job's thread: prepares, says that it is ready, waits for the start, runs, and reports.
pub(super) fn run_thread(
    parts: JobParts,
    targets: &[Arc<Target>],
    backend: BackendName,
    gate: &Receiver<u64>,
) {
    let (job, messages) = (parts.job, parts.messages.clone());
    // SAFETY: it takes no arguments and cannot fail.
    let thread_id = unsafe { libc::gettid() };
    let outcome = guarded(|| prepare_and_run(parts, targets, backend, gate, &messages))
        .map(|outcome| JobOutcome { job, thread_id, ..outcome });
    let _ = messages.send(Message::Done(job, Box::new(outcome)));
}

/// A panic in a job is a defect of the engine: it becomes an error, and the run ends in order.
pub(super) fn guarded(work: impl FnOnce() -> Result<JobOutcome>) -> Result<JobOutcome> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(bug(&text.unwrap_or_else(|| "a job panicked".to_owned())))
    })
}

fn prepare_and_run(
    parts: JobParts,
    targets: &[Arc<Target>],
    backend: BackendName,
    gate: &Receiver<u64>,
    messages: &Sender<Message>,
) -> Result<JobOutcome> {
    let workload = Arc::clone(&parts.workload);
    let target = &targets[0];
    wake::let_only_wake_ups_interrupt();
    wake::sharpen_timers();
    let prepared = pin(&workload, parts.job).and_then(|()| Buffers::new(&workload, parts.job));
    let buffers = match prepared {
        Ok(buffers) => buffers,
        Err(error) => return not_ready(messages, error),
    };
    macro_rules! run_with {
        ($made:expr) => {
            run_at_start($made, parts, buffers, gate, messages)
        };
    }
    if let Some(tree) = target.tree() {
        let backend = Tree::new(&workload, tree, parts.job).map(Blocking::new);
        return run_with!(backend);
    }
    if let Some(resets) = parts.zones.as_ref().map(OwnZones::resets) {
        return match backend {
            BackendName::Uring => {
                run_with!(Uring::new(&workload, OneFile, targets, &buffers).map(OnZones::with(resets)))
            }
            BackendName::Aio => run_with!(Aio::new(&workload, OneFile, targets).map(OnZones::with(resets))),
            _ => run_with!(Result::Ok(OnZones::with(resets)(Blocking::new(Sync::new(target, &workload))))),
        };
    }
    if targets.len() > 1 {
        let files = SeveralFiles { span: parts.range.0 + parts.range.1 };
        return match backend {
            BackendName::Uring => run_with!(Uring::new(&workload, files, targets, &buffers)),
            BackendName::Aio => run_with!(Aio::new(&workload, files, targets)),
            _ => {
                let calls = targets.iter().map(|target| Sync::new(target, &workload)).collect();
                run_with!(Result::Ok(Blocking::new(OnFiles::new(files, calls))))
            }
        };
    }
    match backend {
        BackendName::Sync => run_with!(Result::Ok(Blocking::new(Sync::new(target, &workload)))),
        BackendName::Uring => run_with!(Uring::new(&workload, OneFile, targets, &buffers)),
        BackendName::UringCmd => run_with!(UringCmd::new(&workload, target, &buffers)),
        BackendName::Aio => run_with!(Aio::new(&workload, OneFile, targets)),
        BackendName::Posixaio => run_with!(Result::Ok(Posixaio::new(&workload, target))),
        BackendName::Mmap => {
            let mapped = Mmap::new(&workload, target, parts.range).map(Blocking::new);
            run_with!(mapped)
        }
        BackendName::Stdio => run_with!(Stdio::new(&workload, target).map(Blocking::new)),
        BackendName::Splice => {
            run_with!(Pipe::new().map(|pipe| Blocking::new(Transferring::new(target, &workload, pipe))))
        }
        BackendName::Falloc => {
            run_with!(Result::Ok(Blocking::new(Transferring::new(target, &workload, Reservation))))
        }
        BackendName::Null | BackendName::Auto | BackendName::Simulated => {
            run_with!(Result::Ok(Null::new(workload.queue_depth)))
        }
    }
}

/// Says that the job is ready, waits for the common start, and runs.
fn run_at_start<B: Backend>(
    made: Result<B>,
    mut parts: JobParts,
    buffers: Buffers,
    gate: &Receiver<u64>,
    messages: &Sender<Message>,
) -> Result<JobOutcome> {
    match made {
        Ok(backend) => {
            let _ = messages.send(Message::Ready(Ok(())));
            let Ok(start) = gate.recv() else { return Ok(JobOutcome::default()) };
            parts.start_ticks = start;
            Job::new(parts, backend, buffers).run()
        }
        Err(error) => not_ready(messages, error),
    }
}

fn not_ready(messages: &Sender<Message>, error: EngineError) -> Result<JobOutcome> {
    let _ = messages.send(Message::Ready(Err(error.clone())));
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_a_job_becomes_an_error_that_says_what_it_said() {
        let error = guarded(|| panic!("slot {} is taken", 7)).unwrap_err();
        assert_eq!((error.code.as_str(), error.what.as_str()), ("E315", "slot 7 is taken"));
    }
}
