//! Rates: how many requests in how long.

use std::fmt;

use super::number::{parse_positive, NotPositive};
use super::time::{parse_time_ms, DAY_MS, MINUTE_MS, SECOND_MS};
use super::ConfigError;
use crate::limit::{Thousandths, NS_PER_MS, REQUEST};

/// Requests in a period, kept as a pair until the last division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    requests: u64,
    period_ms: u64,
}

/// Periods that have a letter of their own, in milliseconds.
const LETTERS: [(u8, u64); 5] = [
    (b's', SECOND_MS),
    (b'm', MINUTE_MS),
    (b'h', 60 * MINUTE_MS),
    (b'd', DAY_MS),
    (b'w', 7 * DAY_MS),
];

impl Rate {
    /// The largest number of requests: a thousand times it fits nginx's signed word.
    pub const MOST_REQUESTS: u64 = i64::MAX.cast_unsigned() / 1000;

    /// What nginx takes where no rate is written: one request a second.
    pub const DEFAULT: Self = Self { requests: 1, period_ms: SECOND_MS };

    /// Parses the argument `rate=N`, `rate=Nr/s` (or `m`, `h`, `d`, `w`) or `rate=Nr/TIME`, where
    /// a time is written as in nginx's own directives (`10s`, `500ms`); a bare number is per second.
    ///
    /// # Errors
    ///
    /// Zero, anything but digits, a period that is no time, and a rate above
    /// [`Self::MOST_REQUESTS`] (where nginx wraps).
    pub fn parse(argument: &[u8]) -> Result<Self, ConfigError<'_>> {
        let value = argument.strip_prefix(b"rate=").unwrap_or(argument);
        let (digits, period_ms) = match value.windows(2).position(|two| two == b"r/") {
            None => (value, Some(SECOND_MS)),
            Some(place) => {
                let (digits, period) = value.split_at(place);
                (digits, parse_period_ms(period.get(2..).unwrap_or_default()))
            }
        };
        let period_ms = period_ms.ok_or(ConfigError::Rate(argument))?;
        match parse_positive(digits, Self::MOST_REQUESTS) {
            Ok(requests) => Ok(Self { requests, period_ms }),
            Err(NotPositive::Malformed) => Err(ConfigError::Rate(argument)),
            Err(NotPositive::TooHigh) => {
                Err(ConfigError::RateTooHigh(argument, Self::MOST_REQUESTS))
            }
        }
    }

    /// Requests in a period.
    pub fn requests(self) -> u64 {
        self.requests
    }

    /// The period in milliseconds.
    pub fn period_ms(self) -> u64 {
        self.period_ms
    }

    /// The period in nanoseconds.
    pub(super) fn period_ns(self) -> u128 {
        u128::from(self.period_ms) * u128::from(NS_PER_MS)
    }

    /// The rate in 1/1000 request a second, rounded down as nginx does: `1r/m` is 16.
    pub fn milli_per_second(self) -> Thousandths {
        let (thousandths, _) = self.thousandths_and_rest();
        thousandths
    }

    /// Whether [`Self::milli_per_second`] is less than what is written.
    pub(super) fn is_truncated(self) -> bool {
        let (_, rest) = self.thousandths_and_rest();
        rest > 0
    }

    fn thousandths_and_rest(self) -> (Thousandths, u128) {
        let product = u128::from(self.requests) * u128::from(REQUEST * SECOND_MS);
        let period_ms = u128::from(self.period_ms.max(1));
        (u64::try_from(product / period_ms).unwrap_or(u64::MAX), product % period_ms)
    }
}

/// A letter of its own, or a time of nginx's.
fn parse_period_ms(period: &[u8]) -> Option<u64> {
    let letter = LETTERS.iter().find(|(letter, _)| period == [*letter]);
    letter.map(|(_, ms)| *ms).or_else(|| parse_time_ms(period))
}

/// As it can be written in a configuration.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, period_ms } = *self;
        match LETTERS.iter().rev().find(|(_, ms)| period_ms % ms == 0) {
            Some((letter, ms)) if period_ms == *ms => {
                write!(f, "{requests}r/{}", char::from(*letter))
            }
            Some((letter, ms)) => {
                write!(f, "{requests}r/{}{}", period_ms / ms, char::from(*letter))
            }
            None => write!(f, "{requests}r/{period_ms}ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Rate, String> {
        Rate::parse(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn rates_are_truncated_as_in_nginx() {
        for (text, milli) in [
            ("rate=10", 10_000),
            ("rate=10r/s", 10_000),
            ("rate=1r/m", 16),
            ("rate=7r/m", 116),
            ("rate=60r/m", 1000),
            ("rate=9223372036854775r/s", 9_223_372_036_854_775_000),
            ("rate=9223372036854775r/1ms", u64::MAX),
            ("rate=1r/h", 0),
            ("rate=5r/10s", 500),
            ("rate=2r/500ms", 4000),
        ] {
            assert_eq!(parse(text).map(Rate::milli_per_second), Ok(milli), "{text:?}");
        }
    }

    #[test]
    fn periods_are_letters_or_times() {
        for (text, requests, period_ms, written) in [
            ("rate=1r/h", 1, 3_600_000, "1r/h"),
            ("rate=1r/d", 1, 86_400_000, "1r/d"),
            ("rate=1r/w", 1, 604_800_000, "1r/w"),
            ("rate=5r/10s", 5, 10_000, "5r/10s"),
            ("rate=5r/10", 5, 10_000, "5r/10s"),
            ("rate=5r/60s", 5, 60_000, "5r/m"),
            ("rate=2r/500ms", 2, 500, "2r/500ms"),
            ("rate=9r/1h30m", 9, 5_400_000, "9r/90m"),
            ("rate=3", 3, 1000, "3r/s"),
        ] {
            let rate = parse(text).unwrap();
            assert_eq!(rate, Rate { requests, period_ms }, "{text:?}");
            assert_eq!(rate.to_string(), written);
            assert_eq!(parse(written), Ok(rate));
        }
    }

    #[test]
    fn bad_rates_are_quoted() {
        for text in [
            "rate=",
            "rate=0",
            "rate=0r/s",
            "rate=-1",
            "rate=r/s",
            "rate=1.5",
            "rate=1r/",
            "rate=1r/x",
            "rate=1r/0s",
            "rate=1r/-1s",
            "rate=1r/ss",
            "rate=1/s",
            "rate=1r/sr/s",
            "rate=1r/9223372036854775807w",
        ] {
            assert_eq!(parse(text), Err(format!("invalid rate \"{text}\"")));
        }
        for text in ["rate=9223372036854776", "rate=99999999999999999999r/m"] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(&format!("invalid rate \"{text}\", at most")), "{error}");
        }
    }
}
