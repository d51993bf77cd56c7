//! Blocks that hold a pattern, or the headers that fio writes with `verify`, in place of drivelab's own stamps.

use super::fio_header;
use crate::workload::{Check, ContentsKind, OFFSET_SIZE, Workload};

/// What makes the blocks of one job, and tells whether those that are read are right.
#[derive(Debug)]
pub(super) struct Marks {
    /// What blocks repeat; empty where their data are random or zeros.
    pattern: Vec<u8>,
    /// Where in it the offset of a block lies.
    places: Vec<usize>,
    check: Check,
    /// Distance between two headers.
    part: usize,
    /// Where in each part its header lies.
    header_at: usize,
    /// Blocks that were written.
    written: u64,
}

impl Marks {
    /// `None` where drivelab's own stamps, or nothing, mark the blocks.
    pub(super) fn of(workload: &Workload, job: u32) -> Option<Box<Self>> {
        let contents = &workload.contents;
        let (pattern, places) = match contents.kind {
            ContentsKind::Pattern => contents.pattern_bytes()?,
            _ if contents.check == Check::Stamps => return None,
            _ => Default::default(),
        };
        let part = if contents.check_bytes > 0 { contents.check_bytes } else { workload.smallest_block() };
        Some(Box::new(Self {
            pattern,
            places,
            check: contents.check,
            part: part as usize,
            header_at: contents.check_offset as usize,
            written: u64::from(job) << 48,
        }))
    }

    /// Makes data those that belong at `offset`; false where they were so already, and no time was taken.
    pub(super) fn put(&mut self, data: &mut [u8], offset: u64) -> bool {
        let has_headers = self.check != Check::Stamps;
        if !self.places.is_empty() || self.header_at > 0 && !self.pattern.is_empty() {
            self.fill(data, offset);
        } else if !has_headers {
            return false;
        }
        self.written += 1;
        let parts = if has_headers { data.chunks_mut(self.part) } else { [].chunks_mut(1) };
        for (number, part) in parts.enumerate() {
            fio_header::write(part, self.check, offset + (number * self.part) as u64, self.written);
            self.exchange(part);
        }
        true
    }

    /// Whether data are those that belong at `offset`.
    pub(super) fn are_right(&self, data: &[u8], offset: u64) -> bool {
        let compares = !self.pattern.is_empty()
            && matches!(self.check, Check::Stamps | Check::Header | Check::PatternHeader);
        let mut wanted = vec![0; if compares { data.len() } else { 0 }];
        if compares {
            self.fill(&mut wanted, offset);
        }
        if self.check == Check::Stamps {
            return wanted == data;
        }
        let behind = fio_header::header_size(self.check);
        data.chunks(self.part).enumerate().all(|(number, kept)| {
            let begin = number * self.part;
            let mut part = kept.to_vec();
            let is_whole = part.len() == self.part;
            if is_whole {
                self.exchange(&mut part);
            }
            is_whole
                && fio_header::is_intact(&part, self.check, offset + begin as u64)
                && (!compares || part[behind..] == wanted[begin + behind..begin + self.part])
        })
    }

    /// The pattern over all of a block at `offset`.
    fn fill(&self, data: &mut [u8], offset: u64) {
        let mut pattern = self.pattern.clone();
        for &place in &self.places {
            pattern[place..place + OFFSET_SIZE].copy_from_slice(&offset.to_le_bytes());
        }
        repeat(&pattern, data);
    }

    /// Puts the header of a part where it lies, and what is there where the header was made; and back.
    fn exchange(&self, part: &mut [u8]) {
        let size = fio_header::header_size(self.check);
        if self.header_at >= size {
            let (head, rest) = part.split_at_mut(self.header_at);
            head[..size].swap_with_slice(&mut rest[..size]);
        }
    }
}

/// Fills data with a pattern, again and again.
pub(super) fn repeat(pattern: &[u8], data: &mut [u8]) {
    for part in data.chunks_mut(pattern.len()) {
        part.copy_from_slice(&pattern[..part.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(pattern: &[u8], places: &[usize], check: Check, part: usize, header_at: usize) -> Marks {
        Marks { pattern: pattern.to_vec(), places: places.to_vec(), check, part, header_at, written: 0 }
    }

    #[test]
    fn a_pattern_names_the_offset_of_its_block() {
        let mut marks = marks(&[0xab, 0, 0, 0, 0, 0, 0, 0, 0, 0xcd], &[1], Check::Stamps, 512, 0);
        let mut data = vec![0; 512];
        assert!(marks.put(&mut data, 0x0102));
        assert_eq!(data[..12], [0xab, 2, 1, 0, 0, 0, 0, 0, 0, 0xcd, 0xab, 2]);
        assert!(marks.are_right(&data, 0x0102) && !marks.are_right(&data, 0x0103));
        data[511] ^= 1;
        assert!(!marks.are_right(&data, 0x0102));
    }

    #[test]
    fn a_header_lies_where_it_is_asked_for_and_the_data_behind_it_are_whole() {
        for check in [Check::Header, Check::PatternHeader, Check::Md5] {
            for header_at in [0, 100] {
                let mut marks = marks(b"abc", &[], check, 512, header_at);
                let mut data = vec![0; 1024];
                repeat(b"abc", &mut data);
                // a second write has to find what it needs, whatever the first one left
                assert!(marks.put(&mut data, 0) && marks.put(&mut data, 8192));
                assert_eq!(data[header_at..header_at + 2], [0xca, 0xac], "the magic number");
                assert!(marks.are_right(&data, 8192) && !marks.are_right(&data, 0));
                assert!(!marks.are_right(&data[..700], 8192), "half a part");
                data[1023] ^= 1;
                assert!(!marks.are_right(&data, 8192), "{check:?}");
            }
        }
    }
}
