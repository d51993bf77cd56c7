//! A simulated drive as a network block device (NBD).
//!
//! The drive's time is that of the monotonic clock: a command is submitted to the model when the last byte of it has
//! arrived, and its answer leaves when the model says that it has ended. What was written is kept in a sparse file.
//! Each answer is counted, with the latency that the model gave it and with how late it left.
//!
//! - [`protocol`] is what goes over the wire, as far as clients need it.
//! - [`drive`] is the drive with its time, its contents and its counts.
//! - [`connection`] is one client: a thread that takes commands, and one that answers when it is time.
//! - [`server`] takes clients until it is told to end.

pub mod connection;
pub mod drive;
pub mod protocol;
pub mod server;
