//! The ways to issue I/O that a workload may ask for.

use serde::Deserialize;

/// How I/O is issued, as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendName {
    /// The best one that the kernel allows.
    Auto,
    /// pread and pwrite.
    Sync,
    /// io_uring.
    Uring,
    /// NVMe commands through io_uring, past the block layer.
    #[serde(rename = "uring-cmd")]
    UringCmd,
    /// Linux asynchronous I/O.
    Aio,
    /// aio_read and aio_write of the C library, whose threads do one I/O of a job after the other.
    Posixaio,
    /// Copies to and from a mapping of the file.
    Mmap,
    /// fread and fwrite of the C library, through its buffer.
    Stdio,
    /// splice and vmsplice: pages through a pipe.
    Splice,
    /// fallocate instead of reads and writes.
    Falloc,
    /// None: measures the engine itself.
    Null,
    /// Commands to a simulated drive; chosen with the target, not asked for.
    #[serde(skip)]
    Simulated,
}

impl BackendName {
    /// The name that workloads and results have.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Sync => "sync",
            Self::Uring => "uring",
            Self::UringCmd => "uring-cmd",
            Self::Aio => "aio",
            Self::Posixaio => "posixaio",
            Self::Mmap => "mmap",
            Self::Stdio => "stdio",
            Self::Splice => "splice",
            Self::Falloc => "falloc",
            Self::Null => "null",
            Self::Simulated => "simulated",
        }
    }

    /// Whether more than one I/O of a job can be outstanding, so that a call to submit one returns before it ends.
    #[must_use]
    pub fn has_queue(self) -> bool {
        !matches!(self, Self::Sync | Self::Mmap | Self::Stdio | Self::Splice | Self::Falloc)
    }
}
