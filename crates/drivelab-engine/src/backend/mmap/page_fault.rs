//! What happens when the kernel cannot provide a page of a mapping: it sends SIGBUS to the thread that touched it,
//! which would end the process.
//!
//! The handler puts an empty page there instead, so that the copy goes on, and notes that it did; the backend
//! looks after each copy and reports an error. A SIGBUS anywhere else goes to whoever handled it before.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Mappings that can be watched at once.
const PLACES: usize = 4096;

/// A mapping that is watched. The handler may look at it at any moment.
#[derive(Debug)]
struct Place {
    /// 0 is a free place, 1 one that is being filled.
    start: AtomicUsize,
    length: AtomicUsize,
    failures: AtomicU32,
}

static WATCHED: [Place; PLACES] = [const {
    Place { start: AtomicUsize::new(0), length: AtomicUsize::new(0), failures: AtomicU32::new(0) }
}; PLACES];
/// Who handled the signal before.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// A mapping that is watched until this is dropped.
#[derive(Debug)]
pub(super) struct Watched(&'static Place);

impl Watched {
    /// Watches the mapping at these addresses; `None` when too many are watched already.
    pub(super) fn new(start: usize, length: usize) -> Option<Self> {
        let is_free =
            |place: &&Place| place.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let place = WATCHED.iter().find(is_free)?;
        place.length.store(length, Ordering::Relaxed);
        place.failures.store(0, Ordering::Relaxed);
        place.start.store(start, Ordering::Release);
        install_handler();
        Some(Self(place))
    }

    /// Whether a page was missing since it was asked last.
    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        // The handler ran in this very thread, if it did.
        self.0.failures.load(Ordering::Relaxed) > 0 && self.0.failures.swap(0, Ordering::Relaxed) > 0
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.start.store(0, Ordering::Release);
    }
}

fn install_handler() {
    let handler = handle as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    // SAFETY: zeros are a valid `sigaction` with an empty mask; the handler only does what a handler may.
    unsafe {
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = handler as libc::sighandler_t;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, &raw const ours, &raw mut before);
        if before.sa_sigaction != ours.sa_sigaction {
            // Only the first one counts: nobody may wait here for a lock that the handler might need.
            let _ = PREVIOUS.set(before);
        }
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid description of the signal.
    let address = unsafe { (*info).si_addr() } as usize;
    let is_hit = |place: &&Place| {
        let start = place.start.load(Ordering::Acquire);
        start > 1 && start <= address && address - start < place.length.load(Ordering::Relaxed)
    };
    if let Some(place) = WATCHED.iter().find(is_hit)
        && put_empty_page(address)
    {
        place.failures.fetch_add(1, Ordering::Relaxed);
        return;
    }
    // The same instruction fails again and gets there.
    // SAFETY: zeros, the default action, are a valid `sigaction`, and so is what the kernel once gave.
    unsafe {
        let default = std::mem::zeroed();
        let previous = PREVIOUS.get().unwrap_or(&default);
        libc::sigaction(signal, &raw const *previous, std::ptr::null_mut());
    }
}

/// Puts memory of our own where the kernel has no page; false when not even that is to be had.
fn put_empty_page(address: usize) -> bool {
    // SAFETY: the address lies in a mapping of a backend, whose page cannot be used anyway; both calls are system
    // calls that a handler may make, and what they say about errors is put back.
    unsafe {
        let errno = *libc::__errno_location();
        let size = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let page = (address / size * size) as *mut libc::c_void;
        let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let memory = libc::mmap(page, size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        *libc::__errno_location() = errno;
        memory == page
    }
}
