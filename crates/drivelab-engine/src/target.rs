//! The file or block device that I/O is sent to: opened, measured, laid out, and what it allows.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use crate::address::random_for_job;
use crate::buffer::fill;
use crate::error::{Code, EngineError, Result};
use crate::workload::{BackendName, DurabilityMethod, FileState, Workload};

/// An open target.
#[derive(Debug)]
pub struct Target {
    file: Option<File>,
    is_block_device: bool,
    start: u64,
    length: u64,
    is_direct: bool,
    direct_note: String,
}

/// What direct I/O needs here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DirectAlignment {
    /// Multiple that offsets and sizes must be; 0 where direct I/O is not supported.
    offset: u64,
    /// Whether the file system itself said so.
    is_known: bool,
}

impl Target {
    /// Opens the target of a workload and brings a file into the state that the workload asks for.
    ///
    /// # Errors
    ///
    /// Everything that [`Code`] lists for targets. A file that this call made is removed again when
    /// it fails.
    pub fn open(workload: &Workload) -> Result<Self> {
        if workload.backend == BackendName::Null {
            return Ok(Self::nowhere(workload));
        }
        let path = Path::new(&workload.target.path);
        let existed = path.exists();
        let opened = Self::open_existing_or_new(workload, path);
        if opened.is_err() && !existed && workload.target.create {
            // Whatever was made on the way is of no use to anybody.
            let _ = std::fs::remove_file(path);
        }
        opened
    }

    /// The range that a null backend pretends to have.
    fn nowhere(workload: &Workload) -> Self {
        const PRETENDED_SIZE: u64 = 1 << 40;
        let asked = workload.target.size_bytes;
        Self {
            file: None,
            is_block_device: false,
            start: workload.target.offset_bytes,
            length: if asked == 0 { PRETENDED_SIZE } else { asked },
            is_direct: workload.direct,
            direct_note: String::new(),
        }
    }

    fn open_existing_or_new(workload: &Workload, path: &Path) -> Result<Self> {
        let name = &workload.target.path;
        refuse_what_is_no_target(path, name)?;
        let file = open_with(workload, path, workload.direct)?;
        let metadata =
            file.metadata().map_err(|error| EngineError::from_os("look at the target", name, &error))?;
        let is_block_device = metadata.file_type().is_block_device();
        let alignment = direct_alignment(&file, path, is_block_device);
        if workload.direct {
            refuse_misaligned(workload, alignment, name)?;
        }
        if !is_block_device && workload.changes_target() {
            prepare_file(workload, path, metadata.len())?;
        }
        let size = size_of(&file, is_block_device, name)?;
        let (start, length) = range(workload, size, is_block_device, name)?;
        Ok(Self {
            is_direct: workload.direct && alignment.offset != 0,
            direct_note: direct_note(workload.direct, alignment),
            file: Some(file),
            is_block_device,
            start,
            length,
        })
    }

    /// The open file's descriptor; -1 for the null backend.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.file.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Whether it is a block device.
    #[must_use]
    pub fn is_block_device(&self) -> bool {
        self.is_block_device
    }

    /// Start of the range in bytes.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Length of the range in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether I/O bypasses the page cache, as far as the file system admits.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// What is known about direct I/O here; empty when it was not asked for.
    #[must_use]
    pub fn direct_note(&self) -> &str {
        &self.direct_note
    }
}

fn refuse_what_is_no_target(path: &Path, name: &str) -> Result<()> {
    let Ok(metadata) = path.metadata() else { return Ok(()) };
    let kind = metadata.file_type();
    if kind.is_file() || kind.is_block_device() {
        return Ok(());
    }
    let what = if kind.is_dir() { "is a directory" } else { "is neither a file nor a block device" };
    Err(EngineError::new(Code::Unsupported, format!("{name} {what}"))
        .at(name)
        .advise("name a file in it, or a block device"))
}

fn open_with(workload: &Workload, path: &Path, direct: bool) -> Result<File> {
    let name = &workload.target.path;
    let mut flags = if direct { libc::O_DIRECT } else { 0 };
    flags |= match workload.durability.method {
        DurabilityMethod::ODsync => libc::O_DSYNC,
        DurabilityMethod::OSync => libc::O_SYNC,
        _ => 0,
    };
    if workload.target.exclusive && path.metadata().is_ok_and(|found| found.file_type().is_block_device()) {
        flags |= libc::O_EXCL;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(workload.changes_target()).custom_flags(flags);
    options.create(workload.target.create && workload.changes_target());
    options.open(path).map_err(|error| {
        if direct && error.raw_os_error() == Some(libc::EINVAL) {
            return EngineError::new(Code::DirectRefused, "the file system refuses O_DIRECT")
                .at(name)
                .advise("leave out --direct (the page cache is then part of what is measured), or choose another file system");
        }
        EngineError::from_os("open the target", name, &error)
    })
}

/// Asks statx what direct I/O needs; where it does not know, the device's logical block or 512 bytes.
fn direct_alignment(file: &File, path: &Path, is_block_device: bool) -> DirectAlignment {
    let logical_block = if is_block_device { logical_block_size(file) } else { 512 };
    let Ok(c_path) = CString::new(path.as_os_str().as_bytes()) else {
        return DirectAlignment { offset: logical_block, is_known: false };
    };
    // SAFETY: statx writes one `struct statx`, for which zeros are a valid value.
    let (result, found) = unsafe {
        let mut found: libc::statx = std::mem::zeroed();
        let result = libc::statx(libc::AT_FDCWD, c_path.as_ptr(), 0, libc::STATX_DIOALIGN, &raw mut found);
        (result, found)
    };
    if result == 0 && found.stx_mask & libc::STATX_DIOALIGN != 0 {
        let offset = u64::from(found.stx_dio_offset_align);
        return DirectAlignment {
            offset: if is_block_device { logical_block } else { offset },
            is_known: true,
        };
    }
    DirectAlignment { offset: logical_block, is_known: false }
}

fn direct_note(asked: bool, alignment: DirectAlignment) -> String {
    match (asked, alignment.offset, alignment.is_known) {
        (false, ..) => String::new(),
        (true, 0, _) => {
            "the file system takes O_DIRECT but says that it does not support direct I/O on this file".into()
        }
        (true, _, true) => "the file system says that it supports direct I/O on this file".into(),
        (true, _, false) => {
            "O_DIRECT was accepted; this kernel or file system cannot say whether it is honoured".into()
        }
    }
}

fn logical_block_size(file: &File) -> u64 {
    const BLKSSZGET: libc::c_ulong = 0x1268;
    let mut size: libc::c_int = 0;
    // SAFETY: the ioctl writes one int.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKSSZGET as _, &raw mut size) };
    if result == 0 && size > 0 { size as u64 } else { 512 }
}

fn size_of(file: &File, is_block_device: bool, name: &str) -> Result<u64> {
    const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;
    if !is_block_device {
        let metadata =
            file.metadata().map_err(|error| EngineError::from_os("look at the target", name, &error))?;
        return Ok(metadata.len());
    }
    let mut size: u64 = 0;
    // SAFETY: the ioctl writes one 64-bit number.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64 as _, &raw mut size) };
    if result == 0 {
        Ok(size)
    } else {
        Err(EngineError::from_os("measure the device", name, &io::Error::last_os_error()))
    }
}

fn refuse_misaligned(workload: &Workload, alignment: DirectAlignment, name: &str) -> Result<()> {
    let multiple = alignment.offset.max(1);
    let access = &workload.access;
    let quantities = workload
        .block_sizes
        .iter()
        .map(|share| ("block size", share.bytes))
        .chain([("offset", workload.target.offset_bytes), ("shift", workload.shift_bytes)])
        .chain([("stride", access.stride_bytes)]);
    for (what, bytes) in quantities {
        if bytes % multiple != 0 {
            return Err(EngineError::new(
                Code::Misaligned,
                format!("{what} {bytes} B is not a multiple of {multiple} B, which direct I/O needs here"),
            )
            .at(name)
            .advise(format!("use a multiple of {multiple} B, or leave out --direct")));
        }
    }
    Ok(())
}

/// The part of the target that is used: as asked, and within what there is.
fn range(workload: &Workload, size: u64, is_block_device: bool, name: &str) -> Result<(u64, u64)> {
    let asked = &workload.target;
    if workload.file_state == FileState::Append && !is_block_device {
        let limit = if asked.size_bytes == 0 { u64::MAX / 4 } else { asked.size_bytes };
        return Ok((size, limit));
    }
    let start = asked.offset_bytes;
    let available = size.saturating_sub(start);
    let length = if asked.size_bytes == 0 { available } else { asked.size_bytes };
    if length > available {
        let what = format!("{length} B from offset {start} B were asked for, but the target has {size} B");
        return Err(EngineError::new(Code::TooSmall, what)
            .at(name)
            .advise("choose a smaller --size or --offset"));
    }
    let least =
        (workload.largest_block() + workload.shift_bytes).saturating_mul(jobs_with_own_range(workload));
    if length < least {
        let what = format!("{length} B are too few: one block for every job needs {least} B");
        return Err(EngineError::new(Code::TooSmall, what)
            .at(name)
            .advise("use a larger target or a smaller block size"));
    }
    Ok((start, length))
}

/// Number of parts that the range is divided into.
#[must_use]
pub fn jobs_with_own_range(workload: &Workload) -> u64 {
    if workload.share_range { 1 } else { u64::from(workload.job_count) }
}

/// Brings a file into the state that the writes expect.
fn prepare_file(workload: &Workload, path: &Path, present: u64) -> Result<()> {
    let end = workload.target.offset_bytes + workload.target.size_bytes;
    if workload.file_state == FileState::Append || end <= present {
        return Ok(());
    }
    let name = &workload.target.path;
    let file = OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(|error| EngineError::from_os("open the target", name, &error))?;
    let prepared = match workload.file_state {
        FileState::Sparse => file.set_len(end),
        FileState::Preallocated => allocate(&file, end),
        _ => write_all(workload, &file, present, end),
    };
    prepared.map_err(|error| EngineError::from_os(&format!("bring the file to {end} B"), name, &error))
}

fn allocate(file: &File, end: u64) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let result = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, end as libc::off_t) };
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
}

/// Writes what is missing, makes it durable, and drops it from the page cache.
fn write_all(workload: &Workload, file: &File, from: u64, to: u64) -> io::Result<()> {
    const CHUNK: usize = 1 << 20;
    let mut random = random_for_job(workload.seed, u32::MAX - 1);
    let mut data = vec![0_u8; CHUNK];
    let mut offset = from;
    while offset < to {
        fill(&mut data, &workload.contents, &mut random);
        let size = CHUNK.min((to - offset) as usize);
        file.write_all_at(&data[..size], offset)?;
        offset += size as u64;
    }
    file.sync_all()?;
    // SAFETY: no memory is passed; the advice may be ignored, and a direct workload does not depend on it.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    Ok(())
}
