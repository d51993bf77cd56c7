//! How fast recordings are read: `cargo run --release -p drivelab-trace --example read_rate -- PATH...`.

use drivelab_trace::read::Recording;
use drivelab_trace::record::Record;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for _ in 0..3 {
        let begun = Instant::now();
        let mut recording = Recording::open(&paths)?;
        let (mut record, mut bytes) = (Record::default(), 0);
        while recording.next(&mut record) {
            bytes += u64::from(record.bytes);
        }
        let (seconds, records) = (begun.elapsed().as_secs_f64(), recording.summary().records);
        let million_per_s = records as f64 / seconds / 1e6;
        writeln!(
            std::io::stdout(),
            "{records} records in {seconds:.3} s, {million_per_s:.1} million/s ({bytes} bytes of I/O)"
        )?;
    }
    Ok(())
}
