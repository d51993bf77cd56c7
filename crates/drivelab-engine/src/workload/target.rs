//! Where I/O is sent: a path, or what the caller holds open behind it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::Deserialize;

use crate::error::{Code, EngineError, Result};
use crate::simulated::SimulatedDrive;

/// Where I/O is sent.
#[derive(Debug, Clone, Deserialize)]
pub struct TargetRange {
    /// Path of a file or block device.
    pub path: String,
    /// Start of the range.
    pub offset_bytes: u64,
    /// Length of the range; 0 is to the end.
    pub size_bytes: u64,
    /// Make the file when it is missing.
    pub create: bool,
    /// Open the block device so that nobody else can mount it.
    pub exclusive: bool,
    /// What the caller holds open: used instead of whatever the path leads to by now.
    #[serde(default)]
    pub held: Option<Held>,
    /// The simulated drive that it is.
    #[serde(skip)]
    pub simulated: Option<SimulatedDrive>,
    /// The files after the first, held as well: those of the first job, then those of the others where they have files
    /// of their own.
    #[serde(default)]
    pub others: Vec<Held>,
}

/// A file or directory that the caller of the engine holds open.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Held {
    /// The descriptor.
    pub descriptor: i32,
    /// Number of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// What is asked of `open` beside the flags of all.
    #[serde(default)]
    pub flags: i32,
}

impl TargetRange {
    /// What is opened: the path, or exactly what the caller holds.
    #[must_use]
    pub fn opened_by(&self) -> PathBuf {
        self.held.map_or_else(
            || PathBuf::from(&self.path),
            |held| PathBuf::from(format!("/proc/self/fd/{}", held.descriptor)),
        )
    }

    /// Whether some of its files are opened with `O_DIRECT`, whatever the others are.
    #[must_use]
    pub fn is_partly_direct(&self) -> bool {
        self.held.iter().chain(&self.others).any(|held| held.flags & libc::O_DIRECT != 0)
    }

    /// Returns only if what was opened is what the caller holds; where it holds nothing, anything is.
    ///
    /// # Errors
    ///
    /// [`Code::Bug`]: the descriptor means something else by now.
    pub fn require_held(&self, opened: &Metadata) -> Result<()> {
        match self.held {
            Some(held) if (held.device, held.inode) != (opened.dev(), opened.ino()) => {
                let what = format!("what is open as {} is another file than {}", held.descriptor, self.path);
                Err(EngineError::new(Code::Bug, what).at(&self.path))
            }
            _ => Ok(()),
        }
    }
}
