//! The memory that I/O reads into and writes from: aligned, faulted in beforehand, and filled with
//! data that neither compresses nor repeats unless asked to.
//!
//! Buffers are filled once. Each write begins further along in a buffer that is megabytes larger than
//! a block, so that neighbouring writes differ in every byte and a compressor finds nothing to refer
//! back to. It also gets a stamp at the start of every 4 KiB: a number that never repeats in a run, and
//! the byte's own offset on the target. That costs a store or two per write, defeats deduplication, and
//! lets a read tell whether a block is where it belongs.

mod checksums;
mod fio_header;
mod marks;

use std::ptr::NonNull;

pub use fio_header::header_size;
use marks::Marks;
use rand_core::Rng;

use crate::address::{Random, random_for_job, unit};
use crate::error::{Code, EngineError, Result};
use crate::workload::{Contents, ContentsKind, Operation, Workload};

/// Distance between two stamps, the unit in which storage deduplicates.
pub const STAMP_DISTANCE: usize = 4096;
/// Bytes of a stamp.
pub const STAMP_SIZE: usize = 16;
const ALIGNMENT: usize = 4096;
/// Random data beyond one block a slot, over all slots and jobs: further back than the compressors of
/// drives and file systems look.
const POOL_SIZE: usize = 8 << 20;
/// The least of it that a slot gets.
const SPREAD_MIN: usize = 64 << 10;

/// The buffers of one job: for each slot of its queue one for reads, one for writes, or both, because a
/// read would replace what the next write is meant to contain.
#[derive(Debug)]
pub struct Buffers {
    memory: NonNull<u8>,
    layout: Layout,
    stamps: Stamps,
    /// For each slot, where in its buffer the present write begins.
    shifts: Vec<usize>,
    /// A pattern or fio's headers, in place of stamps.
    marks: Option<Box<Marks>>,
    are_fixed: bool,
    is_leaked: bool,
}

/// Sizes and numbers of the buffers of one job; those for reads come first.
#[derive(Debug, Clone, Copy)]
struct Layout {
    for_reads: usize,
    for_writes: usize,
    read_size: usize,
    /// What a buffer for writes holds beyond one block.
    spread: usize,
}

impl Layout {
    fn of(workload: &Workload, job: u32) -> Self {
        let slots = workload.depth_of(job) as usize;
        let writes = workload.uses(Operation::Write);
        let reads = workload.uses(Operation::Read) || !writes;
        let contents = &workload.contents;
        // after a write of any size the next one, to a file that is open with O_DIRECT, would not begin where it must
        let mixes = !workload.direct && workload.target.is_partly_direct();
        let varies = contents.kind == ContentsKind::Random && contents.duplicate_fraction == 0.0 && !mixes;
        // a short run needs no more than it writes, and filling the pool takes longer than such a run
        let needed = usize::try_from(workload.most_bytes()).unwrap_or(usize::MAX).min(POOL_SIZE);
        let share = (POOL_SIZE / (slots * workload.job_count as usize)).min(needed).max(SPREAD_MIN);
        Self {
            for_reads: if reads { slots } else { 0 },
            for_writes: if writes { slots } else { 0 },
            read_size: (workload.largest_moved() as usize).next_multiple_of(ALIGNMENT),
            spread: if varies { share.next_multiple_of(ALIGNMENT) } else { 0 },
        }
    }

    fn count(&self) -> usize {
        self.for_reads + self.for_writes
    }

    fn length(&self) -> usize {
        self.for_reads * self.read_size + self.for_writes * self.write_size()
    }

    fn write_size(&self) -> usize {
        self.read_size + self.spread
    }

    /// Begin and size of a buffer within the mapping.
    #[inline]
    fn place(&self, index: usize) -> (usize, usize) {
        match index.checked_sub(self.for_reads) {
            None => (index * self.read_size, self.read_size),
            Some(write) => (self.for_reads * self.read_size + write * self.write_size(), self.write_size()),
        }
    }
}

#[derive(Debug)]
struct Stamps {
    enabled: bool,
    duplicate_fraction: f64,
    next: u64,
}

impl Stamps {
    /// Makes data that will lie at `offset` new and self-identifying.
    #[inline]
    fn put(&mut self, data: &mut [u8], offset: u64, random: &mut Random) {
        let repeat = self.duplicate_fraction > 0.0 && unit(random) < self.duplicate_fraction;
        let first = self.next;
        self.next += 1;
        for (chunk, position) in stamp_positions(data.len()).enumerate() {
            let (number, place) =
                if repeat { (0, 0) } else { (first ^ ((chunk as u64) << 32), offset + position as u64) };
            write_stamp(&mut data[position..position + STAMP_SIZE], number, place);
        }
    }

    /// Makes data that were read at `offset` other than they were, whichever run has written them.
    fn change(&mut self, data: &mut [u8], offset: u64, random: &mut Random) {
        let repeat = self.duplicate_fraction > 0.0 && unit(random) < self.duplicate_fraction;
        for position in stamp_positions(data.len()) {
            let stamp = &mut data[position..position + STAMP_SIZE];
            let old = stamp[..8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            let (number, place) =
                if repeat { (0, 0) } else { (old ^ (random.next_u64() | 1), offset + position as u64) };
            write_stamp(stamp, number, place);
        }
    }
}

// SAFETY: the mapping belongs to this value alone and is not tied to a thread.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps, fills and thereby faults in the buffers of one job; those for a simulated drive are only mapped.
    ///
    /// # Errors
    ///
    /// [`Code::BuffersTooLarge`] when the system does not give the memory.
    pub fn new(workload: &Workload, job: u32) -> Result<Self> {
        let layout = Layout::of(workload, job);
        let length = layout.length();
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
        // a simulated drive keeps no data: filling hundreds of megabytes would take longer than its I/O
        let is_filled = workload.target.simulated.is_none();
        let stamps = Stamps {
            enabled: is_filled && workload.has_stamps(),
            duplicate_fraction: contents.duplicate_fraction,
            next: (u64::from(job) << 48) | 1,
        };
        let shifts = vec![0; layout.for_writes];
        let are_fixed = contents.kind != ContentsKind::Random;
        let marks = if is_filled { Marks::of(workload, job) } else { None };
        let mut made = Self { memory, layout, stamps, shifts, marks, are_fixed, is_leaked: false };
        for index in 0..if is_filled { layout.count() } else { 0 } {
            // Duplicates must be equal in every slot and job, so then all begin with the same fill.
            let buffer = job * layout.count() as u32 + index as u32;
            let stream = if contents.duplicate_fraction > 0.0 { 0 } else { buffer };
            fill(made.slice_mut(index), contents, &mut random_for_job(workload.seed, stream));
        }
        Ok(made)
    }

    /// Number of the buffer that a slot reads into or writes from, and where its data begin.
    #[inline]
    #[must_use]
    pub fn of_slot(&self, slot: u32, writes: bool) -> (u32, *mut u8) {
        if !writes {
            return (slot, self.region(slot).0);
        }
        let index = slot + self.layout.for_reads as u32;
        // SAFETY: a shift leaves room for the largest block within the buffer.
        (index, unsafe { self.region(index).0.add(self.shifts[slot as usize]) })
    }

    /// Begin and size of a buffer.
    #[inline]
    #[must_use]
    pub fn region(&self, index: u32) -> (*mut u8, usize) {
        let (begin, size) = self.layout.place(index as usize);
        debug_assert!(begin + size <= self.layout.length());
        // SAFETY: the buffer lies within the mapping.
        (unsafe { self.memory.as_ptr().add(begin) }, size)
    }

    /// All of them, as io_uring registers them.
    #[must_use]
    pub fn vectors(&self) -> Vec<libc::iovec> {
        let regions = (0..self.count()).map(|index| self.region(index));
        regions.map(|(begin, size)| libc::iovec { iov_base: begin.cast(), iov_len: size }).collect()
    }

    /// Number of buffers.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.layout.count() as u32
    }

    /// Never gives the memory back: I/O that did not end may still use it.
    pub fn leak(&mut self) {
        self.is_leaked = true;
    }

    /// Makes a slot's data new, unique and self-identifying before it is written to `offset`; false when that
    /// changes nothing in them and so takes no time.
    #[inline]
    pub fn stamp(&mut self, slot: u32, offset: u64, size: usize, random: &mut Random) -> bool {
        let shift = &mut self.shifts[slot as usize];
        *shift = if *shift + size > self.layout.spread { 0 } else { *shift + size };
        if !self.stamps.enabled {
            return self.marks.is_some() && self.mark(slot, offset, size);
        }
        let (_, data) = self.of_slot(slot, true);
        // SAFETY: the data lie within the slot's buffer, which no I/O uses while its slot is free.
        let data = unsafe { std::slice::from_raw_parts_mut(data, size) };
        self.stamps.put(data, offset, random);
        true
    }

    /// The same as a call, for a loop that is as short for reads without it.
    #[inline(never)]
    pub fn stamp_apart(&mut self, slot: u32, offset: u64, size: usize, random: &mut Random) -> bool {
        self.stamp(slot, offset, size, random)
    }

    /// Makes a slot's data the pattern or the headers that belong at `offset`; apart, so that the loop stays as short
    /// as it is for those that have none.
    #[cold]
    #[inline(never)]
    fn mark(&mut self, slot: u32, offset: u64, size: usize) -> bool {
        let (_, data) = self.of_slot(slot, true);
        // SAFETY: as in `stamp`.
        let data = unsafe { std::slice::from_raw_parts_mut(data, size) };
        self.marks.as_mut().is_some_and(|marks| marks.put(data, offset))
    }

    /// Changes what was just read from `offset`, so that writing it back makes a difference: the stamps, or the
    /// first byte where there are none. Zeros and patterns stay as they are.
    #[inline]
    pub fn change_read(&mut self, slot: u32, offset: u64, size: usize, random: &mut Random) {
        // SAFETY: the slot's buffer holds `size` bytes, and no I/O uses it between a read and its write back.
        let data = unsafe { std::slice::from_raw_parts_mut(self.region(slot).0, size) };
        if self.stamps.enabled {
            self.stamps.change(data, offset, random);
        } else if let (false, Some(first)) = (self.are_fixed, data.first_mut()) {
            *first = first.wrapping_add(1);
        }
    }

    /// Whether the data just read are those of their own offset: by the pattern or the headers that are asked for,
    /// else by stamps, or as fio wrote them there.
    #[must_use]
    pub fn verify(&self, slot: u32, offset: u64, size: usize) -> bool {
        // SAFETY: the slot's buffer holds `size` bytes, and no I/O into it is outstanding.
        let data = unsafe { std::slice::from_raw_parts(self.region(slot).0, size) };
        if let Some(marks) = &self.marks {
            return marks.are_right(data, offset);
        }
        stamp_positions(size).all(|position| {
            let place = &data[position + 8..position + STAMP_SIZE];
            place == (offset + position as u64).to_le_bytes()
        }) || fio_header::are_intact(data, offset)
    }

    fn slice_mut(&mut self, index: usize) -> &mut [u8] {
        let (begin, size) = self.region(index as u32);
        // SAFETY: the buffer lies within the mapping, and `&mut self` makes it exclusive.
        unsafe { std::slice::from_raw_parts_mut(begin, size) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if !self.is_leaked {
            // SAFETY: this is the mapping made in `new`, and no I/O is outstanding when a job has ended well.
            unsafe { libc::munmap(self.memory.as_ptr().cast(), self.layout.length()) };
        }
    }
}

#[inline]
fn stamp_positions(size: usize) -> impl Iterator<Item = usize> {
    (0..size).step_by(STAMP_DISTANCE).take_while(move |position| position + STAMP_SIZE <= size)
}

#[inline]
fn write_stamp(stamp: &mut [u8], number: u64, place: u64) {
    stamp[..8].copy_from_slice(&number.to_le_bytes());
    stamp[8..].copy_from_slice(&place.to_le_bytes());
}

/// Fills memory with what a workload writes.
pub fn fill(data: &mut [u8], contents: &Contents, random: &mut Random) {
    if contents.kind != ContentsKind::Random {
        let (pattern, _) = contents.pattern_bytes().unwrap_or_else(|| (vec![0], Vec::new()));
        marks::repeat(&pattern, data);
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
        write_stamp(&mut data[position..position + STAMP_SIZE], random.next_u64(), place);
    }
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
    let layouts: Vec<_> = (0..workload.job_count).map(|job| Layout::of(workload, job)).collect();
    let bytes: usize = layouts.iter().map(Layout::length).sum();
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse::<usize>().ok()
    });
    match available {
        Some(kib) if bytes > kib * 1024 / 2 => {
            let asked = format!(
                "{} jobs with {} buffers x {} bytes is more than half of the {} MiB available",
                workload.job_count,
                layouts.iter().map(Layout::count).sum::<usize>(),
                workload.largest_block(),
                kib >> 10
            );
            Err(too_large(bytes, &asked))
        }
        _ => Ok(()),
    }
}
