//! A limit to look at: an algorithm with the words that `rl_zone` and `rl_req` would have.

use std::fmt;

use super::error::LabError;
use crate::config::{AlgorithmName, ConfigError, Delay, LimitArgs, Rate, ZoneRule};
use crate::limit::Rule;

/// A limit whose algorithm can use all of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Algorithm and rate.
    pub zone: ZoneRule,
    /// The burst, if written.
    pub burst: Option<u64>,
    /// The delay, if written.
    pub delay: Option<Delay>,
    /// What decides.
    pub rule: Rule,
}

impl Setting {
    /// An algorithm at a rate (`rate=5r/10s`) with the words of a directive (`burst=4`, `nodelay`).
    ///
    /// # Errors
    ///
    /// What nginx would say of the same words when it starts.
    pub fn parse(algorithm: AlgorithmName, rate: &str, words: &[&str]) -> Result<Self, LabError> {
        let usage = |why: &dyn fmt::Display| LabError::Usage(why.to_string());
        let parsed = Rate::parse(rate.as_bytes()).map_err(|why| usage(&why))?;
        let zone = ZoneRule::new(algorithm, parsed)
            .map_err(|why| usage(&ConfigError::Unusable(rate.as_bytes(), algorithm, why)))?;
        // A zone is what the directive cannot do without and what a laboratory does not have.
        let words = std::iter::once(&b"zone="[..]).chain(words.iter().map(|word| word.as_bytes()));
        let limit = LimitArgs::parse(b"rl_req", words).map_err(|why| usage(&why))?;
        let LimitArgs { burst, delay, .. } = limit;
        let rule = zone.rule(burst, delay, burst.unwrap_or(0)).map_err(|why| usage(&why))?;
        Ok(Self { zone, burst, delay, rule })
    }
}

/// As it would be written in a configuration.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rate={}", self.zone.algorithm(), self.zone.rate())?;
        if let Some(burst) = self.burst {
            write!(f, " burst={burst}")?;
        }
        match self.delay {
            Some(delay) => write!(f, " {delay}"),
            None => Ok(()),
        }
    }
}
