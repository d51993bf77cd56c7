//! Which processor a thread runs on.

use std::io;

/// The one that this thread runs on now; None where the kernel does not say.
pub(crate) fn current() -> Option<usize> {
    // SAFETY: takes nothing.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Keeps this thread to a processor from now on.
///
/// # Errors
/// This process may not use it, or there is no such processor.
pub(crate) fn keep_thread_on(cpu: usize) -> io::Result<()> {
    // SAFETY: a zeroed set is empty, and the kernel only reads it.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu < libc::CPU_SETSIZE as usize {
            libc::CPU_SET(cpu, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
