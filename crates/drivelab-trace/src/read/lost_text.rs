//! What the kernel's `blk` tracer writes between binary records when its buffer ran over:
//! `CPU:0 [LOST 5244 EVENTS]` and the end of a line.

/// No such text is longer.
const LONGEST: usize = 64;

/// Events that were lost, as the text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LostText {
    pub cpu: u32,
    /// At least this many: the kernel does not always know.
    pub events: u64,
    /// Length of the text.
    pub length: usize,
}

/// Whether such a text may start here, as far as the bytes go.
#[inline]
pub(crate) fn may_start(bytes: &[u8]) -> bool {
    bytes.first() == Some(&b'C') && b"CPU:".starts_with(&bytes[..bytes.len().min(4)])
}

/// The text that starts here.
pub(crate) fn parse(bytes: &[u8]) -> Option<LostText> {
    let line = &bytes[..bytes.len().min(LONGEST)];
    let end = line.iter().position(|byte| *byte == b'\n')?;
    let text = std::str::from_utf8(&line[..end]).ok()?;
    let (cpu, rest) = text.strip_prefix("CPU:")?.split_once(' ')?;
    let count = rest.strip_prefix("[LOST ")?.strip_suffix("EVENTS]")?.trim_end();
    let events = if count.is_empty() { 1 } else { count.parse().ok()? };
    Some(LostText { cpu: cpu.trim().parse().ok()?, events, length: end + 1 })
}

#[cfg(test)]
mod tests {
    use super::{LostText, parse};

    #[test]
    fn counts_are_read() {
        let text = b"CPU:12 [LOST 5244 EVENTS]\n\x07tae";
        assert_eq!(parse(text), Some(LostText { cpu: 12, events: 5244, length: 26 }));
        assert_eq!(parse(b"CPU:0 [LOST EVENTS]\n"), Some(LostText { cpu: 0, events: 1, length: 20 }));
    }

    #[test]
    fn other_text_is_not() {
        for text in [
            b"CPU:0 [LOST 5 EVENTS]".as_slice(),
            b"CPU:x [LOST 5 EVENTS]\n",
            b"CPU:0 [LOST -5 EVENTS]\n",
            b"",
        ] {
            assert_eq!(parse(text), None);
        }
    }
}
