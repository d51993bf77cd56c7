//! Wakes a job that waits in the kernel, and lets its timers be exact.

/// A signal that nothing else uses; its handler does nothing, it only interrupts a wait.
fn wake_signal() -> libc::c_int {
    libc::SIGRTMIN() + 7
}

extern "C" fn ignore(_signal: libc::c_int) {}

/// Installs the handler that lets `wake` interrupt a system call.
pub fn install_handler() {
    // SAFETY: the handler is async-signal-safe because it does nothing; zeros are a valid `sigaction`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigaction(wake_signal(), &raw const action, std::ptr::null_mut());
    }
}

/// Interrupts the system call that a thread waits in. The thread must not have been joined.
pub fn wake(thread: libc::pthread_t) {
    // SAFETY: the caller still holds the thread's handle, so its identifier is valid.
    unsafe { libc::pthread_kill(thread, wake_signal()) };
}

/// Keeps this thread's system calls from being interrupted by signals that are meant for the program.
pub fn let_only_wake_ups_interrupt() {
    // Raised by the thread itself when it does something impossible; they must not be held back.
    let own = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT];
    // SAFETY: zeros are a valid signal set, and the calls only read and write it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        for signal in own.into_iter().chain([wake_signal()]) {
            libc::sigdelset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

/// Keeps also wake-ups from interrupting this thread's system calls.
pub fn hold_wake_ups() {
    // SAFETY: zeros are a valid signal set, and the calls only read and write it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, wake_signal());
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Asks the kernel not to round this thread's sleeps up (50 us by default).
pub fn sharpen_timers() {
    // SAFETY: only numbers are passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0_usize, 0_usize, 0_usize) };
}
