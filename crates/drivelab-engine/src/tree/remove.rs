//! Removes a directory with everything below it.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::path::Path;

use super::calls::{self, CallResult, Name};
use crate::error::{EngineError, Result};

/// Removes a directory in another one, which is open, with everything below it; nothing happens when it isn't there.
///
/// No symbolic link is followed. False when `keep_going` said no meanwhile; what is left is still there.
///
/// # Errors
///
/// The code that the refusal of the operating system deserves, with the name of the directory.
pub fn remove_tree(
    below: BorrowedFd<'_>,
    name: &CStr,
    shown: &Path,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<bool> {
    let shown = shown.display().to_string();
    let failed = |errno: i32| {
        EngineError::from_os("remove the directory", &shown, &io::Error::from_raw_os_error(errno))
    };
    let top = Name { directory: below.as_raw_fd(), path: name.as_ptr() };
    match remove_below(top, keep_going) {
        Ok(true) => {}
        Ok(false) => return Ok(false),
        Err(libc::ENOENT) => return Ok(true),
        Err(errno) => return Err(failed(errno)),
    }
    calls::unlink(top, libc::AT_REMOVEDIR).map(|_| true).map_err(failed)
}

/// Empties a directory.
fn remove_below(name: Name, keep_going: &mut dyn FnMut() -> bool) -> CallResult<bool> {
    let fd = calls::open_directory(name)?;
    let emptied = empty(fd, keep_going);
    calls::close(fd)?;
    emptied
}

fn empty(fd: RawFd, keep_going: &mut dyn FnMut() -> bool) -> CallResult<bool> {
    let mut memory = vec![0_u64; 8192];
    let room = memory.len() * 8;
    loop {
        // SAFETY: the kernel writes at most `room` bytes.
        let read = unsafe { libc::syscall(libc::SYS_getdents64, fd, memory.as_mut_ptr(), room) };
        if read < 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
        }
        if read == 0 {
            return Ok(true);
        }
        // SAFETY: the memory is initialised, and the kernel has filled `read` bytes of it.
        let bytes = unsafe { std::slice::from_raw_parts(memory.as_ptr().cast::<u8>(), read as usize) };
        if !remove_entries(fd, bytes, keep_going)? {
            return Ok(false);
        }
    }
}

/// Removes what a call of getdents64 told of: records with a length at 16, a kind at 18 and a name from 19 on.
fn remove_entries(fd: RawFd, mut bytes: &[u8], keep_going: &mut dyn FnMut() -> bool) -> CallResult<bool> {
    while bytes.len() > 19 {
        let length = usize::from(u16::from_ne_bytes([bytes[16], bytes[17]]));
        let kind = bytes[18];
        let name = CStr::from_bytes_until_nul(&bytes[19..length]).map_err(|_| libc::EIO)?;
        bytes = &bytes[length..];
        if name == c"." || name == c".." {
            continue;
        }
        if !keep_going() {
            return Ok(false);
        }
        let entry = Name { directory: fd, path: name.as_ptr() };
        let is_directory = kind == libc::DT_DIR;
        let removed = if is_directory { Err(libc::EISDIR) } else { calls::unlink(entry, 0) };
        match removed {
            Ok(_) => {}
            // A file system that tells no kinds, or a directory.
            Err(libc::EISDIR) => {
                if !remove_below(entry, keep_going)? {
                    return Ok(false);
                }
                calls::unlink(entry, libc::AT_REMOVEDIR)?;
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(true)
}
