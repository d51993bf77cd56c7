//! Why nothing can be read at all.

use serde::Serialize;

/// What kind of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadErrorKind {
    /// There is no such file, directory or base name.
    NotFound,
    /// It is there, and may not or can't be read.
    Unreadable,
    /// The directory holds no recording.
    NoRecording,
    /// No file is a recording.
    Foreign,
    /// The recording has a version that this program does not know.
    UnknownVersion,
}

/// Nothing can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadError {
    /// What kind of reason.
    pub kind: ReadErrorKind,
    /// The path.
    pub file: String,
    /// What is wrong, as a sentence without its end.
    pub what: String,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.file, self.what)
    }
}

impl std::error::Error for ReadError {}
