//! Reads block-trace recordings: per-CPU files as blktrace writes them, or blkparse's merged dump.
//!
//! Records come in exactly the order in which blkparse merges them, one after the other in a record that is used
//! again; memory does not grow with the recording. Damaged places are named and passed over.

mod duplicates;
mod error;
mod foreign;
mod header;
mod lost_text;
mod paths;
mod recovery;
mod sequence;
mod stream;
mod summary;
mod window;

pub use error::{ReadError, ReadErrorKind};
pub use summary::{DAMAGES_KEPT, Damage, DamageKind, Message, ReadSummary, Realtime};

use crate::merge::MergeOrder;
use crate::record::{Record, category};
use paths::Files;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::PathBuf;
use stream::{Rules, Stream};
use summary::Findings;
use window::Window;

/// All buffers together take about so much.
const BUFFERS_BYTES: usize = 32 << 20;

/// How a recording is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// Hand out exactly what blkparse would give to btt: the files before the first missing CPU, each up to its first
    /// damage, with times from 0 on; of a merged dump what btt would read.
    pub compat: bool,
    /// Leave out records that are equal in everything to another of the same time.
    pub without_duplicates: bool,
    /// Read CPU files only up to the first that is missing, as blkparse does; `compat` implies it.
    pub stops_at_gap: bool,
}

/// A recording that is being read.
pub struct Recording {
    streams: Vec<Stream>,
    order: MergeOrder,
    findings: Findings,
    recent: duplicates::Recent,
    options: ReadOptions,
    /// What is subtracted from times: 0 but in compat mode.
    base_ns: u64,
    summary: ReadSummary,
}

/// Bytes to read, what they are called, and the CPU that they are of.
type Source = (Box<dyn Read + Send>, String, Option<u32>);

impl Recording {
    /// Opens the recordings that paths mean, to be read as one.
    ///
    /// A path is a directory with files NAME.blktrace.0, 1, ..., a base name (`sda`, `dir/sda`), one CPU's file
    /// (which means all of its recording, as for blkparse), or any other file that starts with a record.
    ///
    /// # Errors
    /// When a path means no file, a file can't be opened, or none of them is a recording.
    pub fn open(paths: &[PathBuf]) -> Result<Self, ReadError> {
        Self::open_with(paths, ReadOptions::default())
    }

    /// As [`Recording::open`], read in another way.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn open_with(paths: &[PathBuf], options: ReadOptions) -> Result<Self, ReadError> {
        let mut found = Files::of(paths, options.compat || options.stops_at_gap)?;
        let mut findings = Findings::default();
        for (path, cpu) in &found.missing {
            findings.damage(DamageKind::MissingCpu, &path.display().to_string(), 0, || {
                format!("the file of CPU {cpu} is missing although files of later CPUs are there")
            });
        }
        let mut sources: Vec<Source> = Vec::new();
        for file in std::mem::take(&mut found.files) {
            let name = file.path.display().to_string();
            let opened = std::fs::File::open(&file.path).map_err(|why| ReadError {
                kind: ReadErrorKind::Unreadable,
                file: name.clone(),
                what: format!("it can't be opened: {why}"),
            })?;
            sources.push((Box::new(opened), name, file.cpu));
        }
        let missing_cpus = found.missing.iter().map(|(_, cpu)| *cpu).collect();
        let summary = ReadSummary { notes: found.notes, missing_cpus, ..ReadSummary::default() };
        Self::from_sources(sources, findings, summary, options)
    }

    /// Reads bytes: each with a name, and the CPU that they are of (None for a merged dump).
    ///
    /// # Errors
    /// When none of them is a recording.
    pub fn from_bytes(
        files: Vec<(String, Option<u32>, Vec<u8>)>,
        options: ReadOptions,
    ) -> Result<Self, ReadError> {
        let sources = files
            .into_iter()
            .map(|(name, cpu, bytes)| (Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>, name, cpu))
            .collect();
        Self::from_sources(sources, Findings::default(), ReadSummary::default(), options)
    }

    fn from_sources(
        sources: Vec<Source>,
        findings: Findings,
        mut summary: ReadSummary,
        options: ReadOptions,
    ) -> Result<Self, ReadError> {
        let buffer_bytes = (BUFFERS_BYTES / sources.len().max(1)).clamp(192 << 10, 512 << 10);
        summary.files = sources.iter().map(|(_, name, _)| name.clone()).collect();
        let streams = sources.into_iter().map(|(source, name, cpu)| {
            let rules = match (options.compat, cpu) {
                (false, _) => Rules::Ours,
                (true, Some(_)) => Rules::Blkparse,
                (true, None) => Rules::Btt,
            };
            Stream::new(Window::new(source, buffer_bytes), name, cpu, rules)
        });
        let mut recording = Self {
            streams: streams.collect(),
            order: MergeOrder::default(),
            findings,
            recent: duplicates::Recent::default(),
            options,
            base_ns: 0,
            summary,
        };
        recording.begin()?;
        Ok(recording)
    }

    /// Reads the first record of every file.
    fn begin(&mut self) -> Result<(), ReadError> {
        for stream in &mut self.streams {
            if stream.advance(&mut self.findings) {
                self.order.add(stream.head.time_ns);
            } else {
                self.order.add_empty();
            }
        }
        self.summary.zero_ns = self.order.first_time_ns();
        if self.options.compat && self.streams.iter().any(Stream::is_of_a_cpu) {
            self.base_ns = self.summary.zero_ns.unwrap_or_default();
        }
        let is_foreign = self.streams.iter().any(|stream| stream.is_foreign);
        if is_foreign && !self.streams.iter().any(|stream| stream.has_records) {
            return Err(self.foreign_error());
        }
        Ok(())
    }

    fn foreign_error(&self) -> ReadError {
        let reasons = [DamageKind::Foreign, DamageKind::UnknownVersion];
        let damage = self.findings.damages.iter().find(|damage| reasons.contains(&damage.kind));
        let kind = match damage.map(|damage| damage.kind) {
            Some(DamageKind::UnknownVersion) => ReadErrorKind::UnknownVersion,
            _ => ReadErrorKind::Foreign,
        };
        let (file, what) =
            damage.map(|damage| (damage.file.clone(), damage.what.clone())).unwrap_or_default();
        ReadError { kind, file, what }
    }

    /// Gives the next record; false at the end, when `record` means nothing.
    ///
    /// `record` is used again: nothing is allocated for a record.
    #[inline]
    pub fn next(&mut self, record: &mut Record) -> bool {
        while let Some(first) = self.order.first() {
            let stream = &mut self.streams[first];
            std::mem::swap(record, &mut stream.head);
            if stream.advance(&mut self.findings) {
                self.order.move_on(stream.head.time_ns);
            } else {
                self.order.remove_first();
            }
            if record.category & category::NOTIFY != 0 {
                self.findings.message(record);
                continue;
            }
            if self.recent.has(record) {
                self.summary.duplicates += 1;
                if self.options.without_duplicates {
                    continue;
                }
            }
            if self.summary.first_time_ns.is_none() {
                self.summary.first_time_ns = Some(record.time_ns);
            }
            self.summary.last_time_ns = Some(record.time_ns);
            self.summary.records += 1;
            record.time_ns = record.time_ns.wrapping_sub(self.base_ns);
            return true;
        }
        false
    }

    /// The name of a thread, as far as the trace has told it.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<&str> {
        self.findings.processes.get(&pid).map(String::as_str)
    }

    /// At how many places records were found missing so far.
    #[inline]
    #[must_use]
    pub fn losses(&self) -> u64 {
        self.findings.losses
    }

    /// What has been found so far; complete after [`Recording::next`] has given false.
    #[must_use]
    pub fn summary(&self) -> ReadSummary {
        let mut lost = self.findings.lost_in_text.clone();
        let mut lost_by_device: BTreeMap<u32, u64> = BTreeMap::new();
        let mut devices: BTreeMap<u32, u64> = BTreeMap::new();
        for tally in self.streams.iter().flat_map(|stream| stream.tallies.iter()) {
            *devices.entry(tally.device).or_default() += tally.records;
            let missing = tally.lost();
            if missing > 0 {
                let lost = lost.entry(tally.cpu).or_default();
                *lost = lost.saturating_add(missing);
                *lost_by_device.entry(tally.device).or_default() += missing;
            }
        }
        let (damages, damage_counts) = self.damages();
        let mut devices: Vec<(u32, u64)> = devices.into_iter().collect();
        devices.sort_by_key(|(device, records)| (std::cmp::Reverse(*records), *device));
        let mut versions: Vec<u8> = self.streams.iter().flat_map(Stream::versions).collect();
        versions.sort_unstable();
        versions.dedup();
        ReadSummary {
            notices: self.findings.notices,
            damages,
            damage_counts,
            lost: lost.into_iter().collect(),
            lost_by_device: lost_by_device.into_iter().collect(),
            processes: self.findings.processes.clone(),
            messages: self.findings.messages.clone(),
            realtime: self.findings.realtime,
            versions,
            has_other_byte_order: self.streams.iter().any(|stream| stream.has_other_byte_order),
            devices,
            skipped_bytes: self.findings.skipped_bytes,
            ..self.summary.clone()
        }
    }

    /// What was met on the way, then the numbers that have not come by now.
    fn damages(&self) -> (Vec<Damage>, BTreeMap<DamageKind, u64>) {
        let (mut damages, mut counts) = (self.findings.damages.clone(), self.findings.damage_counts.clone());
        let mut named = 0;
        for stream in &self.streams {
            let gaps = stream.tallies.gaps();
            if gaps.count > 0 {
                *counts.entry(DamageKind::SequenceGap).or_default() += gaps.count;
            }
            for gap in gaps.kept.iter().take((DAMAGES_KEPT - named) as usize) {
                let (cpu, count) = (gap.cpu, gap.count());
                let what = format!("{count} records of CPU {cpu} are missing before number {}", gap.last + 1);
                let kind = DamageKind::SequenceGap;
                damages.push(Damage { file: stream.file.clone(), offset: gap.at, kind, what });
                named += 1;
            }
        }
        (damages, counts)
    }
}
