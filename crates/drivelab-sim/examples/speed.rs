//! How many I/Os a second one core simulates: `cargo run --release -p drivelab-sim --example speed`.

#![allow(clippy::print_stderr)]

use std::time::Instant;

use drivelab_sim::model::{CacheModel, Collection, ErrorModel, FlashModel, Model};
use drivelab_sim::{Command, Drive, Operation};

const GIB: u64 = 1 << 30;
const IOS: u64 = 20_000_000;

fn main() {
    let model = Model {
        size_bytes: 4 * GIB,
        command_ns: 700,
        read_latency_ns: 5_000,
        write_latency_ns: 5_000,
        jitter_ns: 0,
        link_bytes_per_s: 7_000_000_000,
        cache: CacheModel { size_bytes: GIB / 64, is_volatile: true, flush_ns: 300_000 },
        io_limit: None,
        byte_limit: None,
        throttling: None,
        errors: ErrorModel::default(),
        flash: Some(FlashModel {
            raw_bytes: 6 * GIB,
            page_bytes: 4096,
            merging_bytes: 0,
            block_bytes: 4 << 20,
            collection: Collection::Greedy,
            units: 128,
            read_ns: 60_000,
            program_ns: 100_000,
            erase_ns: 3_000_000,
            reads_first: true,
            metadata_share: 0.0,
            slc_bytes: 0,
            slc_program_ns: 0,
            idle_after_ns: 0,
            idle_writable_share: 0.0,
            compresses: false,
        }),
        disk: None,
    };
    let mut drive = Drive::new(&model, 1).expect("the model is sound");
    let mut state = 88_172_645_463_325_252_u64;
    for operation in [Operation::Write, Operation::Write, Operation::Write, Operation::Read] {
        let (begin, before) = (Instant::now(), drive.counters());
        let mut now = 0;
        for _ in 0..IOS {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let offset = ((state >> 32) * (model.size_bytes / 4096)) >> 32 << 12;
            let command = Command { operation, offset, bytes: 4096, is_forced: false, stored_share: 1.0 };
            now = drive.submit(now, &command).at_ns;
        }
        let copied =
            (drive.counters().flash_bytes_written - before.flash_bytes_written) / (IOS as f64 * 4096.0);
        let rate = IOS as f64 / begin.elapsed().as_secs_f64() / 1e6;
        eprintln!(
            "{operation:?} of 4 KiB at random: {rate:.1} million I/Os a second, {copied:.2} pages written for each"
        );
    }
}
