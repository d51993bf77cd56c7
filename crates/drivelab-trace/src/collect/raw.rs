//! What was collected, unread: pages or records of each CPU, in memory and behind that in a file.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::{Kind, RELAY_READ_BYTES};
use crate::events::page::Page;

// a CPU that does little takes little; then in pieces that large pages fit into
const FIRST_PIECE_BYTES: usize = 1 << 18;
const PIECE_BYTES: usize = 1 << 22;
const SMALL_PAGE_BYTES: usize = 1 << 12;
const LENGTH_BYTES: usize = 4;

/// What the collecting thread leaves behind.
#[derive(Debug)]
pub struct Raw {
    /// In the order in which the files were named.
    pub cpus: Vec<RawCpu>,
    /// Processor time of the thread.
    pub thread_cpu_ns: u64,
    /// How often it looked.
    pub rounds: u64,
    /// Whether there was no room any more; the kernel counted what came then as lost.
    pub is_full: bool,
    /// What ended it early.
    pub failure: Option<io::Error>,
}

impl Raw {
    /// Length of everything.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.bytes).sum()
    }
}

/// What one CPU wrote.
#[derive(Debug)]
pub struct RawCpu {
    /// Its number.
    pub cpu: u32,
    /// Length of everything.
    pub bytes: u64,
    /// Reads, so pages where there are pages.
    pub blocks: u64,
    pieces: Vec<Vec<u8>>,
    last_bytes: usize,
    spill_directory: Option<PathBuf>,
    spill: Option<File>,
}

impl RawCpu {
    pub(super) fn new(cpu: u32, spill_directory: Option<&Path>) -> Self {
        let spill_directory = spill_directory.map(Path::to_owned);
        Self { cpu, bytes: 0, blocks: 0, pieces: Vec::new(), last_bytes: 0, spill_directory, spill: None }
    }

    pub(super) fn may_spill(&self) -> bool {
        self.spill_directory.is_some()
    }

    /// Reads once, straight to where it is kept; 0 at the end of what there is.
    ///
    /// Of a page only what it holds is kept, with its length before it.
    pub(super) fn read(&mut self, file: &File, kind: &Kind, left_bytes: &mut usize) -> io::Result<usize> {
        let (length_bytes, most_bytes) = match kind {
            Kind::Pages(format) => (LENGTH_BYTES, format.page_bytes),
            Kind::Relay => (0, RELAY_READ_BYTES),
        };
        let needed = length_bytes + most_bytes;
        if self.pieces.last().is_none_or(|piece| piece.capacity() - piece.len() < needed) {
            let capacity = needed.max(if self.pieces.is_empty() { FIRST_PIECE_BYTES } else { PIECE_BYTES });
            self.make_room(capacity, left_bytes)?;
            self.pieces.push(in_large_pages(capacity));
        }
        let piece = self.pieces.last_mut().expect("one was just made");
        let start = piece.len();
        piece.extend([0; LENGTH_BYTES][..length_bytes].iter());
        let count = read_behind(file, piece, most_bytes);
        let block = start + length_bytes;
        let kept = match (kind, &count) {
            (_, Err(_) | Ok(0)) => 0,
            (Kind::Pages(format), Ok(_)) => Page::used_bytes(format, &piece[block..]),
            (Kind::Relay, Ok(count)) => *count,
        };
        self.last_bytes = kept;
        piece.truncate(if kept == 0 { start } else { block + kept });
        if kept > 0 {
            let length = u32::try_from(kept).expect("a read is shorter").to_ne_bytes();
            piece[start..block].copy_from_slice(&length[..length_bytes]);
            self.bytes += kept as u64;
            self.blocks += 1;
        }
        count
    }

    /// What was read last.
    pub(super) fn last_block(&self) -> &[u8] {
        self.pieces.last().map_or(&[], |piece| &piece[piece.len() - self.last_bytes..])
    }

    /// Takes memory for another piece, or writes the pieces to the file and forgets them.
    fn make_room(&mut self, capacity: usize, left_bytes: &mut usize) -> io::Result<()> {
        let Some(directory) = &self.spill_directory else {
            *left_bytes = left_bytes.saturating_sub(capacity);
            return Ok(());
        };
        if *left_bytes >= capacity {
            *left_bytes -= capacity;
            return Ok(());
        }
        let mut file = match self.spill.take() {
            Some(file) => file,
            None => nameless_file(directory, self.cpu)?,
        };
        for piece in &self.pieces {
            file.write_all(piece)?;
        }
        self.spill = Some(file);
        let freed: usize = self.pieces.drain(..).map(|piece| piece.capacity()).sum();
        *left_bytes = (*left_bytes + freed).saturating_sub(capacity);
        Ok(())
    }

    /// Gives everything to `take`, one piece after the other.
    ///
    /// # Errors
    /// Those of `take`, and of reading the file.
    pub fn each_piece(&mut self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if let Some(file) = &mut self.spill {
            file.rewind()?;
            let mut buffer = vec![0; PIECE_BYTES];
            loop {
                let count = file.read(&mut buffer)?;
                if count == 0 {
                    break;
                }
                take(&buffer[..count])?;
            }
        }
        self.pieces.iter().try_for_each(|piece| take(piece))
    }

    /// Gives each page to `take`.
    ///
    /// # Errors
    /// Those of `take`, and of reading the file.
    pub fn each_page(&mut self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if let Some(file) = &mut self.spill {
            file.rewind()?;
            let mut file = BufReader::with_capacity(PIECE_BYTES, file);
            let (mut length, mut page) = ([0; LENGTH_BYTES], Vec::new());
            while read_all(&mut file, &mut length)? {
                page.resize(u32::from_ne_bytes(length) as usize, 0);
                file.read_exact(&mut page)?;
                take(&page)?;
            }
        }
        for piece in &self.pieces {
            let mut rest = &piece[..];
            while let Some((length, after)) = rest.split_first_chunk::<LENGTH_BYTES>() {
                let (page, after) = after.split_at(u32::from_ne_bytes(*length) as usize);
                take(page)?;
                rest = after;
            }
        }
        Ok(())
    }
}

/// An empty piece; where the kernel can, of few large pages: each page that is touched for the first time costs.
fn in_large_pages(capacity: usize) -> Vec<u8> {
    let piece = Vec::with_capacity(capacity);
    if capacity >= PIECE_BYTES {
        let start = (piece.as_ptr() as usize).next_multiple_of(SMALL_PAGE_BYTES);
        let length = (piece.as_ptr() as usize + capacity - start) & !(SMALL_PAGE_BYTES - 1);
        // SAFETY: advice about whole pages inside of the allocation; it changes no contents.
        unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
    }
    piece
}

/// Reads once behind what a piece holds, which has room for `most_bytes`.
fn read_behind(file: &File, piece: &mut Vec<u8>, most_bytes: usize) -> io::Result<usize> {
    let room = &mut piece.spare_capacity_mut()[..most_bytes];
    // SAFETY: the room belongs to the piece, and the kernel writes no more than its length.
    let count = unsafe { libc::read(file.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: so many bytes behind its length were just written.
    unsafe { piece.set_len(piece.len() + count) };
    Ok(count)
}

/// Fills the buffer; false at the end of the file.
fn read_all(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// A new file without a name, so that nothing is left of it whatever ends this process.
fn nameless_file(directory: &Path, cpu: u32) -> io::Result<File> {
    let path = directory.join(format!(".drivelab-trace-{}-{cpu}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    remove_file(&path)?;
    Ok(file)
}
