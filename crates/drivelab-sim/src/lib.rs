//! Simulated drives in virtual time.
//!
//! A drive takes commands at moments that never go back and says at once when each of them ends. It does no I/O, reads
//! no clock, and does the same again whenever model, seed and commands are the same. All times are nanoseconds.
//!
//! - [`translation`] is the flash translation layer: which pages hold data, and what has to be copied to make room.
//! - [`recent`] merges pages that are written again before they reach the flash.
//! - [`flash`] gives that work times: units that work side by side, write cache, SLC cache, idle collection.
//! - [`disk`] is a disk with zones, seeks and rotation.
//! - [`drive`] is what both have in common: link, limits, throttling, errors, counters.
#![forbid(unsafe_code)]

mod bucket;
mod cache;
pub mod disk;
pub mod drive;
pub mod flash;
pub mod model;
pub mod recent;
pub mod translation;

pub use drive::{Command, Counters, Done, Drive, Operation};
pub use model::Model;
