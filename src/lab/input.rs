//! A whole run over all inputs: opened in the order of their first times, parsed, put in order
//! and handed to a [`Sink`]. Bad lines are counted and the first few kept, never fatal.

use indicatif::ProgressBar;
use serde::Serialize;

use super::error::LabError;
pub use super::parser::LineFormat;
use super::parser::{BadLine, LineParser};
use super::reorder::{Event, Reorder, Spread};
use super::source::{progress, title, Line, Lines, STDIN};

/// How many bad lines are shown.
const BAD_SHOWN: usize = 5;

/// How much of a bad line is shown, in bytes.
const BAD_LENGTH: usize = 160;

/// How far into a file its first time is looked for, in lines.
const FIRST_LINES: usize = 1000;

/// The note on a log whose times are whole seconds.
const WHOLE_SECONDS: &str = "the log has whole seconds: all requests of a second look \
    simultaneous, so bursts, waits and refusals are overstated; --spread spreads them evenly over \
    their second (which understates them), $msec in the log_format gives the truth";

/// The note on a log whose lines were spread.
const SPREAD: &str = "requests are spread evenly over their second: bursts inside a second are \
    not seen";

/// What is read and how.
#[derive(Clone, Debug)]
pub struct InputOptions {
    /// Names of files; `-` is standard input.
    pub files: Vec<String>,
    /// How lines are written.
    pub format: LineFormat,
    /// The key expression.
    pub key: String,
    /// How far lines may be out of order, in milliseconds.
    pub reorder_ms: u64,
    /// Whether the lines of one second are spread over it.
    pub spread: bool,
}

/// Takes the requests of a log.
pub trait Sink {
    /// A number for the text of a key. Called in the order of lines; the request itself follows
    /// later, in the order of times.
    fn key(&mut self, text: &[u8]) -> u32;

    /// One request at a time in milliseconds since 1970 that never goes back. `line` is the
    /// how-manieth line of all inputs it is.
    fn request(&mut self, time_ms: u64, key: u32, line: u64);
}

/// What was read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct InputSummary {
    /// The inputs in the order they were read in.
    pub files: Vec<String>,
    /// All lines.
    pub lines: u64,
    /// Lines that were replayed.
    pub requests: u64,
    /// Lines whose key is empty: no limit applies, as in nginx.
    pub without_key: u64,
    /// Lines that were too far out of order and were taken at the current time.
    pub late: u64,
    /// Lines that could not be read.
    pub bad: u64,
    /// The first of them.
    pub bad_lines: Vec<BadExample>,
    /// Time of the first request in milliseconds since 1970.
    pub first_ms: u64,
    /// Time of the last request in milliseconds since 1970.
    pub last_ms: u64,
    /// Whether the times of the log are whole seconds.
    pub whole_seconds: bool,
    /// Whether the lines of one second were spread over it.
    pub spread: bool,
    /// Number of the first line of each file, over all.
    #[serde(skip)]
    pub(super) starts: Vec<u64>,
}

/// A line that could not be read.
#[derive(Clone, Debug, Serialize)]
pub struct BadExample {
    /// File and number of the line.
    pub place: String,
    /// What is wrong with it.
    pub why: String,
    /// How it begins, with control characters and what is not UTF-8 escaped.
    pub text: String,
}

impl InputSummary {
    /// File and number of the how-manieth line of all, as `access.log:17`.
    pub fn place(&self, line: u64) -> String {
        let after = self.starts.partition_point(|start| *start <= line);
        let file = after.saturating_sub(1);
        let start = self.starts.get(file).copied().unwrap_or(0);
        let name = self.files.get(file).map_or("", String::as_str);
        format!("{}:{}", name, line - start + 1)
    }

    /// What one should know about the log before relying on results.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |holds: bool, text: String| notes.extend(holds.then_some(text));
        note(self.requests == 0, "no request could be replayed".to_string());
        note(self.whole_seconds && !self.spread, WHOLE_SECONDS.to_string());
        note(self.spread, SPREAD.to_string());
        note(
            self.late > 0,
            format!(
                "{} lines were further out of order than --reorder allows and were taken at the \
                 time that the log had reached",
                self.late
            ),
        );
        note(
            self.without_key > 0,
            format!(
                "{} lines have an empty key: no limit applies to them, as in nginx",
                self.without_key
            ),
        );
        notes
    }
}

/// Reads all inputs into the sink.
///
/// # Errors
///
/// Formats, keys and options that do not fit each other; inputs that cannot be read.
pub fn run(options: &InputOptions, sink: &mut impl Sink) -> Result<InputSummary, LabError> {
    let mut parser = LineParser::new(options.format.clone(), &options.key)?;
    if options.spread && parser.writes_milliseconds() {
        return Err(LabError::Usage(
            "--spread: the log has milliseconds ($msec), which spreading would destroy; it is for \
             $time_local and $time_iso8601"
                .to_string(),
        ));
    }
    let files = in_order(&options.files, &mut parser)?;
    let bar = progress(&files);
    let mut run = Run {
        parser,
        sink,
        reorder: Reorder::new(options.reorder_ms),
        spread: options.spread.then(Spread::default),
        summary: InputSummary { spread: options.spread, ..InputSummary::default() },
    };
    for name in &files {
        run.file(name, &bar)?;
    }
    bar.finish_and_clear();
    Ok(run.finish())
}

struct Run<'a, S> {
    parser: LineParser,
    sink: &'a mut S,
    reorder: Reorder,
    spread: Option<Spread>,
    summary: InputSummary,
}

impl<S: Sink> Run<'_, S> {
    fn file(&mut self, name: &str, bar: &ProgressBar) -> Result<(), LabError> {
        self.summary.starts.push(self.summary.lines);
        self.summary.files.push(title(name).to_string());
        let mut lines = Lines::open(name, bar)?;
        while let Some(line) = lines.next()? {
            let number = self.summary.lines;
            self.summary.lines += 1;
            match line {
                Line::Text([]) => {}
                Line::Text(text) => self.line(text, number),
                Line::TooLong => self.bad(BadLine::TooLong, b"", number),
            }
        }
        Ok(())
    }

    fn line(&mut self, text: &[u8], number: u64) {
        let record = match self.parser.parse(text) {
            Ok(record) => record,
            Err(why) => return self.bad(why, text, number),
        };
        if record.key.is_empty() {
            self.summary.without_key += 1;
            return;
        }
        let key = self.sink.key(record.key);
        let event = Event { time_ms: record.time_ms, line: number, key };
        let (spread, sink, summary) = (&mut self.spread, &mut *self.sink, &mut self.summary);
        self.reorder.push(event, |event| deliver(spread, sink, summary, event));
    }

    fn bad(&mut self, why: BadLine, text: &[u8], number: u64) {
        self.summary.bad += 1;
        if self.summary.bad_lines.len() < BAD_SHOWN {
            let shown = text.get(..BAD_LENGTH).unwrap_or(text);
            self.summary.bad_lines.push(BadExample {
                place: self.summary.place(number),
                why: self.parser.explain(why),
                text: printable(shown),
            });
        }
    }

    fn finish(mut self) -> InputSummary {
        let (spread, sink, summary) = (&mut self.spread, &mut *self.sink, &mut self.summary);
        self.reorder.finish(|event| deliver(spread, sink, summary, event));
        if let Some(spread) = spread {
            spread.finish(|event| request(sink, summary, event));
        }
        self.summary.late = self.reorder.late();
        self.summary.whole_seconds = self.summary.requests > 0 && self.parser.whole_seconds();
        self.summary
    }
}

/// An ordered event to the sink, by way of the spreading if there is one.
fn deliver<S: Sink>(
    spread: &mut Option<Spread>,
    sink: &mut S,
    summary: &mut InputSummary,
    event: Event,
) {
    match spread {
        Some(spread) => spread.push(event, |event| request(sink, summary, event)),
        None => request(sink, summary, event),
    }
}

fn request<S: Sink>(sink: &mut S, summary: &mut InputSummary, event: Event) {
    if summary.requests == 0 {
        summary.first_ms = event.time_ms;
    }
    summary.requests += 1;
    summary.last_ms = event.time_ms;
    sink.request(event.time_ms, event.key, event.line);
}

/// Bytes of a log for a terminal: nothing in them may move its cursor.
pub fn printable(text: &[u8]) -> String {
    let mut shown = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        shown.push_str(&chunk.invalid().escape_ascii().to_string());
    }
    shown
}

/// The files by their first times: a rotated log is named newest first by every shell. Kept as
/// given if one of them can be read only once.
fn in_order(files: &[String], parser: &mut LineParser) -> Result<Vec<String>, LabError> {
    let again = |name: &String| {
        name != STDIN && std::fs::metadata(name).is_ok_and(|metadata| metadata.is_file())
    };
    let mut files = files.to_vec();
    if files.len() < 2 || !files.iter().all(again) {
        return Ok(files);
    }
    let mut dated = Vec::new();
    for name in files.drain(..) {
        dated.push((first_time(&name, parser)?, name));
    }
    // Stable: files without any time stay where they were, at the end.
    dated.sort_by_key(|(time_ms, _)| time_ms.unwrap_or(u64::MAX));
    Ok(dated.into_iter().map(|(_, name)| name).collect())
}

fn first_time(name: &str, parser: &mut LineParser) -> Result<Option<u64>, LabError> {
    let mut lines = Lines::open(name, &ProgressBar::hidden())?;
    for _ in 0..FIRST_LINES {
        match lines.next()? {
            None => return Ok(None),
            Some(Line::TooLong) => {}
            Some(Line::Text(text)) => {
                if let Ok(record) = parser.parse(text) {
                    return Ok(Some(record.time_ms));
                }
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_log_moves_the_cursor() {
        assert_eq!(printable(b"a\x1b[2J\x07\t\xff\xc3\xa9"), "a\\u{1b}[2J\\u{7}\\t\\xffé");
    }

    #[test]
    fn a_line_has_its_place() {
        let files = vec!["a".to_string(), "b".to_string()];
        let summary = InputSummary { files, starts: vec![0, 3], ..InputSummary::default() };
        assert_eq!([0, 2, 3, 9].map(|n| summary.place(n)), ["a:1", "a:3", "b:1", "b:7"]);
    }
}
