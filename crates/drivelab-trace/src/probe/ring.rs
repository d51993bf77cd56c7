//! A ring of records that the kernel fills and we empty, in memory that both have.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::kernel::{Map, MapKind};
use super::{Named, Record};

const HEADER_BYTES: usize = 8;
const IS_BUSY: u32 = 1 << 31;
const IS_DISCARDED: u32 = 1 << 30;

/// Memory of a map.
#[derive(Debug)]
struct Shared {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is plain memory, and what is read or written of it is atomic or published by what is.
unsafe impl Send for Shared {}

impl Shared {
    fn of(map: &Map, bytes: usize, protection: i32, offset: usize) -> io::Result<Self> {
        let (flags, any) = (libc::MAP_SHARED, ptr::null_mut());
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start =
            unsafe { libc::mmap(any, bytes, protection, flags, map.descriptor(), offset as libc::off_t) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: NonNull::new(start.cast()).expect("a mapping is not at 0"), bytes })
    }

    fn position(&self) -> &AtomicU64 {
        // SAFETY: each of the two pages begins with a position, which both sides read and write atomically.
        unsafe { self.start.cast().as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The ring of one processor.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) map: Map,
    emptied: Shared,
    filled: Shared,
    page_bytes: usize,
    bytes: usize,
}

impl Ring {
    /// A ring of so many bytes, which are a power of two and whole pages.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        // SAFETY: a plain question.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let map = Map::new(MapKind::Ring, 0, bytes as u32, None)?;
        let emptied = Shared::of(&map, page_bytes, libc::PROT_READ | libc::PROT_WRITE, 0)?;
        // the data are there twice, so that no record is in two pieces
        let filled = Shared::of(&map, page_bytes + 2 * bytes, libc::PROT_READ, page_bytes)?;
        Ok(Self { map, emptied, filled, page_bytes, bytes })
    }

    /// Gives all records to `take`, each with the path that it names, and their room back to the kernel; how many bytes
    /// they had.
    pub(super) fn empty(&mut self, mut take: impl FnMut(Record, &[u8])) -> usize {
        let first = self.emptied.position().load(Ordering::Relaxed);
        let last = self.filled.position().load(Ordering::Acquire);
        let mut at = first;
        while at < last {
            let place = self.page_bytes + (at as usize & (self.bytes - 1));
            // SAFETY: inside of the mapping; a record begins at a multiple of 8 with its length.
            let record = unsafe { self.filled.start.add(place) };
            // SAFETY: as above; the kernel writes the length atomically.
            let header = unsafe { record.cast::<AtomicU32>().as_ref() }.load(Ordering::Acquire);
            if header & IS_BUSY != 0 {
                break;
            }
            let length = (header & !IS_DISCARDED) as usize;
            // SAFETY: inside of the mapping, as the header is.
            let content = unsafe { record.add(HEADER_BYTES) };
            if header & IS_DISCARDED == 0 && length == size_of::<Record>() {
                // SAFETY: the record is whole, and of this length; any bytes are one.
                take(unsafe { content.cast::<Record>().read() }, &[]);
            } else if header & IS_DISCARDED == 0 && length == size_of::<Named>() {
                // SAFETY: as above; the kernel writes to it no more until it is given back.
                let named = unsafe { content.cast::<Named>().as_ref() };
                take(named.record, &named.path);
            }
            at += (HEADER_BYTES + length).next_multiple_of(HEADER_BYTES) as u64;
        }
        self.emptied.position().store(at, Ordering::Release);
        (at - first) as usize
    }
}
