//! Brings a file into the state that the writes expect, and puts it back when that was in vain.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::address::random_for_job;
use crate::buffer::{fill, stamp_offsets};
use crate::error::{Code, EngineError, Result};
use crate::workload::{FileState, Workload};

const CHUNK: usize = 1 << 20;
/// So much is written between two calls that make it durable: what waits in memory stays bounded.
const BETWEEN_SYNCS: u64 = 64 << 20;

/// What a file was before it was touched, and what was done to it.
#[derive(Debug, Clone)]
pub(super) struct Before {
    path: PathBuf,
    /// Its length in bytes; `None` when it did not exist.
    length: Option<u64>,
    /// The length that it was given; `None` when it was left alone.
    extended_to: Option<u64>,
}

impl Before {
    /// Looks at a path that is about to be opened.
    pub(super) fn of(path: &Path) -> Self {
        let length = path.metadata().ok().map(|found| found.len());
        Self { path: path.to_owned(), length, extended_to: None }
    }

    /// Whether the file did not exist.
    pub(super) fn was_missing(&self) -> bool {
        self.length.is_none()
    }

    /// Removes a file that was made, cuts one that was extended and has not changed since.
    pub(super) fn put_back(&self) {
        let cut = |length: u64| {
            let file = OpenOptions::new().write(true).open(&self.path)?;
            if Some(file.metadata()?.len()) == self.extended_to { file.set_len(length) } else { Ok(()) }
        };
        // Nothing better can be done where even that fails; the error that led here is what the user needs.
        let _ = match self.length {
            None => std::fs::canonicalize(&self.path).and_then(std::fs::remove_file),
            Some(length) => cut(length),
        };
    }

    /// Extends the file, which is open, to what the workload needs; false when `keep_going` ended that.
    pub(super) fn prepare(
        &mut self,
        workload: &Workload,
        opened: &File,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let name = &workload.target.path;
        let end = workload.target.offset_bytes.saturating_add(workload.target.size_bytes);
        let present = self.length.unwrap_or(0);
        if workload.file_state == FileState::Append || end <= present {
            return Ok(true);
        }
        if workload.file_state != FileState::Sparse {
            refuse_without_room(&self.path, end - present, name)?;
        }
        // Without the flags of the measured descriptor, and the same file whatever bears its name by now.
        let file = OpenOptions::new()
            .write(true)
            .open(format!("/proc/self/fd/{}", opened.as_raw_fd()))
            .map_err(|error| EngineError::from_os("open the target", name, &error))?;
        let prepared = match workload.file_state {
            FileState::Sparse => file.set_len(end).map(|()| true),
            FileState::Preallocated => allocate(&file, end).map(|()| true),
            _ => write_all(workload, &file, present, end, keep_going),
        };
        match prepared {
            Ok(true) => self.extended_to = Some(end),
            // Gives back also the space that was reserved beyond the end.
            _ => drop(file.set_len(present)),
        }
        prepared.map_err(|error| EngineError::from_os(&format!("bring the file to {end} B"), name, &error))
    }
}

const MIB: u64 = 1 << 20;

/// How long a file system may take to give back what removed files held: xfs does so a while after they are gone.
const FREED_WITHIN: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A full disk hurts everybody on it: look before writing.
fn refuse_without_room(path: &Path, needed: u64, name: &str) -> Result<()> {
    let begun = Instant::now();
    loop {
        match free_bytes(path) {
            Some(free) if free < needed && begun.elapsed() >= FREED_WITHIN => {
                let (needed, free) = (needed.div_ceil(MIB), free / MIB);
                let what =
                    format!("the file needs {needed} MiB more, but its file system has {free} MiB free");
                return Err(EngineError::new(Code::NoSpace, what)
                    .at(name)
                    .advise("free space there, or choose a smaller --size"));
            }
            Some(free) if free < needed => std::thread::sleep(LOOK_EVERY),
            _ => return Ok(()),
        }
    }
}

/// Free bytes of a file's file system; `None` where it keeps no such number.
fn free_bytes(path: &Path) -> Option<u64> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: statvfs writes one `struct statvfs`, for which zeros are a valid value.
    let (result, found) = unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        let result = libc::statvfs(path.as_ptr(), &raw mut found);
        (result, found)
    };
    (result == 0 && found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

fn allocate(file: &File, end: u64) -> io::Result<()> {
    let end = libc::off_t::try_from(end).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: no memory is passed.
    let result = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, end) };
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
}

/// Writes what is missing, makes it durable, and drops it from the page cache.
fn write_all(
    workload: &Workload,
    file: &File,
    from: u64,
    to: u64,
    keep_going: &mut dyn FnMut() -> bool,
) -> io::Result<bool> {
    let mut random = random_for_job(workload.seed, u32::MAX - 1);
    let mut data = vec![0_u8; CHUNK];
    let mut offset = from;
    let mut unsynced = 0;
    while offset < to {
        if !keep_going() {
            return Ok(false);
        }
        // Chunks end on multiples of their size, so that stamps fall where later writes put theirs.
        let size = (CHUNK as u64 - offset % CHUNK as u64).min(to - offset);
        let part = &mut data[..size as usize];
        fill(part, &workload.contents, &mut random);
        stamp_offsets(part, offset, &workload.contents, &mut random);
        file.write_all_at(part, offset)?;
        offset += size;
        unsynced += size;
        if unsynced >= BETWEEN_SYNCS {
            file.sync_data()?;
            unsynced = 0;
        }
    }
    file.sync_all()?;
    // SAFETY: no memory is passed; the advice may be ignored, and a direct workload does not depend on it.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    Ok(true)
}
