//! The files of a job that has several: one after the other they are its range, and each command is for one of them.

use std::os::fd::RawFd;

use super::Command;
use super::blocking::Call;

/// Which file a place in a job's range is in, and where there.
pub trait Files: Copy {
    /// Number of the file, and offset in it.
    fn place(self, offset: u64) -> (usize, u64);
}

/// The range is that of one file or device.
#[derive(Debug, Clone, Copy)]
pub struct OneFile;

impl Files for OneFile {
    #[inline]
    fn place(self, offset: u64) -> (usize, u64) {
        (0, offset)
    }
}

/// The range is that of several files, each with so many bytes of it.
#[derive(Debug, Clone, Copy)]
pub struct SeveralFiles {
    /// Bytes of the range for each of them.
    pub span: u64,
}

impl Files for SeveralFiles {
    #[inline]
    fn place(self, offset: u64) -> (usize, u64) {
        ((offset / self.span) as usize, offset % self.span)
    }
}

/// Descriptors, and which of them a command is for.
#[derive(Debug)]
pub struct Descriptors<F> {
    files: F,
    first: RawFd,
    others: Vec<RawFd>,
}

impl<F: Files> Descriptors<F> {
    /// Those of open files; there is one at least.
    #[must_use]
    pub fn new(files: F, all: &[RawFd]) -> Self {
        Self { files, first: all[0], others: all[1..].to_vec() }
    }

    /// The descriptor for a place in the range, and the offset in its file.
    #[inline]
    pub fn of(&self, offset: u64) -> (RawFd, u64) {
        match self.files.place(offset) {
            (0, within) => (self.first, within),
            (number, within) => (self.others[number - 1], within),
        }
    }
}

/// Calls on several files: for each of them one that makes the calls.
#[derive(Debug)]
pub struct OnFiles<C> {
    files: SeveralFiles,
    calls: Vec<C>,
}

impl<C: Call> OnFiles<C> {
    /// What makes the calls, by the number of the file.
    #[must_use]
    pub fn new(files: SeveralFiles, calls: Vec<C>) -> Self {
        Self { files, calls }
    }
}

impl<C: Call> Call for OnFiles<C> {
    #[inline]
    fn execute(&mut self, command: &Command) -> i32 {
        let (number, offset) = self.files.place(command.offset);
        self.calls[number].execute(&Command { offset, ..*command })
    }
}
