//! Which threads are the kernel's own, told by their names: the one list of them.

/// How the names of kernel threads begin that hand I/O to the block layer on behalf of others.
pub const KERNEL_THREADS: &[&str] = &[
    "swapper",
    "jbd2",
    "xfsaild",
    "xfs-",
    "kworker",
    "loop",
    "ksoftirqd",
    "kthreadd",
    "btrfs",
    "kswapd",
    "md",
    "dmcrypt",
    "txg_sync",
    "z_",
    "f2fs",
    "nvme",
    "mmcqd",
];

/// How the names of threads begin that write the journal or the log of a file system.
const JOURNAL_THREADS: &[&str] = &["jbd2", "xfsaild", "xfs-"];
/// Threads that io_uring starts for the thread whose id follows (create_io_thread in io_uring/io-wq.c, sqpoll.c).
const RING_WORKERS: &[&str] = &["iou-wrk-", "iou-sqp-"];

/// Whether a thread of this name is the kernel's.
#[must_use]
pub fn is_kernel_thread(name: &str) -> bool {
    begins(name, KERNEL_THREADS)
}

/// Whether a thread of this name writes a file system's journal.
#[must_use]
pub fn is_journal_thread(name: &str) -> bool {
    begins(name, JOURNAL_THREADS)
}

/// The thread for which a worker of io_uring does its work; None for other threads.
///
/// # Examples
///
/// ```
/// use drivelab_trace::kernel_threads::worker_for;
/// assert_eq!(worker_for("iou-wrk-4711"), Some(4711));
/// assert_eq!(worker_for("jbd2/sda1-8"), None);
/// ```
#[must_use]
pub fn worker_for(name: &str) -> Option<u32> {
    RING_WORKERS.iter().find_map(|prefix| name.strip_prefix(prefix)?.parse().ok())
}

fn begins(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journal_and_writeback_threads_are_the_kernels_and_programs_are_not() {
        for name in
            ["jbd2/loop0-8", "kworker/u9:1-flush-7:0", "xfs-cil/loop0", "xfsaild/loop0", "btrfs-transacti"]
        {
            assert!(is_kernel_thread(name), "{name}");
        }
        for name in ["fio", "drivelab-job-0", "postgres", "iou-wrk-12", ""] {
            assert!(!is_kernel_thread(name), "{name}");
        }
    }

    #[test]
    fn a_worker_of_io_uring_names_the_thread_it_works_for() {
        assert_eq!(worker_for("iou-sqp-31"), Some(31));
        assert_eq!(worker_for("iou-wrk-x"), None);
    }
}
