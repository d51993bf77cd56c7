//! How a kernel lays out its events and the pages that hold them, as its `format` files tell.
//!
//! Nothing here is known beforehand: fields were added and widened over the years (`ioprio`, `rwbs`), so
//! offset and size of each are taken from the kernel that recorded.

use std::fmt;

/// A `format` file that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError(pub String);

impl fmt::Display for FormatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for FormatError {}

/// Where one field of an event stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name, without the brackets of an array.
    pub name: String,
    /// Bytes from the start of the event.
    pub offset: usize,
    /// Bytes that it takes; 0 for one that goes on to the end of the event.
    pub size: usize,
    /// Whether it is a signed number.
    pub is_signed: bool,
    /// Whether it only says where the data stand: offset in the low 16 bits, length in the high ones.
    pub is_location: bool,
}

impl Field {
    fn parse(line: &str) -> Result<Self, FormatError> {
        let wrong = || FormatError(format!("a field that cannot be understood: {}", line.trim()));
        let mut parts = line.split(';').map(str::trim);
        let declaration = parts.next().and_then(|part| part.strip_prefix("field:")).ok_or_else(wrong)?;
        let mut field = Self {
            name: name_of(declaration).ok_or_else(wrong)?.to_owned(),
            offset: usize::MAX,
            size: usize::MAX,
            is_signed: false,
            is_location: declaration.starts_with("__data_loc"),
        };
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once(':').ok_or_else(wrong)?;
            let number: usize = value.trim().parse().map_err(|_| wrong())?;
            match key {
                "offset" => field.offset = number,
                "size" => field.size = number,
                "signed" => field.is_signed = number != 0,
                _ => {}
            }
        }
        // so that no sum of them runs over
        if field.offset > MOST_BYTES || field.size > MOST_BYTES { Err(wrong()) } else { Ok(field) }
    }

    /// Its value; the sign is carried into all 64 bits. 0 where the event is too short.
    #[must_use]
    pub fn number(&self, event: &[u8]) -> u64 {
        let Some(bytes) = event.get(self.offset..self.offset + self.size) else { return 0 };
        let value = match bytes.len() {
            1 => u64::from(bytes[0]),
            2 => u64::from(u16::from_ne_bytes(bytes.try_into().expect("two bytes"))),
            4 => u64::from(u32::from_ne_bytes(bytes.try_into().expect("four bytes"))),
            8 => return u64::from_ne_bytes(bytes.try_into().expect("eight bytes")),
            _ => return 0,
        };
        let unused = 64 - 8 * self.size;
        if self.is_signed { ((value << unused).cast_signed() >> unused).cast_unsigned() } else { value }
    }

    /// Its text, up to the first zero byte.
    #[must_use]
    pub fn text<'a>(&self, event: &'a [u8]) -> &'a [u8] {
        let range = if self.is_location {
            let place = self.number(event);
            let begin = (place & 0xffff) as usize;
            begin..begin + (place >> 16 & 0xffff) as usize
        } else if self.size == 0 {
            self.offset..event.len()
        } else {
            self.offset..self.offset + self.size
        };
        let bytes = event.get(range).unwrap_or_default();
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        &bytes[..length]
    }
}

// a page is never larger
const MOST_BYTES: usize = 1 << 24;

/// Name in a declaration in C: its last word, without an array's brackets.
fn name_of(declaration: &str) -> Option<&str> {
    let word = declaration.split_whitespace().next_back()?;
    Some(word.split('[').next().unwrap_or(word).trim_start_matches('*')).filter(|name| !name.is_empty())
}

fn fields(text: &str) -> Result<Vec<Field>, FormatError> {
    text.lines().filter(|line| line.trim_start().starts_with("field:")).map(Field::parse).collect()
}

/// The `format` file of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFormat {
    /// Name of the event: `block_rq_issue`.
    pub name: String,
    /// Number that its records begin with.
    pub id: u16,
    fields: Vec<Field>,
}

impl EventFormat {
    /// Reads the text of a `format` file.
    ///
    /// # Errors
    /// It has no name or number, or a field that cannot be understood.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let after = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let name = after("name:").ok_or_else(|| FormatError("an event without a name".into()))?;
        let id = after("ID:").and_then(|number| number.parse().ok());
        let id = id.ok_or_else(|| FormatError(format!("{name} has no number")))?;
        Ok(Self { name: name.to_owned(), id, fields: fields(text)? })
    }

    /// A field; None where this kernel has none of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// A field that has to be there.
    ///
    /// # Errors
    /// This kernel has no such field.
    pub fn required(&self, name: &str) -> Result<&Field, FormatError> {
        self.field(name).ok_or_else(|| FormatError(format!("{} has no field {name}", self.name)))
    }
}

/// The file `header_page`: how a page of the ring buffer begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFormat {
    /// Time of the page's first event, to which differences are added.
    pub timestamp: Field,
    /// Bytes of data in the page, and flags.
    pub commit: Field,
    /// Where the data begin.
    pub data_offset: usize,
    /// Length of a whole page.
    pub page_bytes: usize,
}

impl PageFormat {
    /// Reads the text of `header_page`.
    ///
    /// # Errors
    /// It lacks one of the three fields.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let fields = fields(text)?;
        let named = |name: &str| {
            let found = fields.iter().find(|field| field.name == name).cloned();
            found.ok_or_else(|| FormatError(format!("header_page has no field {name}")))
        };
        let data = named("data")?;
        Ok(Self {
            timestamp: named("timestamp")?,
            commit: named("commit")?,
            data_offset: data.offset,
            page_bytes: data.offset + data.size,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEUE: &str = "name: block_rq_requeue\nID: 2108\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:30;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:40;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d [%d]\", REC->dev, 0\n";

    #[test]
    fn fields_stand_where_the_kernel_says() {
        let format = EventFormat::parse(REQUEUE).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("block_rq_requeue", 2108));
        assert_eq!(format.field("rwbs").map(|field| (field.offset, field.size)), Some((30, 10)));
        assert!(format.field("cmd").unwrap().is_location);
        assert_eq!(format.field("ioprio"), None);
        assert_eq!(format.required("bytes").unwrap_err().0, "block_rq_requeue has no field bytes");
    }

    #[test]
    fn numbers_keep_their_sign_and_texts_end_at_a_zero() {
        let format = EventFormat::parse(REQUEUE).unwrap();
        let mut event = vec![0_u8; 50];
        event[4..8].copy_from_slice(&(-5_i32).to_ne_bytes());
        event[30..34].copy_from_slice(b"WFSM");
        event[40..44].copy_from_slice(&(3_u32 << 16 | 44).to_ne_bytes());
        event[44..47].copy_from_slice(b"a1\0");
        assert_eq!(format.field("common_pid").unwrap().number(&event).cast_signed(), -5);
        assert_eq!(format.field("rwbs").unwrap().text(&event), b"WFSM");
        assert_eq!(format.field("cmd").unwrap().text(&event), b"a1");
        assert_eq!(format.field("cmd").unwrap().text(&event[..45]), b"");
        assert_eq!(format.field("dev").unwrap().number(&event[..9]), 0);
    }

    #[test]
    fn what_is_no_format_is_refused_by_name() {
        for (text, complaint) in [
            ("ID: 5\n", "an event without a name"),
            ("name: print\nID: many\n", "print has no number"),
            (
                "name: x\nID: 1\n\tfield:int a;\toffset:0;\n",
                "a field that cannot be understood: field:int a;\toffset:0;",
            ),
        ] {
            assert_eq!(EventFormat::parse(text).unwrap_err().0, complaint);
        }
    }

    #[test]
    fn both_word_sizes_of_a_page_are_read() {
        for (word, total) in [(8, 4096), (4, 4096)] {
            let data = 8 + word;
            let text = format!(
                "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                 \tfield: local_t commit;\toffset:8;\tsize:{word};\tsigned:1;\n\
                 \tfield: char data;\toffset:{data};\tsize:{};\tsigned:1;\n",
                total - data
            );
            let page = PageFormat::parse(&text).unwrap();
            assert_eq!((page.commit.size, page.data_offset, page.page_bytes), (word, data, total));
        }
        assert_eq!(PageFormat::parse("").unwrap_err().0, "header_page has no field data");
    }
}
