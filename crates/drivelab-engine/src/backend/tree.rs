//! Operations on the files of a tree: some calls for each, one at a time. An address is a file's number.

use std::os::fd::RawFd;

use super::Command;
use super::blocking::Call;
use crate::error::{EngineError, Result};
use crate::tree::calls::{self, CallResult, Calls};
use crate::tree::{FileData, OpenTree, Places, Updated, Variant};
use crate::workload::{Operation, Workload};

/// Makes the calls of each operation.
#[derive(Debug)]
pub struct Tree {
    places: Places,
    calls: Calls,
    data: FileData,
    root: RawFd,
    lists_only: bool,
    syncs_directory: bool,
    /// A bit for each file: whether it has its other name; empty when no file is renamed.
    renamed: Vec<u64>,
}

impl Tree {
    /// A backend for one job on an open tree.
    ///
    /// # Errors
    ///
    /// When the job's directories cannot be opened.
    pub fn new(workload: &Workload, tree: &OpenTree, job: u32) -> Result<Self> {
        let layout = tree.layout();
        let places = Places::new(layout, tree.root(), job, workload.job_count).map_err(|errno| {
            let error = std::io::Error::from_raw_os_error(errno);
            EngineError::from_os("open the directories", &workload.target.path, &error)
        })?;
        let words = if workload.uses(Operation::Rename) { layout.file_count.div_ceil(64) } else { 0 };
        Ok(Self {
            places,
            calls: Calls::new(&workload.durability),
            data: FileData::new(workload, job, layout.file_bytes_max()),
            root: tree.root(),
            lists_only: crate::tree::lists_only(workload),
            syncs_directory: workload.durability.directory,
            renamed: vec![0; words as usize],
        })
    }

    #[inline]
    fn carry_out(&mut self, command: &Command) -> CallResult<u32> {
        let number = command.offset;
        let bytes = match command.operation {
            Operation::Create => {
                let name = self.places.name(number, Variant::Plain);
                self.calls.create(name, u64::from(command.size), &mut self.data)?
            }
            Operation::Replace => self.replace(command)?,
            Operation::Delete => {
                let variant = self.take_name(number);
                calls::unlink(self.places.name(number, variant), 0)?
            }
            Operation::Rename => self.rename(number)?,
            Operation::MakeDirectory => calls::make_directory(self.places.name(number, Variant::Plain))?,
            Operation::RemoveDirectory => {
                calls::unlink(self.places.name(number, Variant::Plain), libc::AT_REMOVEDIR)?
            }
            Operation::Link => {
                let of = self.places.name(number, Variant::Plain);
                calls::link(of, self.places.other_name(number, Variant::Link))?
            }
            Operation::Symlink => {
                let name = self.places.name(number, Variant::Symlink);
                calls::symlink(self.places.link_text(number), name)?
            }
            Operation::Update => return self.update(command),
            reading => return self.read(reading, number),
        };
        if self.syncs_directory {
            self.places.sync_directory_of(number)?;
        }
        Ok(bytes)
    }

    #[inline]
    fn read(&mut self, operation: Operation, number: u64) -> CallResult<u32> {
        match operation {
            Operation::Stat => {
                let variant = self.variant(number);
                calls::stat(self.places.name(number, variant))
            }
            Operation::ReadFile => {
                let variant = self.variant(number);
                calls::read_file(self.places.name(number, variant), &mut self.data)
            }
            Operation::List => {
                let directory = if self.lists_only { number } else { self.places.directory_of(number) };
                calls::list(self.places.path_of_directory(directory), &mut self.data)
            }
            Operation::Sync => calls::sync_filesystem(self.root),
            operation => unreachable!("{operation:?} is not for the files of a tree"),
        }
    }

    /// Makes a new file beside the old one, then gives it the old one's name.
    fn replace(&mut self, command: &Command) -> CallResult<u32> {
        let number = command.offset;
        let new = self.places.name(number, Variant::Replacement);
        let bytes = self.calls.create(new, u64::from(command.size), &mut self.data)?;
        let variant = self.variant(number);
        let old = self.places.other_name(number, variant);
        calls::rename(new, old)?;
        Ok(bytes)
    }

    /// Overwrites pages of a file behind a journal beside it.
    fn update(&mut self, command: &Command) -> CallResult<u32> {
        let (number, syncs_directory) = (command.offset, self.syncs_directory);
        let variant = self.variant(number);
        let mut updated = Updated { places: &mut self.places, number, variant, syncs_directory };
        self.calls.update(&mut updated, &mut self.data)
    }

    /// Gives a file its other name: a second time it gets the first one back.
    fn rename(&mut self, number: u64) -> CallResult<u32> {
        let now = self.variant(number);
        let then = if now == Variant::Plain { Variant::Renamed } else { Variant::Plain };
        let from = self.places.name(number, now);
        calls::rename(from, self.places.other_name(number, then))?;
        self.renamed[(number / 64) as usize] ^= 1 << (number % 64);
        Ok(0)
    }

    #[inline]
    fn variant(&self, number: u64) -> Variant {
        let word = self.renamed.get((number / 64) as usize).copied().unwrap_or(0);
        if word >> (number % 64) & 1 == 1 { Variant::Renamed } else { Variant::Plain }
    }

    /// The name of a file that goes: if it comes again, it has its first name.
    #[inline]
    fn take_name(&mut self, number: u64) -> Variant {
        let variant = self.variant(number);
        if let Some(word) = self.renamed.get_mut((number / 64) as usize) {
            *word &= !(1 << (number % 64));
        }
        variant
    }
}

impl Call for Tree {
    const IS_ON_TREE: bool = true;

    #[inline]
    fn execute(&mut self, command: &Command) -> i32 {
        self.carry_out(command).map_or_else(|errno| -errno, |bytes| bytes as i32)
    }
}
