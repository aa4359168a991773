//! Rates: how many requests in how long.

use super::number::{parse_positive, NotPositive};
use super::ConfigError;
use crate::limit::Milli;

/// Requests in a period, kept as a pair until the last division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    requests: u64,
    period_s: u64,
}

impl Rate {
    /// The largest number of requests: a thousand times it fits nginx's signed word.
    pub const MOST_REQUESTS: u64 = i64::MAX.cast_unsigned() / 1000;

    /// What nginx takes where no rate is written: one request a second.
    pub const DEFAULT: Self = Self { requests: 1, period_s: 1 };

    /// Parses the argument `rate=N`, `rate=Nr/s` or `rate=Nr/m`; a bare number is per second.
    ///
    /// # Errors
    ///
    /// Zero, anything but digits, and a rate above [`Self::MOST_REQUESTS`] (where nginx wraps).
    pub fn parse(argument: &[u8]) -> Result<Self, ConfigError<'_>> {
        let value = argument.strip_prefix(b"rate=").unwrap_or(argument);
        let (digits, period_s) = if let Some(digits) = value.strip_suffix(b"r/s") {
            (digits, 1)
        } else if let Some(digits) = value.strip_suffix(b"r/m") {
            (digits, 60)
        } else {
            (value, 1)
        };
        match parse_positive(digits, Self::MOST_REQUESTS) {
            Ok(requests) => Ok(Self { requests, period_s }),
            Err(NotPositive::Malformed) => Err(ConfigError::Rate(argument)),
            Err(NotPositive::TooHigh) => {
                Err(ConfigError::RateTooHigh(argument, Self::MOST_REQUESTS))
            }
        }
    }

    /// How many requests in [`Self::period_ms`]. At least 1.
    pub fn requests(self) -> u64 {
        self.requests
    }

    /// The period that the requests are counted in, in milliseconds. At least 1.
    pub fn period_ms(self) -> u64 {
        self.period_s * 1000
    }

    /// The rate in 1/1000 request a second, rounded down as nginx does: `1r/m` is 16.
    ///
    /// At least 16, since `1r/m` is the lowest rate that can be written.
    pub fn milli_per_second(self) -> Milli {
        self.requests * 1000 / self.period_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_truncated_as_in_nginx() {
        for (text, milli) in [
            ("rate=10", 10_000),
            ("rate=10r/s", 10_000),
            ("rate=1r/m", 16),
            ("rate=7r/m", 116),
            ("rate=60r/m", 1000),
            ("rate=9223372036854775r/s", 9_223_372_036_854_775_000),
        ] {
            assert_eq!(
                Rate::parse(text.as_bytes()).map(Rate::milli_per_second),
                Ok(milli),
                "{text:?}"
            );
        }
    }

    #[test]
    fn bad_rates_are_quoted() {
        for text in ["rate=", "rate=0", "rate=0r/s", "rate=-1", "rate=r/s", "rate=1r/h", "rate=1.5"]
        {
            let error = Rate::parse(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(error, format!("invalid rate \"{text}\""));
        }
        for text in ["rate=9223372036854776", "rate=99999999999999999999r/m"] {
            let error = Rate::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid rate \"{text}\", at most")), "{error}");
        }
    }
}
