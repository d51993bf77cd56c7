//! Which directory a file lies in and what it is called: functions of its number, so that nothing is kept.

use crate::workload::{AccessKind, Operation, Workload};

/// Longest path below the root: 64 levels of directories and a name.
pub const PATH_MAX: usize = 64 * LEVEL_LENGTH + 32;
/// Bytes of one level in a path, with its slash.
const LEVEL_LENGTH: usize = 8;
const HEX: &[u8; 16] = b"0123456789abcdef";
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Digits of the number in a name.
const DIGITS: usize = 10;

/// Which of the names that belong to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Its own.
    Plain,
    /// The one that it has after it was renamed.
    Renamed,
    /// The one under which its replacement is made.
    Replacement,
    /// The journal beside it.
    Journal,
    /// A second one of the same file.
    Link,
    /// The one of a symbolic link to it.
    Symlink,
}

/// Where the files of a tree lie and what they are called, by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Files of all jobs together.
    pub file_count: u64,
    jobs: u64,
    shares_directories: bool,
    /// Directories of each job, or of all when they share them; 0: the files lie in the root.
    directories_each: u64,
    depth: u32,
    branches: u64,
    bytes: (u64, u64),
    has_random_names: bool,
}

impl Layout {
    /// The layout of a workload's tree; `None` when it has none.
    #[must_use]
    pub fn of(workload: &Workload) -> Option<Self> {
        let tree = workload.tree.as_ref()?;
        let jobs = u64::from(workload.job_count);
        let shares_directories = workload.share_range || jobs == 1;
        let directories_each = match (tree.directory_count, shares_directories) {
            (count, true) => count,
            // Jobs that do not share have a directory each at the least.
            (count, false) => count.div_ceil(jobs).max(1),
        };
        let all = directories_each * if shares_directories { 1 } else { jobs };
        Some(Self {
            file_count: tree.file_count,
            jobs,
            shares_directories,
            directories_each,
            depth: tree.depth.max(1),
            branches: branches(all, tree.depth.max(1)),
            bytes: (tree.file_bytes_min, tree.file_bytes_max),
            has_random_names: !is_ordered(workload.access.kind),
        })
    }

    /// Directories in which files lie; 0 when they lie in the root.
    #[must_use]
    pub fn directory_count(&self) -> u64 {
        if self.shares_directories { self.directories_each } else { self.directories_each * self.jobs }
    }

    /// The numbers that a job turns to: of files, or of directories for a workload that only lists.
    #[must_use]
    pub fn count_of_job(&self, job: u32, lists_only: bool) -> u64 {
        let (job, jobs) = (u64::from(job), self.jobs);
        if lists_only {
            return self.directories_each.max(1);
        }
        self.file_count / jobs + u64::from(job < self.file_count % jobs)
    }

    /// The number of a job's file, or directory, from its place among those of the job.
    #[inline]
    #[must_use]
    pub fn number(&self, job: u32, place: u64, lists_only: bool) -> u64 {
        let job = u64::from(job);
        if lists_only {
            return if self.shares_directories { place } else { job * self.directories_each + place };
        }
        // Turn by turn: jobs that share directories are in the same one at the same time.
        place * self.jobs + job
    }

    /// The directory of a file.
    #[inline]
    #[must_use]
    pub fn directory(&self, number: u64) -> u64 {
        let within = |place: u64, count: u64| {
            (u128::from(place) * u128::from(self.directories_each) / u128::from(count.max(1))) as u64
        };
        if self.shares_directories {
            return within(number, self.file_count);
        }
        let (job, place) = (number % self.jobs, number / self.jobs);
        job * self.directories_each + within(place, self.count_of_job(job as u32, false))
    }

    /// The directories of one job: the first, and how many.
    #[must_use]
    pub fn directories_of_job(&self, job: u32) -> (u64, u64) {
        let first = if self.shares_directories { 0 } else { u64::from(job) * self.directories_each };
        (first, self.directories_each)
    }

    /// Size of a file in bytes: evenly distributed, and always the same for one file.
    #[inline]
    #[must_use]
    pub fn file_bytes(&self, number: u64) -> u64 {
        let (least, most) = self.bytes;
        if least == most {
            return least;
        }
        let span = u128::from(most - least + 1);
        least + ((u128::from(scrambled(number ^ 0x5DEE_CE66_D1CE_4E5B)) * span) >> 64) as u64
    }

    /// Largest size of a file in bytes.
    #[must_use]
    pub fn file_bytes_max(&self) -> u64 {
        self.bytes.1
    }

    /// Bytes of all files, as a file system with blocks of 4 KiB holds them.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        let mean = self.bytes.0 / 2 + self.bytes.1 / 2;
        let of_files = self.file_count.saturating_mul(mean.next_multiple_of(4096));
        of_files.saturating_add(self.directory_count() * 4096)
    }

    /// Writes the path of a directory with a slash at its end; returns its length.
    #[inline]
    pub fn write_directory(&self, directory: u64, path: &mut [u8; PATH_MAX]) -> usize {
        self.write_levels(directory, self.depth, path)
    }

    /// Writes the first levels of a directory's path; returns its length.
    pub fn write_levels(&self, directory: u64, levels: u32, path: &mut [u8; PATH_MAX]) -> usize {
        let mut rest = directory;
        let mut digits = [0_u64; 64];
        for level in (0..self.depth as usize).rev() {
            digits[level] = if level == 0 { rest } else { rest % self.branches };
            rest /= self.branches;
        }
        let mut length = 0;
        for digit in &digits[..levels as usize] {
            path[length] = b'd';
            write_hex(*digit, &mut path[length + 1..length + 7]);
            path[length + 7] = b'/';
            length += LEVEL_LENGTH;
        }
        length
    }

    /// Levels of directories.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Writes the name of a file, with the zero that ends it: its number, and up to 12 letters that look
    /// random behind it, or before it where names are to have no order. Lengths differ as they do in life,
    /// and as Bonnie++'s do; a file system that compares names is slower where all are equally long.
    #[inline]
    pub fn write_name(&self, number: u64, variant: Variant, name: &mut [u8]) {
        let mut letters = scrambled(number);
        let count = (letters % 13) as usize;
        letters >>= 4;
        let (digits_at, letters_at) = if self.has_random_names { (count, 0) } else { (0, DIGITS) };
        write_hex(number, &mut name[digits_at..digits_at + DIGITS]);
        for letter in &mut name[letters_at..letters_at + count] {
            *letter = LETTERS[(letters & 31) as usize];
            letters >>= 5;
        }
        let mark = match variant {
            Variant::Plain => 0,
            Variant::Renamed => b'R',
            Variant::Replacement => b'T',
            Variant::Journal => b'J',
            Variant::Link => b'L',
            Variant::Symlink => b'S',
        };
        name[DIGITS + count] = mark;
        name[DIGITS + count + 1] = 0;
    }
}

/// Whether a workload only lists directories: the numbers that it turns to are then those of directories.
#[must_use]
pub fn lists_only(workload: &Workload) -> bool {
    workload.operations.iter().all(|share| share.operation == Operation::List)
}

/// Whether names follow each other in the order in which files have their turn.
fn is_ordered(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Sequential | AccessKind::Reverse | AccessKind::Strided | AccessKind::Same)
}

/// The least number of branches with which so many levels reach so many directories.
fn branches(directories: u64, depth: u32) -> u64 {
    let reaches = |branches: u64| branches.checked_pow(depth).is_none_or(|reached| reached >= directories);
    let guess = (directories as f64).powf(1.0 / f64::from(depth)).floor() as u64;
    (guess.max(2) - 1..).find(|branches| *branches > 0 && reaches(*branches)).unwrap_or(1)
}

/// An invertible function of 64 bits that looks random (the finalizer of splitmix64).
#[inline]
fn scrambled(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[inline]
fn write_hex(number: u64, digits: &mut [u8]) {
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = HEX[(rest & 15) as usize];
        rest >>= 4;
    }
}
