//! One `--limit`: an algorithm's name and the parameters that `rl_zone` and `rl_req` would have.
//!
//! The parameters are parsed by [`crate::config`], so that a limit that works here works in
//! nginx and the other way round. What an algorithm can use is decided by [`super::limiter`].

use std::fmt;

use super::error::LabError;
use crate::config::{Delay, LimitArgs, Rate};

/// A limit as it was written on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSpec {
    /// The name of the algorithm, not yet looked up.
    pub algorithm: String,
    /// The rate.
    pub rate: Rate,
    /// The rate as it was written, without `rate=`.
    pub rate_text: String,
    /// Requests that may be ahead of schedule, if written.
    pub burst: Option<u64>,
    /// How many of them are not held back, if written.
    pub delay: Option<Delay>,
}

impl LimitSpec {
    /// Parses `ALGORITHM rate=R [burst=N] [nodelay | delay=N]`.
    ///
    /// # Errors
    ///
    /// The missing algorithm or rate, or the first parameter that is not understood, quoted.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let usage = |why: String| LabError::Usage(format!("--limit \"{text}\": {why}"));
        let mut words = text.split_ascii_whitespace();
        let algorithm = match words.next() {
            Some(word) if !word.contains('=') => word.to_string(),
            _ => {
                return Err(usage(
                    "the name of an algorithm comes first, as in \
                                  \"leaky rate=10r/s burst=20\""
                        .to_string(),
                ))
            }
        };
        let (rates, rest): (Vec<_>, Vec<_>) = words.partition(|word| word.starts_with("rate="));
        let [rate_argument] = rates[..] else {
            return Err(usage("exactly one \"rate=\" parameter is needed".to_string()));
        };
        if let Some(zone) = rest.iter().find(|word| word.starts_with("zone=")) {
            return Err(usage(format!("invalid parameter \"{zone}\"")));
        }
        let rate = Rate::parse(rate_argument.as_bytes()).map_err(|why| usage(why.to_string()))?;
        // A zone is what `rl_req` cannot do without and what a replay does not have.
        let arguments = std::iter::once(&b"zone="[..]).chain(rest.iter().map(|w| w.as_bytes()));
        let limit =
            LimitArgs::parse(b"--limit", arguments).map_err(|why| usage(why.to_string()))?;
        Ok(Self {
            algorithm,
            rate,
            rate_text: rate_argument.trim_start_matches("rate=").to_string(),
            burst: limit.burst,
            delay: limit.delay,
        })
    }
}

impl fmt::Display for LimitSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rate={}", self.algorithm, self.rate_text)?;
        if let Some(burst) = self.burst {
            write!(f, " burst={burst}")?;
        }
        match self.delay {
            Some(delay) => write!(f, " {delay}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_written_as_it_is_read() {
        for text in ["leaky rate=10r/s", "gcra rate=7r/m burst=20 nodelay", "x rate=1 delay=3"] {
            assert_eq!(LimitSpec::parse(text).unwrap().to_string(), text);
        }
        let spec = LimitSpec::parse("  leaky   burst=5 rate=2r/m ").unwrap();
        assert_eq!(spec.to_string(), "leaky rate=2r/m burst=5");
        assert_eq!((spec.rate.requests(), spec.rate.period_ms()), (2, 60_000));
    }

    #[test]
    fn errors_name_the_parameter() {
        for (text, why) in [
            ("", "the name of an algorithm comes first, as in \"leaky rate=10r/s burst=20\""),
            (
                "rate=1r/s",
                "the name of an algorithm comes first, as in \"leaky rate=10r/s burst=20\"",
            ),
            ("leaky", "exactly one \"rate=\" parameter is needed"),
            ("leaky rate=1 rate=2", "exactly one \"rate=\" parameter is needed"),
            ("leaky rate=x", "invalid rate \"rate=x\""),
            ("leaky rate=1 burst=-1", "invalid burst value \"burst=-1\""),
            ("leaky rate=1 zone=a", "invalid parameter \"zone=a\""),
            ("leaky rate=1 brust=1", "invalid parameter \"brust=1\""),
        ] {
            let error = LimitSpec::parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("--limit \"{text}\": {why}"));
        }
    }
}
