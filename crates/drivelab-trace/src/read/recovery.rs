//! Where a file is damaged: what the damage is, and where its records go on.

use super::foreign;
use super::header::{self, Head};
use super::lost_text;
use super::stream::{Rules, Step, Stream};
use super::summary::{DamageKind, Findings};
use super::window::LONGEST_LOOK;
use crate::record::Record;

/// btt maps a dump by pages of this size.
const PAGE: u64 = 4096;

/// Whether bytes can stand after a record: another, the kernel's text, or the end.
#[inline]
pub(super) fn may_follow(bytes: &[u8]) -> bool {
    bytes.len() < 4 || Head::of(bytes).is_some() || lost_text::may_start(bytes)
}

/// Whether a whole and plausible record of this CPU starts here, followed by what may follow one.
fn is_record(bytes: &[u8], cpu: Option<u32>, scratch: &mut Record) -> bool {
    let Some(head) = Head::readable(bytes) else { return false };
    let (Some(length), Some(payload)) = (head.length(), header::decode(head, bytes, scratch)) else {
        return false;
    };
    let Some(rest) = bytes.get(length + payload..) else { return false };
    header::is_plausible(scratch) && (may_follow(rest) || cpu == Some(scratch.cpu))
}

/// The first place, at or after `from`, where the first bytes of a record or of the kernel's text stand.
fn candidate(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let place = rest
        .windows(4)
        .position(|four| matches!(four, [b'C', b'P', b'U', b':']) || Head::readable(four).is_some());
    place.map(|at| from + at)
}

impl Stream {
    /// Here stands neither a record nor the end.
    #[cold]
    pub(super) fn stray(&mut self, findings: &mut Findings) -> Step {
        let at = self.window.offset();
        let is_last = self.rules == Rules::Blkparse;
        if let Some(text) = lost_text::parse(self.window.bytes()) {
            let entry = findings.lost_in_text.entry(text.cpu.min(1 << 16)).or_default();
            *entry = entry.saturating_add(text.events);
            self.has_records = true;
            findings.damage(DamageKind::LostEvents, &self.file, at, || {
                let goes_on = if is_last { "; blkparse reads no further here" } else { "" };
                format!("the kernel lost {} events of CPU {}{goes_on}", text.events, text.cpu)
            });
            self.window.skip(text.length);
            return if is_last { Step::End } else { Step::Again };
        }
        let left = self.window.look(LONGEST_LOOK);
        if self.has_records && left.len() < header::SHORTEST {
            return self.cut_short(findings);
        }
        let sample = left[..left.len().min(512)].to_vec();
        if !self.has_records && !self.window_has_record() {
            self.is_foreign = true;
            findings.damage(DamageKind::Foreign, &self.file, at, || foreign::description(&sample));
            return Step::End;
        }
        if is_last {
            findings.damage(DamageKind::Garbage, &self.file, at, || {
                "here stands no record, so blkparse reads no further".to_owned()
            });
            return Step::End;
        }
        self.has_records = true;
        self.find_record(DamageKind::Garbage, "are no records", findings);
        Step::Again
    }

    /// The version of the record is not known, so neither is its length.
    #[cold]
    pub(super) fn unknown_version(&mut self, version: u8, findings: &mut Findings) -> Step {
        if self.rules == Rules::Blkparse || (!self.has_records && !self.window_has_record()) {
            self.is_foreign = !self.has_records;
            let at = self.window.offset();
            findings.damage(DamageKind::UnknownVersion, &self.file, at, || {
                format!("records of version {version} stand here; versions 7 and 8 are read")
            });
            return Step::End;
        }
        self.has_records = true;
        let what = format!("are records of version {version}, or none; versions 7 and 8 are read");
        self.find_record(DamageKind::UnknownVersion, &what, findings);
        Step::Again
    }

    /// The fixed part of the last record is not whole.
    #[cold]
    pub(super) fn short(&mut self, head: Head, findings: &mut Findings) -> Step {
        let (at, length) = (self.window.offset(), self.window.bytes().len());
        self.has_records = true;
        // btt looks for 48 bytes in the last page, and takes the zeros behind the end of the file for the rest
        let padded = self.rules == Rules::Btt && at % PAGE + length as u64 >= header::SHORTEST as u64;
        if padded && head.version == 7 {
            let mut whole = [0; header::SHORTEST];
            whole[..length].copy_from_slice(self.window.bytes());
            self.cut_short(findings);
            header::decode(head, &whole, &mut self.head);
            self.head.payload.clear();
            return match self.accept(at, findings) {
                Step::Record => Step::Record,
                _ => Step::End,
            };
        }
        self.cut_short(findings)
    }

    fn cut_short(&mut self, findings: &mut Findings) -> Step {
        let (at, length) = (self.window.offset(), self.window.bytes().len());
        findings.damage(DamageKind::Truncated, &self.file, at, || {
            format!("the file ends within a record: {length} bytes of it are there")
        });
        self.window.skip(length);
        Step::End
    }

    /// What follows the record in `head` can't follow one, or its payload has room for another record; None when it is
    /// taken all the same.
    #[cold]
    pub(super) fn doubtful(&mut self, length: usize, whole: usize, findings: &mut Findings) -> Option<Step> {
        let bytes = self.window.bytes();
        let is_cut = bytes.len() < whole;
        if self.rules == Rules::Blkparse {
            return is_cut.then(|| self.cut_short(findings));
        }
        let end = whole.min(bytes.len());
        let mut from = 1;
        // one may begin in the last bytes of what this record claims
        while let Some(within) = candidate(&bytes[..bytes.len().min(end + 3)], from) {
            if is_record(&bytes[within..], self.cpu, &mut self.scratch)
                || lost_text::parse(&bytes[within..]).is_some()
            {
                self.leave_out(within, length, whole, findings);
                return Some(Step::Again);
            }
            from = within + 1;
        }
        if !is_cut {
            if may_follow(&bytes[whole..]) || header::is_plausible(&self.head) {
                return None;
            }
            self.find_record(DamageKind::Garbage, "are no records", findings);
            return Some(Step::Again);
        }
        let offset = self.window.offset();
        if self.rules == Rules::Btt {
            self.head.payload.extend_from_slice(&bytes[length..end]);
            self.head.payload.resize(whole - length, 0);
            self.cut_short(findings);
            return Some(self.accept(offset, findings));
        }
        Some(self.cut_short(findings))
    }

    /// Leaves out a record within which, so many bytes from its start, another begins.
    fn leave_out(&mut self, within: usize, length: usize, whole: usize, findings: &mut Findings) {
        let (at, claimed) = (self.window.offset(), whole - length);
        let goes_on = at + within as u64;
        findings.damage(DamageKind::Garbage, &self.file, at, || {
            if within < length {
                return format!("{within} bytes are no records; reading goes on at {goes_on}");
            }
            format!(
                "this record claims a payload of {claimed} bytes, which holds other records; it is left out"
            )
        });
        findings.skipped_bytes += within as u64;
        self.window.skip(within);
    }

    /// Whether what has been read of the file so far holds a record anywhere.
    fn window_has_record(&mut self) -> bool {
        let bytes = self.window.look(LONGEST_LOOK);
        let mut from = 1;
        while let Some(at) = candidate(bytes, from) {
            if is_record(&bytes[at..], self.cpu, &mut self.scratch) {
                return true;
            }
            from = at + 1;
        }
        false
    }

    /// Goes on to the next plausible record, or to the end; says how many bytes were passed over, and `what` they are.
    fn find_record(&mut self, kind: DamageKind, what: &str, findings: &mut Findings) {
        let begun = self.window.offset();
        self.window.skip(1);
        loop {
            let bytes = self.window.look(LONGEST_LOOK);
            let is_end = bytes.len() < LONGEST_LOOK;
            if let Some(at) = candidate(bytes, 0) {
                self.window.skip(at);
                let bytes = self.window.look(LONGEST_LOOK);
                if is_record(bytes, self.cpu, &mut self.scratch) || lost_text::parse(bytes).is_some() {
                    break;
                }
                self.window.skip(1);
            } else {
                let count = bytes.len();
                self.window.skip(if is_end { count } else { count - 3 });
                if is_end {
                    break;
                }
            }
        }
        let end = self.window.offset();
        findings.skipped_bytes += end - begun;
        findings.damage(kind, &self.file, begun, || {
            format!("{} bytes {what}; reading goes on at {end}", end - begun)
        });
    }
}
