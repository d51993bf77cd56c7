//! What this process knows of the trees that it made: one that is as a workload needs it isn't made again.
//!
//! Nothing is written down: what another process left is never trusted, it is removed and made again.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::layout::Layout;
use super::population::{is_changing_mix, is_consuming};
use crate::workload::{ContentsKind, Operation, Workload};

/// Which of the files of a tree are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// None, only the directories that they lie in.
    Nothing,
    /// The first half of each job's.
    Half,
    /// All.
    All,
    /// In place of each file an empty directory.
    Directories,
}

/// A tree as it was left.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// Where its files lie.
    pub layout: Layout,
    /// Which of them are there.
    pub filling: Filling,
    pub(super) contents: (ContentsKind, f64, f64),
    /// Number and birth of its root: a file system that was made again has another one.
    pub(super) root: (u64, i64, u32),
}

impl Known {
    /// The tree that a workload needs, in a root that is open.
    pub fn needed_by(workload: &Workload, layout: &Layout, root: RawFd) -> Self {
        let contents = &workload.contents;
        Self {
            layout: layout.clone(),
            filling: needed_filling(workload),
            contents: (contents.kind, contents.compressible_fraction, contents.duplicate_fraction),
            root: identity(root),
        }
    }
}

/// Which files a workload expects to be there.
fn needed_filling(workload: &Workload) -> Filling {
    if is_changing_mix(workload) {
        return if workload.uses(Operation::Create) { Filling::Half } else { Filling::All };
    }
    match workload.operations[0].operation {
        Operation::Create | Operation::MakeDirectory => Filling::Nothing,
        Operation::RemoveDirectory => Filling::Directories,
        _ => Filling::All,
    }
}

/// Which files are there after a workload of which `done` operations were done; `None` when nobody knows.
pub fn filling_after(workload: &Workload, done: u64) -> Option<Filling> {
    if is_changing_mix(workload) {
        return None;
    }
    let operations = || workload.operations.iter().map(|share| share.operation);
    if operations().any(is_consuming) {
        let is_complete = workload.tree.as_ref().is_some_and(|tree| tree.file_count == done);
        return match operations().next().filter(|_| is_complete)? {
            Operation::Create => Some(Filling::All),
            Operation::Delete | Operation::RemoveDirectory => Some(Filling::Nothing),
            Operation::MakeDirectory => Some(Filling::Directories),
            _ => None,
        };
    }
    operations().all(|operation| operation != Operation::Rename).then_some(Filling::All)
}

/// What is known of the tree in this directory.
pub fn recall(directory: &Path) -> Option<Known> {
    all().get(directory).cloned()
}

/// Keeps what is known of the tree in this directory; `None` when it is about to change.
pub fn remember(directory: &Path, known: Option<Known>) {
    match known {
        Some(known) => all().insert(directory.to_owned(), known),
        None => all().remove(directory),
    };
}

fn all() -> MutexGuard<'static, HashMap<PathBuf, Known>> {
    static TREES: LazyLock<Mutex<HashMap<PathBuf, Known>>> = LazyLock::new(Mutex::default);
    TREES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number and birth of an open directory.
fn identity(fd: RawFd) -> (u64, i64, u32) {
    let empty = CString::default();
    let flags = libc::AT_EMPTY_PATH;
    // SAFETY: statx writes one `struct statx`, for which zeros are a valid value.
    let (result, found) = unsafe {
        let mut found: libc::statx = std::mem::zeroed();
        let mask = libc::STATX_INO | libc::STATX_BTIME;
        (libc::statx(fd, empty.as_ptr(), flags, mask, &raw mut found), found)
    };
    if result == 0 { (found.stx_ino, found.stx_btime.tv_sec, found.stx_btime.tv_nsec) } else { (0, 0, 0) }
}
