//! As long as nothing is split, overlaps or is put back, the accurate mode and btt count the same times.

mod support;

use drivelab_trace::compat::{Flavour, Table};
use drivelab_trace::phases::{Options, Phases};
use drivelab_trace::read::ReadSummary;
use drivelab_trace::record::category;
use proptest::prelude::*;
use serde_json::json;
use support::{BlockTrace, DurableWrite, Io, SDA, SDB, WRITE_SYNC};

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_of_lives_apart_are_those_of_btt(
        lives in prop::collection::vec((0_u8..6, 0_u64..400, 1_u32..64, 6_u64..90_000, any::<bool>()), 1..80)
    ) {
        let mut trace = BlockTrace::new(3);
        for (index, (kind, begin, sectors, wait, flag)) in lives.into_iter().enumerate() {
            // no two are queued at the same time: btt would count 1 ns from one to the other;
            // and flushes don't run side by side
            let begin = if matches!(kind, 3 | 4) { 500 + 10 * index as u64 } else { begin };
            let now = begin * 100_000 + 23 * index as u64;
            let (sector, bytes) = (10_000 * index as u64, sectors * 512);
            let direction = if flag { WRITE_SYNC } else { category::READ };
            let device = Some(if flag { SDA } else { SDB });
            let io = Io { sector, bytes, direction, queued_to_issued_ns: wait, device, ..Io::default() };
            match kind {
                0 => trace.io(now, &io),
                1 => trace.io(now, &Io { is_inserted: false, issued_to_completed_ns: 2 * wait, ..io }),
                2 => trace.merged_ios(now, sector, &[bytes, 512, 4096], flag),
                3 => trace.flush(now, wait),
                4 => {
                    let write = DurableWrite { sector, is_fua_emulated: flag, ..DurableWrite::default() };
                    trace.durable_write(now, &write)
                }
                _ => trace.remapped_io(now, &io, 8 << 20 | 1, 5_000),
            };
        }
        let (mut phases, mut table) = (Phases::new(Options::default()), Table::new(Flavour::V1_2));
        for record in trace.numbered(true) {
            phases.push(&record);
            table.push(&record);
        }
        let told = phases.finish(&ReadSummary::default());
        for row in table.rows() {
            let ours = &told["all"][row.phase.name()];
            let sum = ours["sum_ns"].as_u64().unwrap_or(0);
            // btt's G2I holds the wait for the flush before the data
            let more = if row.phase.name() == "G2I" { told["all"]["preflush_wait"]["sum_ns"].as_u64() } else { None };
            let found = (&ours["n"], sum + more.unwrap_or(0));
            prop_assert_eq!((&json!(row.n), row.total_ns), found, "{}", row.phase.name());
        }
        prop_assert_eq!(&told["counts"]["bios_open_at_end"], &json!(0));
        prop_assert_eq!(&told["counts"]["orphan_completions"], &json!(0));
    }
}
