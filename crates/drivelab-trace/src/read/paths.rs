//! Which files a path means: a directory, a base name, a CPU's file, or a merged dump.

use super::error::{ReadError, ReadErrorKind};
use std::collections::{BTreeMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const MARK: &str = ".blktrace.";
/// What a shell leaves of a name that it completes as far as it is the same for all CPUs.
const MARK_BEGUN: [&str; 2] = [".blktrace.", ".blktrace"];
const STDIN: &str = "/dev/stdin";
/// A larger number in a file's name is no CPU's.
const CPUS_MAX: u32 = 1 << 16;

/// One file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    pub path: PathBuf,
    /// None for a merged dump.
    pub cpu: Option<u32>,
}

/// The files that paths mean, each once, and what is to be said about the choice.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub files: Vec<Located>,
    pub notes: Vec<String>,
    /// CPU files that are missing between others: their paths and numbers.
    pub missing: Vec<(PathBuf, u32)>,
    /// Device and inode of every file that was taken.
    taken: HashSet<(u64, u64)>,
    /// How often each recording was named.
    named: BTreeMap<PathBuf, u32>,
    stops_at_gap: bool,
}

/// The base name and the CPU of a file's name.
fn parts(path: &Path) -> Option<(PathBuf, u32)> {
    let (base, cpu) = path.file_name()?.to_str()?.rsplit_once(MARK)?;
    let is_number = !base.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit());
    let cpu = cpu.parse().ok().filter(|cpu| is_number && *cpu < CPUS_MAX)?;
    Some((path.with_file_name(base), cpu))
}

/// What a path may mean as the base name of a recording.
fn base_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stripped = MARK_BEGUN.iter().find_map(|mark| name.strip_suffix(mark)).filter(|base| !base.is_empty());
    [Some(path.to_owned()), stripped.map(|base| path.with_file_name(base))].into_iter().flatten()
}

fn error(kind: ReadErrorKind, path: &Path, what: impl Into<String>) -> ReadError {
    ReadError { kind, file: path.display().to_string(), what: what.into() }
}

impl Files {
    /// Finds the files of all paths.
    pub(crate) fn of(paths: &[PathBuf], stops_at_gap: bool) -> Result<Self, ReadError> {
        let mut files = Self { stops_at_gap, ..Self::default() };
        for path in paths {
            let is_stdin = path.as_os_str() == "-";
            files.add(if is_stdin { Path::new(STDIN) } else { path }, paths)?;
        }
        for (base, count) in files.named.iter().filter(|(_, count)| **count > 1) {
            files.notes.push(format!(
                "{count} of the names belong to one recording, {}: it is read once (blkparse reads it {count} times)",
                base.display()
            ));
        }
        Ok(files)
    }

    fn add(&mut self, path: &Path, paths: &[PathBuf]) -> Result<(), ReadError> {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.add_directory(path),
            Ok(metadata) => match parts(path) {
                Some((base, _)) => self.add_part(path, &base, paths),
                None => {
                    self.take(Located { path: path.to_owned(), cpu: None }, &metadata);
                    Ok(())
                }
            },
            Err(failure) => {
                for base in base_names(path) {
                    let found = numbers(&base, &base).unwrap_or_default();
                    if !found.is_empty() {
                        return self.add_recording(&base, &found);
                    }
                }
                let kind = match failure.kind() {
                    std::io::ErrorKind::NotFound => ReadErrorKind::NotFound,
                    _ => ReadErrorKind::Unreadable,
                };
                let why = match kind {
                    ReadErrorKind::NotFound => String::new(),
                    _ => format!(": {failure}"),
                };
                let what = format!("there is neither such a file nor {}{MARK}0{why}", path.display());
                Err(error(kind, path, what))
            }
        }
    }

    /// One CPU's file means its whole recording: alone it would hold half of most lives.
    fn add_part(&mut self, path: &Path, base: &Path, paths: &[PathBuf]) -> Result<(), ReadError> {
        let cpus = numbers(path, base)?;
        let is_named = |cpu: &u32| paths.iter().any(|other| parts(other) == Some((base.to_owned(), *cpu)));
        let unnamed = cpus.iter().filter(|cpu| !is_named(cpu)).count();
        if unnamed > 0 && !self.named.contains_key(base) {
            self.notes.push(format!(
                "{} is a part of a recording: the files of all {} CPUs are read",
                path.display(),
                cpus.len()
            ));
        }
        self.add_recording(base, &cpus)
    }

    fn add_directory(&mut self, path: &Path) -> Result<(), ReadError> {
        let mut recordings: BTreeMap<PathBuf, Vec<u32>> = BTreeMap::new();
        for (base, cpu) in cpu_files(path)? {
            recordings.entry(base).or_default().push(cpu);
        }
        if recordings.is_empty() {
            let beside = numbers(path, path).unwrap_or_default();
            if !beside.is_empty() {
                return self.add_recording(path, &beside);
            }
            return Err(error(
                ReadErrorKind::NoRecording,
                path,
                format!("the directory holds no files NAME{MARK}0, 1, ..."),
            ));
        }
        recordings.into_iter().try_for_each(|(base, mut cpus)| {
            cpus.sort_unstable();
            self.add_recording(&base, &cpus)
        })
    }

    fn add_recording(&mut self, base: &Path, cpus: &[u32]) -> Result<(), ReadError> {
        let count = self.named.entry(base.to_owned()).or_default();
        *count += 1;
        if *count > 1 {
            return Ok(());
        }
        let file_of = |cpu: u32| {
            let mut name = base.as_os_str().to_owned();
            name.push(format!("{MARK}{cpu}"));
            PathBuf::from(name)
        };
        let last = cpus.last().copied().unwrap_or_default();
        let mut present = cpus.iter().copied().peekable();
        let mut has_gap = false;
        for cpu in 0..=last {
            if present.next_if_eq(&cpu).is_none() {
                has_gap = true;
                self.missing.push((file_of(cpu), cpu));
            } else if !has_gap || !self.stops_at_gap {
                let path = file_of(cpu);
                let metadata = std::fs::metadata(&path);
                let metadata =
                    metadata.map_err(|why| error(ReadErrorKind::Unreadable, &path, why.to_string()))?;
                self.take(Located { path, cpu: Some(cpu) }, &metadata);
            }
        }
        Ok(())
    }

    fn take(&mut self, file: Located, metadata: &Metadata) {
        if self.taken.insert((metadata.dev(), metadata.ino())) {
            self.files.push(file);
        } else {
            self.notes.push(format!("{} has been named already: it is read once", file.path.display()));
        }
    }
}

/// Every CPU's file of a directory: base name and number.
fn cpu_files(directory: &Path) -> Result<Vec<(PathBuf, u32)>, ReadError> {
    let unreadable = |why: std::io::Error| error(ReadErrorKind::Unreadable, directory, why.to_string());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if let Some((base, cpu)) = parts(&path)
            && !path.is_dir()
            // sda.blktrace.01 is not the file that blktrace wrote
            && path.to_string_lossy().ends_with(&format!("{MARK}{cpu}"))
        {
            found.push((base, cpu));
        }
    }
    Ok(found)
}

/// The CPUs that a recording has files of, in order.
fn numbers(path: &Path, base: &Path) -> Result<Vec<u32>, ReadError> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let same = cpu_files(directory)?.into_iter().filter(|(found, _)| found.file_name() == base.file_name());
    let mut cpus: Vec<u32> = same.map(|(_, cpu)| cpu).collect();
    cpus.sort_unstable();
    Ok(cpus)
}
