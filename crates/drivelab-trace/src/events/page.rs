//! One page of the kernel's ring buffer, as `trace_pipe_raw` gives it: its events and their times.
//!
//! An event begins with 32 bits: 5 of length or kind, 27 of time since the event before it. Kinds 29 to 31
//! are padding, more time than fits into 27 bits, and an absolute time (include/linux/ring_buffer.h).

use super::format::PageFormat;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const LENGTH_UNIT: usize = 4;
const HEADER_BYTES: usize = 4;
// of the commit field: events were lost before this page; their number stands behind its data
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const COMMIT_MASK: u64 = (1 << 27) - 1;
// an absolute time has 59 bits; the others are those of the time before
const ABSOLUTE_BITS: u32 = 59;

/// One event of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Time by the clock of the trace.
    pub time: u64,
    /// Its bytes, from the number of its kind on.
    pub data: &'a [u8],
}

/// A page that holds something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged {
    /// Where in the page.
    pub offset: usize,
}

/// The events of one page, in order.
#[derive(Debug)]
pub struct Page<'a> {
    data: &'a [u8],
    data_offset: usize,
    next: usize,
    time: u64,
    /// Events that were lost right before this page; None: some were, and nobody knows how many.
    pub lost_before: Option<u64>,
}

impl<'a> Page<'a> {
    /// The events of a page; it may be cut behind its data.
    ///
    /// # Errors
    /// It is shorter than it says.
    pub fn open(format: &PageFormat, page: &'a [u8]) -> Result<Self, Damaged> {
        let commit = format.commit.number(page);
        let length = (commit & COMMIT_MASK) as usize;
        let end = format.data_offset + length;
        let data = page.get(format.data_offset..end).ok_or(Damaged { offset: page.len() })?;
        let lost_before = if commit & MISSED_EVENTS == 0 {
            Some(0)
        } else if commit & MISSED_STORED == 0 {
            None
        } else {
            // a `long` of the kernel, as large as the commit field
            let stored = page.get(end..end + format.commit.size);
            stored.map(|bytes| match *bytes {
                [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
                _ => bytes.try_into().map_or(0, u64::from_ne_bytes),
            })
        };
        let time = format.timestamp.number(page);
        Ok(Self { data, data_offset: format.data_offset, next: 0, time, lost_before })
    }

    /// Bytes of a page that mean something: the rest need not be kept.
    #[must_use]
    pub fn used_bytes(format: &PageFormat, page: &[u8]) -> usize {
        let commit = format.commit.number(page);
        let stored = if commit & MISSED_STORED == 0 { 0 } else { format.commit.size };
        (format.data_offset + (commit & COMMIT_MASK) as usize + stored).min(page.len())
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.data.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes)
    }

    /// The next event that carries data, or None at the end of the page.
    fn step(&mut self) -> Option<Result<Event<'a>, Damaged>> {
        loop {
            let start = self.next;
            let header = self.word(start)?;
            let (kind, delta) = if cfg!(target_endian = "little") {
                (header & 0x1f, header >> 5)
            } else {
                (header >> 27, header & 0x7ff_ffff)
            };
            let first = self.word(start + HEADER_BYTES).unwrap_or(0);
            let extended = u64::from(first) << 27 | u64::from(delta);
            let (body, length) = match kind {
                PADDING if delta == 0 => return None,
                TIME_EXTEND => {
                    self.time = self.time.wrapping_add(extended);
                    self.next = start + 2 * HEADER_BYTES;
                    continue;
                }
                TIME_STAMP => {
                    self.time = self.time >> ABSOLUTE_BITS << ABSOLUTE_BITS | extended;
                    self.next = start + 2 * HEADER_BYTES;
                    continue;
                }
                // the length of padding, and of an event that is too long for 5 bits, stands in the next word
                PADDING | 0 => (start + 2 * HEADER_BYTES, (first as usize).wrapping_sub(HEADER_BYTES)),
                _ => (start + HEADER_BYTES, kind as usize * LENGTH_UNIT),
            };
            self.time = self.time.wrapping_add(u64::from(delta));
            let Some(data) = body.checked_add(length).and_then(|end| self.data.get(body..end)) else {
                return Some(Err(Damaged { offset: self.data_offset + start }));
            };
            self.next = body + length;
            if kind != PADDING {
                return Some(Ok(Event { time: self.time, data }));
            }
        }
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = Result<Event<'a>, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.step();
        if !matches!(found, Some(Ok(_))) {
            // nothing after a damage can be told apart
            self.next = self.data.len();
        }
        found
    }
}
