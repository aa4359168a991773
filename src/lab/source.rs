//! Files, compressed files and standard input, one line after the other.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};
use memchr::memchr;

use super::error::LabError;

/// A longer line is none of an access log: nginx's buffers for a request end far below.
const LONGEST_LINE: usize = 1 << 20;

/// How much is read at once. Twice that is the most a buffer needs to hold an unfinished line.
const CHUNK: usize = 256 * 1024;

/// The name that stands for standard input.
pub(super) const STDIN: &str = "-";

/// What people call an input.
pub(super) fn title(name: &str) -> &str {
    if name == STDIN {
        "standard input"
    } else {
        name
    }
}

/// A bar on the terminal for all files together; nothing where standard error is no terminal.
pub(super) fn progress(names: &[String]) -> ProgressBar {
    let sizes = names.iter().map(|name| {
        let metadata = std::fs::metadata(name).ok().filter(std::fs::Metadata::is_file);
        metadata.map(|metadata| metadata.len())
    });
    let (bar, template) = match sizes.sum::<Option<u64>>() {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{bar:40} {percent}% of {total_bytes}, {bytes_per_sec}, {eta}",
        ),
        None => (ProgressBar::no_length(), "{spinner} {bytes}, {bytes_per_sec}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Its bytes without the line end.
    Text(&'a [u8]),
    /// It was too long and has been skipped.
    TooLong,
}

/// The lines of one input.
pub(super) struct Lines {
    name: String,
    reader: Box<dyn Read>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    ended: bool,
    skipping: bool,
}

impl Lines {
    /// Opens a file or standard input. What begins like gzip or is named so is decompressed.
    ///
    /// # Errors
    ///
    /// A file that cannot be opened or read.
    pub(super) fn open(name: &str, bar: &ProgressBar) -> Result<Self, LabError> {
        let open = || -> io::Result<Box<dyn Read>> {
            if name == STDIN {
                return decompressed(bar.wrap_read(io::stdin()), false);
            }
            let gzip = std::path::Path::new(name).extension().is_some_and(|end| end == "gz");
            decompressed(bar.wrap_read(File::open(name)?), gzip)
        };
        let reader =
            open().map_err(|why| LabError::Input { name: title(name).to_string(), why })?;
        Ok(Self::of(title(name), reader))
    }

    fn of(name: &str, reader: Box<dyn Read>) -> Self {
        Self {
            name: name.to_string(),
            reader,
            buffer: vec![0; CHUNK],
            from: 0,
            to: 0,
            ended: false,
            skipping: false,
        }
    }

    /// The next line, `None` at the end.
    ///
    /// # Errors
    ///
    /// What the system or the decompressor says.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, LabError> {
        loop {
            let held = self.buffer.get(self.from..self.to).unwrap_or_default();
            if let Some(length) = memchr(b'\n', held) {
                return Ok(Some(self.line(length, 1)));
            }
            if self.ended {
                let length = held.len();
                return Ok((length > 0 || self.skipping).then(|| self.line(length, 0)));
            }
            self.fill()?;
        }
    }

    /// Takes a line of this length and its end off the buffer.
    fn line(&mut self, length: usize, end: usize) -> Line<'_> {
        let from = self.from;
        self.from += length + end;
        if std::mem::take(&mut self.skipping) || length > LONGEST_LINE {
            return Line::TooLong;
        }
        let line = self.buffer.get(from..from + length).unwrap_or_default();
        Line::Text(line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn fill(&mut self) -> Result<(), LabError> {
        if self.to - self.from > LONGEST_LINE {
            self.skipping = true;
            self.from = self.to;
        }
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        self.buffer.resize(self.buffer.len().max(self.to + CHUNK), 0);
        let room = self.buffer.get_mut(self.to..).unwrap_or_default();
        let read = loop {
            match self.reader.read(room) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let read = read.map_err(|why| LabError::Input { name: self.name.clone(), why })?;
        self.to += read;
        self.ended = read == 0;
        Ok(())
    }
}

/// The content of a reader, which may be compressed.
fn decompressed(mut reader: impl Read + 'static, named_gzip: bool) -> io::Result<Box<dyn Read>> {
    let mut begin = Vec::new();
    reader.by_ref().take(2).read_to_end(&mut begin)?;
    let gzip = begin == [0x1f, 0x8b] || (named_gzip && !begin.is_empty());
    let whole = Cursor::new(begin).chain(reader);
    Ok(if gzip {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK, whole)))
    } else {
        Box::new(whole)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;
    use flate2::Compression;

    use super::*;

    fn lines(content: &[u8]) -> Vec<Option<String>> {
        let reader = decompressed(Cursor::new(content.to_vec()), false).unwrap();
        let mut lines = Lines::of("test", reader);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(match line {
                Line::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                Line::TooLong => None,
            });
        }
        all
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn lines_end_as_they_like() {
        let text = |texts: &[&str]| texts.iter().map(|t| Some(t.to_string())).collect::<Vec<_>>();
        assert_eq!(lines(b""), text(&[]));
        assert_eq!(lines(b"a\nb\r\n\nc"), text(&["a", "b", "", "c"]));
        assert_eq!(lines(b"x\n"), text(&["x"]));
        let members = [gzip(b"a\nb"), gzip(b"c\nd\n")].concat();
        assert_eq!(lines(&members), text(&["a", "bc", "d"]));
    }

    #[test]
    fn a_line_without_end_is_skipped() {
        let long = vec![b'x'; 3 * LONGEST_LINE];
        let content = [b"a\n", &long[..], b"\nb\n", &long[..]].concat();
        assert_eq!(lines(&content), [Some("a".into()), None, Some("b".into()), None]);
    }

    #[test]
    fn half_a_gzip_file_is_an_error() {
        let whole = gzip(b"some text\n");
        let reader = decompressed(Cursor::new(whole[..whole.len() - 6].to_vec()), true).unwrap();
        let mut lines = Lines::of("half.gz", reader);
        let error = loop {
            match lines.next() {
                Err(error) => break error.to_string(),
                Ok(line) => assert!(line.is_some()),
            }
        };
        assert!(error.starts_with("cannot read half.gz: "), "{error}");
    }
}
