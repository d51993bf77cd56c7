//! Brings the files of a tree into the state that a workload expects.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::calls::{self, CallResult, Calls, Name};
use super::file_data::FileData;
use super::layout::{Layout, PATH_MAX, Variant};
use super::places::Places;
use super::population::present_at_first;
use super::remove::remove_tree;
use super::state::{Filling, Known, filling_after, recall, remember};
use super::{DIRECTORY, room};
use crate::error::{Code, EngineError, Result};
use crate::run::Outcome;
use crate::workload::{Durability, DurabilityMethod, Workload};

/// What lies beside the files of a tree, and says whose they are.
const MARK: &str = "made-by-drivelab";
const MARK_TEXT: &str = "Files that a measurement made. They may be removed.\n";
/// The directory in which the files lie.
const FILES: &str = "files";
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
        let target = Path::new(&workload.target.path);
        let Some(layout) = Layout::of(workload) else {
            return Err(EngineError::new(Code::Bug, "there is no tree").at(&workload.target.path));
        };
        let directory = own_directory(target)?;
        let lock = locked(&directory)?;
        let files = directory.join(FILES);
        if recall(&directory).is_some_and(|known| is_as_needed(&known, workload, &layout, &files)) {
            let root = opened(&files)?;
            let needed = Known::needed_by(workload, &layout, root.as_raw_fd());
            return Ok(Some(Self { directory, root, layout, needed, _lock: lock }));
        }
        remember(&directory, None);
        if !remove_tree(&files, keep_going)? {
            return Ok(None);
        }
        room::refuse_without_room(&layout, target)?;
        fs::create_dir(&files).map_err(|error| failed("make the directory", &files, &error))?;
        let root = opened(&files)?;
        let needed = Known::needed_by(workload, &layout, root.as_raw_fd());
        match fill(workload, &layout, needed.filling, root.as_raw_fd(), keep_going) {
            Ok(true) => {}
            Ok(false) => {
                remove_tree(&files, &mut || true)?;
                return Ok(None);
            }
            Err((action, name, errno)) => {
                let _ = remove_tree(&files, &mut || true);
                return Err(failed(action, &files.join(name), &io::Error::from_raw_os_error(errno)));
            }
        }
        remember(&directory, Some(needed.clone()));
        Ok(Some(Self { directory, root, layout, needed, _lock: lock }))
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
    let Ok(directory) = fs::canonicalize(target.join(DIRECTORY)) else { return Ok(true) };
    let mark = directory.join(MARK);
    if !mark.is_file() {
        return Ok(true);
    }
    let _lock = match locked(&directory) {
        Err(error) if error.code == Code::InUse => return Ok(true),
        lock => lock?,
    };
    remember(&directory, None);
    if !remove_tree(&directory.join(FILES), keep_going)? {
        return Ok(false);
    }
    // Somebody may have put something of their own beside the files.
    let is_alone = fs::read_dir(&directory).is_ok_and(|entries| entries.count() == 1);
    if is_alone {
        fs::remove_file(&mark).map_err(|error| failed("remove", &mark, &error))?;
        fs::remove_dir(&directory).map_err(|error| failed("remove the directory", &directory, &error))?;
    }
    Ok(true)
}

fn is_as_needed(known: &Known, workload: &Workload, layout: &Layout, files: &Path) -> bool {
    let Ok(root) = opened(files) else { return false };
    *known == Known::needed_by(workload, layout, root.as_raw_fd())
}

/// Our directory below the target; made when it isn't there.
fn own_directory(target: &Path) -> Result<PathBuf> {
    let shown = target.display().to_string();
    let metadata =
        fs::metadata(target).map_err(|error| EngineError::from_os("look at the target", &shown, &error))?;
    if !metadata.is_dir() {
        return Err(EngineError::new(Code::NotADirectory, format!("{shown} is not a directory"))
            .at(shown)
            .advise("operations on files need a directory: name one, or a file system made on the drive"));
    }
    let directory = fs::canonicalize(target)
        .map_err(|error| EngineError::from_os("look at the target", &shown, &error))?
        .join(DIRECTORY);
    match fs::create_dir(&directory) {
        Ok(()) => {
            let mark = directory.join(MARK);
            fs::write(&mark, MARK_TEXT).map_err(|error| failed("write", &mark, &error))?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => refuse_foreign(&directory)?,
        Err(error) => return Err(failed("make the directory", &directory, &error)),
    }
    Ok(directory)
}

fn refuse_foreign(directory: &Path) -> Result<()> {
    // A directory that was made without its mark holds nothing yet.
    let is_empty = fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none());
    let is_directory = fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir());
    let mark = directory.join(MARK);
    if is_directory && is_empty {
        return fs::write(&mark, MARK_TEXT).map_err(|error| failed("write", &mark, &error));
    }
    if is_directory && mark.is_file() {
        return Ok(());
    }
    let shown = directory.display().to_string();
    Err(EngineError::new(Code::ForeignFiles, format!("{shown} exists, and drivelab did not make it"))
        .at(shown)
        .advise("move it away, or name another directory"))
}

/// The open mark, locked: two runs must not change the same files.
fn locked(directory: &Path) -> Result<File> {
    let mark = directory.join(MARK);
    let lock = File::open(&mark).map_err(|error| failed("open", &mark, &error))?;
    // SAFETY: no memory is passed.
    let result = unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if result == 0 {
        return Ok(lock);
    }
    Err(EngineError::new(Code::InUse, "another run works on the files there")
        .at(directory.display().to_string())
        .advise("wait for its end, or name another directory"))
}

fn opened(files: &Path) -> Result<OwnedFd> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(files);
    opened.map(OwnedFd::from).map_err(|error| failed("open the directory", files, &error))
}

fn failed(action: &str, path: &Path, error: &io::Error) -> EngineError {
    EngineError::from_os(action, &path.display().to_string(), error)
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
