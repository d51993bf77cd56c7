//! A made-up kernel: pages and `format` files of both word sizes, with and without the fields that came later.

use std::collections::HashMap;

use super::layout::Layout;

pub const DISK: u32 = 7 << 20 | 3;
pub const PARTITION: u32 = 259 << 20 | 1;

/// A kernel that lays out its events in its own way.
pub struct Kernel {
    pub long_bytes: usize,
    pub has_priority: bool,
    letters_bytes: usize,
}

pub const NEW: Kernel = Kernel { long_bytes: 8, has_priority: true, letters_bytes: 10 };
pub const OLD: Kernel = Kernel { long_bytes: 4, has_priority: false, letters_bytes: 6 };

/// Fields of an event: name, bytes, and whether it is signed.
type Fields = Vec<(&'static str, usize, bool)>;

impl Kernel {
    pub fn header_page(&self) -> String {
        let data = 8 + self.long_bytes;
        format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:{};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
             \tfield: char data;\toffset:{data};\tsize:{};\tsigned:0;\n",
            self.long_bytes,
            4096 - data
        )
    }

    fn fields(&self, event: &str) -> Fields {
        let letters = ("rwbs", self.letters_bytes, false);
        let process = ("comm", 16, false);
        let place: Fields = vec![("dev", 4, false), ("sector", 8, false)];
        let rest: Fields = match event {
            "block_split" => vec![("new_sector", 8, false), letters, process],
            "block_bio_remap" => {
                vec![("nr_sector", 4, false), ("old_dev", 4, false), ("old_sector", 8, false), letters]
            }
            "print" => return vec![("ip", self.long_bytes, false), ("buf", 0, false)],
            "block_plug" => return vec![process],
            "block_unplug" => return vec![("nr_rq", 4, true), process],
            "block_rq_issue" | "block_rq_insert" => {
                let priority: Fields = if self.has_priority { vec![("ioprio", 2, false)] } else { vec![] };
                [vec![("nr_sector", 4, false), ("bytes", 4, false)], priority, vec![letters, process]]
                    .concat()
            }
            "block_rq_complete" => {
                vec![
                    ("nr_sector", 4, false),
                    (if self.has_priority { "error" } else { "errors" }, 4, true),
                    letters,
                ]
            }
            "block_rq_requeue" => vec![("nr_sector", 4, false), letters],
            _ => vec![("nr_sector", 4, false), letters, process],
        };
        [place, rest].concat()
    }

    /// Offsets, as a compiler would give them.
    fn offsets(&self, event: &str) -> HashMap<&'static str, (usize, usize, bool)> {
        let mut next: usize = 8;
        let mut offsets = HashMap::new();
        for (name, size, is_signed) in self.fields(event) {
            let alignment = if is_text(name) { 1 } else { size.min(self.long_bytes) };
            next = next.next_multiple_of(alignment);
            offsets.insert(name, (next, size, is_signed));
            next += size;
        }
        offsets
    }

    pub fn format(&self, event: &str) -> String {
        let mut text = format!("name: {event}\nID: {}\nformat:\n", id(event));
        text += "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
        text += "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
        for (name, (offset, size, is_signed)) in self.offsets(event) {
            let (kind, array) =
                if is_text(name) { ("char", format!("[{size}]")) } else { ("u64", String::new()) };
            let signed = i32::from(is_signed);
            text +=
                &format!("\tfield:{kind} {name}{array};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
        }
        text + "\nprint fmt: \"\"\n"
    }

    pub fn layout(&self) -> Layout {
        let formats: Vec<String> = EVENTS.iter().map(|event| self.format(event)).collect();
        Layout::parse(&self.header_page(), formats.iter().map(String::as_str)).unwrap()
    }

    pub fn event(&self, event: &str, pid: i32, numbers: &[(&str, u64)], texts: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = vec![0; 100];
        bytes[..2].copy_from_slice(&id(event).to_ne_bytes());
        bytes[4..8].copy_from_slice(&pid.to_ne_bytes());
        let offsets = self.offsets(event);
        let mut end = 8;
        for (name, number) in numbers {
            let (offset, size, _) = offsets[*name];
            let all = number.to_le_bytes();
            let part = if cfg!(target_endian = "little") {
                all[..size].to_vec()
            } else {
                all[..size].iter().rev().copied().collect()
            };
            bytes[offset..offset + size].copy_from_slice(&part);
        }
        for (name, text) in texts {
            let offset = offsets[*name].0;
            bytes[offset..offset + text.len()].copy_from_slice(text.as_bytes());
        }
        for (offset, size, _) in offsets.values() {
            // a text of no fixed length is given one here
            end = end.max(offset + if *size == 0 { 24 } else { *size });
        }
        bytes.truncate(end.next_multiple_of(4));
        bytes
    }

    /// A page of parts, with flags in its commit field and what stands behind the data.
    pub fn page(&self, time: u64, parts: &[Vec<u8>], flags: u64, behind: &[u8]) -> Vec<u8> {
        let data = parts.concat();
        let commit = (data.len() as u64 | flags).to_le_bytes();
        let mut page = time.to_ne_bytes().to_vec();
        page.extend(&commit[..self.long_bytes]);
        page.extend(data);
        page.extend(behind);
        page.resize(4096, 0);
        page
    }
}

pub const EVENTS: [&str; 12] = [
    "block_bio_queue",
    "block_getrq",
    "block_bio_backmerge",
    "block_rq_insert",
    "block_rq_issue",
    "block_rq_complete",
    "block_rq_requeue",
    "block_split",
    "block_bio_remap",
    "block_plug",
    "block_unplug",
    "print",
];

fn is_text(name: &str) -> bool {
    matches!(name, "comm" | "rwbs" | "buf")
}

fn id(event: &str) -> u16 {
    1000 + EVENTS.iter().position(|name| *name == event).unwrap() as u16
}

/// An event in the ring buffer, `delta` ns after the one before it.
pub fn entry(delta: u32, event: &[u8]) -> Vec<u8> {
    let words = event.len() / 4;
    [(words as u32 | delta << 5).to_ne_bytes().to_vec(), event.to_vec()].concat()
}

pub fn two_words(kind: u32, delta: u32, second: u32) -> Vec<u8> {
    [(kind | delta << 5).to_ne_bytes(), second.to_ne_bytes()].concat()
}
