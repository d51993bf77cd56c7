//! Collecting from files that stand for the kernel's.

use std::path::PathBuf;

use super::*;

const PAGE_BYTES: usize = 64;

fn page_format() -> PageFormat {
    PageFormat::parse(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
         \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
         \tfield: char data;\toffset:16;\tsize:48;\tsigned:0;\n",
    )
    .unwrap()
}

/// A page with `length` bytes of data that are all `filling`.
fn page(length: usize, filling: u8) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    page[8..16].copy_from_slice(&(length as u64).to_ne_bytes());
    page[16..16 + length].fill(filling);
    page
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("drivelab-collect-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        std::fs::write(self.0.join(name), content).unwrap();
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn options(kind: Kind, memory_limit_bytes: usize, spill_directory: Option<PathBuf>) -> Options {
    let interval = Duration::from_millis(1);
    Options { kind, interval, buffer_bytes: 1 << 20, memory_limit_bytes, spill_directory }
}

fn pages_of(raw: &mut Raw, index: usize) -> Vec<Vec<u8>> {
    let mut pages = Vec::new();
    let keep = |page: &[u8]| {
        pages.push(page.to_vec());
        Ok(())
    };
    raw.cpus[index].each_page(keep).unwrap();
    pages
}

#[test]
fn of_each_page_only_what_it_holds_is_kept() {
    let folder = Folder::new("pages");
    let first = folder.file("0", &[page(48, 1), page(8, 2)].concat());
    let second = folder.file("1", &[]);
    let files = [(0, first), (1, second)];
    let mut raw =
        Collector::start(&files, options(Kind::Pages(page_format()), 1 << 24, None)).unwrap().stop();
    assert_eq!(pages_of(&mut raw, 0), [page(48, 1), page(8, 2)[..24].to_vec()]);
    assert_eq!(pages_of(&mut raw, 1), Vec::<Vec<u8>>::new());
    assert_eq!((raw.bytes(), raw.cpus[0].blocks, raw.is_full), (64 + 24, 2, false));
    assert!(raw.failure.is_none());
}

#[test]
fn beyond_the_limit_pages_go_to_a_file_that_has_no_name() {
    let folder = Folder::new("spill");
    let all: Vec<Vec<u8>> = (0..100_000_u32).map(|number| page(48, number as u8)).collect();
    let file = folder.file("0", &all.concat());
    let spill = folder.0.join("spill");
    std::fs::create_dir(&spill).unwrap();
    let options = options(Kind::Pages(page_format()), 1 << 22, Some(spill.clone()));
    let mut raw = Collector::start(&[(0, file)], options).unwrap().stop();
    assert!(pages_of(&mut raw, 0) == all);
    assert!(!raw.is_full);
    assert_eq!(std::fs::read_dir(&spill).unwrap().count(), 0);
}

#[test]
fn without_a_directory_the_limit_ends_the_reading() {
    let folder = Folder::new("limit");
    let all: Vec<u8> = (0..50_000_u32).flat_map(|number| page(48, number as u8)).collect();
    let file = folder.file("0", &all);
    let mut raw =
        Collector::start(&[(0, file)], options(Kind::Pages(page_format()), 1, None)).unwrap().stop();
    assert!(raw.is_full);
    // the first piece was begun and is filled no further
    assert_eq!(pages_of(&mut raw, 0).len(), 1);
}

#[test]
fn relay_files_are_kept_byte_for_byte() {
    let folder = Folder::new("relay");
    let content: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let file = folder.file("0", &content);
    let mut raw = Collector::start(&[(0, file)], options(Kind::Relay, 1 << 24, None)).unwrap().stop();
    let mut collected = Vec::new();
    let keep = |piece: &[u8]| {
        collected.extend_from_slice(piece);
        Ok(())
    };
    raw.cpus[0].each_piece(keep).unwrap();
    assert!(collected == content);
}

#[test]
fn a_file_that_is_not_there_is_an_error_at_once() {
    let missing = [(0, PathBuf::from("/nowhere/trace_pipe_raw"))];
    let error = Collector::start(&missing, options(Kind::Relay, 1, None)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
