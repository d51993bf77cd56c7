//! The made-up kernel of the crate's own tests.

#![allow(dead_code)]

use drivelab_trace::events::layout;

#[path = "../../src/events/made_up.rs"]
pub mod kernel;
