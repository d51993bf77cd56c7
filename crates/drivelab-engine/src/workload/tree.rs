//! Files that operations on a tree work on, and which workloads on them make sense.

use serde::Deserialize;

use super::{AccessKind, FileState, Operation, Workload};
use crate::tree::{UPDATED_BYTES_MIN, is_changing_mix, is_consuming};

/// Files that operations on a tree work on, below the directory that is the target.
#[derive(Debug, Clone, Deserialize)]
pub struct Tree {
    /// Files of all jobs together.
    pub file_count: u64,
    /// Directories that hold equally many of them each; 0 is the target itself.
    pub directory_count: u64,
    /// Levels that the directories lie deep.
    pub depth: u32,
    /// Smallest size of a file.
    pub file_bytes_min: u64,
    /// Largest size of a file.
    pub file_bytes_max: u64,
}

impl Workload {
    /// What is wrong with a workload whose operations are, or are not, on the files of a tree.
    pub(super) fn rules_of_tree(&self) -> Vec<(bool, &'static str)> {
        let of_files = self.operations.iter().filter(|share| share.operation.is_on_tree()).count();
        let Some(tree) = &self.tree else {
            return vec![(of_files > 0, "tree: operations on files need one")];
        };
        let mut rules = vec![
            (of_files < self.operations.len(), "operations: on files and on blocks, they cannot be mixed"),
            (tree.file_count == 0 || tree.file_count >= 1 << 31, "file_count: 1 to 2147483647"),
            (tree.file_count < u64::from(self.job_count), "file_count: each job needs a file"),
            (tree.directory_count >= 1 << 24, "directory_count: below 16777216"),
            (tree.depth == 0 || tree.depth > 64, "depth: 1 to 64"),
            (tree.file_bytes_max > 1 << 30, "file_bytes_max: at most 1 GiB"),
            (tree.file_bytes_min > tree.file_bytes_max, "file_bytes_min: at most file_bytes_max"),
            (
                self.uses(Operation::Update) && tree.file_bytes_min < UPDATED_BYTES_MIN,
                "file_bytes_min: two pages of 4 KiB, of files that are updated",
            ),
            (self.verify, "verify: the contents of a tree's files cannot be verified"),
            (self.direct, "direct: operations on files go through the page cache"),
            (self.file_state != FileState::Overwrite, "file_state: the files of a tree have none"),
            (
                self.target.offset_bytes > 0 || self.shift_bytes > 0,
                "offset, shift: the files of a tree have none",
            ),
        ];
        rules.extend(self.rules_of_turns());
        rules
    }

    fn rules_of_turns(&self) -> [(bool, &'static str); 2] {
        use Operation::{Link, MakeDirectory, RemoveDirectory, Symlink};
        let stands_alone = |operation| matches!(operation, Link | MakeDirectory | RemoveDirectory | Symlink);
        let is_mixed_up =
            self.operations.len() > 1 && self.operations.iter().any(|share| stands_alone(share.operation));
        let consumes = self.operations.iter().any(|share| is_consuming(share.operation));
        let has_order = match self.access.kind {
            _ if self.access.run_blocks > 1 || self.access.random_fraction < 1.0 => false,
            AccessKind::Sequential | AccessKind::Random => true,
            AccessKind::Reverse => !is_changing_mix(self),
            _ => false,
        };
        [
            (
                is_mixed_up,
                "operations: make_directory, remove_directory, link and symlink stand alone, without a mix",
            ),
            (
                self.tree.is_some() && consumes && !has_order,
                "access: files that are made or removed have their turn in sequential or random order",
            ),
        ]
    }
}
