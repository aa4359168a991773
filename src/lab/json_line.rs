//! Fields of a JSON log: one object a line, of which only the wanted fields are kept.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::log_format::Span;

/// Copies the wanted fields of an object into `buffer` and notes where each one stands there.
///
/// Numbers and booleans become their text, `null` becomes an empty one.
///
/// # Errors
///
/// Anything but an object, or a wanted field that is itself an object or array.
pub(super) fn read_fields(
    line: &[u8],
    wanted: &[String],
    spans: &mut [Option<Span>],
    buffer: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    buffer.clear();
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    deserializer.deserialize_map(Object { wanted, spans, buffer })?;
    deserializer.end()
}

struct Object<'a> {
    wanted: &'a [String],
    spans: &'a mut [Option<Span>],
    buffer: &'a mut Vec<u8>,
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(slot) = map.next_key_seed(Name(self.wanted))? {
            let Some(slot) = slot else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let from = self.buffer.len();
            map.next_value_seed(Text(self.buffer))?;
            if let Some(span) = self.spans.get_mut(slot) {
                *span = Some((from, self.buffer.len()));
            }
        }
        Ok(())
    }
}

/// A field's name to its place among the wanted ones.
struct Name<'a>(&'a [String]);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|wanted| wanted == name))
    }
}

/// A value, appended as text.
struct Text<'a>(&'a mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Text<'_> {
    fn append(self, value: impl fmt::Display) {
        self.0.extend_from_slice(value.to_string().as_bytes());
    }
}

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.0.extend_from_slice(value.as_bytes());
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.append(value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.append(value);
        Ok(())
    }

    // The shortest text that reads back as the same number: `$msec` keeps its three decimals.
    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.append(value);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.append(value);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str, wanted: &[&str]) -> Option<Vec<Option<String>>> {
        let wanted: Vec<String> = wanted.iter().map(|name| name.to_string()).collect();
        let (mut spans, mut buffer) = (vec![None; wanted.len()], Vec::new());
        read_fields(line.as_bytes(), &wanted, &mut spans, &mut buffer).ok()?;
        let text = |(from, to)| String::from_utf8(buffer[from..to].to_vec()).unwrap();
        Some(spans.into_iter().map(|span| span.map(text)).collect())
    }

    #[test]
    fn wanted_fields_become_text() {
        let line = r#"{"a":"x\"\u00e9","b":[1,{"c":2}],"msec":1700000000.123,"n":7,"z":null}"#;
        let values = fields(line, &["msec", "a", "n", "z", "none"]).unwrap();
        let text = |value: &str| Some(value.to_string());
        assert_eq!(values, [text("1700000000.123"), text("x\"é"), text("7"), text(""), None]);
        assert_eq!(fields(line, &["b"]), None);
        for bad in ["", "[1]", "{", "{\"a\":1} x"] {
            assert_eq!(fields(bad, &["a"]), None, "{bad}");
        }
    }
}
