//! From the number of a file to an open directory and a name below it, without an allocation.

use std::ffi::c_char;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::calls::{self, CallResult, Name};
use super::layout::{Layout, PATH_MAX, Variant};

/// Directories of one job that are held open at most; of more than these names lead from the root.
const OPEN_MAX: u64 = 1024;

/// The directories and names of one job's files.
#[derive(Debug)]
pub struct Places {
    layout: Layout,
    root: RawFd,
    first_directory: u64,
    /// The job's directories, when there are few enough of them to be held open.
    open: Vec<OwnedFd>,
    names: [[u8; PATH_MAX]; 2],
}

impl Places {
    /// The places of a job's files below an open root; opens the directories that the job has.
    ///
    /// # Errors
    ///
    /// The errno with which a directory could not be opened.
    pub fn new(layout: &Layout, root: RawFd, job: u32, job_count: u32) -> CallResult<Self> {
        let (first_directory, count) = layout.directories_of_job(job);
        let mut places = Self {
            layout: layout.clone(),
            root,
            first_directory,
            open: Vec::new(),
            names: [[0; PATH_MAX]; 2],
        };
        if count <= descriptors_of_job(job_count).min(OPEN_MAX) {
            for directory in first_directory..first_directory + count {
                let fd = calls::open_directory(places.path_of_directory(directory))?;
                // SAFETY: the descriptor was opened right here and belongs to nobody else.
                places.open.push(unsafe { OwnedFd::from_raw_fd(fd) });
            }
        }
        Ok(places)
    }

    /// Where a file is to be found under one of its names.
    #[inline]
    pub fn name(&mut self, number: u64, variant: Variant) -> Name {
        self.name_in(0, number, variant)
    }

    /// The same for a second name, while the first one is in use.
    #[inline]
    pub fn other_name(&mut self, number: u64, variant: Variant) -> Name {
        self.name_in(1, number, variant)
    }

    #[inline]
    fn name_in(&mut self, buffer: usize, number: u64, variant: Variant) -> Name {
        let path = &mut self.names[buffer];
        if self.layout.directory_count() == 0 {
            self.layout.write_name(number, variant, path);
            return Name { directory: self.root, path: path.as_ptr().cast::<c_char>() };
        }
        let directory = self.layout.directory(number);
        if let Some(open) = self.open.get((directory - self.first_directory) as usize) {
            self.layout.write_name(number, variant, path);
            return Name { directory: open.as_raw_fd(), path: path.as_ptr().cast::<c_char>() };
        }
        let length = self.layout.write_directory(directory, path);
        self.layout.write_name(number, variant, &mut path[length..]);
        Name { directory: self.root, path: path.as_ptr().cast::<c_char>() }
    }

    /// The text of a symbolic link to a file in the same directory: its name alone.
    #[inline]
    pub fn link_text(&mut self, number: u64) -> *const c_char {
        self.layout.write_name(number, Variant::Plain, &mut self.names[1]);
        self.names[1].as_ptr().cast::<c_char>()
    }

    /// The path of a directory below the root; the root itself when files lie there.
    #[inline]
    pub fn path_of_directory(&mut self, directory: u64) -> Name {
        let path = &mut self.names[1];
        let length = match self.layout.directory_count() {
            0 => {
                path[0] = b'.';
                1
            }
            _ => self.layout.write_directory(directory, path),
        };
        path[length] = 0;
        Name { directory: self.root, path: path.as_ptr().cast::<c_char>() }
    }

    /// The directory of a file.
    #[inline]
    #[must_use]
    pub fn directory_of(&self, number: u64) -> u64 {
        self.layout.directory(number)
    }

    /// Size of a file in bytes.
    #[inline]
    #[must_use]
    pub fn file_bytes(&self, number: u64) -> u64 {
        self.layout.file_bytes(number)
    }

    /// Makes the directory of a file durable.
    #[inline]
    pub fn sync_directory_of(&mut self, number: u64) -> CallResult<()> {
        if self.layout.directory_count() == 0 {
            return calls::sync_directory(self.root);
        }
        let directory = self.layout.directory(number);
        if let Some(open) = self.open.get((directory - self.first_directory) as usize) {
            return calls::sync_directory(open.as_raw_fd());
        }
        let fd = calls::open_directory(self.path_of_directory(directory))?;
        let synced = calls::sync_directory(fd);
        calls::close(fd)?;
        synced
    }
}

/// Descriptors that each job may hold: half of what the process may have.
fn descriptors_of_job(job_count: u32) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes one `struct rlimit`.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if result == 0 { limit.rlim_cur / 2 / u64::from(job_count) } else { 0 }
}
