//! Block traces: where the time of each I/O goes.
//!
//! The crate knows nothing of Python and of statistics. It reads what blktrace, or one of our own
//! collectors, has recorded, and says what became of each bio and each command of the device.
//!
//! | module | holds |
//! |---|---|
//! | [`record`] | one record, its actions and categories |
//! | [`lifetime`] | what is known of a bio and of a command, and who takes them |

pub mod lifetime;
pub mod record;
