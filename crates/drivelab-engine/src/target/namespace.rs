//! The NVMe namespace below a block device, for commands that go past the block layer.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Code, EngineError, Result};
use crate::workload::Workload;

/// `_IO('N', 0x40)`: the number of a namespace.
const NVME_IOCTL_ID: libc::c_ulong = 0x4E40;
/// `_IOWR('N', 0x41, struct nvme_passthru_cmd)`: a command to the controller.
const NVME_IOCTL_ADMIN_CMD: libc::c_ulong = 0xC048_4E41;
const IDENTIFY: u8 = 6;
const IDENTIFIED_BYTES: usize = 4096;
/// Where the answer to "identify" has the number of the format in use, and the formats.
const FORMAT_IN_USE: usize = 26;
const FORMATS: usize = 128;
const PAGE_BYTES: u64 = 4096;

/// The kernel's `struct nvme_uring_cmd`, which is that of its older calls, too.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NvmeCommand {
    pub(crate) opcode: u8,
    pub(crate) flags: u8,
    pub(crate) reserved: u16,
    pub(crate) namespace: u32,
    pub(crate) words_2_and_3: [u32; 2],
    pub(crate) metadata: u64,
    pub(crate) address: u64,
    pub(crate) metadata_length: u32,
    pub(crate) data_length: u32,
    pub(crate) words_10_to_15: [u32; 6],
    pub(crate) timeout_ms: u32,
    pub(crate) result: u32,
}

const _: () = assert!(size_of::<NvmeCommand>() == 72);

/// An open namespace.
#[derive(Debug)]
pub struct Namespace {
    /// Its character device.
    pub(crate) file: File,
    /// Its number, as commands name it.
    pub(crate) number: u32,
    /// Its blocks have two to the power of this many bytes.
    pub(crate) block_shift: u32,
    /// What one command moves at most.
    pub(crate) most_bytes: u64,
}

impl Namespace {
    /// Opens the namespace of a block device that is open.
    ///
    /// # Errors
    ///
    /// [`Code::Unsupported`] where the block device is no whole NVMe namespace, where its blocks carry metadata, or
    /// where an I/O is larger than one command moves; what the operating system says where it can't be opened.
    pub fn of(block_device: RawFd, workload: &Workload) -> Result<Self> {
        let name = &workload.target.path;
        let place = sysfs_of(block_device).ok_or_else(|| refusal(name, "is no block device"))?;
        let most_bytes = most_bytes(&place);
        refuse_large(most_bytes, workload)?;
        let character = character_device(&place).map_err(|what| refusal(name, what))?;
        let path = Path::new("/dev").join(character.file_name().unwrap_or_default());
        let failed =
            |error: io::Error| EngineError::from_os("open the namespace", &path.to_string_lossy(), &error);
        let file =
            OpenOptions::new().read(true).write(workload.changes_target()).open(&path).map_err(failed)?;
        let number = number_of(file.as_raw_fd()).map_err(failed)?;
        if number_of(block_device).ok() != Some(number) || !is_same_device(&file, &character) {
            return Err(refusal(name, &format!("is another namespace than {}", path.display())));
        }
        let block_shift = block_shift(&file, number).map_err(failed)?;
        let block_shift = block_shift
            .ok_or_else(|| refusal(name, "has blocks with metadata, which would be needed with each"))?;
        Ok(Self { file, number, block_shift, most_bytes })
    }
}

fn refusal(name: &str, what: &str) -> EngineError {
    EngineError::new(Code::Unsupported, format!("NVMe commands can't be sent: {name} {what}"))
        .at("backend")
        .advise("name a whole NVMe namespace such as /dev/nvme0n1, or use --backend uring")
}

/// Where sysfs describes an open block device; `None` for anything else.
fn sysfs_of(block_device: RawFd) -> Option<PathBuf> {
    let metadata = fs::metadata(format!("/proc/self/fd/{block_device}")).ok()?;
    let number = metadata.rdev();
    let is_block_device = metadata.mode() & libc::S_IFMT == libc::S_IFBLK;
    let (major, minor) = (libc::major(number), libc::minor(number));
    is_block_device.then(|| fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()).flatten()
}

/// Where sysfs describes the character device of a namespace: `ng0n1` for `nvme0n1`, below the same controller.
fn character_device(block_device: &Path) -> std::result::Result<PathBuf, &'static str> {
    if block_device.join("partition").exists() {
        return Err("is a partition");
    }
    let name = block_device.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(place) = name.strip_prefix("nvme") else { return Err("is no NVMe drive") };
    let found = PathBuf::from(format!("/sys/class/nvme-generic/ng{place}"));
    let [ours, its] = [block_device, &found].map(|one| fs::canonicalize(one.join("device")).ok());
    if ours.is_some() && ours == its { Ok(found) } else { Err("has no character device (Linux 5.13 has)") }
}

fn is_same_device(file: &File, described: &Path) -> bool {
    let number = file.metadata().map_or(0, |found| found.rdev());
    let told = fs::read_to_string(described.join("dev")).unwrap_or_default();
    told.trim() == format!("{}:{}", libc::major(number), libc::minor(number))
}

fn number_of(namespace: RawFd) -> io::Result<u32> {
    // SAFETY: no memory is passed.
    let number = unsafe { libc::ioctl(namespace, NVME_IOCTL_ID as _) };
    u32::try_from(number).map_err(|_| io::Error::last_os_error())
}

/// The size of a block, as a power of two; `None` where blocks carry metadata.
fn block_shift(namespace: &File, number: u32) -> io::Result<Option<u32>> {
    let mut answer = [0_u8; IDENTIFIED_BYTES];
    let mut command = NvmeCommand {
        opcode: IDENTIFY,
        namespace: number,
        address: answer.as_mut_ptr() as u64,
        data_length: IDENTIFIED_BYTES as u32,
        ..NvmeCommand::default()
    };
    // SAFETY: the command names `answer` and its size, and both outlive the call.
    match unsafe { libc::ioctl(namespace.as_raw_fd(), NVME_IOCTL_ADMIN_CMD as _, &raw mut command) } {
        0 => Ok(shift_of_format(&answer)),
        status if status > 0 => {
            Err(io::Error::other(format!("the drive does not identify itself: {status:#x}")))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

fn shift_of_format(identified: &[u8; IDENTIFIED_BYTES]) -> Option<u32> {
    let number = identified[FORMAT_IN_USE];
    let place = FORMATS + 4 * usize::from((number & 0xF) | (number & 0x60) >> 1);
    let [metadata_low, metadata_high, shift, _] = identified[place..place + 4] else { return None };
    ((metadata_low, metadata_high) == (0, 0) && shift >= 9).then_some(u32::from(shift))
}

/// Bytes that one command moves at most, from memory whose pages lie anywhere: the block layer splits what is larger, and
/// here nobody does.
fn most_bytes(place: &Path) -> u64 {
    let told = |name: &str| -> Option<u64> {
        fs::read_to_string(place.join("queue").join(name)).ok()?.trim().parse().ok()
    };
    let by_size = told("max_hw_sectors_kb").map_or(u64::MAX, |kib| kib * 1024);
    by_size.min(told("max_segments").map_or(u64::MAX, |count| count * PAGE_BYTES))
}

fn refuse_large(most_bytes: u64, workload: &Workload) -> Result<()> {
    let largest = workload.largest_block();
    if largest <= most_bytes {
        return Ok(());
    }
    let what =
        format!("an I/O of {largest} bytes is more than the {most_bytes} that one NVMe command moves here");
    Err(EngineError::new(Code::Unsupported, what)
        .at("block_sizes")
        .advise("use smaller blocks, or --backend uring, with which the kernel splits them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_size_is_that_of_the_format_in_use() {
        let mut identified = [0; IDENTIFIED_BYTES];
        identified[FORMATS..FORMATS + 12].copy_from_slice(&[0, 0, 9, 0, 8, 0, 9, 0, 0, 0, 12, 0]);
        for (format, shift) in [(0, Some(9)), (1, None), (2, Some(12)), (0x20, None)] {
            identified[FORMAT_IN_USE] = format;
            assert_eq!(shift_of_format(&identified), shift);
        }
    }

    #[test]
    fn what_is_no_nvme_drive_has_no_namespace() {
        assert_eq!(character_device(Path::new("/sys/block/loop0")), Err("is no NVMe drive"));
    }
}
