//! Counts what each thread takes from the heap.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with books.
pub struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn count(taken: usize, freed: usize) {
    // at the end of a thread the books are gone
    let _ = NOW.try_with(|now| {
        now.set(now.get() + taken.cast_signed() - freed.cast_signed());
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(taken)));
}

// SAFETY: everything is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes, layout.size());
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.realloc(place, layout, bytes) }
    }
}

/// What a piece of work took from the heap of its thread.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// The most that was in use at once, in bytes.
    pub peak: usize,
    /// The largest piece.
    pub largest: usize,
}

/// Does a piece of work, and says what it took.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Taken) {
    let before = NOW.with(Cell::get);
    let outer = (PEAK.with(Cell::get), LARGEST.with(Cell::get));
    PEAK.with(|peak| peak.set(before));
    LARGEST.with(|largest| largest.set(0));
    let done = work();
    let peak = PEAK.with(Cell::get);
    let taken = Taken { peak: (peak - before).cast_unsigned(), largest: LARGEST.with(Cell::get) };
    PEAK.with(|of_all| of_all.set(outer.0.max(peak)));
    LARGEST.with(|of_all| of_all.set(outer.1.max(taken.largest)));
    (done, taken)
}
