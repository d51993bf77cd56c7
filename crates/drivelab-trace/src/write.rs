//! Writes recordings as blktrace writes them: version 7, one file for each CPU, in the byte order of this machine.

use crate::record::{CGROUP_BIT, Record, category, notice};
use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

const MAGIC_V7: u32 = 0x6561_7407;
const BUFFER_BYTES: usize = 128 << 10;
/// A name of a thread takes so many bytes, zeros included.
const NAME_BYTES: usize = 16;
/// No machine that Linux runs on has more.
const CPUS_MAX: u32 = 1 << 16;

/// Writes `directory`/`name`.blktrace.0, .1, ...
pub struct RecordWriter {
    base: PathBuf,
    files: Vec<BufWriter<File>>,
    /// Of what the notices are told to be: that of the last record.
    device: u32,
}

impl RecordWriter {
    /// Creates the files of so many CPUs; those of further ones are created when they are needed, so that none is
    /// missing between others.
    ///
    /// # Errors
    /// When a file can't be created.
    pub fn create(directory: &Path, name: &str, cpus: usize) -> Result<Self> {
        let mut writer = Self { base: directory.join(name), files: Vec::with_capacity(cpus), device: 0 };
        writer.extend_to(cpus)?;
        Ok(writer)
    }

    /// Sets the device that notices name, `major << 20 | minor`; otherwise it is that of the last record.
    pub fn set_device(&mut self, device: u32) {
        self.device = device;
    }

    fn extend_to(&mut self, cpus: usize) -> Result<()> {
        for cpu in self.files.len()..cpus {
            let mut path = self.base.clone().into_os_string();
            path.push(format!(".blktrace.{cpu}"));
            self.files.push(BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?));
        }
        Ok(())
    }

    /// Appends a record to the file of its CPU; records of a CPU come in the order of time.
    ///
    /// # Errors
    /// When the file can't be written, the payload is longer than 65535 bytes, or there is no such CPU.
    pub fn write(&mut self, record: &Record) -> Result<()> {
        self.device = record.device;
        self.append(record)
    }

    fn append(&mut self, record: &Record) -> Result<()> {
        let too_large = |what: String| Error::new(ErrorKind::InvalidInput, what);
        if record.cpu >= CPUS_MAX {
            return Err(too_large(format!("there is no CPU {}", record.cpu)));
        }
        let payload_bytes = u16::try_from(record.payload.len())
            .map_err(|_| too_large(format!("a payload of {} bytes is too long", record.payload.len())))?;
        let cpu = record.cpu as usize;
        self.extend_to(cpu + 1)?;
        let mut fixed = [0; 48];
        let action = record.category << 16 | u32::from(record.action_bits);
        fixed[0..4].copy_from_slice(&MAGIC_V7.to_ne_bytes());
        fixed[4..8].copy_from_slice(&record.sequence.to_ne_bytes());
        fixed[8..16].copy_from_slice(&record.time_ns.to_ne_bytes());
        fixed[16..24].copy_from_slice(&record.sector.to_ne_bytes());
        fixed[24..28].copy_from_slice(&record.bytes.to_ne_bytes());
        fixed[28..32].copy_from_slice(&action.to_ne_bytes());
        fixed[32..36].copy_from_slice(&record.pid.to_ne_bytes());
        fixed[36..40].copy_from_slice(&record.device.to_ne_bytes());
        fixed[40..44].copy_from_slice(&record.cpu.to_ne_bytes());
        fixed[44..46].copy_from_slice(&(record.error as u16).to_ne_bytes());
        fixed[46..48].copy_from_slice(&payload_bytes.to_ne_bytes());
        let file = &mut self.files[cpu];
        file.write_all(&fixed)?;
        if record.is_swapped && !record.payload.is_empty() {
            return file.write_all(&turned_payload(record));
        }
        file.write_all(&record.payload)
    }

    /// Appends the name of a thread; it comes before the thread's first record.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn process(&mut self, cpu: u32, pid: u32, comm: &str, time_ns: u64) -> Result<()> {
        let mut payload = comm.as_bytes()[..comm.len().min(NAME_BYTES - 1)].to_vec();
        payload.resize(NAME_BYTES, 0);
        self.notice(notice::PROCESS, cpu, pid, time_ns, payload)
    }

    /// Appends what time of day it was at a moment of CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// When the file can't be written, or the year is 2106 or later.
    pub fn timestamp(&mut self, cpu: u32, monotonic_ns: u64, realtime_ns: u64) -> Result<()> {
        let seconds = u32::try_from(realtime_ns / 1_000_000_000);
        let seconds =
            seconds.map_err(|_| Error::new(ErrorKind::InvalidInput, "the format ends in the year 2106"))?;
        let mut payload = seconds.to_ne_bytes().to_vec();
        payload.extend(((realtime_ns % 1_000_000_000) as u32).to_ne_bytes());
        self.notice(notice::TIMESTAMP, cpu, 0, monotonic_ns, payload)
    }

    fn notice(&mut self, kind: u16, cpu: u32, pid: u32, time_ns: u64, payload: Vec<u8>) -> Result<()> {
        self.append(&Record {
            time_ns,
            action_bits: kind,
            category: category::NOTIFY,
            pid,
            device: self.device,
            cpu,
            payload,
            ..Record::default()
        })
    }

    /// Writes out what is still in memory; gives the paths of the files.
    ///
    /// # Errors
    /// When a file can't be written.
    pub fn finish(mut self) -> Result<Vec<PathBuf>> {
        for file in &mut self.files {
            file.flush()?;
        }
        let path_of = |cpu| {
            let mut path = self.base.clone().into_os_string();
            path.push(format!(".blktrace.{cpu}"));
            PathBuf::from(path)
        };
        Ok((0..self.files.len()).map(path_of).collect())
    }
}

/// The payload of a record of the other byte order, in this machine's.
fn turned_payload(record: &Record) -> Vec<u8> {
    let mut payload = record.payload.clone();
    let id_bytes = if record.action_bits & CGROUP_BIT == 0 { 0 } else { payload.len().min(8) };
    payload[..id_bytes].reverse();
    if record.is_notice() && record.action_bits & !CGROUP_BIT == notice::TIMESTAMP {
        payload[id_bytes..].chunks_exact_mut(4).for_each(<[u8]>::reverse);
    }
    payload
}
