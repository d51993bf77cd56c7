//! What the page cache is told of a target: in which order it is used, and when its pages are not needed any more.

use std::os::fd::RawFd;

use crate::workload::CacheAdvice;

/// A range of an open file or device, as the page cache holds it.
#[derive(Debug, Clone, Copy)]
pub struct CachedRange {
    /// The descriptor, which somebody else keeps open.
    pub fd: RawFd,
    /// Begin in bytes.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
}

impl CachedRange {
    /// Says in which order it is going to be used.
    pub fn advise(&self, advice: CacheAdvice) {
        match advice {
            CacheAdvice::None => {}
            CacheAdvice::Sequential => self.tell(libc::POSIX_FADV_SEQUENTIAL),
            CacheAdvice::Random => self.tell(libc::POSIX_FADV_RANDOM),
        }
    }

    /// Gives its pages up; those that are not written yet stay until they are.
    pub fn drop_pages(&self) {
        self.tell(libc::POSIX_FADV_DONTNEED);
    }

    /// The kernel may ignore it, and what the drive reads tells whether it did.
    fn tell(&self, advice: libc::c_int) {
        let [start, length] = [self.start, self.length].map(|bytes| bytes as libc::off_t);
        // SAFETY: no memory is passed.
        unsafe { libc::posix_fadvise(self.fd, start, length, advice) };
    }
}
