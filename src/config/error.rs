//! What can be wrong with a directive. Each message quotes the argument as it was written.

use std::fmt;

use super::{AlgorithmName, Unusable};

/// A directive that nginx must refuse to start with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError<'a> {
    /// An argument that the directive does not know.
    Parameter(&'a [u8]),
    /// A rate that is no positive number of requests in a period.
    Rate(&'a [u8]),
    /// A rate that the arithmetic cannot hold, with the largest number it can.
    RateTooHigh(&'a [u8], u64),
    /// An algorithm that there is not.
    Algorithm(&'a [u8]),
    /// Something for a full zone to do that there is not.
    Full(&'a [u8]),
    /// A rate with which the algorithm cannot compute.
    Unusable(&'a [u8], AlgorithmName, Unusable),
    /// A burst that is no positive number.
    Burst(&'a [u8]),
    /// A burst that the arithmetic cannot hold, with the largest number it can.
    BurstTooHigh(&'a [u8], u64),
    /// A delay that is no positive number.
    Delay(&'a [u8]),
    /// A delay that the arithmetic cannot hold, with the largest number it can.
    DelayTooHigh(&'a [u8], u64),
    /// A zone without a size, or with one that is no size.
    ZoneSize(&'a [u8]),
    /// A zone below the eight pages that nginx's own allocator needs.
    ZoneTooSmall(&'a [u8]),
    /// No `zone=` at all. Holds the directive's name.
    NoZone(&'a [u8]),
    /// A zone that is declared already.
    Bound {
        /// The directive's name.
        directive: &'a [u8],
        /// The zone's.
        zone: &'a [u8],
        /// The key of the declaration before.
        key: &'a [u8],
    },
}

impl fmt::Display for ConfigError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Parameter(value) => write!(f, "invalid parameter \"{}\"", Text(value)),
            Self::Rate(value) => write!(f, "invalid rate \"{}\"", Text(value)),
            Self::RateTooHigh(value, most) => {
                write!(f, "invalid rate \"{}\", at most {most} requests", Text(value))
            }
            Self::Algorithm(value) => {
                write!(f, "invalid algorithm \"{}\", one of ", Text(value))?;
                let names = AlgorithmName::ALL.map(AlgorithmName::name);
                f.write_str(&names.join(", "))
            }
            Self::Full(value) => {
                write!(f, "invalid full value \"{}\", one of evict, reject, pass", Text(value))
            }
            Self::Unusable(value, algorithm, why) => {
                write!(f, "invalid rate \"{}\": \"{algorithm}\" {why}", Text(value))
            }
            Self::Burst(value) => write!(f, "invalid burst value \"{}\"", Text(value)),
            Self::BurstTooHigh(value, most) => {
                write!(f, "invalid burst value \"{}\", at most {most}", Text(value))
            }
            Self::Delay(value) => write!(f, "invalid delay value \"{}\"", Text(value)),
            Self::DelayTooHigh(value, most) => {
                write!(f, "invalid delay value \"{}\", at most {most}", Text(value))
            }
            Self::ZoneSize(value) => write!(f, "invalid zone size \"{}\"", Text(value)),
            Self::ZoneTooSmall(value) => write!(f, "zone \"{}\" is too small", Text(value)),
            Self::NoZone(directive) => {
                write!(f, "\"{}\" must have \"zone\" parameter", Text(directive))
            }
            Self::Bound { directive, zone, key } => {
                let (directive, zone, key) = (Text(directive), Text(zone), Text(key));
                write!(f, "{directive} \"{zone}\" is already bound to key \"{key}\"")
            }
        }
    }
}

impl std::error::Error for ConfigError<'_> {}

/// Bytes of a configuration file, which need not be UTF-8.
struct Text<'a>(&'a [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            write!(f, "{}", chunk.invalid().escape_ascii())?;
        }
        Ok(())
    }
}
