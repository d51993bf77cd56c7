//! The file or block device that I/O is sent to: opened, measured, laid out, and what it allows.

mod direct;
mod namespace;
mod page_cache;
mod prepare;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use self::direct::{direct_alignment, direct_note, refuse_misaligned};
pub use self::namespace::Namespace;
pub(crate) use self::namespace::NvmeCommand;
pub use self::page_cache::CachedRange;
use self::prepare::Before;
use crate::error::{Code, EngineError, Result};
use crate::tree::OpenTree;
use crate::window::range_of_job;
use crate::workload::{AccessKind, BackendName, DurabilityMethod, FileState, Workload};

/// An open target.
#[derive(Debug)]
pub struct Target {
    file: Option<File>,
    is_block_device: bool,
    start: u64,
    length: u64,
    is_direct: bool,
    direct_note: String,
    before: Option<Before>,
    tree: Option<OpenTree>,
}

/// Size of what the null backend pretends to have.
const PRETENDED_SIZE: u64 = 1 << 40;

impl Target {
    /// Opens every target of a workload, as [`Self::open`] does, for each job: files of its own, or those of all,
    /// opened once more.
    ///
    /// # Errors
    ///
    /// As for [`Self::open`]; what was done to the others is undone then.
    pub fn open_all(workload: &Workload, keep_going: &mut dyn FnMut() -> bool) -> Result<Option<Vec<Self>>> {
        let mut opened = Vec::new();
        let all = Self::open_each(workload, keep_going, &mut opened);
        if !matches!(all, Ok(true)) {
            opened.iter().for_each(Self::put_back);
        }
        Ok(all?.then_some(opened))
    }

    /// False when `keep_going` ended it.
    fn open_each(
        workload: &Workload,
        keep_going: &mut dyn FnMut() -> bool,
        opened: &mut Vec<Self>,
    ) -> Result<bool> {
        let each = workload.job_files.count as usize;
        if workload.target.others.len() + 1 < each {
            return Err(EngineError::new(Code::Bug, "job_files: not all of them are held").at("workload"));
        }
        for part in workload.on_each_target() {
            let Some(target) = Self::open(&part, keep_going)? else { return Ok(false) };
            opened.push(target);
        }
        for number in opened.len()..each * workload.job_count as usize {
            let Some(another) = opened[number % each].opened_again(workload)? else { break };
            opened.push(another);
        }
        Ok(true)
    }

    /// The same in an open file of its own, as a process would have it: position, read-ahead and advice belong to that.
    /// `None` where no file is open.
    fn opened_again(&self, workload: &Workload) -> Result<Option<Self>> {
        let Some(file) = &self.file else { return Ok(None) };
        let name = &workload.target.path;
        let failed = |error: io::Error| EngineError::from_os("open the target for each job", name, &error);
        let again = open_again(file).map_err(failed)?;
        let cached = CachedRange { fd: again.as_raw_fd(), start: self.start, length: self.length };
        cached.advise(workload.cache_advice);
        let direct_note = self.direct_note.clone();
        Ok(Some(Self { file: Some(again), direct_note, before: None, tree: None, ..*self }))
    }

    /// Opens the target of a workload and brings a file into the state that the workload asks for.
    ///
    /// Writing a large file takes time: `keep_going` is asked again and again meanwhile, and when it
    /// says no the file is put back and there is no target.
    ///
    /// # Errors
    ///
    /// Everything that [`Code`] lists for targets. A file that this call made is removed again when
    /// it fails, and one that it extended gets its length back.
    pub fn open(workload: &Workload, keep_going: &mut dyn FnMut() -> bool) -> Result<Option<Self>> {
        if workload.tree.is_some() {
            return Self::of_tree(workload, keep_going);
        }
        if let Some(drive) = &workload.target.simulated {
            return Self::without_file(workload, drive.size_bytes()).map(Some);
        }
        if workload.backend == BackendName::Null {
            let asked = &workload.target;
            let size = asked.offset_bytes.saturating_add(PRETENDED_SIZE.max(asked.size_bytes));
            return Self::without_file(workload, size).map(Some);
        }
        let path = &workload.target.opened_by();
        refuse_what_is_no_target(path, &workload.target.path)?;
        let mut before = Before::of(path);
        let may_make = workload.changes_target() && workload.target.create;
        let opened = Self::open_and_prepare(workload, path, &mut before, keep_going);
        if before.was_missing() && !may_make {
            return opened;
        }
        match opened {
            Ok(Some(target)) => Ok(Some(Self { before: Some(before), ..target })),
            nothing => {
                before.put_back();
                nothing
            }
        }
    }

    /// The files of a tree: their numbers are the range.
    fn of_tree(workload: &Workload, keep_going: &mut dyn FnMut() -> bool) -> Result<Option<Self>> {
        let opened = OpenTree::open(workload, keep_going)?;
        Ok(opened.map(|tree| Self {
            file: None,
            is_block_device: false,
            start: 0,
            length: tree.layout().file_count,
            is_direct: false,
            direct_note: String::new(),
            before: None,
            tree: Some(tree),
        }))
    }

    /// The files of a tree, when the workload is one of operations on them.
    #[must_use]
    pub fn tree(&self) -> Option<&OpenTree> {
        self.tree.as_ref()
    }

    /// A range of what is no file: a simulated drive, or what a null backend pretends to have.
    fn without_file(workload: &Workload, size: u64) -> Result<Self> {
        let (start, length) = range(workload, size, false)?;
        Ok(Self {
            file: None,
            is_block_device: false,
            start,
            length,
            is_direct: workload.direct || workload.target.simulated.is_some(),
            direct_note: String::new(),
            before: None,
            tree: None,
        })
    }

    fn open_and_prepare(
        workload: &Workload,
        path: &Path,
        before: &mut Before,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>> {
        let name = &workload.target.path;
        let file = open_with(workload, path, workload.direct)?;
        let metadata =
            file.metadata().map_err(|error| EngineError::from_os("look at the target", name, &error))?;
        workload.target.require_held(&metadata)?;
        let is_block_device = metadata.file_type().is_block_device();
        if is_block_device && workload.changes_target() && is_read_only(&file) {
            return Err(EngineError::new(Code::ReadOnly, "the block device is read-only")
                .at(name)
                .advise("choose another device, or allow writing: blockdev --setrw"));
        }
        let alignment = direct_alignment(&file, is_block_device);
        refuse_misaligned(workload, alignment, is_block_device, metadata.len())?;
        let is_written = !is_block_device && workload.changes_target();
        if is_written && !before.prepare(workload, &file, keep_going)? {
            return Ok(None);
        }
        let size = size_of(&file, is_block_device, name)?;
        let (start, length) = range(workload, size, is_block_device)?;
        CachedRange { fd: file.as_raw_fd(), start, length }.advise(workload.cache_advice);
        Ok(Some(Self {
            is_direct: workload.direct && alignment.offset != 0,
            direct_note: direct_note(workload.direct, alignment),
            file: Some(file),
            is_block_device,
            start,
            length,
            before: None,
            tree: None,
        }))
    }

    /// Undoes what opening did to a file, for a run that cannot begin.
    pub fn put_back(&self) {
        if let Some(before) = &self.before {
            before.put_back();
        }
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

    /// What the kernel tells of the open file; `None` for the null backend.
    #[must_use]
    pub fn metadata(&self) -> Option<Metadata> {
        self.file.as_ref().and_then(|file| file.metadata().ok())
    }

    /// End of the range in bytes.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.length
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

/// Whether a path leads to a block device.
fn is_block_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_block_device())
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
    flags |= workload.target.held.map_or(0, |held| held.flags);
    flags |= match workload.durability.method {
        DurabilityMethod::ODsync => libc::O_DSYNC,
        DurabilityMethod::OSync => libc::O_SYNC,
        _ => 0,
    };
    if workload.target.exclusive && is_block_device(path) {
        flags |= libc::O_EXCL;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(workload.changes_target()).custom_flags(flags);
    let is_there = workload.target.held.is_some();
    options.create(workload.target.create && workload.changes_target() && !is_there);
    options.open(path).map_err(|error| {
        if direct && error.raw_os_error() == Some(libc::EINVAL) {
            let advice = "leave out --direct (the page cache is then part of what is measured), \
                          or choose another file system";
            return EngineError::new(Code::DirectRefused, "the file system refuses O_DIRECT")
                .at(name)
                .advise(advice);
        }
        EngineError::from_os("open the target", name, &error)
    })
}

/// Opens once more, with the same flags, what is open, whatever bears its name by now. A claim on a block device is not
/// made again: it stands as long as the first one is open.
fn open_again(file: &File) -> io::Result<File> {
    // SAFETY: no memory is passed.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut options = OpenOptions::new();
    options.read(true).write(flags & libc::O_ACCMODE == libc::O_RDWR).custom_flags(flags);
    let again = options.open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let [first, second] = [file.metadata()?, again.metadata()?].map(|found| (found.dev(), found.ino()));
    if first == second { Ok(again) } else { Err(io::Error::from_raw_os_error(libc::ESTALE)) }
}

/// Whether the kernel refuses writes to a block device; opening it for writing succeeds all the same.
fn is_read_only(file: &File) -> bool {
    const BLKROGET: libc::c_ulong = 0x125e;
    let mut is_read_only: libc::c_int = 0;
    // SAFETY: the ioctl writes one int.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKROGET as _, &raw mut is_read_only) };
    result == 0 && is_read_only != 0
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

/// The part of the target that is used: as asked, and within what there is.
fn range(workload: &Workload, size: u64, is_block_device: bool) -> Result<(u64, u64)> {
    let asked = &workload.target;
    if let Some(recording) = workload.recording.as_ref().filter(|recording| recording.span_bytes > 0) {
        let addresses = recording.span_bytes.saturating_mul(u64::from(workload.job_files.count));
        if recording.end > addresses {
            let what = format!("the recording goes up to {}, and its files to {addresses}", recording.end);
            return Err(EngineError::new(Code::InvalidWorkload, what).at("recording"));
        }
        return Ok((0, recording.span_bytes));
    }
    let (start, length) = if workload.file_state == FileState::Append && !is_block_device {
        (size, if asked.size_bytes == 0 { u64::MAX / 4 } else { asked.size_bytes })
    } else {
        let available = size.saturating_sub(asked.offset_bytes);
        let length = if asked.size_bytes == 0 { available } else { asked.size_bytes };
        if length > available {
            let start = asked.offset_bytes;
            let what =
                format!("{length} B from offset {start} B were asked for, but the target has {size} B");
            return Err(EngineError::new(Code::TooSmall, what)
                .at(&asked.path)
                .advise("choose a smaller --size or --offset"));
        }
        (asked.offset_bytes, length)
    };
    if let Some(recording) = workload.recording.as_ref().filter(|recording| recording.end > length) {
        let what = format!("the recording goes up to {} B, and {length} B can be used", recording.end);
        return Err(EngineError::new(Code::TooSmall, what)
            .at(&asked.path)
            .advise("use a larger target, or --scale-to-target"));
    }
    let (usable, largest) = (usable_by_job(workload, length), workload.largest_block());
    if usable < largest {
        let what = format!("each job has {usable} B of the {length} B, too few for a block of {largest} B");
        return Err(EngineError::new(Code::TooSmall, what)
            .at(&asked.path)
            .advise("use a larger target, a smaller block size or fewer jobs"));
    }
    Ok((start, length))
}

/// Bytes in which the blocks of one job can lie.
fn usable_by_job(workload: &Workload, length: u64) -> u64 {
    let part = range_of_job(workload, 0, 0, length).1.saturating_sub(workload.shift_bytes);
    let unit = workload.smallest_block();
    let descends = workload.accesses().any(|access| access.kind == AccessKind::Reverse);
    if descends { part - part % unit } else { part }
}
