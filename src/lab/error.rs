//! What ends a run of `rl-lab` early. A bad line of a log does not.

use std::{fmt, io};

/// Why a run ends without its result.
#[derive(Debug)]
pub enum LabError {
    /// The command line asks for something that does not exist. Says what would have been right.
    Usage(String),
    /// An input that cannot be opened or read.
    Input {
        /// The file as it was named, or `standard input`.
        name: String,
        /// What the system or the decompressor says.
        why: io::Error,
    },
    /// A result that cannot be written.
    Output {
        /// The file as it was named, or `standard output`.
        name: String,
        /// What the system says.
        why: io::Error,
    },
    /// A result that cannot be drawn or encoded.
    Report(String),
}

impl LabError {
    /// An error of standard output.
    pub fn stdout(why: io::Error) -> Self {
        Self::Output { name: "standard output".to_string(), why }
    }

    /// Whether the reader of standard output has simply had enough (`rl-lab … | head`).
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output { why, .. } if why.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Report(message) => f.write_str(message),
            Self::Input { name, why } => write!(f, "cannot read {name}: {why}"),
            Self::Output { name, why } => write!(f, "cannot write {name}: {why}"),
        }
    }
}

impl std::error::Error for LabError {}
