//! One suite over every backend: what a run promises, whichever way its I/O is issued.
//!
//! A new backend joins by adding its name to [`support::BACKENDS`].

mod contents;
mod counting;
mod errors;
mod files_of_jobs;
mod held;
mod limits;
mod properties;
mod ranges;
mod recordings;
mod rewrites;
mod simulated;
mod stalls;
mod support;
mod timing;
mod tree_refusals;
mod trees;
