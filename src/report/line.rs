//! A log line of bounded length, built without allocating.

use std::fmt;

/// nginx cuts a line of its error log at this many bytes (`NGX_MAX_ERROR_STR`).
const LONGEST: usize = 2048;

/// Bytes of one line; what does not fit is cut.
pub struct Line {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self { bytes: [0; LONGEST], len: 0 }
    }

    /// Adds bytes as they are. Names of zones need not be UTF-8.
    pub fn push(&mut self, bytes: &[u8]) -> &mut Self {
        for (place, byte) in self.bytes.iter_mut().skip(self.len).zip(bytes) {
            *place = *byte;
            self.len += 1;
        }
        self
    }

    /// Adds formatted text.
    pub fn put(&mut self, text: fmt::Arguments<'_>) -> &mut Self {
        // `write_str` below cannot fail, nor does any `Display` that gets here.
        let _ = fmt::write(self, text);
        self
    }

    /// The line so far.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}
