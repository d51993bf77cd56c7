//! What direct I/O needs on a target, and what the file system says about it.

use std::fs::File;
use std::os::fd::AsRawFd;

use crate::error::{Code, EngineError, Result};
use crate::workload::{FileState, Operation, Workload};

/// What direct I/O needs here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DirectAlignment {
    /// Multiple that offsets and sizes must be; 0 where direct I/O is not supported.
    pub(super) offset: u64,
    /// Whether the file system itself said so.
    is_known: bool,
}

/// Asks statx what direct I/O needs; where it does not know, the device's logical block or 512 bytes.
pub(super) fn direct_alignment(file: &File, is_block_device: bool) -> DirectAlignment {
    let logical_block = if is_block_device { logical_block_size(file) } else { 512 };
    // SAFETY: statx writes one `struct statx`, for which zeros are a valid value.
    let (result, found) = unsafe {
        let mut found: libc::statx = std::mem::zeroed();
        let result = libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &raw mut found,
        );
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

/// What is known about direct I/O here; empty when it was not asked for.
pub(super) fn direct_note(asked: bool, alignment: DirectAlignment) -> String {
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

/// Refuses offsets and sizes that direct I/O, or a discard, cannot have here.
pub(super) fn refuse_misaligned(
    workload: &Workload,
    alignment: DirectAlignment,
    is_block_device: bool,
    file_length: u64,
) -> Result<()> {
    let discards = is_block_device && workload.uses(Operation::Trim);
    if !workload.direct && !discards {
        return Ok(());
    }
    let (needed_by, way_out) = match workload.direct {
        true => ("direct I/O", ", or leave out --direct"),
        false => ("a discard", ""),
    };
    let multiple = alignment.offset.max(1);
    let appends = workload.file_state == FileState::Append && !is_block_device;
    let quantities = workload
        .issued_sizes()
        .map(|bytes| ("block size", bytes))
        .chain([("offset", workload.target.offset_bytes), ("shift", workload.shift_bytes)])
        .chain(workload.accesses().map(|access| ("stride", access.stride_bytes)))
        .chain(workload.accesses().map(|access| ("zone", access.zone_bytes)))
        .chain(workload.accesses().map(|access| ("gap between two zones", access.zone_skip_bytes)))
        .chain([("the file's present size", if appends { file_length } else { 0 })]);
    for (what, bytes) in quantities {
        if bytes % multiple != 0 {
            let what =
                format!("{what} {bytes} B is not a multiple of {multiple} B, which {needed_by} needs here");
            return Err(EngineError::new(Code::Misaligned, what)
                .at(&workload.target.path)
                .advise(format!("use a multiple of {multiple} B{way_out}")));
        }
    }
    Ok(())
}
