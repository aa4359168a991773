//! `rl_req zone=name [burst=number] [nodelay | delay=number];`

use std::fmt;

use super::number::{parse_positive, NotPositive};
use super::ConfigError;
use crate::limit::{Thousandths, REQUEST};

/// The arguments of `rl_req`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitArgs<'a> {
    /// Name of the zone. May be empty: nginx finds no such zone then.
    pub zone: &'a [u8],
    /// Requests that may be ahead of schedule, if written.
    pub burst: Option<u64>,
    /// How many of them are not held back, if written.
    pub delay: Option<Delay>,
}

/// From which request on an admitted one is held back until it is on schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// From the one after this many.
    After(u64),
    /// Never (`nodelay`).
    Never,
}

impl Delay {
    /// How many requests may be ahead of schedule without being held.
    pub fn requests(self) -> u64 {
        match self {
            Self::After(requests) => requests,
            Self::Never => u64::MAX,
        }
    }

    /// The same in 1/1000 request.
    pub fn thousandths(self) -> Thousandths {
        self.requests().saturating_mul(REQUEST)
    }
}

/// As it can be written in a configuration.
impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(requests) => write!(f, "delay={requests}"),
            Self::Never => f.write_str("nodelay"),
        }
    }
}

impl<'a> LimitArgs<'a> {
    /// The largest burst: its excess times 1000, which a wait is computed from, fits nginx's
    /// signed word with a request to spare.
    pub const MOST_BURST: u64 = i64::MAX.cast_unsigned() / 1_000_000 - 1;

    /// The largest `delay=`: a thousand times it fits nginx's signed word.
    pub const MOST_DELAY: u64 = i64::MAX.cast_unsigned() / 1000;

    /// Parses the arguments, in any order; the later of `nodelay` and `delay=` counts.
    ///
    /// # Errors
    ///
    /// The first argument that is not understood, or the missing `zone=`.
    pub fn parse(
        directive: &'a [u8],
        arguments: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, ConfigError<'a>> {
        let mut zone = None;
        let mut burst = None;
        let mut delay = None;
        for argument in arguments {
            if let Some(name) = argument.strip_prefix(b"zone=") {
                zone = Some(name);
            } else if let Some(value) = argument.strip_prefix(b"burst=") {
                burst = Some(parse_burst(argument, value)?);
            } else if let Some(value) = argument.strip_prefix(b"delay=") {
                delay = Some(parse_delay(argument, value)?);
            } else if argument == b"nodelay" {
                delay = Some(Delay::Never);
            } else {
                return Err(ConfigError::Parameter(argument));
            }
        }
        let zone = zone.ok_or(ConfigError::NoZone(directive))?;
        Ok(Self { zone, burst, delay })
    }
}

fn parse_burst<'a>(argument: &'a [u8], value: &'a [u8]) -> Result<u64, ConfigError<'a>> {
    let most = LimitArgs::MOST_BURST;
    parse_positive(value, most).map_err(|why| match why {
        NotPositive::Malformed => ConfigError::Burst(argument),
        NotPositive::TooHigh => ConfigError::BurstTooHigh(argument, most),
    })
}

fn parse_delay<'a>(argument: &'a [u8], value: &'a [u8]) -> Result<Delay, ConfigError<'a>> {
    let most = LimitArgs::MOST_DELAY;
    parse_positive(value, most).map(Delay::After).map_err(|why| match why {
        NotPositive::Malformed => ConfigError::Delay(argument),
        NotPositive::TooHigh => ConfigError::DelayTooHigh(argument, most),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<'a>(arguments: &[&'a str]) -> Result<LimitArgs<'a>, String> {
        LimitArgs::parse(b"rl_req", arguments.iter().map(|a| a.as_bytes()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_later_of_nodelay_and_delay_counts() {
        let limit = |delay| Ok(LimitArgs { zone: b"z", burst: Some(5), delay });
        assert_eq!(parse(&["zone=z", "burst=5"]), limit(None));
        assert_eq!(parse(&["burst=5", "nodelay", "zone=z"]), limit(Some(Delay::Never)));
        assert_eq!(parse(&["zone=z", "burst=5", "delay=3", "nodelay"]), limit(Some(Delay::Never)));
        assert_eq!(
            parse(&["zone=z", "burst=5", "nodelay", "delay=3"]),
            limit(Some(Delay::After(3)))
        );
    }

    #[test]
    fn errors_quote_the_argument() {
        for (arguments, message) in [
            (&["burst=5"][..], "\"rl_req\" must have \"zone\" parameter"),
            (&["zone=z", "burst=0"], "invalid burst value \"burst=0\""),
            (&["zone=z", "burst="], "invalid burst value \"burst=\""),
            (&["zone=z", "burst=-1"], "invalid burst value \"burst=-1\""),
            (&["zone=z", "delay=0"], "invalid delay value \"delay=0\""),
            (&["zone=z", "delay=x"], "invalid delay value \"delay=x\""),
            (&["zone=z", "nodelay=1"], "invalid parameter \"nodelay=1\""),
            (&["zone=z", "brust=1"], "invalid parameter \"brust=1\""),
            (
                &["zone=z", "burst=9223372036854"],
                "invalid burst value \"burst=9223372036854\", at most 9223372036853",
            ),
            (
                &["zone=z", "delay=9223372036854776"],
                "invalid delay value \"delay=9223372036854776\", at most 9223372036854775",
            ),
        ] {
            assert_eq!(parse(arguments), Err(message.to_string()), "{arguments:?}");
        }
        assert!(parse(&["zone=z", "burst=9223372036853", "delay=9223372036854775"]).is_ok());
    }
}
