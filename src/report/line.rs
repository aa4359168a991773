//! A log line of bounded length, built without allocating.

use std::fmt;

/// nginx cuts a line of its error log at this many bytes (`NGX_MAX_ERROR_STR`).
const LONGEST: usize = 2048;

/// What nginx itself may write before a line that belongs to no request: time, level, process.
const PREFIX: usize = 64;

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

    /// Adds what must be read whatever stands before it, which is cut for it.
    pub fn end(&mut self, end: &Self) -> &mut Self {
        let end = end.as_bytes();
        self.len = self.len.min(LONGEST.saturating_sub(PREFIX + end.len()));
        self.push(end)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_a_short_line_is_left_alone() {
        let mut end = Line::new();
        end.push(b" in nginx.conf:7");
        let mut line = Line::new();
        assert_eq!(line.push(b"bad").end(&end).as_bytes(), b"bad in nginx.conf:7");
        let mut line = Line::new();
        line.push(&[b'z'; 5000]).end(&end);
        assert!(line.as_bytes().ends_with(b"zz in nginx.conf:7"));
        assert_eq!(line.as_bytes().len(), LONGEST - PREFIX);
        let mut long = Line::new();
        long.push(&[b'e'; 5000]);
        assert_eq!(line.end(&long).as_bytes(), long.as_bytes());
    }
}
