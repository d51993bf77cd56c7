//! Brings the files of a tree into the state that a workload expects.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use super::calls::{self, CallResult, Calls, Name};
use super::file_data::FileData;
use super::layout::{Layout, PATH_MAX, Variant};
use super::own_directory::{FILES, OwnDirectory, failed};
use super::places::Places;
use super::population::present_at_first;
use super::remove::remove_tree;
use super::room;
use super::state::{Filling, Known, filling_after, recall, remember};
use crate::error::{Code, EngineError, Result};
use crate::run::Outcome;
use crate::workload::{Durability, DurabilityMethod, LastSync, SyncOrder, Workload};

/// So much is written between two calls that make it durable: what waits in memory stays bounded.
const BETWEEN_SYNCS: u64 = 256 << 20;

/// A tree that is as its workload expects it, locked against other runs.
#[derive(Debug)]
pub struct OpenTree {
    directory: PathBuf,
    root: OwnedFd,
    layout: Layout,
    needed: Known,
    _lock: File,
}

impl OpenTree {
    /// Makes the files of a workload below the directory that is its target, unless they are there already.
    ///
    /// `None` when `keep_going` said no meanwhile; no file is left then.
    ///
    /// # Errors
    ///
    /// [`Code::NotADirectory`], [`Code::ForeignFiles`], [`Code::TooFewInodes`], [`Code::NoSpace`],
    /// [`Code::InUse`], and what the operating system refuses.
    pub fn open(workload: &Workload, keep_going: &mut dyn FnMut() -> bool) -> Result<Option<Self>> {
        let Some(layout) = Layout::of(workload) else {
            return Err(EngineError::new(Code::Bug, "there is no tree").at(&workload.target.path));
        };
        let own = OwnDirectory::made_for(workload)?;
        let lock = own.locked()?;
        if recall(&own.path).is_some_and(|known| is_as_needed(&known, workload, &layout, &own)) {
            let root = own.opened_files()?;
            let needed = Known::needed_by(workload, &layout, root.as_raw_fd());
            return Ok(Some(Self { directory: own.path, root, layout, needed, _lock: lock }));
        }
        remember(&own.path, None);
        if !remove_files(&own, keep_going)? {
            return Ok(None);
        }
        room::refuse_without_room(&layout, own.fd(), Path::new(&workload.target.path))?;
        let files = own.path_of(FILES);
        calls::make_directory_for_all(own.entry(FILES))
            .map_err(|errno| failed("make the directory", &files, &io::Error::from_raw_os_error(errno)))?;
        let root = own.opened_files()?;
        let needed = Known::needed_by(workload, &layout, root.as_raw_fd());
        match fill(workload, &layout, needed.filling, root.as_raw_fd(), keep_going) {
            Ok(true) => {}
            Ok(false) => {
                remove_files(&own, &mut || true)?;
                return Ok(None);
            }
            Err((action, name, errno)) => {
                let _ = remove_files(&own, &mut || true);
                return Err(failed(action, &files.join(name), &io::Error::from_raw_os_error(errno)));
            }
        }
        remember(&own.path, Some(needed.clone()));
        Ok(Some(Self { directory: own.path, root, layout, needed, _lock: lock }))
    }

    /// The directory in which the files lie.
    #[must_use]
    pub fn root(&self) -> RawFd {
        self.root.as_raw_fd()
    }

    /// Where the files lie in it.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// A run is about to change the files.
    pub fn begin(&self, workload: &Workload) {
        if workload.changes_target() {
            remember(&self.directory, None);
        }
    }

    /// A run has ended: what it left is known when it did all that it was asked for.
    pub fn end(&self, workload: &Workload, outcome: &Outcome) {
        let is_whole = outcome.abandoned_jobs == 0 && outcome.jobs.iter().all(|job| job.errors.is_empty());
        if !workload.changes_target() || !is_whole {
            return;
        }
        let counts = outcome.jobs.iter().flat_map(|job| &job.all_phases);
        let done = counts.map(|counts| counts.count).sum();
        let known = filling_after(workload, done).map(|filling| Known { filling, ..self.needed.clone() });
        remember(&self.directory, known);
    }
}

/// Removes the files that were made below a target, and our directory with them.
///
/// What is not ours, or belongs to a run that is still going on, is left alone. False when `keep_going`
/// said no meanwhile; what is left is still there.
///
/// # Errors
///
/// The code that the refusal of the operating system deserves.
pub fn remove_own_tree(target: &Path, keep_going: &mut dyn FnMut() -> bool) -> Result<bool> {
    let Some(own) = OwnDirectory::found_below(target) else { return Ok(true) };
    let _lock = match own.locked() {
        Err(error) if error.code == Code::InUse => return Ok(true),
        lock => lock?,
    };
    remember(&own.path, None);
    if !remove_files(&own, keep_going)? {
        return Ok(false);
    }
    own.remove_if_alone()?;
    Ok(true)
}

fn is_as_needed(known: &Known, workload: &Workload, layout: &Layout, own: &OwnDirectory) -> bool {
    let Ok(root) = own.opened_files() else { return false };
    *known == Known::needed_by(workload, layout, root.as_raw_fd())
}

/// Removes the files in our directory.
fn remove_files(own: &OwnDirectory, keep_going: &mut dyn FnMut() -> bool) -> Result<bool> {
    // SAFETY: the directory is held open until the call returns.
    let below = unsafe { BorrowedFd::borrow_raw(own.fd()) };
    remove_tree(below, FILES, &own.path_of(FILES), keep_going)
}

/// What could not be done, the name below the root, and the errno.
type Failure = (&'static str, String, i32);

/// Makes directories and files; false when `keep_going` said no.
fn fill(
    workload: &Workload,
    layout: &Layout,
    filling: Filling,
    root: RawFd,
    keep_going: &mut dyn FnMut() -> bool,
) -> std::result::Result<bool, Failure> {
    if !make_directories(layout, root, keep_going)? {
        return Ok(false);
    }
    let mut filler = Filler {
        layout,
        calls: Calls::new(&Durability {
            method: DurabilityMethod::None,
            every_writes: 1,
            at_end: false,
            last: LastSync::Due,
            order: SyncOrder::AfterWrite,
            directory: false,
        }),
        data: FileData::new(workload, u32::MAX >> 2, layout.file_bytes_max()),
        root,
        unsynced: 0,
    };
    for job in 0..if filling == Filling::Nothing { 0 } else { workload.job_count } {
        let count = layout.count_of_job(job, false);
        let count = if filling == Filling::Half { present_at_first(workload, count) } else { count };
        let places = Places::new(layout, root, job, workload.job_count);
        let mut places = places.map_err(|errno| ("open the directories", String::new(), errno))?;
        for place in 0..count {
            if place % 64 == 0 && !keep_going() {
                return Ok(false);
            }
            let number = layout.number(job, place, false);
            let name = places.name(number, Variant::Plain);
            let made = filler.make(name, number, filling);
            made.map_err(|errno| ("make the file", shown(name), errno))?;
        }
    }
    calls::sync_filesystem(root).map_err(|errno| ("sync the file system of", String::new(), errno))?;
    Ok(true)
}

struct Filler<'a> {
    layout: &'a Layout,
    calls: Calls,
    data: FileData,
    root: RawFd,
    unsynced: u64,
}

impl Filler<'_> {
    fn make(&mut self, name: Name, number: u64, filling: Filling) -> CallResult<()> {
        if filling == Filling::Directories {
            return calls::make_directory(name).map(drop);
        }
        let bytes = self.layout.file_bytes(number);
        self.calls.create(name, bytes, &mut self.data)?;
        self.unsynced += bytes;
        if self.unsynced >= BETWEEN_SYNCS {
            self.unsynced = 0;
            calls::sync_filesystem(self.root)?;
        }
        Ok(())
    }
}

/// Makes the directories in which files lie, level by level.
fn make_directories(
    layout: &Layout,
    root: RawFd,
    keep_going: &mut dyn FnMut() -> bool,
) -> std::result::Result<bool, Failure> {
    let mut path = [0; PATH_MAX];
    for directory in 0..layout.directory_count() {
        if directory % 64 == 0 && !keep_going() {
            return Ok(false);
        }
        for level in 1..=layout.depth() {
            let length = layout.write_levels(directory, level, &mut path);
            path[length - 1] = 0;
            let name = Name { directory: root, path: path.as_ptr().cast() };
            match calls::make_directory(name) {
                Ok(_) | Err(libc::EEXIST) => {}
                Err(errno) => return Err(("make the directory", shown(name), errno)),
            }
        }
    }
    Ok(true)
}

/// A name for a message.
fn shown(name: Name) -> String {
    // SAFETY: the path ends with a zero and is still there.
    unsafe { std::ffi::CStr::from_ptr(name.path) }.to_string_lossy().into_owned()
}
