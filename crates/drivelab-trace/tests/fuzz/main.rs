//! Hostile input through all of the crate: nothing panics, nothing runs for ever, nothing takes memory because a
//! file says so, and what comes out is consistent.
//!
//! `DRIVELAB_FUZZ_SECONDS` says how long each test goes on (3 unless it is set), `DRIVELAB_FUZZ_SEED` where its random
//! numbers begin. An input that fails is saved and named; `DRIVELAB_FUZZ_INPUT` tries one such file again.

#[path = "../support/lives.rs"]
mod lives;
#[path = "../support/mod.rs"]
mod support;

mod bytes;
mod campaign;
mod case;
mod found;
mod growth;
mod joining;
mod made_up;
mod memory;
mod on_disk;
mod pipeline;
mod ring;
mod soup;
mod stations;
mod streams;
mod told;

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

#[test]
fn rubble_goes_through_everything() {
    campaign::run("rubble", bytes::rubble, pipeline::check);
}

#[test]
fn changed_recordings_go_through_everything() {
    campaign::run("changed", bytes::changed_recording, pipeline::check);
}

#[test]
fn absurd_records_go_through_everything() {
    campaign::run("absurd", streams::absurd, pipeline::check);
}

#[test]
fn endless_records_go_through_everything() {
    campaign::run("endless", streams::endless, pipeline::check);
}

#[test]
fn pages_of_a_ring_buffer_are_converted() {
    campaign::run("ring", ring::pages, ring::check);
}
