//! Copies to and from a shared mapping of the file: no call per I/O, the kernel works when a page is missing.
//!
//! Each job maps its own part of the range. fdatasync is msync(MS_SYNC) of that part, which on Linux does what
//! fdatasync does with the pages of it; fsync and sync_file_range are the calls themselves, and they also write
//! what was changed through a mapping. A page that the kernel cannot provide is an error of the I/O that
//! touched it (`page_fault.rs`).

mod page_fault;

use std::io;
use std::os::fd::RawFd;

use self::page_fault::Watched;
use super::Command;
use super::blocking::Call;
use super::sync::{sync, trim};
use crate::error::{Code, EngineError, Result};
use crate::target::Target;
use crate::workload::{CacheAdvice, DurabilityMethod, Operation, Workload};

/// Makes the calls.
#[derive(Debug)]
pub struct Mmap {
    // No longer watched when it is unmapped: others may then get its addresses.
    watched: Watched,
    mapping: Mapping,
    fd: RawFd,
    is_block_device: bool,
    method: DurabilityMethod,
}

/// Mapped memory; unmapped when dropped.
#[derive(Debug)]
struct Mapping {
    memory: *mut u8,
    length: usize,
    /// Where on the target it begins.
    offset: u64,
}

impl Mmap {
    /// Maps `range` (start and length in bytes) of an open target.
    ///
    /// # Errors
    ///
    /// [`Code::Unsupported`] when the file system does not allow it, [`Code::BuffersTooLarge`] when there are
    /// no addresses left.
    pub fn new(workload: &Workload, target: &Target, range: (u64, u64)) -> Result<Self> {
        let mapping = Mapping::new(workload, target.fd(), range)?;
        let watched = Watched::new(mapping.memory as usize, mapping.length).ok_or_else(|| {
            EngineError::new(Code::BuffersTooLarge, "too many mappings at once")
                .at("backend")
                .advise("use fewer jobs")
        })?;
        Ok(Self {
            mapping,
            watched,
            fd: target.fd(),
            is_block_device: target.is_block_device(),
            method: workload.durability.method,
        })
    }

    #[inline]
    fn copy(&self, command: &Command, size: usize) {
        let within = (command.offset - self.mapping.offset) as usize;
        debug_assert!(within + size <= self.mapping.length);
        // SAFETY: the offset lies in the job's part of the range, which is mapped, and the buffer holds `size` bytes.
        unsafe {
            let mapped = self.mapping.memory.add(within);
            if command.operation == Operation::Read {
                std::ptr::copy_nonoverlapping(mapped, command.buffer, size);
            } else {
                std::ptr::copy_nonoverlapping(command.buffer, mapped, size);
            }
        }
    }

    /// Returns 0, or -1 with errno set.
    fn sync(&self) -> i32 {
        if self.method != DurabilityMethod::Fdatasync {
            return sync(self.fd, self.method);
        }
        // SAFETY: the mapping is this value's own.
        unsafe { libc::msync(self.mapping.memory.cast(), self.mapping.length, libc::MS_SYNC) }
    }

    /// Why a page was not there, as a negative errno: the file became shorter, its file system is full, or the
    /// target failed.
    #[cold]
    fn reason(&self, command: &Command) -> i32 {
        // SAFETY: both calls write one structure each, for which zeros are a valid value.
        let (length, free) = unsafe {
            let mut file: libc::stat = std::mem::zeroed();
            let mut system: libc::statvfs = std::mem::zeroed();
            libc::fstat(self.fd, &raw mut file);
            libc::fstatvfs(self.fd, &raw mut system);
            (file.st_size as u64, system.f_bavail)
        };
        if !self.is_block_device && length < command.offset + u64::from(command.size) {
            return -libc::ENODATA;
        }
        if command.operation == Operation::Write && !self.is_block_device && free == 0 {
            return -libc::ENOSPC;
        }
        -libc::EIO
    }
}

impl Call for Mmap {
    #[inline]
    fn execute(&mut self, command: &Command) -> i32 {
        let size = command.size as usize;
        let result = match command.operation {
            Operation::Read | Operation::Write => {
                self.copy(command, size);
                if self.watched.has_failed() { self.reason(command) } else { command.size as i32 }
            }
            Operation::Trim => trim(self.fd, self.is_block_device, command),
            Operation::Sync => self.sync(),
            operation => unreachable!("{operation:?} is not for the blocks of a target"),
        };
        if result == -1 { -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) } else { result }
    }
}

impl Mapping {
    fn new(workload: &Workload, fd: RawFd, range: (u64, u64)) -> Result<Self> {
        // SAFETY: the call only looks a number up.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
        let offset = range.0 / page * page;
        let length = (range.0 + range.1 - offset).next_multiple_of(page) as usize;
        let writes = if workload.changes_target() { libc::PROT_WRITE } else { 0 };
        // SAFETY: a mapping at an address that the kernel chooses touches no existing memory.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | writes,
                libc::MAP_SHARED,
                fd,
                offset as libc::off_t,
            )
        };
        if memory != libc::MAP_FAILED {
            advise(memory, length, workload.cache_advice);
            return Ok(Self { memory: memory.cast(), length, offset });
        }
        let error = io::Error::last_os_error();
        let name = &workload.target.path;
        Err(match error.raw_os_error() {
            Some(libc::ENODEV | libc::EACCES | libc::EPERM) => EngineError::new(
                Code::Unsupported,
                format!("the file system does not map this file: {error}"),
            )
            .at(name)
            .advise("use --backend sync"),
            _ => EngineError::from_os("map the target", name, &error),
        })
    }
}

/// Says in which order a mapping is going to be used; the kernel may ignore it.
fn advise(memory: *mut libc::c_void, length: usize, advice: CacheAdvice) {
    let advice = match advice {
        CacheAdvice::None => return,
        CacheAdvice::Sequential => libc::MADV_SEQUENTIAL,
        CacheAdvice::Random => libc::MADV_RANDOM,
    };
    // SAFETY: it changes nothing of what the memory holds.
    unsafe { libc::madvise(memory, length, advice) };
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `new`, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), self.length) };
    }
}
