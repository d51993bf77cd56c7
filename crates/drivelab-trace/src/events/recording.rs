//! From what was collected to the files of a recording, `NAME.blktrace.CPU`, as blktrace leaves them.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::clock::ClockLine;
use super::convert::{Converted, Converter, Subject};
use super::layout::{Layout, Shape};
use super::notices::message;
use super::page::Page;
use crate::collect::Raw;
use crate::record::Record;
use crate::write::RecordWriter;

/// How the buffers were filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// By trace events.
    Events,
    /// By the kernel's `blk` tracer.
    BlkTracer,
    /// By blktrace's own interface: they are records already.
    Relay,
}

/// What is to be known of a trace to make a recording of it.
#[derive(Debug, Clone, Deserialize)]
pub struct Description {
    /// How the buffers were filled.
    pub source: Source,
    /// The kernel's file of that name; empty for relay.
    #[serde(default)]
    pub header_page: String,
    /// `format` files of the events.
    #[serde(default)]
    pub formats: Vec<String>,
    /// `major << 20 | minor` of the disk.
    pub device: u32,
    /// The same of its partitions.
    #[serde(default)]
    pub partitions: Vec<u32>,
    /// Other devices that are traced with it, and their partitions: each with the whole device that it is recorded as.
    #[serde(default)]
    pub stack: Vec<(u32, u32)>,
    /// Names of threads.
    #[serde(default)]
    pub processes: HashMap<u32, String>,
    /// Texts written into `trace_marker`, and when by CLOCK_MONOTONIC: the first and the last are the
    /// line between the clocks. Empty where the clock of the trace is CLOCK_MONOTONIC.
    #[serde(default)]
    pub markers: Vec<(String, u64)>,
    /// One moment by CLOCK_MONOTONIC and by CLOCK_REALTIME.
    pub began_ns: (u64, u64),
    /// By CPU, what the kernel counted as lost.
    #[serde(default)]
    pub lost: HashMap<u32, u64>,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The files, in the order of CPUs.
    pub files: Vec<PathBuf>,
    /// Records, notices not counted; None where they were taken over as they were.
    pub records: Option<u64>,
    /// By the letter that blkparse shows.
    pub by_action: BTreeMap<&'static str, u64>,
    /// Events that were lost.
    pub lost: u64,
    /// Events of other devices.
    pub foreign: u64,
    /// Pages that could not be read to their end.
    pub damaged_pages: u64,
}

/// Writes a recording: `base` is `DIRECTORY/NAME`.
///
/// # Errors
/// A file cannot be written, or the kernel's description of its events cannot be understood.
pub fn write(raw: &mut Raw, description: &Description, base: &Path) -> io::Result<Summary> {
    if description.source == Source::Relay {
        return copy(raw, description, base);
    }
    let invalid = |error: super::format::FormatError| io::Error::new(io::ErrorKind::InvalidData, error.0);
    let layout = match description.source {
        Source::BlkTracer => Layout::of_blk_tracer(&description.header_page),
        _ => Layout::parse(&description.header_page, description.formats.iter().map(String::as_str)),
    }
    .map_err(invalid)?;
    let subject = Subject {
        device: description.device,
        devices: description
            .partitions
            .iter()
            .chain([&description.device])
            .map(|&number| (number, description.device))
            .chain(description.stack.iter().copied())
            .collect(),
        processes: description.processes.clone(),
        clock: clock(raw, &layout, description)?,
    };
    let mut summary = Summary { records: Some(0), ..Summary::default() };
    let (directory, name) = (base.parent().unwrap_or(Path::new(".")), base.file_name().unwrap_or_default());
    let cpus = raw.cpus.iter().map(|cpu| cpu.cpu as usize + 1).max().unwrap_or(0);
    let mut writer = RecordWriter::create(directory, &name.to_string_lossy(), cpus)?;
    writer.set_device(subject.device);
    if let Some(first) = raw.cpus.iter().map(|cpu| cpu.cpu).min() {
        let (monotonic_ns, realtime_ns) = description.began_ns;
        writer.timestamp(first, monotonic_ns, realtime_ns)?;
    }
    for index in 0..raw.cpus.len() {
        summary.add(&convert(raw, index, &layout, &subject, description, &mut writer)?);
    }
    summary.files = writer.finish()?;
    Ok(summary)
}

impl Summary {
    fn add(&mut self, converted: &Converted) {
        const LETTERS: [&str; 18] =
            ["?", "Q", "M", "F", "G", "S", "R", "D", "C", "P", "U", "UT", "I", "X", "B", "A", "abort", "m"];
        self.records = self.records.map(|records| records + converted.records);
        for (letter, count) in LETTERS.iter().zip(converted.by_action).filter(|(_, count)| *count > 0) {
            *self.by_action.entry(letter).or_default() += count;
        }
        self.lost = self.lost.saturating_add(converted.lost);
        self.foreign += converted.foreign;
        self.damaged_pages += converted.damaged_pages;
    }
}

fn path_of(base: &Path, cpu: u32) -> PathBuf {
    let mut name = base.as_os_str().to_owned();
    name.push(format!(".blktrace.{cpu}"));
    name.into()
}

fn convert(
    raw: &mut Raw,
    index: usize,
    layout: &Layout,
    subject: &Subject,
    description: &Description,
    writer: &mut RecordWriter,
) -> io::Result<Converted> {
    let raw = &mut raw.cpus[index];
    let (cpu, pages) = (raw.cpu, raw.blocks);
    let mut converter = Converter::new(layout, subject, cpu);
    let mut counted = description.lost.get(&cpu).copied().unwrap_or(0);
    let mut number = 0;
    raw.each_page(|page| {
        number += 1;
        if number == pages {
            // a full buffer counts what it refuses and not when: the gap is put before what came last
            counted = counted.saturating_sub(converter.lost());
            if counted > 0 {
                converter.lose(counted);
                writer.write(&lost_message(subject.device, cpu, converter.time_ns(), counted))?;
            }
        }
        converter.page(page, &mut |record| writer.write(record))
    })?;
    Ok(converter.end())
}

fn lost_message(device: u32, cpu: u32, time_ns: u64, lost: u64) -> Record {
    message(device, cpu, time_ns, &format!("{lost} events were lost on CPU {cpu}, nobody knows when"))
}

/// The line from the clock of the trace to CLOCK_MONOTONIC, through the markers that are found in it.
fn clock(raw: &mut Raw, layout: &Layout, description: &Description) -> io::Result<ClockLine> {
    if description.markers.is_empty() {
        return Ok(ClockLine::same());
    }
    let mut found: Vec<(u64, u64)> = Vec::new();
    for cpu in &mut raw.cpus {
        cpu.each_page(|page| {
            for event in Page::open(&layout.page, page).into_iter().flatten().flatten() {
                let id = event.data.first_chunk::<2>().map(|bytes| u16::from_ne_bytes(*bytes));
                let station = id.and_then(|id| layout.stations.get(&id));
                let field =
                    station.filter(|station| station.shape == Shape::Marker).and_then(|it| it.text.as_ref());
                let Some(text) = field.map(|field| field.text(event.data).trim_ascii_end()) else { continue };
                let known = description.markers.iter().find(|marker| marker.0.as_bytes() == text);
                found.extend(known.map(|marker| (event.time, marker.1)));
            }
            Ok(())
        })?;
    }
    let ends = found.iter().min().zip(found.iter().max());
    let line = ends.and_then(|(first, last)| ClockLine::through(*first, *last));
    line.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the marks that join the clocks were lost"))
}

/// Records of blktrace's own interface, as they are.
fn copy(raw: &mut Raw, description: &Description, base: &Path) -> io::Result<Summary> {
    let mut summary = Summary { lost: description.lost.values().sum(), ..Summary::default() };
    for cpu in &mut raw.cpus {
        let path = path_of(base, cpu.cpu);
        let mut file = File::create(&path)?;
        cpu.each_piece(|piece| file.write_all(piece))?;
        summary.files.push(path);
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;
    use crate::collect::{Collector, Kind, Options};
    use crate::events::format::PageFormat;
    use crate::events::made_up::{DISK, EVENTS, NEW, entry};
    use crate::read::Recording;

    #[test]
    fn a_recording_is_read_again_with_its_times_names_and_losses() {
        let folder = std::env::temp_dir().join(format!("drivelab-recording-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = [("dev", u64::from(DISK)), ("sector", 8), ("nr_sector", 8)];
        let queue = NEW.event("block_bio_queue", 71, &place, &[("rwbs", "R"), ("comm", "job")]);
        let mark = |text| entry(0, &NEW.event("print", 70, &[("ip", 5)], &[("buf", text)]));
        // the clock of the trace is half as fast as CLOCK_MONOTONIC, and 900 ns behind at first
        let pages = [
            NEW.page(100, &[mark("drivelab 1\n"), entry(50, &queue)], 0, &[]),
            NEW.page(300, &[entry(0, &queue), mark("drivelab 2\n")], 0, &[]),
        ];
        let path = folder.join("pages");
        std::fs::File::create(&path).unwrap().write_all(&pages.concat()).unwrap();
        let options = Options {
            kind: Kind::Pages(PageFormat::parse(&NEW.header_page()).unwrap()),
            interval: Duration::from_millis(1),
            buffer_bytes: 1 << 20,
            memory_limit_bytes: 1 << 24,
            spill_directory: None,
        };
        let mut raw = Collector::start(&[(0, path)], options).unwrap().stop();
        let description = Description {
            source: Source::Events,
            header_page: NEW.header_page(),
            formats: EVENTS.iter().map(|event| NEW.format(event)).collect(),
            device: DISK,
            partitions: Vec::new(),
            stack: Vec::new(),
            processes: HashMap::new(),
            markers: vec![("drivelab 1".to_owned(), 1000), ("drivelab 2".to_owned(), 1400)],
            began_ns: (990, 1_700_000_000_000_000_000),
            lost: HashMap::from([(0, 12)]),
        };
        let summary = write(&mut raw, &description, &folder.join("sda")).unwrap();
        assert_eq!((summary.records, summary.lost, summary.damaged_pages), (Some(2), 12, 0));
        assert_eq!(summary.files, [folder.join("sda.blktrace.0")]);

        let mut recording = Recording::open(&summary.files).unwrap();
        let mut record = Record::default();
        let mut read = Vec::new();
        while recording.next(&mut record) {
            read.push((record.time_ns, record.sequence, record.pid));
        }
        assert_eq!(read, [(1100, 1, 71), (1400, 14, 71)]);
        let found = recording.summary();
        assert_eq!(found.lost, [(0, 12)]);
        assert_eq!(found.processes.get(&71).map(String::as_str), Some("job"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
