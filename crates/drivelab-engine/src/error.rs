//! Errors of the engine: a stable code, what happened, where, and what to do.

use std::fmt;
use std::io;

/// Result of an engine call.
pub type Result<T> = std::result::Result<T, EngineError>;

/// Stable code of an error; the list that users see is kept by the Python package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// A value of the workload is outside what makes sense.
    InvalidWorkload,
    /// The target does not exist.
    TargetMissing,
    /// The target may not be opened by this user.
    PermissionDenied,
    /// The file system refuses O_DIRECT.
    DirectRefused,
    /// The target can only be read.
    ReadOnly,
    /// The file system is full.
    NoSpace,
    /// The block device is in use by something else.
    InUse,
    /// Offset or size is not a multiple of what direct I/O needs.
    Misaligned,
    /// The target is smaller than the range asked for.
    TooSmall,
    /// io_uring cannot be used here.
    UringUnusable,
    /// Linux asynchronous I/O cannot be used here.
    AioUnusable,
    /// The buffers do not fit into memory.
    BuffersTooLarge,
    /// This operation cannot be done on this target by this backend.
    Unsupported,
    /// The operating system refused something else.
    OperatingSystem,
    /// A defect of the engine itself.
    Bug,
    /// Operations on files were asked for, and the target is no directory.
    NotADirectory,
    /// The file system has too few inodes for the files.
    TooFewInodes,
    /// What lies where the files of a tree would lie is not ours.
    ForeignFiles,
}

impl Code {
    /// The code as users see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidWorkload => "E301",
            Self::TargetMissing => "E302",
            Self::PermissionDenied => "E303",
            Self::DirectRefused => "E304",
            Self::ReadOnly => "E305",
            Self::NoSpace => "E306",
            Self::InUse => "E307",
            Self::Misaligned => "E308",
            Self::TooSmall => "E309",
            Self::UringUnusable => "E310",
            Self::AioUnusable => "E311",
            Self::BuffersTooLarge => "E312",
            Self::Unsupported => "E313",
            Self::OperatingSystem => "E314",
            Self::Bug => "E315",
            Self::NotADirectory => "E316",
            Self::TooFewInodes => "E317",
            Self::ForeignFiles => "E318",
        }
    }
}

/// An expected failure of the engine.
#[derive(Debug, Clone)]
pub struct EngineError {
    /// Which failure.
    pub code: Code,
    /// What happened, with the value and the bound.
    pub what: String,
    /// The target or the option.
    pub place: String,
    /// What to do; empty when the list of errors says it well enough.
    pub advice: String,
}

impl EngineError {
    /// An error with nothing to add about place and advice.
    pub fn new(code: Code, what: impl Into<String>) -> Self {
        Self { code, what: what.into(), place: String::new(), advice: String::new() }
    }

    /// The same error, saying where.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// The same error, saying what to do.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// The error for a failed call on a target, with the code its errno deserves.
    #[must_use]
    pub fn from_os(action: &str, target: &str, error: &io::Error) -> Self {
        let code = match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ENXIO | libc::ENODEV | libc::ENOMEDIUM) => {
                Code::TargetMissing
            }
            Some(libc::EACCES | libc::EPERM) => Code::PermissionDenied,
            Some(libc::EROFS) => Code::ReadOnly,
            Some(libc::ENOSPC | libc::EDQUOT) => Code::NoSpace,
            Some(libc::EBUSY | libc::ETXTBSY) => Code::InUse,
            Some(libc::ENOMEM) => Code::BuffersTooLarge,
            _ => Code::OperatingSystem,
        };
        Self::new(code, format!("cannot {action}: {error}")).at(target)
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} ({})", self.code.as_str(), self.what, self.place)
    }
}

impl std::error::Error for EngineError {}

/// Symbolic name of an errno that storage calls return, for example `EIO`.
#[must_use]
pub fn errno_name(errno: i32) -> String {
    let name = match errno {
        libc::EIO => "EIO",
        libc::ENOSPC => "ENOSPC",
        libc::EDQUOT => "EDQUOT",
        libc::EINVAL => "EINVAL",
        libc::ENXIO => "ENXIO",
        libc::ENODEV => "ENODEV",
        libc::EROFS => "EROFS",
        libc::EFBIG => "EFBIG",
        libc::EAGAIN => "EAGAIN",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::EREMOTEIO => "EREMOTEIO",
        libc::ENODATA => "ENODATA",
        libc::EILSEQ => "EILSEQ",
        libc::EBADF => "EBADF",
        libc::ECANCELED => "ECANCELED",
        libc::EPERM => "EPERM",
        libc::EACCES => "EACCES",
        libc::ESTALE => "ESTALE",
        libc::EINTR => "EINTR",
        libc::ENOENT => "ENOENT",
        libc::EEXIST => "EEXIST",
        libc::ENOTDIR => "ENOTDIR",
        libc::ELOOP => "ELOOP",
        libc::EISDIR => "EISDIR",
        libc::ENOTEMPTY => "ENOTEMPTY",
        libc::EMLINK => "EMLINK",
        libc::EMFILE => "EMFILE",
        libc::ENFILE => "ENFILE",
        libc::ENAMETOOLONG => "ENAMETOOLONG",
        libc::EXDEV => "EXDEV",
        _ => return format!("errno {errno}"),
    };
    name.to_owned()
}
