//! Joining operations with bios and commands: against a slow oracle, case by case, and on recordings.

mod cases;
mod layers;
mod oracle;
mod random;
mod recordings;
