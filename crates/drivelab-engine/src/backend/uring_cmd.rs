//! NVMe commands of our own through io_uring, past the block layer: reads, writes and flushes of one namespace.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::{cqueue, opcode, squeue, types};

use super::ring::{Ring, unusable};
use super::{Backend, Command, Completion, Wait};
use crate::buffer::Buffers;
use crate::error::Result;
use crate::target::{Namespace, NvmeCommand, Target};
use crate::workload::{DurabilityMethod, Operation, Workload};

const FILE: types::Fixed = types::Fixed(0);
/// NVME_URING_CMD_IO: `_IOWR('N', 0x80, struct nvme_uring_cmd)`.
const NVME_URING_CMD_IO: u32 = 0xC048_4E80;
const FLUSH: u8 = 0;
const WRITE: u8 = 1;
const READ: u8 = 2;
/// Force unit access, in the twelfth word of a write.
const FUA: u32 = 1 << 30;

/// A ring of one job for the commands of one namespace; must be used by the thread that made it.
pub struct UringCmd {
    ring: Ring<squeue::Entry128, cqueue::Entry32>,
    namespace: Namespace,
    /// The block device above, whose cached pages are no longer true once it was written past.
    written: Option<RawFd>,
    /// Of each buffer, whether commands name it by its number.
    registered: Vec<bool>,
    write_flags: u32,
    /// Bytes that each slot's command moves: a completion carries a status only.
    sizes: Vec<u32>,
}

impl UringCmd {
    /// Makes a ring and registers the namespace and the buffers with it.
    ///
    /// # Errors
    ///
    /// [`Code::UringUnusable`](crate::error::Code) when the kernel does not allow io_uring, and what
    /// [`Namespace::of`] refuses.
    pub fn new(workload: &Workload, target: &Target, buffers: &Buffers) -> Result<Self> {
        let namespace = Namespace::of(target.fd(), workload)?;
        let ring = Ring::new(workload)?;
        let submitter = ring.submitter();
        submitter.register_files(&[namespace.file.as_raw_fd()]).map_err(|error| unusable(&error))?;
        // SAFETY: the buffers outlive the ring: a job drops its backend before its buffers.
        let is_registered = unsafe { submitter.register_buffers(&buffers.vectors()) }.is_ok();
        // Older kernels count all pages of a buffer as pages of each command from it.
        let is_small = |index| buffers.region(index).1 as u64 <= namespace.most_bytes;
        let registered = (0..buffers.count()).map(|index| is_registered && is_small(index)).collect();
        let forces = matches!(
            workload.durability.method,
            DurabilityMethod::ODsync | DurabilityMethod::OSync | DurabilityMethod::RwfDsync
        );
        Ok(Self {
            ring,
            namespace,
            written: workload.changes_target().then_some(target.fd()),
            registered,
            write_flags: if forces { FUA } else { 0 },
            sizes: vec![0; workload.queue_depth as usize],
        })
    }

    #[inline]
    fn entry(&self, command: &Command) -> squeue::Entry128 {
        let nvme = nvme_command(command, &self.namespace, self.write_flags);
        let mut words = [0; 80];
        // SAFETY: a structure of integers without padding, of 72 bytes.
        words[..72].copy_from_slice(&unsafe { std::mem::transmute::<NvmeCommand, [u8; 72]>(nvme) });
        let index = command.buffer_index;
        let names_buffer = command.operation != Operation::Sync && self.registered[index as usize];
        let buffer = names_buffer.then_some(index as u16);
        opcode::UringCmd80::new(FILE, NVME_URING_CMD_IO).cmd(words).buf_index(buffer).build()
    }

    /// What a status means for those from `before` on: bytes, or an errno.
    #[inline]
    fn tell_results(&self, completions: &mut [Completion]) {
        for ended in completions {
            ended.result = match ended.result {
                0 => self.sizes[ended.slot as usize] as i32,
                errno if errno < 0 => errno,
                _ => -libc::EIO,
            };
        }
    }
}

fn nvme_command(command: &Command, namespace: &Namespace, write_flags: u32) -> NvmeCommand {
    let plain = NvmeCommand { namespace: namespace.number, ..NvmeCommand::default() };
    let (opcode, flags) = match command.operation {
        Operation::Read => (READ, 0),
        Operation::Write => (WRITE, write_flags),
        _ => return NvmeCommand { opcode: FLUSH, ..plain },
    };
    let first = command.offset >> namespace.block_shift;
    let last = (command.size >> namespace.block_shift) - 1;
    NvmeCommand {
        opcode,
        address: command.buffer as u64,
        data_length: command.size,
        words_10_to_15: [first as u32, (first >> 32) as u32, last | flags, 0, 0, 0],
        ..plain
    }
}

impl Backend for UringCmd {
    const IS_ASYNCHRONOUS: bool = true;

    #[inline]
    fn queue(&mut self, command: &Command) {
        self.sizes[command.slot as usize] =
            if command.operation == Operation::Sync { 0 } else { command.size };
        let mut entry = self.entry(command);
        squeue::EntryMarker::set_user_data(&mut entry, u64::from(command.slot));
        // SAFETY: the buffer and the namespace stay valid until the command has completed.
        unsafe { self.ring.queue(&entry) };
    }

    fn waits_as_it_submits(&self) -> bool {
        self.ring.waits_as_it_submits()
    }

    #[inline]
    fn submit(&mut self) -> Result<()> {
        self.ring.submit()
    }

    #[inline]
    fn submit_and_wait(&mut self, completions: &mut Vec<Completion>) -> Result<()> {
        let before = completions.len();
        if !self.ring.submit_and_wait(completions)? {
            self.ring.submit()?;
            self.ring.reap(Wait::Forever, completions)?;
        }
        self.tell_results(&mut completions[before..]);
        Ok(())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<()> {
        let before = completions.len();
        self.ring.reap(wait, completions)?;
        self.tell_results(&mut completions[before..]);
        Ok(())
    }
}

impl Drop for UringCmd {
    /// Lets go of the namespace at once, as a ring of files does, and has the kernel forget what it has cached.
    fn drop(&mut self) {
        let submitter = self.ring.submitter();
        // A failure leaves it to the kernel, as before.
        let _ = submitter.unregister_files();
        let _ = submitter.unregister_buffers();
        if let Some(block_device) = self.written {
            const BLKFLSBUF: libc::c_ulong = 0x1261;
            // SAFETY: no memory is passed.
            unsafe { libc::ioctl(block_device, BLKFLSBUF as _, 0) };
        }
    }
}

/// Whether this kernel has rings for commands of devices (since Linux 5.19).
///
/// # Errors
///
/// [`Code::UringUnusable`](crate::error::Code) with the kernel's reason.
pub fn probe() -> Result<()> {
    let made: io::Result<io_uring::IoUring<squeue::Entry128, cqueue::Entry32>> =
        io_uring::IoUring::builder().build(1);
    made.map(|_| ()).map_err(|error| unusable(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(operation: Operation) -> Command {
        let buffer = 0x1000 as *mut u8;
        Command { operation, slot: 3, offset: 5 << 41, size: 8192, buffer, buffer_index: 3 }
    }

    fn namespace(block_shift: u32) -> Namespace {
        Namespace {
            file: std::fs::File::open("/dev/null").unwrap(),
            number: 7,
            block_shift,
            most_bytes: 1 << 19,
        }
    }

    #[test]
    fn a_write_names_its_blocks_counted_from_none() {
        let made = nvme_command(&command(Operation::Write), &namespace(9), FUA);
        assert_eq!((made.opcode, made.namespace, made.data_length, made.address), (1, 7, 8192, 0x1000));
        assert_eq!(made.words_10_to_15[..3], [0, 5, 15 | 1 << 30]);
        let larger = nvme_command(&command(Operation::Write), &namespace(12), 0);
        assert_eq!(larger.words_10_to_15[..3], [5 << 29, 0, 1]);
    }

    #[test]
    fn a_read_is_never_forced_and_a_flush_has_no_blocks() {
        assert_eq!(nvme_command(&command(Operation::Read), &namespace(9), FUA).words_10_to_15[2], 15);
        let flush = nvme_command(&command(Operation::Sync), &namespace(9), FUA);
        assert_eq!((flush.opcode, flush.namespace, flush.data_length), (0, 7, 0));
        assert_eq!(flush.words_10_to_15, [0; 6]);
    }
}
