//! One call per I/O: pread and pwrite, preadv2 and pwritev2 where a flag is wanted.

use std::io;
use std::os::fd::RawFd;

use super::blocking::Call;
use super::{Command, Completion};
use crate::recording::SyncCall;
use crate::target::Target;
use crate::workload::{DurabilityMethod, Operation, Workload};

/// Makes the calls.
#[derive(Debug)]
pub struct Sync {
    fd: RawFd,
    is_block_device: bool,
    sync_call: SyncCall,
    read_flags: i32,
    write_flags: i32,
    stat_before_write: bool,
}

impl Sync {
    /// A backend for an open target.
    #[must_use]
    pub fn new(target: &Target, workload: &Workload) -> Self {
        let method = workload.durability.method;
        let polled = if workload.polled_completion { libc::RWF_HIPRI } else { 0 };
        let durable = if method == DurabilityMethod::RwfDsync { libc::RWF_DSYNC } else { 0 };
        Self {
            fd: target.fd(),
            is_block_device: target.is_block_device(),
            sync_call: SyncCall::of(workload),
            read_flags: polled,
            write_flags: polled | durable,
            stat_before_write: workload.stat_before_write,
        }
    }
}

impl Call for Sync {
    #[inline]
    fn execute(&mut self, command: &Command) -> i32 {
        let offset = command.offset as libc::off_t;
        let size = command.size as usize;
        if self.stat_before_write && command.operation == Operation::Write {
            look_at(self.fd);
        }
        // SAFETY: the buffer holds `size` bytes and is left alone until the call returns.
        let result = unsafe {
            match command.operation {
                Operation::Read if self.read_flags == 0 => {
                    libc::pread(self.fd, command.buffer.cast(), size, offset)
                }
                Operation::Write if self.write_flags == 0 => {
                    libc::pwrite(self.fd, command.buffer.cast(), size, offset)
                }
                Operation::Read => libc::preadv2(self.fd, &vector(command), 1, offset, self.read_flags),
                Operation::Write => libc::pwritev2(self.fd, &vector(command), 1, offset, self.write_flags),
                Operation::Trim => trim(self.fd, self.is_block_device, command) as isize,
                Operation::Sync => sync(self.fd, self.sync_call.at(command.offset)) as isize,
                operation => unreachable!("{operation:?} is not for the blocks of a target"),
            }
        };
        if result < 0 {
            -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
        } else {
            result as i32
        }
    }
}

/// Asks for a file's attributes, and has no use for them.
fn look_at(fd: RawFd) {
    let mut attributes = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the call fills `attributes`, which has room for them.
    unsafe { libc::fstat(fd, attributes.as_mut_ptr()) };
}

fn vector(command: &Command) -> libc::iovec {
    libc::iovec { iov_base: command.buffer.cast(), iov_len: command.size as usize }
}

/// Gives a range up: a discard on a block device, a hole in a file. Returns the size, or -1 with errno set.
pub(super) fn trim(fd: RawFd, is_block_device: bool, command: &Command) -> i32 {
    const BLKDISCARD: libc::c_ulong = 0x1277;
    let result = if is_block_device {
        let range = [command.offset, u64::from(command.size)];
        // SAFETY: the ioctl reads two 64-bit numbers from `range`.
        unsafe { libc::ioctl(fd, BLKDISCARD as _, range.as_ptr()) }
    } else {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: no memory is passed.
        unsafe { libc::fallocate(fd, mode, command.offset as libc::off_t, libc::off_t::from(command.size)) }
    };
    if result < 0 { -1 } else { command.size as i32 }
}

/// Gives a range up, for a backend that cannot leave it to the kernel; what comes back is its completion.
pub(super) fn trimmed(fd: RawFd, is_block_device: bool, command: &Command) -> Completion {
    ended(command, trim(fd, is_block_device, command))
}

/// Makes earlier writes durable, for a backend that does not leave it to the kernel.
pub(super) fn synced(fd: RawFd, method: DurabilityMethod, command: &Command) -> Completion {
    ended(command, sync(fd, method))
}

fn ended(command: &Command, answer: i32) -> Completion {
    let errno = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    Completion { slot: command.slot, result: if answer < 0 { -errno() } else { answer } }
}

/// Makes earlier writes durable. Returns 0, or -1 with errno set.
pub(crate) fn sync(fd: RawFd, method: DurabilityMethod) -> i32 {
    let write_and_wait =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: no memory is passed.
    unsafe {
        match method {
            DurabilityMethod::Fsync => libc::fsync(fd),
            // All of the file: earlier writes than the last one wait for this call, too.
            DurabilityMethod::SyncFileRange => libc::sync_file_range(fd, 0, 0, write_and_wait),
            _ => libc::fdatasync(fd),
        }
    }
}
