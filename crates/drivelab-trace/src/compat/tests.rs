//! btt's state machine, station by station; whole recordings are held beside the real btt by the Python tests.

use super::*;

const SDA: u32 = 8 << 20;
const VDA: u32 = 254 << 20;
const WRITE: u32 = category::WRITE;

fn record(time_ns: u64, action_bits: u16, sector: u64, sectors: u32) -> Record {
    Record {
        time_ns,
        action_bits,
        sector,
        bytes: sectors << 9,
        category: WRITE,
        device: SDA,
        ..Record::default()
    }
}

fn table_of(flavour: Flavour, records: impl IntoIterator<Item = Record>) -> Table {
    let mut table = Table::new(flavour);
    for one in records {
        table.push(&one);
    }
    table
}

fn rows_of(records: impl IntoIterator<Item = Record>) -> Vec<(&'static str, u64, u64)> {
    let named = |row: Row| (row.phase.name(), row.total_ns, row.n);
    table_of(Flavour::V1_2, records).rows().into_iter().map(named).collect()
}

#[test]
fn a_plain_life_passes_every_station_once() {
    let life = [(100, QUEUE), (110, GET_REQUEST), (130, INSERT), (170, ISSUE), (300, COMPLETE)];
    let rows = rows_of(life.map(|(time, action)| record(time, action, 8, 8)));
    assert_eq!(rows, [("Q2G", 10, 1), ("G2I", 20, 1), ("I2D", 40, 1), ("D2C", 130, 1), ("Q2C", 200, 1)]);
}

#[test]
fn a_record_without_bytes_counts_nowhere() {
    let life = [(100, QUEUE), (110, GET_REQUEST), (120, ISSUE), (130, COMPLETE)];
    assert_eq!(rows_of(life.map(|(time, action)| record(time, action, 8, 0))), []);
}

#[test]
fn nothing_counts_before_the_first_bio_of_a_device() {
    let early = [(90, GET_REQUEST), (95, COMPLETE), (100, QUEUE), (200, COMPLETE)];
    let table = table_of(Flavour::V1_2, early.map(|(time, action)| record(time, action, 8, 8)));
    assert_eq!(table.text(), "Q2C               0.000000100   0.000000100   0.000000100           1\n");
    assert_eq!((table.bios_completed(), table.outstanding()), (1, 0));
}

#[test]
fn a_bio_that_was_split_never_ends() {
    let pieces = [
        (100, QUEUE, 0, 16),
        (110, ISSUE, 0, 8),
        (120, ISSUE, 8, 8),
        (200, COMPLETE, 0, 8),
        (210, COMPLETE, 8, 8),
    ];
    let table = table_of(
        Flavour::V1_2,
        pieces.map(|(time, action, sector, count)| record(time, action, sector, count)),
    );
    assert_eq!(table.rows(), []);
    assert_eq!((table.bios_completed(), table.outstanding()), (0, 1));
}

#[test]
fn time_that_goes_back_counts_as_one_ns() {
    let back = [(200, QUEUE), (100, ISSUE), (100, COMPLETE)];
    assert_eq!(
        rows_of(back.map(|(time, action)| record(time, action, 8, 8))),
        [("D2C", 1, 1), ("Q2C", 1, 1)]
    );
}

#[test]
fn a_record_with_a_cgroup_or_of_passthrough_is_not_known() {
    let marked = record(100, QUEUE | 0x100, 8, 8);
    let passthrough = Record { category: WRITE | category::PASSTHROUGH, ..record(110, QUEUE, 8, 8) };
    assert_eq!(rows_of([marked, passthrough, record(120, COMPLETE, 8, 8)]), []);
}

#[test]
fn some_majors_are_taken_for_mappers() {
    let there = |time, action| Record { device: VDA, ..record(time, action, 8, 8) };
    let rows = rows_of([there(100, QUEUE), there(150, ISSUE), there(160, COMPLETE), there(170, QUEUE)]);
    assert_eq!(rows, [("Q2Qdm", 70, 1), ("Q2Cdm", 60, 1), ("D2C", 10, 1)]);
}

#[test]
fn the_flavours_differ_in_a_second_bio_at_the_same_sector() {
    let twice = [(100, QUEUE), (150, QUEUE), (160, COMPLETE)];
    let records = twice.map(|(time, action)| record(time, action, 8, 8));
    let newest = table_of(Flavour::V1_2, records.clone());
    let oldest = table_of(Flavour::Legacy, records);
    assert_eq!(newest.rows().last().unwrap().total_ns, 10);
    assert_eq!(oldest.rows().last().unwrap().total_ns, 60);
    assert_eq!((newest.rows().len(), oldest.rows().len()), (2, 1));
}

#[test]
fn devices_are_listed_in_the_order_in_which_they_came() {
    let other = Record { device: 7 << 20 | 1, ..record(100, QUEUE, 8, 8) };
    let table = table_of(Flavour::V1_2, [other, record(140, QUEUE, 8, 8), record(200, COMPLETE, 8, 8)]);
    let named: Vec<_> = table.devices().map(|(device, rows)| (device_name(device), rows.len())).collect();
    assert_eq!(named, [("(  7,  1)".to_owned(), 0), ("(  8,  0)".to_owned(), 1)]);
    assert_eq!(table.rows()[0].total_ns, 40, "Q2Q goes over all devices");
    assert!(table.per_device_text().ends_with(
        "            Q2C           MIN           AVG           MAX           N\n\
         --------------- ------------- ------------- ------------- -----------\n\
         (  8,  0)         0.000000060   0.000000060   0.000000060           1\n\n"
    ));
}
