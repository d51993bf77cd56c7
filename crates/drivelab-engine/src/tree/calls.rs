//! The system calls of operations on files, each with its errno.

use std::ffi::c_char;
use std::io;
use std::os::fd::RawFd;

use super::file_data::FileData;
use crate::workload::{Durability, DurabilityMethod};

/// No call follows a link: whoever owns the directory around a tree could lead it elsewhere.
const READ: i32 = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
const NO_LINK: i32 = libc::AT_SYMLINK_NOFOLLOW;

/// What a call came to, or its errno.
pub type CallResult<T> = std::result::Result<T, i32>;

/// A name below an open directory.
#[derive(Debug, Clone, Copy)]
pub struct Name {
    /// The directory.
    pub directory: RawFd,
    /// The path below it, which ends with a zero.
    pub path: *const c_char,
}

/// How files are written.
#[derive(Debug, Clone)]
pub struct Calls {
    open_flags: i32,
    write_flags: i32,
    sync: Option<DurabilityMethod>,
    every_files: u64,
    files_since_sync: u64,
}

impl Calls {
    /// The calls that make files as durable as it was asked for.
    #[must_use]
    pub fn new(durability: &Durability) -> Self {
        Self {
            open_flags: match durability.method {
                DurabilityMethod::ODsync => libc::O_DSYNC,
                DurabilityMethod::OSync => libc::O_SYNC,
                _ => 0,
            },
            write_flags: if durability.method == DurabilityMethod::RwfDsync { libc::RWF_DSYNC } else { 0 },
            sync: (durability.needs_sync_call() && !durability.at_end).then_some(durability.method),
            every_files: durability.every_writes,
            files_since_sync: 0,
        }
    }

    /// Makes a file that is not there yet, with its contents; returns the bytes written.
    #[inline]
    pub fn create(&mut self, name: Name, bytes: u64, data: &mut FileData) -> CallResult<u32> {
        let fd = self.open(name, libc::O_CREAT | libc::O_EXCL)?;
        let written = self.fill(fd, bytes, data).and_then(|()| {
            let is_due = self.is_sync_due();
            self.sync(fd, is_due)
        });
        close(fd)?;
        written.map(|()| bytes as u32)
    }

    /// Opens a file for writing; with O_CREAT and O_EXCL one that is not there yet.
    #[inline]
    pub(super) fn open(&self, name: Name, more_flags: i32) -> CallResult<RawFd> {
        let flags = libc::O_WRONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW | self.open_flags | more_flags;
        // SAFETY: the path ends with a zero and lives until the call returns.
        checked(unsafe { libc::openat(name.directory, name.path, flags, 0o600 as libc::c_uint) })
    }

    #[inline]
    fn fill(&self, fd: RawFd, bytes: u64, data: &mut FileData) -> CallResult<()> {
        let mut offset = 0;
        while offset < bytes {
            let part = data.next(offset, bytes - offset);
            self.write_all(fd, part, offset)?;
            offset += part.len() as u64;
        }
        Ok(())
    }

    /// Writes all of a part at its offset.
    #[inline]
    pub(super) fn write_all(&self, fd: RawFd, mut part: &[u8], mut offset: u64) -> CallResult<()> {
        while !part.is_empty() {
            let written = self.write(fd, part, offset)?;
            part = &part[written..];
            offset += written as u64;
        }
        Ok(())
    }

    #[inline]
    fn write(&self, fd: RawFd, part: &[u8], offset: u64) -> CallResult<usize> {
        let offset = offset as libc::off_t;
        // SAFETY: the memory holds as many bytes as are passed, and is left alone until the call returns.
        let written = unsafe {
            if self.write_flags == 0 {
                libc::pwrite(fd, part.as_ptr().cast(), part.len(), offset)
            } else {
                let vector = libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() };
                libc::pwritev2(fd, &raw const vector, 1, offset, self.write_flags)
            }
        };
        match written {
            0 => Err(libc::EIO),
            written if written < 0 => Err(errno()),
            written => Ok(written as usize),
        }
    }

    /// Whether the file at hand is one whose sync calls are made.
    #[inline]
    pub(super) fn is_sync_due(&mut self) -> bool {
        if self.sync.is_none() {
            return false;
        }
        self.files_since_sync += 1;
        let is_due = self.files_since_sync >= self.every_files;
        if is_due {
            self.files_since_sync = 0;
        }
        is_due
    }

    /// Makes durable what was written to a file, or to a directory, if it is due.
    #[inline]
    pub(super) fn sync(&self, fd: RawFd, is_due: bool) -> CallResult<()> {
        match self.sync {
            Some(method) if is_due => checked(crate::backend::sync::sync(fd, method)).map(drop),
            _ => Ok(()),
        }
    }
}

/// Reads all of a file; returns the bytes.
#[inline]
pub fn read_file(name: Name, data: &mut FileData) -> CallResult<u32> {
    // SAFETY: the path ends with a zero and lives until the call returns.
    let fd = checked(unsafe { libc::openat(name.directory, name.path, READ) })?;
    let memory = data.memory();
    let mut bytes = 0_u64;
    let read = loop {
        // SAFETY: the memory holds as many bytes as are passed, and is left alone until the call returns.
        let read = unsafe { libc::read(fd, memory.as_mut_ptr().cast(), memory.len()) };
        if read < 0 {
            break Err(errno());
        }
        bytes += read as u64;
        // A regular file gives less than asked only at its end.
        if (read as usize) < memory.len() {
            break Ok(bytes as u32);
        }
    };
    close(fd)?;
    read
}

/// Reads the attributes of a file.
#[inline]
pub fn stat(name: Name) -> CallResult<u32> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path ends with a zero; the call writes one `struct stat`.
    checked(unsafe { libc::fstatat(name.directory, name.path, found.as_mut_ptr(), NO_LINK) }).map(|_| 0)
}

/// Removes a file, or an empty directory with `AT_REMOVEDIR`.
#[inline]
pub fn unlink(name: Name, flags: i32) -> CallResult<u32> {
    // SAFETY: the path ends with a zero and lives until the call returns.
    checked(unsafe { libc::unlinkat(name.directory, name.path, flags) }).map(|_| 0)
}

/// Gives a file another name, whatever bears it already.
#[inline]
pub fn rename(from: Name, to: Name) -> CallResult<()> {
    // SAFETY: both paths end with a zero and live until the call returns.
    checked(unsafe { libc::renameat(from.directory, from.path, to.directory, to.path) }).map(drop)
}

/// Makes a directory.
#[inline]
pub fn make_directory(name: Name) -> CallResult<u32> {
    // SAFETY: the path ends with a zero and lives until the call returns.
    checked(unsafe { libc::mkdirat(name.directory, name.path, 0o700) }).map(|_| 0)
}

/// Gives a file a second name.
#[inline]
pub fn link(of: Name, to: Name) -> CallResult<u32> {
    // SAFETY: both paths end with a zero and live until the call returns.
    checked(unsafe { libc::linkat(of.directory, of.path, to.directory, to.path, 0) }).map(|_| 0)
}

/// Makes a symbolic link with this text.
#[inline]
pub fn symlink(text: *const c_char, to: Name) -> CallResult<u32> {
    // SAFETY: text and path end with a zero and live until the call returns.
    checked(unsafe { libc::symlinkat(text, to.directory, to.path) }).map(|_| 0)
}

/// Makes a directory that others may look into.
pub fn make_directory_for_all(name: Name) -> CallResult<()> {
    // SAFETY: the path ends with a zero and lives until the call returns.
    checked(unsafe { libc::mkdirat(name.directory, name.path, 0o755) }).map(drop)
}

/// Makes a file that is not there yet, and opens it for writing.
pub fn new_file(name: Name) -> CallResult<RawFd> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero and lives until the call returns.
    checked(unsafe { libc::openat(name.directory, name.path, flags, 0o644 as libc::c_uint) })
}

/// Opens what is there and no link.
pub fn open_file(name: Name, flags: i32) -> CallResult<RawFd> {
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero and lives until the call returns.
    checked(unsafe { libc::openat(name.directory, name.path, flags) })
}

/// What something is, a link among them: `S_IFREG` and the like.
pub fn kind(name: Name) -> CallResult<libc::mode_t> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path ends with a zero; the call writes one `struct stat`.
    checked(unsafe { libc::fstatat(name.directory, name.path, found.as_mut_ptr(), NO_LINK) })?;
    // SAFETY: the call succeeded and has written it.
    Ok(unsafe { found.assume_init() }.st_mode & libc::S_IFMT)
}

/// The status of what is open.
pub fn status(fd: RawFd) -> CallResult<libc::stat> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the call writes one `struct stat`.
    checked(unsafe { libc::fstat(fd, found.as_mut_ptr()) })?;
    // SAFETY: the call succeeded and has written it.
    Ok(unsafe { found.assume_init() })
}

/// Opens a directory.
pub fn open_directory(name: Name) -> CallResult<RawFd> {
    let flags = READ | libc::O_DIRECTORY;
    // SAFETY: the path ends with a zero and lives until the call returns.
    checked(unsafe { libc::openat(name.directory, name.path, flags) })
}

/// Reads all names of a directory.
#[inline]
pub fn list(name: Name, data: &mut FileData) -> CallResult<u32> {
    let fd = open_directory(name)?;
    let memory = data.memory();
    let read = loop {
        // SAFETY: the kernel writes at most as many bytes as the memory holds.
        let read = unsafe {
            libc::syscall(libc::SYS_getdents64, fd, memory.as_mut_ptr(), memory.len() as libc::c_uint)
        };
        match read {
            0 => break Ok(0),
            read if read < 0 => break Err(errno()),
            _ => {}
        }
    };
    close(fd)?;
    read
}

/// Makes a directory durable.
#[inline]
pub fn sync_directory(fd: RawFd) -> CallResult<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::fsync(fd) }).map(drop)
}

/// Makes everything on a file system durable.
#[inline]
pub fn sync_filesystem(fd: RawFd) -> CallResult<u32> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::syncfs(fd) }).map(|_| 0)
}

/// Closes a descriptor; what the kernel could not write until then is told by it.
#[inline]
pub fn close(fd: RawFd) -> CallResult<()> {
    // SAFETY: the descriptor was opened here and is used no more.
    checked(unsafe { libc::close(fd) }).map(drop)
}

#[inline]
fn checked(result: i32) -> CallResult<i32> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
