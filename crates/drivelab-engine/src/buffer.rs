//! The memory that I/O reads into and writes from: aligned, faulted in beforehand, and filled with
//! data that neither compresses nor repeats unless asked to.
//!
//! Buffers are filled once. Each write then gets a stamp at the start of every 4 KiB: a number that
//! never repeats in a run, and the byte's own offset on the target. That costs a store or two per
//! write, defeats deduplication, and lets a read tell whether a block is where it belongs.

use std::ptr::NonNull;

use rand_core::Rng;

use crate::address::{Random, random_for_job, unit};
use crate::error::{Code, EngineError, Result};
use crate::workload::{Contents, ContentsKind, Operation, Workload};

/// Distance between two stamps, the unit in which storage deduplicates.
pub const STAMP_DISTANCE: usize = 4096;
/// Bytes of a stamp.
pub const STAMP_SIZE: usize = 16;
const ALIGNMENT: usize = 4096;

/// The buffers of one job: one for each slot of its queue, and a second one for the slot's writes where
/// a workload also reads, because a read would replace what the next write is meant to contain.
#[derive(Debug)]
pub struct Buffers {
    memory: NonNull<u8>,
    length: usize,
    slot_size: usize,
    /// Number of the first buffer for writes.
    first_for_writes: u32,
    stamps: Stamps,
}

#[derive(Debug)]
struct Stamps {
    enabled: bool,
    duplicate_fraction: f64,
    next: u64,
}

// SAFETY: the mapping belongs to this value alone and is not tied to a thread.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps, fills and thereby faults in the buffers of one job.
    ///
    /// # Errors
    ///
    /// [`Code::BuffersTooLarge`] when the system does not give the memory.
    pub fn new(workload: &Workload, job: u32) -> Result<Self> {
        let slot_size = slot_size(workload);
        let buffers = buffers_per_job(workload);
        let length = slot_size * buffers as usize;
        // SAFETY: an anonymous private mapping touches no existing memory.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            let error = std::io::Error::last_os_error();
            return Err(too_large(length, &error.to_string()));
        }
        let memory = NonNull::new(memory.cast()).expect("a successful mapping is not at address 0");
        let contents = &workload.contents;
        let stamps = Stamps {
            enabled: workload.has_stamps(),
            duplicate_fraction: contents.duplicate_fraction,
            next: (u64::from(job) << 48) | 1,
        };
        let first_for_writes = buffers - workload.queue_depth;
        let mut made = Self { memory, length, slot_size, first_for_writes, stamps };
        for index in 0..buffers {
            // Duplicates must be equal in every slot and job, so then all begin with the same fill.
            let stream = if contents.duplicate_fraction > 0.0 { 0 } else { job * buffers + index };
            fill(made.slice_mut(index, slot_size), contents, &mut random_for_job(workload.seed, stream));
        }
        Ok(made)
    }

    /// Number and begin of the buffer that a slot reads into or writes from.
    #[inline]
    #[must_use]
    pub fn of_slot(&self, slot: u32, writes: bool) -> (u32, *mut u8) {
        let index = if writes { slot + self.first_for_writes } else { slot };
        (index, self.pointer(index))
    }

    /// Where a buffer begins.
    #[inline]
    #[must_use]
    pub fn pointer(&self, index: u32) -> *mut u8 {
        debug_assert!((index as usize + 1) * self.slot_size <= self.length);
        // SAFETY: the buffer lies within the mapping.
        unsafe { self.memory.as_ptr().add(index as usize * self.slot_size) }
    }

    /// Bytes of each buffer.
    #[must_use]
    pub fn slot_size(&self) -> usize {
        self.slot_size
    }

    /// Number of buffers.
    #[must_use]
    pub fn count(&self) -> u32 {
        (self.length / self.slot_size) as u32
    }

    /// Makes a slot's data unique and self-identifying before it is written to `offset`.
    #[inline]
    pub fn stamp(&mut self, slot: u32, offset: u64, size: usize, random: &mut Random) {
        if !self.stamps.enabled {
            return;
        }
        let repeat = self.stamps.duplicate_fraction > 0.0 && unit(random) < self.stamps.duplicate_fraction;
        let first = self.stamps.next;
        let index = slot + self.first_for_writes;
        self.stamps.next += 1;
        for (chunk, position) in (0..size).step_by(STAMP_DISTANCE).enumerate() {
            if position + STAMP_SIZE > size {
                break;
            }
            let (number, place) =
                if repeat { (0, 0) } else { (first ^ ((chunk as u64) << 32), offset + position as u64) };
            let target = self.slice_mut(index, size);
            target[position..position + 8].copy_from_slice(&number.to_le_bytes());
            target[position + 8..position + STAMP_SIZE].copy_from_slice(&place.to_le_bytes());
        }
    }

    /// Whether the data just read carry the stamps of their own offset.
    #[must_use]
    pub fn verify(&self, slot: u32, offset: u64, size: usize) -> bool {
        // SAFETY: the slot's buffer holds `size` bytes, and no I/O into it is outstanding.
        let data = unsafe { std::slice::from_raw_parts(self.pointer(slot), size) };
        (0..size).step_by(STAMP_DISTANCE).filter(|position| position + STAMP_SIZE <= size).all(|position| {
            let place = &data[position + 8..position + STAMP_SIZE];
            place == (offset + position as u64).to_le_bytes()
        })
    }

    fn slice_mut(&mut self, index: u32, size: usize) -> &mut [u8] {
        assert!(size <= self.slot_size);
        // SAFETY: the buffer lies within the mapping, and `&mut self` makes it exclusive; the kernel uses
        // it only between submission and completion, when the loop leaves it alone.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(index), size) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `new`, and no I/O is outstanding when a job ends.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.length) };
    }
}

/// Fills memory with what a workload writes.
pub fn fill(data: &mut [u8], contents: &Contents, random: &mut Random) {
    if contents.kind == ContentsKind::Zeros {
        data.fill(0);
        return;
    }
    for block in data.chunks_mut(STAMP_DISTANCE) {
        let incompressible = ((1.0 - contents.compressible_fraction) * block.len() as f64) as usize;
        let (head, tail) = block.split_at_mut(incompressible);
        random.fill_bytes(head);
        tail.fill(0);
    }
}

/// Writes the stamps of data that will lie at `offset`: at each multiple of their distance on the target.
pub fn stamp_offsets(data: &mut [u8], offset: u64, contents: &Contents, random: &mut Random) {
    if contents.kind != ContentsKind::Random || contents.duplicate_fraction > 0.0 {
        return;
    }
    let first = offset.next_multiple_of(STAMP_DISTANCE as u64) - offset;
    for position in (first as usize..data.len().saturating_sub(STAMP_SIZE - 1)).step_by(STAMP_DISTANCE) {
        let place = offset + position as u64;
        data[position..position + 8].copy_from_slice(&random.next_u64().to_le_bytes());
        data[position + 8..position + STAMP_SIZE].copy_from_slice(&place.to_le_bytes());
    }
}

fn slot_size(workload: &Workload) -> usize {
    (workload.largest_block() as usize).next_multiple_of(ALIGNMENT)
}

fn buffers_per_job(workload: &Workload) -> u32 {
    let reads_and_writes = workload.uses(Operation::Read) && workload.uses(Operation::Write);
    if reads_and_writes { 2 * workload.queue_depth } else { workload.queue_depth }
}

fn too_large(bytes: usize, why: &str) -> EngineError {
    EngineError::new(Code::BuffersTooLarge, format!("cannot get {} MiB for buffers: {why}", bytes >> 20))
        .at("block size x queue depth x jobs")
        .advise("choose a smaller block size, queue depth or job count")
}

/// Refuses a workload whose buffers would take more than half of the memory that is available.
///
/// # Errors
///
/// [`Code::BuffersTooLarge`], saying how much it would be.
pub fn refuse_more_than_memory(workload: &Workload) -> Result<()> {
    let bytes = slot_size(workload) * buffers_per_job(workload) as usize * workload.job_count as usize;
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse::<usize>().ok()
    });
    match available {
        Some(kib) if bytes > kib * 1024 / 2 => {
            let asked = format!(
                "{} jobs x {} buffers x {} bytes is more than half of the {} MiB available",
                workload.job_count,
                buffers_per_job(workload),
                workload.largest_block(),
                kib >> 10
            );
            Err(too_large(bytes, &asked))
        }
        _ => Ok(()),
    }
}
