//! nginx's `log_format` as a splitter of lines.
//!
//! A variable ends where the text that follows it in the format is next found. That is exact for
//! what nginx escapes (a quote inside `"$request"` is written `\x22`) and for numbers; escapes
//! are left as they are. Text behind the end of the format is ignored, so that `combined` also
//! reads the many formats that append fields to it.

use memchr::memchr_iter;

use super::error::LabError;

/// nginx's predefined format.
const COMBINED: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status \
                        $body_bytes_sent \"$http_referer\" \"$http_user_agent\"";

/// The format of other servers' logs, `combined` without its last two fields.
const COMMON: &str =
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent";

/// A part of a text with variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Text that stands for itself.
    Text(String),
    /// The name of a variable, without `$` and braces.
    Variable(String),
}

/// Splits a text with `$name` and `${name}` into its parts.
///
/// # Errors
///
/// A `$` without a name, or a brace that is not closed.
pub(super) fn tokens(what: &str, text: &str) -> Result<Vec<Token>, LabError> {
    let bad = |at: &str| {
        LabError::Usage(format!(
            "{what} \"{text}\": invalid variable at \"{at}\", expected $name or ${{name}}"
        ))
    };
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        if !before.is_empty() {
            tokens.push(Token::Text(before.to_string()));
        }
        let braced = after.strip_prefix('{');
        let inner = braced.unwrap_or(after);
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, left) = inner.split_at(end.unwrap_or(inner.len()));
        if name.is_empty() {
            return Err(bad(&format!("${after}")));
        }
        rest = match braced {
            Some(_) => left.strip_prefix('}').ok_or_else(|| bad(&format!("${after}")))?,
            None => left,
        };
        tokens.push(Token::Variable(name.to_string()));
    }
    if !rest.is_empty() {
        tokens.push(Token::Text(rest.to_string()));
    }
    Ok(tokens)
}

/// A `log_format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    lead: String,
    fields: Vec<Field>,
}

/// A variable with the text that ends it. Variables without any text between them are one field.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    names: Vec<String>,
    after: String,
}

impl LogFormat {
    /// Parses a format string, or one of the names `combined` and `common`.
    ///
    /// # Errors
    ///
    /// A malformed variable, or no variable at all.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let text = match text {
            "combined" => COMBINED,
            "common" => COMMON,
            text => text,
        };
        let mut format = Self { lead: String::new(), fields: Vec::new() };
        for token in tokens("--log-format", text)? {
            match (token, format.fields.last_mut()) {
                (Token::Text(text), None) => format.lead = text,
                (Token::Text(text), Some(field)) => field.after = text,
                (Token::Variable(name), Some(field)) if field.after.is_empty() => {
                    field.names.push(name);
                }
                (Token::Variable(name), _) => {
                    format.fields.push(Field { names: vec![name], after: String::new() });
                }
            }
        }
        if format.fields.is_empty() {
            return Err(LabError::Usage(format!(
                "--log-format \"{text}\": no variable in it; expected combined, common, or a \
                 format such as '$remote_addr [$time_local] \"$request\"'"
            )));
        }
        Ok(format)
    }

    /// Whether the format has the variable.
    pub fn has(&self, name: &str) -> bool {
        self.variables().any(|variable| variable == name)
    }

    /// All variables of the format in its order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().flat_map(|field| field.names.iter().map(String::as_str))
    }

    /// A splitter that keeps the values of the named variables, in their order.
    ///
    /// # Errors
    ///
    /// A variable whose end cannot be told because another one follows at once.
    pub(super) fn splitter(&self, wanted: &[String]) -> Result<Splitter, LabError> {
        let mut steps = Vec::new();
        for field in &self.fields {
            let slot = wanted.iter().position(|name| field.names.contains(name));
            if let (Some(_), [first, second, ..]) = (slot, field.names.as_slice()) {
                return Err(LabError::Usage(format!(
                    "--log-format: nothing stands between ${first} and ${second}, so that \
                     neither can be told from the line"
                )));
            }
            steps.push(Step { after: field.after.clone().into_bytes(), slot });
        }
        Ok(Splitter { lead: self.lead.clone().into_bytes(), steps })
    }

    /// What is missing in a line that a splitter gave up at this step.
    pub(super) fn explain(&self, step: Option<usize>) -> String {
        match step.and_then(|step| self.fields.get(step)) {
            None => format!("the line does not begin with {:?}", self.lead),
            Some(field) => {
                format!("${} is not followed by {:?}", field.names.join("$"), field.after)
            }
        }
    }
}

/// Where a value stands in its line: from, to.
pub(super) type Span = (usize, usize);

/// Cuts lines of one format.
#[derive(Clone, Debug)]
pub(super) struct Splitter {
    lead: Vec<u8>,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    after: Vec<u8>,
    slot: Option<usize>,
}

impl Splitter {
    /// Notes where each wanted value stands.
    ///
    /// # Errors
    ///
    /// The step whose text is missing; `None` for the text that begins the line.
    pub(super) fn split(
        &self,
        line: &[u8],
        spans: &mut [Option<Span>],
    ) -> Result<(), Option<usize>> {
        if !line.starts_with(&self.lead) {
            return Err(None);
        }
        let mut at = self.lead.len();
        for (number, step) in self.steps.iter().enumerate() {
            let rest = line.get(at..).unwrap_or_default();
            let length = match step.after.as_slice() {
                [] => rest.len(),
                after => find(rest, after).ok_or(Some(number))?,
            };
            if let Some(span) = step.slot.and_then(|slot| spans.get_mut(slot)) {
                *span = Some((at, at + length));
            }
            at += length + step.after.len();
        }
        Ok(())
    }
}

/// Where the needle begins. Needles of a format are a few bytes long and their first byte is rare
/// inside values, which makes this faster than a general search.
fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    memchr_iter(first, hay)
        .find(|&at| hay.get(at..).is_some_and(|candidate| candidate.starts_with(needle)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(format: &str, wanted: &[&str], line: &str) -> Option<Vec<String>> {
        let wanted: Vec<String> = wanted.iter().map(|name| name.to_string()).collect();
        let splitter = LogFormat::parse(format).unwrap().splitter(&wanted).unwrap();
        let mut spans = vec![None; wanted.len()];
        splitter.split(line.as_bytes(), &mut spans).ok()?;
        spans.iter().map(|span| span.map(|(from, to)| line[from..to].to_string())).collect()
    }

    #[test]
    fn lines_are_cut_at_the_format_s_text() {
        let line =
            r#"::1 - bob [14/Nov/2023:22:13:20 +0000] "GET /a\x22b HTTP/1.1" 200 5 "-" "x y""#;
        let wanted = ["remote_addr", "remote_user", "request", "status", "http_user_agent"];
        let values = ["::1", "bob", r"GET /a\x22b HTTP/1.1", "200", "x y"];
        assert_eq!(cut("combined", &wanted, line).unwrap(), values);
        assert_eq!(cut("common", &wanted[..4], line).unwrap(), values[..4]);
        assert_eq!(cut("combined", &wanted[..4], &line[..60]), None);
        assert_eq!(cut("t=${a}s $b", &["a", "b"], "t=1s 2 3").unwrap(), ["1", "2 3"]);
        assert_eq!(cut("t=${a}s $b", &["a"], "1s 2"), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (format, why) in [
            ("$", "invalid variable at \"$\""),
            ("a ${b", "invalid variable at \"${b\""),
            ("$a $-", "invalid variable at \"$-\""),
            ("plain", "no variable in it"),
        ] {
            let error = LogFormat::parse(format).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let format = LogFormat::parse("$a$b $c").unwrap();
        assert!(format.splitter(&["c".to_string()]).is_ok());
        let error = format.splitter(&["b".to_string()]).unwrap_err().to_string();
        assert!(error.contains("between $a and $b"), "{error}");
        assert_eq!(format.explain(Some(0)), "$a$b is not followed by \" \"");
    }
}
