//! The key expression: any text with variables, as `rl_zone` has it.

use super::error::LabError;
use super::log_format::{tokens, LogFormat, Span, Token};

/// The values of one line: the bytes they stand in, and where.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) base: &'a [u8],
    pub(super) spans: &'a [Option<Span>],
}

impl<'a> Values<'a> {
    pub(super) fn get(&self, slot: usize) -> Option<&'a [u8]> {
        let (from, to) = (*self.spans.get(slot)?)?;
        self.base.get(from..to)
    }
}

/// Names of the variables that are wanted of each line; the place of a name is its slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted(pub(super) Vec<String>);

impl Wanted {
    /// The slot of a name, a new one if the name is new.
    pub(super) fn slot(&mut self, name: &str) -> usize {
        self.0.iter().position(|wanted| wanted == name).unwrap_or_else(|| {
            self.0.push(name.to_string());
            self.0.len() - 1
        })
    }
}

/// A part of `$request` that nginx also has as a variable of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Method,
    RequestUri,
    Path,
    Args,
}

impl Part {
    fn of_variable(name: &str) -> Option<Self> {
        Some(match name {
            "request_method" => Self::Method,
            "request_uri" => Self::RequestUri,
            // As the client wrote it: what nginx would decode or rewrite is not in the log.
            "uri" | "document_uri" => Self::Path,
            "args" | "query_string" => Self::Args,
            _ => return None,
        })
    }

    /// The part of `GET /path?args HTTP/1.1`; empty where the request has none.
    fn of_request(self, request: &[u8]) -> &[u8] {
        let (method, rest) = cut(request, b' ');
        let uri = match memchr::memrchr(b' ', rest) {
            Some(end) => rest.get(..end).unwrap_or_default(),
            None => rest,
        };
        let (path, args) = cut(uri, b'?');
        match self {
            Self::Method => method,
            Self::RequestUri => uri,
            Self::Path => path,
            Self::Args => args,
        }
    }
}

/// What stands before and after the first such byte.
fn cut(text: &[u8], at: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(at, text).and_then(|end| text.split_at_checked(end)) {
        Some((before, after)) => (before, after.get(1..).unwrap_or_default()),
        None => (text, b""),
    }
}

#[derive(Clone, Debug)]
enum Piece {
    Text(Vec<u8>),
    Value(usize),
    /// The line's own value where it has one, else a part of its request.
    Derived {
        own: Option<usize>,
        request: usize,
        part: Part,
    },
}

/// A key expression for lines of one format.
#[derive(Clone, Debug)]
pub(super) struct KeyExpression(Vec<Piece>);

impl KeyExpression {
    /// Parses an expression and asks for the variables it needs. `format` is `None` for JSON
    /// logs, whose fields are not known before their lines are read.
    ///
    /// # Errors
    ///
    /// A malformed variable, or one that the format neither has nor implies.
    pub(super) fn parse(
        text: &str,
        format: Option<&LogFormat>,
        wanted: &mut Wanted,
    ) -> Result<Self, LabError> {
        let mut pieces = Vec::new();
        for token in tokens("--key", text)? {
            pieces.push(match token {
                Token::Text(text) => Piece::Text(text.into_bytes()),
                Token::Variable(name) => piece(text, &name, format, wanted)?,
            });
        }
        if pieces.is_empty() {
            return Err(LabError::Usage(
                "--key \"\": expected a text with variables, such as $remote_addr".to_string(),
            ));
        }
        Ok(Self(pieces))
    }

    /// The key of a line; empty if all its variables are. `Err` holds the slot of a field that
    /// the line does not have.
    pub(super) fn build<'a>(
        &self,
        values: Values<'a>,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], usize> {
        if let [Piece::Value(slot)] = self.0.as_slice() {
            return values.get(*slot).map(unlogged).ok_or(*slot);
        }
        scratch.clear();
        for piece in &self.0 {
            let value = match piece {
                Piece::Text(text) => text,
                Piece::Value(slot) => unlogged(values.get(*slot).ok_or(*slot)?),
                Piece::Derived { own, request, part } => {
                    match own.and_then(|slot| values.get(slot)) {
                        Some(value) => unlogged(value),
                        None => part.of_request(values.get(*request).ok_or(*request)?),
                    }
                }
            };
            scratch.extend_from_slice(value);
        }
        Ok(scratch)
    }
}

fn piece(
    key: &str,
    name: &str,
    format: Option<&LogFormat>,
    wanted: &mut Wanted,
) -> Result<Piece, LabError> {
    // The form that zones are keyed by is never logged; the address is the same.
    let name = if name == "binary_remote_addr" { "remote_addr" } else { name };
    let part = Part::of_variable(name);
    match (format, part) {
        (Some(format), _) if format.has(name) => Ok(Piece::Value(wanted.slot(name))),
        (Some(format), Some(part)) if format.has("request") => {
            Ok(Piece::Derived { own: None, request: wanted.slot("request"), part })
        }
        (Some(format), _) => {
            let known = format.variables().map(|name| format!("${name}")).collect::<Vec<_>>();
            Err(LabError::Usage(format!(
                "--key \"{key}\": the log format has no variable ${name}; it has {}",
                known.join(" ")
            )))
        }
        (None, Some(part)) => Ok(Piece::Derived {
            own: Some(wanted.slot(name)),
            request: wanted.slot("request"),
            part,
        }),
        (None, None) => Ok(Piece::Value(wanted.slot(name))),
    }
}

/// nginx logs a variable without a value as a hyphen; in a key it is empty.
fn unlogged(value: &[u8]) -> &[u8] {
    if value == b"-" {
        b""
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(expression: &str, request: &str) -> String {
        let format = LogFormat::parse("$remote_addr \"$request\" $http_x").unwrap();
        let mut wanted = Wanted::default();
        let key = KeyExpression::parse(expression, Some(&format), &mut wanted).unwrap();
        let line = format!("10.0.0.1 \"{request}\" -");
        let mut spans = vec![None; wanted.0.len()];
        format.splitter(&wanted.0).unwrap().split(line.as_bytes(), &mut spans).unwrap();
        let values = Values { base: line.as_bytes(), spans: &spans };
        let mut scratch = Vec::new();
        String::from_utf8(key.build(values, &mut scratch).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn parts_come_from_the_request() {
        let request = "GET /a/b?x=1&y=2 HTTP/1.1";
        for (expression, expected) in [
            ("$remote_addr", "10.0.0.1"),
            ("$binary_remote_addr", "10.0.0.1"),
            ("$remote_addr$uri", "10.0.0.1/a/b"),
            ("${request_method}:$args", "GET:x=1&y=2"),
            ("$request_uri", "/a/b?x=1&y=2"),
            ("$http_x", ""),
            ("<$http_x>", "<>"),
        ] {
            assert_eq!(key(expression, request), expected, "{expression}");
        }
        assert_eq!(key("$request_method|$uri|$args", "GET / HTTP/1.0"), "GET|/|");
        assert_eq!(key("$request_method|$uri|$args", ""), "||");
        assert_eq!(key("$request_method|$uri|$args", "\\x16\\x03"), "\\x16\\x03||");
    }

    #[test]
    fn an_unknown_variable_is_named() {
        let format = LogFormat::parse("$remote_addr $status").unwrap();
        for (expression, name) in [("$host", "$host"), ("$uri", "$uri")] {
            let error = KeyExpression::parse(expression, Some(&format), &mut Wanted::default())
                .unwrap_err()
                .to_string();
            let why = format!("no variable {name}; it has $remote_addr $status");
            assert!(error.ends_with(&why), "{error}");
        }
    }
}
