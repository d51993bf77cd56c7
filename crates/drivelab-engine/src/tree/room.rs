//! Whether a file system has room for the files of a tree: bytes and inodes.

use std::os::fd::RawFd;
use std::path::Path;

use super::layout::Layout;
use crate::error::{Code, EngineError, Result};

/// A full disk hurts everybody on it: look before writing.
pub(super) fn refuse_without_room(layout: &Layout, directory: RawFd, target: &Path) -> Result<()> {
    let Some(found) = statvfs(directory) else { return Ok(()) };
    let place = target.display().to_string();
    let inodes = layout.file_count + layout.directory_count();
    // File systems that make inodes as they are needed tell of none.
    if found.f_files > 0 && found.f_favail < inodes {
        let what = format!(
            "{inodes} files and directories are needed, but there are {} inodes free",
            found.f_favail
        );
        return Err(EngineError::new(Code::TooFewInodes, what)
            .at(place)
            .advise("choose fewer files, or make the file system with more inodes (mkfs.ext4 -N)"));
    }
    let (needed, free) = (layout.allocated_bytes(), found.f_bavail.saturating_mul(found.f_frsize));
    if found.f_blocks > 0 && free < needed {
        let (needed, free) = (needed.div_ceil(1 << 20), free >> 20);
        let what = format!("the files need {needed} MiB, but their file system has {free} MiB free");
        return Err(EngineError::new(Code::NoSpace, what)
            .at(place)
            .advise("free space there, or choose fewer or smaller files"));
    }
    Ok(())
}

fn statvfs(directory: RawFd) -> Option<libc::statvfs> {
    // SAFETY: statvfs writes one `struct statvfs`, for which zeros are a valid value.
    unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        (libc::fstatvfs(directory, &raw mut found) == 0).then_some(found)
    }
}
