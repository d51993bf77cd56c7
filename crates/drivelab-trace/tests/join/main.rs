//! Joining operations with bios and commands: against a slow oracle, case by case, and on recordings.

mod cases;
mod journal_below;
mod layers;
mod oracle;
mod random;
mod recordings;
mod waiting;
