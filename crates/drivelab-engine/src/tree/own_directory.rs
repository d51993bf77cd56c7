//! Our directory below a target: opened once without following links, and reached through its descriptor from then on.
//!
//! The target may belong to somebody else, who can rename what lies there and put links in its place at any
//! moment. What lies in our directory is safe from that: nobody but its owner can change it, and that is us.

use std::ffi::CStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::calls::{self, Name};
use crate::error::{Code, EngineError, Result};
use crate::workload::Workload;

/// [`super::DIRECTORY`], as system calls take it.
const OWN: &CStr = c"drivelab-tree";
/// What lies beside the files of a tree, and says whose they are.
const MARK: &CStr = c"made-by-drivelab";
const MARK_TEXT: &str = "Files that a measurement made. They may be removed.\n";
/// Made for a moment, to see whose files are that we make here.
const PROBE: &CStr = c".whose";
/// The directory in which the files lie.
pub(super) const FILES: &CStr = c"files";

/// Our directory below a target, held open with it.
#[derive(Debug)]
pub(super) struct OwnDirectory {
    /// Where it was when it was opened: for messages, and to know it again.
    pub(super) path: PathBuf,
    target: OwnedFd,
    directory: OwnedFd,
}

impl OwnDirectory {
    /// Our directory below the target of a workload; made when it isn't there.
    ///
    /// # Errors
    ///
    /// [`Code::NotADirectory`], [`Code::ForeignFiles`], and what the operating system refuses.
    pub(super) fn made_for(workload: &Workload) -> Result<Self> {
        let named = Path::new(&workload.target.path);
        let by = workload.target.opened_by();
        let metadata = fs::metadata(&by)
            .map_err(|error| EngineError::from_os("look at the target", &shown(named), &error))?;
        if !metadata.is_dir() {
            return Err(EngineError::new(
                Code::NotADirectory,
                format!("{} is not a directory", shown(named)),
            )
            .at(shown(named))
            .advise("operations on files need a directory: name one, or a file system made on the drive"));
        }
        let target = opened(&by).map_err(|error| failed("open the target", named, &error))?;
        let opened = target.metadata().map_err(|error| failed("look at the target", named, &error))?;
        workload.target.require_held(&opened)?;
        let path = fs::canonicalize(&by)
            .map_err(|error| failed("look at the target", named, &error))?
            .join(super::DIRECTORY);
        let target = OwnedFd::from(target);
        let is_new = match calls::make_directory_for_all(at(&target, OWN)) {
            Ok(()) => true,
            Err(libc::EEXIST) => false,
            Err(errno) => return Err(failed("make the directory", &path, &os(errno))),
        };
        let directory = match calls::open_directory(at(&target, OWN)) {
            Ok(fd) => owned(fd),
            Err(libc::ELOOP | libc::ENOTDIR) => return Err(foreign(&path, "drivelab did not make it")),
            Err(errno) => return Err(failed("open the directory", &path, &os(errno))),
        };
        let own = Self { path, target, directory };
        own.mark(is_new)?;
        Ok(own)
    }

    /// Our directory below a target, if drivelab made it.
    pub(super) fn found_below(target: &Path) -> Option<Self> {
        let opened = OwnedFd::from(opened(target).ok()?);
        let directory = owned(calls::open_directory(at(&opened, OWN)).ok()?);
        let path = fs::canonicalize(target).ok()?.join(super::DIRECTORY);
        let own = Self { path, target: opened, directory };
        (own.is_ours() && own.has_mark()).then_some(own)
    }

    /// What lies in it.
    pub(super) fn entry<'a>(&'a self, name: &'a CStr) -> Name {
        at(&self.directory, name)
    }

    /// Its path, for a message.
    pub(super) fn path_of(&self, name: &CStr) -> PathBuf {
        self.path.join(name.to_string_lossy().as_ref())
    }

    /// The descriptor, for what asks about its file system.
    pub(super) fn fd(&self) -> RawFd {
        self.directory.as_raw_fd()
    }

    /// The open mark, locked: two runs must not change the same files.
    ///
    /// # Errors
    ///
    /// [`Code::InUse`].
    pub(super) fn locked(&self) -> Result<File> {
        let lock = calls::open_file(self.entry(MARK), libc::O_RDONLY | libc::O_NONBLOCK);
        let lock = File::from(owned(lock.map_err(|errno| failed("open", &self.path_of(MARK), &os(errno)))?));
        // SAFETY: no memory is passed.
        let result = unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        if result == 0 {
            return Ok(lock);
        }
        Err(EngineError::new(Code::InUse, "another run works on the files there")
            .at(shown(&self.path))
            .advise("wait for its end, or name another directory"))
    }

    /// The directory of the files.
    ///
    /// # Errors
    ///
    /// The refusal of the operating system.
    pub(super) fn opened_files(&self) -> Result<OwnedFd> {
        calls::open_directory(self.entry(FILES))
            .map(owned)
            .map_err(|errno| failed("open the directory", &self.path_of(FILES), &os(errno)))
    }

    /// Removes the directory when nothing but our mark is in it: somebody may have put something there.
    ///
    /// # Errors
    ///
    /// The refusal of the operating system.
    pub(super) fn remove_if_alone(&self) -> Result<()> {
        if self.entry_count() != 1 || !self.has_mark() {
            return Ok(());
        }
        calls::unlink(self.entry(MARK), 0)
            .map_err(|errno| failed("remove", &self.path_of(MARK), &os(errno)))?;
        // An empty directory at the most: where it was renamed meanwhile, that is what is left of it.
        calls::unlink(at(&self.target, OWN), libc::AT_REMOVEDIR)
            .map(drop)
            .map_err(|errno| failed("remove the directory", &self.path, &os(errno)))
    }

    /// Leaves our mark in a directory that is empty, and refuses one that is not ours.
    fn mark(&self, is_new: bool) -> Result<()> {
        if !self.is_ours() {
            return Err(foreign(&self.path, "it belongs to another user"));
        }
        // A directory that was made without its mark holds nothing yet.
        if is_new || self.entry_count() == 0 {
            let written = calls::new_file(self.entry(MARK))
                .map_err(os)
                .and_then(|fd| io::Write::write_all(&mut File::from(owned(fd)), MARK_TEXT.as_bytes()));
            return written.map_err(|error| failed("write", &self.path_of(MARK), &error));
        }
        if self.has_mark() { Ok(()) } else { Err(foreign(&self.path, "drivelab did not make it")) }
    }

    fn entry_count(&self) -> usize {
        let entries = fs::read_dir(format!("/proc/self/fd/{}", self.fd()));
        // what cannot be looked into is never ours alone
        entries.map_or(usize::MAX, Iterator::count)
    }

    fn has_mark(&self) -> bool {
        calls::kind(self.entry(MARK)).is_ok_and(|kind| kind == libc::S_IFREG)
    }

    /// Whether nobody else can change what lies in it.
    fn is_ours(&self) -> bool {
        let Ok(found) = calls::status(self.fd()) else { return false };
        if found.st_mode & 0o022 != 0 {
            // SAFETY: no memory is passed.
            let closed = unsafe { libc::fchmod(self.fd(), found.st_mode & 0o755) };
            if closed != 0 {
                return false;
            }
        }
        // SAFETY: the call only reads a number.
        found.st_uid == unsafe { libc::geteuid() } || self.is_of_whoever_we_are_here(found.st_uid)
    }

    /// Whether files that we make have the owner of the directory: some file systems know us by another number.
    fn is_of_whoever_we_are_here(&self, owner: libc::uid_t) -> bool {
        let probe = self.entry(PROBE);
        let Ok(fd) = calls::new_file(probe).map(owned) else { return false };
        let found = calls::status(fd.as_raw_fd());
        let _ = calls::unlink(probe, 0);
        found.is_ok_and(|found| found.st_uid == owner)
    }
}

/// A directory as the start of paths: it need not be readable.
fn opened(directory: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(directory)
}

fn at(directory: &OwnedFd, name: &CStr) -> Name {
    Name { directory: directory.as_raw_fd(), path: name.as_ptr() }
}

fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: the callers pass a descriptor that was just opened and belongs to nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn os(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn foreign(path: &Path, why: &str) -> EngineError {
    EngineError::new(Code::ForeignFiles, format!("{} exists, and {why}", shown(path)))
        .at(shown(path))
        .advise("move it away, or name another directory")
}

pub(super) fn failed(action: &str, path: &Path, error: &io::Error) -> EngineError {
    EngineError::from_os(action, &shown(path), error)
}
