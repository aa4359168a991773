//! A line of a log to its time and key, without an allocation a line.

use super::error::LabError;
use super::json_line;
use super::key::{KeyExpression, Values, Wanted};
use super::log_format::{LogFormat, Span, Splitter};
use super::stamp::{Stamp, StampReader};

/// How lines are written.
#[derive(Clone, Debug)]
pub enum LineFormat {
    /// By a `log_format`.
    Text(LogFormat),
    /// One JSON object a line, the time in the named field or in one named as nginx does.
    Json {
        /// The field of the time; `None` for the first of nginx's three that a line has.
        time_field: Option<String>,
    },
}

/// What a replay needs of a line.
pub(super) struct Record<'a> {
    /// Milliseconds since 1970.
    pub(super) time_ms: u64,
    /// The text of the key, empty if the line has none.
    pub(super) key: &'a [u8],
}

/// Why a line is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadLine {
    /// Text of the format is missing, at this step of the splitter.
    Shape(Option<usize>),
    /// Not a JSON object.
    NotJson,
    /// A field is missing, by slot.
    NoField(usize),
    /// No field that holds a time.
    NoTime,
    /// A time that is none.
    BadTime,
    /// Longer than a line may be.
    TooLong,
}

enum Cutter {
    Text(LogFormat, Splitter),
    Json,
}

/// Reads lines of one format.
pub(super) struct LineParser {
    cutter: Cutter,
    wanted: Vec<String>,
    /// Slots that may hold the time, the preferred first; `None` is told by its text.
    times: Vec<(usize, Option<Stamp>)>,
    key: KeyExpression,
    stamps: StampReader,
    spans: Vec<Option<Span>>,
    fields: Vec<u8>,
    scratch: Vec<u8>,
}

impl LineParser {
    /// A parser of such lines that builds such keys.
    ///
    /// # Errors
    ///
    /// A format without a time, a key with a variable that the format does not have.
    pub(super) fn new(format: LineFormat, key: &str) -> Result<Self, LabError> {
        let mut wanted = Wanted::default();
        let (times, key, cutter) = match format {
            LineFormat::Text(format) => {
                let stamp = Stamp::VARIABLES.iter().find(|(name, _)| format.has(name));
                let (name, stamp) = stamp.ok_or_else(|| {
                    LabError::Usage(
                        "--log-format: no time in it; expected one of $msec, $time_iso8601 and \
                         $time_local"
                            .to_string(),
                    )
                })?;
                let times = vec![(wanted.slot(name), Some(*stamp))];
                let key = KeyExpression::parse(key, Some(&format), &mut wanted)?;
                let splitter = format.splitter(&wanted.0)?;
                (times, key, Cutter::Text(format, splitter))
            }
            LineFormat::Json { time_field } => {
                let times = match time_field {
                    Some(name) => vec![(wanted.slot(&name), None)],
                    None => Stamp::VARIABLES
                        .iter()
                        .map(|(name, stamp)| (wanted.slot(name), Some(*stamp)))
                        .collect(),
                };
                (times, KeyExpression::parse(key, None, &mut wanted)?, Cutter::Json)
            }
        };
        Ok(Self {
            cutter,
            spans: vec![None; wanted.0.len()],
            wanted: wanted.0,
            times,
            key,
            stamps: StampReader::default(),
            fields: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// The time and key of a line.
    pub(super) fn parse<'a>(&'a mut self, line: &'a [u8]) -> Result<Record<'a>, BadLine> {
        let base = match &self.cutter {
            // Every step of a splitter that succeeds writes its span, so none is left over.
            Cutter::Text(_, splitter) => {
                splitter.split(line, &mut self.spans).map_err(BadLine::Shape)?;
                line
            }
            Cutter::Json => {
                self.spans.fill(None);
                let (spans, fields) = (&mut self.spans, &mut self.fields);
                json_line::read_fields(line, &self.wanted, spans, fields)
                    .map_err(|_| BadLine::NotJson)?;
                self.fields.as_slice()
            }
        };
        let values = Values { base, spans: &self.spans };
        let time = self.times.iter().find_map(|(slot, stamp)| Some((values.get(*slot)?, *stamp)));
        let (text, stamp) = time.ok_or(BadLine::NoTime)?;
        let stamp = stamp.unwrap_or_else(|| Stamp::guess(text));
        let time_ms = self.stamps.read(stamp, text).ok_or(BadLine::BadTime)?;
        let key = self.key.build(values, &mut self.scratch).map_err(BadLine::NoField)?;
        Ok(Record { time_ms, key })
    }

    /// Whether times can only be whole seconds by the way they are written.
    pub(super) fn whole_seconds(&self) -> bool {
        !self.stamps.finer_than_a_second()
    }

    /// Whether the format writes milliseconds.
    pub(super) fn writes_milliseconds(&self) -> bool {
        matches!(self.times.as_slice(), [(_, Some(Stamp::Msec))])
    }

    /// What is wrong with a line, for people.
    pub(super) fn explain(&self, bad: BadLine) -> String {
        match (bad, &self.cutter) {
            (BadLine::Shape(step), Cutter::Text(format, _)) => format.explain(step),
            (BadLine::Shape(_) | BadLine::NotJson, _) => "not a JSON object".to_string(),
            (BadLine::NoField(slot), _) => {
                let name = self.wanted.get(slot).map_or("", String::as_str);
                format!("no field \"{name}\" for the key")
            }
            (BadLine::NoTime, _) => {
                let names = self.times.iter().filter_map(|(slot, _)| self.wanted.get(*slot));
                let names = names.map(String::as_str).collect::<Vec<_>>();
                format!("no time (looked for {})", names.join(", "))
            }
            (BadLine::BadTime, _) => "the time is not one".to_string(),
            (BadLine::TooLong, _) => "longer than a mebibyte".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "::1 - - [14/Nov/2023:22:13:20 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"x\"";

    fn text(format: &str, key: &str) -> Result<LineParser, LabError> {
        LineParser::new(LineFormat::Text(LogFormat::parse(format)?), key)
    }

    #[test]
    fn a_combined_line() {
        let mut parser = text("combined", "$remote_addr$uri").unwrap();
        let record = parser.parse(LINE.as_bytes()).ok().unwrap();
        assert_eq!((record.time_ms, record.key), (1_700_000_000_000, &b"::1/a"[..]));
        assert!(parser.whole_seconds());
        let bad = parser.parse(&LINE.as_bytes()[..20]).err().unwrap();
        assert_eq!(parser.explain(bad), "$time_local is not followed by \"] \\\"\"");
        let bad = parser.parse(LINE.replace("Nov", "Xyz").as_bytes()).err().unwrap();
        assert_eq!(parser.explain(bad), "the time is not one");
    }

    #[test]
    fn json_takes_the_finest_time() {
        let json = |time_field: Option<&str>| {
            let time_field = time_field.map(str::to_string);
            LineParser::new(LineFormat::Json { time_field }, "$remote_addr$uri").unwrap()
        };
        let line = br#"{"remote_addr":"::1","request":"GET /b HTTP/2","at":"1970-01-01T00:00:01Z",
            "msec":"1700000000.5","time_local":"x"}"#;
        let mut parser = json(None);
        let record = parser.parse(line).ok().unwrap();
        assert_eq!((record.time_ms, record.key), (1_700_000_000_500, &b"::1/b"[..]));
        assert_eq!(json(Some("at")).parse(line).ok().unwrap().time_ms, 1000);
        assert_eq!(json(Some("none")).parse(line).err(), Some(BadLine::NoTime));
        let bad = parser.parse(br#"{"msec":1,"request":""}"#).err().unwrap();
        assert_eq!(parser.explain(bad), "no field \"remote_addr\" for the key");
    }

    #[test]
    fn a_format_needs_a_time() {
        let error = text("$remote_addr", "$remote_addr").err().unwrap().to_string();
        assert!(error.contains("$msec, $time_iso8601 and $time_local"), "{error}");
    }
}
