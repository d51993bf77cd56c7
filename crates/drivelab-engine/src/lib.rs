//! Issues I/O to a storage target and times every one of them.
//!
//! The crate knows nothing of Python, of settings or of statistics. [`run::run`] takes a
//! [`workload::Workload`] and gives back what was counted: histograms that never saturate, a series
//! of intervals, and on request every I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`workload`] | what is issued, validated once |
//! | [`target`] | the open file or device, its size and what direct I/O needs |
//! | [`address`], [`mix`], [`buffer`], [`pacing`] | where, what, which data, when |
//! | [`recording`] | a recorded load in place of all four |
//! | [`zones`] | zones that are written from their start on, and which of them an I/O goes to |
//! | [`simulated`] | a simulated drive, what it holds and its time |
//! | [`tree`] | the files that operations on a tree work on |
//! | [`backend`] | ways to issue, from `sync` and `uring` to `null` and `simulated`, and the choice |
//! | [`job`], [`window`] | the loop, and the measured window with its limits |
//! | [`clock`], [`histogram`], [`series`], [`iolog`] | time stamps, counts, intervals, records |
//! | [`run`] | the threads of a run, and what they found |
//! | [`summary`] | the numbers of a run as JSON |
//! | [`round_trip`] | what a client and a server cost beside a log, for forecasts |

pub use drivelab_histogram as histogram;

pub mod address;
pub mod backend;
pub mod buffer;
pub mod clock;
pub mod error;
mod flow;
pub mod iolog;
pub mod job;
pub mod mix;
pub mod pacing;
mod processor;
pub mod recording;
pub mod round_trip;
pub mod run;
pub mod series;
pub mod simulated;
pub mod summary;
pub mod target;
pub mod tree;
mod wake;
pub mod window;
pub mod workload;
pub mod zones;
