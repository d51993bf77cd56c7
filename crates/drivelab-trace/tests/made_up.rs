//! The made-up traces are what they claim to be.

mod support;

use drivelab_trace::record::Action;
use support::bytes::{Form, USUAL};
use support::{BlockTrace, DurableWrite, Io};

#[test]
fn a_plain_life_has_its_stations_in_order() {
    let mut trace = BlockTrace::new(2);
    let ended = trace.io(1_000, &Io::default());
    let actions: Vec<_> =
        trace.numbered(true).iter().filter_map(drivelab_trace::record::Record::action).collect();
    let expected = [
        Action::Queue,
        Action::GetRequest,
        Action::Plug,
        Action::Unplug,
        Action::Insert,
        Action::Issue,
        Action::Complete,
    ];
    assert_eq!((actions.as_slice(), ended), (expected.as_slice(), 56_000));
}

#[test]
fn sizes_of_files_follow_from_the_version() {
    let mut trace = BlockTrace::new(1);
    trace.flush(0, 10);
    trace.durable_write(1_000, &DurableWrite::default());
    let records = trace.records.len();
    assert_eq!(trace.files(USUAL)[0].len(), records * 48);
    assert_eq!(trace.files(Form { version: 8, ..USUAL })[0].len(), records * 64);
    assert_eq!(&trace.files(USUAL)[0][..4], &0x6561_7407_u32.to_ne_bytes());
}
