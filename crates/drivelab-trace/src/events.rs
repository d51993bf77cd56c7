//! The kernel's trace events of the block layer, turned into records as blktrace writes them.
//!
//! | module | holds |
//! |---|---|
//! | [`format`] | where fields stand, as the kernel tells |
//! | [`page`] | one page of the ring buffer |
//! | [`layout`] | which event is which action |
//! | [`convert`] | from events of one CPU to records |
//! | [`clock`] | a clock of the trace that is not CLOCK_MONOTONIC |
//! | [`recording`] | from the pages of all CPUs to the files of a recording |

pub mod clock;
pub mod convert;
pub mod format;
pub mod layout;
pub mod page;
pub mod recording;

mod blk_entry;
#[cfg(test)]
mod made_up;
mod notices;
mod rwbs;
#[cfg(test)]
mod tests;
