//! A stretch of a file that moves forward: big reads, no copy per record.

use std::io::{ErrorKind, Read};

/// The longest record: its fixed part, its payload, and what follows it as far as one has to look.
pub(crate) const LONGEST_LOOK: usize = 64 + 65_535 + 128;

/// The bytes of a file from where reading has come to.
pub(crate) struct Window {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the file of `start`.
    offset: u64,
    has_ended: bool,
    /// Why reading ended before the file did.
    failure: Option<std::io::Error>,
}

impl Window {
    pub(crate) fn new(source: Box<dyn Read + Send>, buffer_bytes: usize) -> Self {
        Self {
            source,
            buffer: vec![0; buffer_bytes.max(LONGEST_LOOK)],
            start: 0,
            end: 0,
            offset: 0,
            has_ended: false,
            failure: None,
        }
    }

    /// What is there, without reading on.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// At least this many bytes, or all that are left when they are fewer; at most `LONGEST_LOOK`.
    #[inline]
    pub(crate) fn look(&mut self, wanted: usize) -> &[u8] {
        if self.end - self.start < wanted && !self.has_ended {
            self.fill(wanted);
        }
        &self.buffer[self.start..self.end]
    }

    /// Offset in the file of the first byte of the window.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Goes on by so many bytes of the window.
    #[inline]
    pub(crate) fn skip(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Why reading ended before the file did; once.
    pub(crate) fn take_failure(&mut self) -> Option<std::io::Error> {
        self.failure.take()
    }

    #[cold]
    fn fill(&mut self, wanted: usize) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted.min(self.buffer.len()) {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.has_ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.has_ended = true;
                    self.failure = Some(error);
                }
            }
            if self.has_ended {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Window;
    use std::io::{Cursor, Error, Read};

    /// Gives one byte at a time, then fails.
    struct Failing(u8);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(Error::other("gone"));
            }
            self.0 -= 1;
            buffer[0] = self.0;
            Ok(1)
        }
    }

    #[test]
    fn every_byte_comes_once() {
        let all: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        let mut window = Window::new(Box::new(Cursor::new(all.clone())), 0);
        let mut seen = Vec::new();
        while !window.look(100).is_empty() {
            let count = window.bytes().len().min(100);
            assert_eq!(window.offset(), seen.len() as u64);
            seen.extend_from_slice(&window.bytes()[..count]);
            window.skip(count);
        }
        assert_eq!(seen, all);
    }

    #[test]
    fn a_failing_file_gives_what_came_before() {
        let mut window = Window::new(Box::new(Failing(3)), 0);
        assert_eq!(window.look(48), [2, 1, 0]);
        assert_eq!(window.take_failure().expect("a failure").to_string(), "gone");
        assert!(window.take_failure().is_none());
    }
}
