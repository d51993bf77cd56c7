//! The files that operations on a tree work on: where they lie, what they are called, which of them are
//! there, and how they are made and removed.
//!
//! Everything lies in a directory of our own below the target: whatever else is there is left alone.

pub(crate) mod calls;
mod file_data;
mod layout;
mod own_directory;
mod places;
mod population;
mod prepare;
mod remove;
mod room;
mod state;
mod turns;
mod update;

pub use file_data::FileData;
pub use layout::{Layout, Variant, lists_only};
pub use places::Places;
pub use population::{Population, is_changing_mix, is_consuming};
pub use prepare::{OpenTree, remove_own_tree};
pub use remove::remove_tree;
pub use turns::Turns;
pub use update::{UPDATED_BYTES_MIN, Updated};

/// Name of our directory below the target.
pub const DIRECTORY: &str = "drivelab-tree";
