//! Block traces: where the time of each I/O goes.
//!
//! The crate knows nothing of Python and of statistics. It reads what blktrace, or one of our own
//! collectors, has recorded, and says what became of each bio and each command of the device.
//!
//! | module | holds |
//! |---|---|
//! | [`read_ahead`] | reading in a thread of its own |
//! | [`record`] | one record, its actions and categories |
//! | [`calls`] | system calls of followed threads, each with its return |
//! | [`collect`] | the kernel's buffers, emptied while a workload runs |
//! | [`probe`] | programs in the kernel that record the calls of followed threads |
//! | [`events`] | trace events, turned into records |
//! | [`read`] | recordings: their records in one order, damages named |
//! | [`merge`] | the order in which blkparse merges the files of CPUs |
//! | [`rings`] | requests of io_uring, each with its completion |
//! | [`write`] | recordings, written as blktrace does |
//! | [`compat`] | btt's table, number for number |
//! | [`follow`] | follows every bio and command from record to record to its end |
//! | [`phases`] | what a whole recording comes to |
//! | [`traps`] | what makes that table say something else than people read in it |
//! | [`join`] | operations with their bios and commands: parts of a latency, device work |
//! | [`kernel_threads`] | which threads are the kernel's |
//! | [`lifetime`] | what is known of a bio and of a command, and who takes them |

pub mod calls;
pub mod collect;
pub mod compat;
pub mod events;
pub mod follow;
pub mod join;
pub mod kernel_threads;
pub mod lifetime;
pub mod merge;
pub mod phases;
pub mod probe;
pub mod read;
pub mod read_ahead;
pub mod record;
pub mod rings;
pub mod traps;
pub mod write;
