//! The protocol: fixed newstyle negotiation, requests, simple replies.
//!
//! <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>

use std::io::{self, Error, ErrorKind, Read, Write};

/// Longest read or write that is taken: what the protocol lets clients expect of every server.
pub const TRANSFER_BYTES_MAX: u32 = 32 << 20;
/// The operating system's numbers are those of the protocol.
pub const EIO: u32 = 5;
/// A command that makes no sense.
pub const EINVAL: u32 = 22;
/// A write beyond the end.
pub const ENOSPC: u32 = 28;

const GREETING: [u8; 18] = *b"NBDMAGICIHAVEOPT\x00\x03";
const OPTION_MAGIC: [u8; 8] = *b"IHAVEOPT";
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
/// A name and what else an option brings along; longer ones are not taken in.
const OPTION_BYTES_MAX: u32 = 8192;
const OPTIONS_MAX: u32 = 64;
const CLIENT_KNOWS_NO_ZEROES: u32 = 2;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
const GO: u32 = 7;

const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFORMATION: u32 = 3;
const UNSUPPORTED: u32 = 0x8000_0001;
const INVALID: u32 = 0x8000_0003;
const TOO_LONG: u32 = 0x8000_0009;

/// What is served, as a client is told.
#[derive(Debug, Clone, Copy)]
pub struct Export {
    /// How large it is.
    pub size_bytes: u64,
    /// Whether flushes and forced writes mean something: the cache forgets without power.
    pub is_volatile: bool,
    /// Whether it is a disk.
    pub is_rotational: bool,
}

impl Export {
    /// `HAS_FLAGS`, `SEND_FLUSH`, `SEND_FUA`, `ROTATIONAL`, `SEND_TRIM`, `CAN_MULTI_CONN`.
    fn flags(&self) -> u16 {
        let flush = if self.is_volatile { 1 << 2 | 1 << 3 } else { 0 };
        let rotational = u16::from(self.is_rotational) << 4;
        1 | flush | rotational | 1 << 5 | 1 << 8
    }
}

/// What a client asks of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Data.
    Read,
    /// Data to be kept, which follow.
    Write,
    /// The end of the connection.
    Disconnect,
    /// That all that was written is safe.
    Flush,
    /// Data to be forgotten.
    Trim,
    /// Something that was not offered.
    Unknown,
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// What.
    pub asked: Asked,
    /// Whether a write is to be safe when it ends.
    pub is_forced: bool,
    /// The client's name for it.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u32,
}

impl Request {
    /// Reads the next request, without the data of a write.
    ///
    /// # Errors
    ///
    /// What the connection says; `InvalidData` when this is no request.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut header = [0; 28];
        from.read_exact(&mut header)?;
        if u32_at(&header, 0) != REQUEST_MAGIC {
            return Err(broken("not a request"));
        }
        let (flags, kind) = (u16_at(&header, 4), u16_at(&header, 6));
        let asked = match kind {
            0 => Asked::Read,
            1 => Asked::Write,
            2 => Asked::Disconnect,
            3 => Asked::Flush,
            4 => Asked::Trim,
            _ => Asked::Unknown,
        };
        Ok(Self {
            asked,
            is_forced: flags & 1 == 1,
            cookie: u64_at(&header, 8),
            offset: u64_at(&header, 16),
            bytes: u32_at(&header, 24),
        })
    }

    /// The error that a request earns before the drive is asked; 0 for none.
    #[must_use]
    pub fn mistake(&self, size_bytes: u64) -> u32 {
        let ends_within = self.offset.checked_add(u64::from(self.bytes)).is_some_and(|end| end <= size_bytes);
        match self.asked {
            Asked::Unknown => EINVAL,
            Asked::Flush | Asked::Disconnect => 0,
            Asked::Trim if ends_within => 0,
            Asked::Read | Asked::Write if self.bytes == 0 || self.bytes > TRANSFER_BYTES_MAX => EINVAL,
            Asked::Read | Asked::Write if ends_within => 0,
            Asked::Write => ENOSPC,
            _ => EINVAL,
        }
    }
}

/// The head of an answer; the data of a read follow.
#[must_use]
pub fn reply_header(cookie: u64, error: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
    header[4..8].copy_from_slice(&error.to_be_bytes());
    header[8..].copy_from_slice(&cookie.to_be_bytes());
    header
}

/// Brings a new connection to where requests come; false when the client wants none.
///
/// # Errors
///
/// What the connection says; `InvalidData` when the client does not keep to the protocol.
pub fn negotiate(client: &mut (impl Read + Write), export: &Export) -> io::Result<bool> {
    client.write_all(&GREETING)?;
    let mut flags = [0; 4];
    client.read_exact(&mut flags)?;
    for _ in 0..OPTIONS_MAX {
        let mut header = [0; 16];
        client.read_exact(&mut header)?;
        if header[..8] != OPTION_MAGIC {
            return Err(broken("not an option"));
        }
        let (option, length) = (u32_at(&header, 8), u32_at(&header, 12));
        if length > OPTION_BYTES_MAX {
            reply(client, option, TOO_LONG, &[])?;
            return Err(broken("an option too long"));
        }
        let mut data = vec![0; length as usize];
        client.read_exact(&mut data)?;
        match option {
            EXPORT_NAME => {
                let mut told = export.size_bytes.to_be_bytes().to_vec();
                told.extend(export.flags().to_be_bytes());
                if u32_at(&flags, 0) & CLIENT_KNOWS_NO_ZEROES == 0 {
                    told.extend([0; 124]);
                }
                client.write_all(&told)?;
                return Ok(true);
            }
            ABORT => {
                reply(client, option, ACK, &[])?;
                return Ok(false);
            }
            LIST if data.is_empty() => {
                // one export, whose name is empty
                reply(client, option, SERVER, &[0; 4])?;
                reply(client, option, ACK, &[])?;
            }
            INFO | GO if names_an_export(&data) => {
                for information in informations(export) {
                    reply(client, option, INFORMATION, &information)?;
                }
                reply(client, option, ACK, &[])?;
                if option == GO {
                    return Ok(true);
                }
            }
            LIST | INFO | GO => reply(client, option, INVALID, &[])?,
            _ => reply(client, option, UNSUPPORTED, &[])?,
        }
    }
    Err(broken("too many options"))
}

/// Whether the data of an option are a name and a list, as they should be; there is one export, whatever it is called.
fn names_an_export(data: &[u8]) -> bool {
    let Some(name) = data.get(..4).map(|_| u32_at(data, 0) as usize) else { return false };
    let Some(count) = data.get(4 + name..6 + name).map(|_| u16_at(data, 4 + name)) else { return false };
    data.len() == 6 + name + 2 * usize::from(count)
}

/// Size and flags; smallest, best and largest block.
fn informations(export: &Export) -> [Vec<u8>; 2] {
    let mut about = vec![0, 0];
    about.extend(export.size_bytes.to_be_bytes());
    about.extend(export.flags().to_be_bytes());
    let mut blocks = vec![0, 3];
    for bytes in [1, 4096, TRANSFER_BYTES_MAX] {
        blocks.extend(bytes.to_be_bytes());
    }
    [about, blocks]
}

fn reply(client: &mut impl Write, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let mut whole = OPTION_REPLY_MAGIC.to_be_bytes().to_vec();
    whole.extend(option.to_be_bytes());
    whole.extend(kind.to_be_bytes());
    whole.extend((data.len() as u32).to_be_bytes());
    whole.extend(data);
    client.write_all(&whole)
}

/// The error of a client that does not keep to the protocol.
#[must_use]
pub fn broken(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) << 16 | u32::from(u16_at(bytes, at + 2))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}
