//! A limit to look at: an algorithm with the words that `rl_zone` and `rl_req` would have.
//!
//! The words are parsed by [`crate::config`], so that a limit that works here works in nginx and
//! the other way round.

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
    /// Parses `ALGORITHM rate=R [burst=N] [nodelay | delay=N]`.
    ///
    /// # Errors
    ///
    /// The missing algorithm, or what [`Self::of`] finds wrong with the words.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let mut words = text.split_ascii_whitespace();
        let name = words.next().filter(|word| !word.contains('=')).ok_or_else(|| {
            let example = "leaky rate=10r/s burst=20";
            usage(format!("the name of an algorithm comes first, as in \"{example}\""))
        })?;
        let algorithm = AlgorithmName::of(name.as_bytes())
            .ok_or_else(|| usage(ConfigError::Algorithm(name.as_bytes())))?;
        Self::of(algorithm, words)
    }

    /// An algorithm with the words of its directives (`rate=5r/10s`, `burst=4`, `nodelay`), in any
    /// order.
    ///
    /// # Errors
    ///
    /// What nginx would say of the same words when it starts; no rate, or two.
    pub fn of<'a>(
        algorithm: AlgorithmName,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, LabError> {
        let (rates, words): (Vec<_>, Vec<_>) =
            words.into_iter().partition(|word| word.starts_with("rate="));
        let [rate] = rates[..] else {
            return Err(usage("exactly one \"rate=\" parameter is needed"));
        };
        let parsed = Rate::parse(rate.as_bytes()).map_err(usage)?;
        let zone = ZoneRule::new(algorithm, parsed)
            .map_err(|why| usage(ConfigError::Unusable(rate.as_bytes(), algorithm, why)))?;
        let LimitArgs { burst, delay, .. } = parse_words(&words)?;
        let rule = zone.rule(burst, delay, burst.unwrap_or(0)).map_err(usage)?;
        Ok(Self { zone, burst, delay, rule })
    }

    /// What `rl_req` has behind its zone, each word with a blank before it.
    pub fn words(&self) -> String {
        let burst = self.burst.map(|burst| format!(" burst={burst}"));
        let delay = self.delay.map(|delay| format!(" {delay}"));
        burst.into_iter().chain(delay).collect()
    }
}

/// What `rl_req` would have, without the zone: that is what the directive cannot do without and
/// what a laboratory does not have.
///
/// # Errors
///
/// The first word that is not understood.
pub fn parse_words<'a>(words: &[&'a str]) -> Result<LimitArgs<'a>, LabError> {
    if let Some(zone) = words.iter().find(|word| word.starts_with("zone=")) {
        return Err(usage(ConfigError::Parameter(zone.as_bytes())));
    }
    let arguments = std::iter::once(&b"zone="[..]).chain(words.iter().map(|word| word.as_bytes()));
    LimitArgs::parse(b"rl_req", arguments).map_err(usage)
}

fn usage(why: impl fmt::Display) -> LabError {
    LabError::Usage(why.to_string())
}

/// As it would be written in a configuration.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rate={}{}", self.zone.algorithm(), self.zone.rate(), self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_written_as_a_configuration_would() {
        for (text, written) in [
            ("leaky rate=10r/s", "leaky rate=10r/s"),
            ("gcra rate=7r/m burst=20 nodelay", "gcra rate=7r/m burst=20 nodelay"),
            ("  leaky   burst=5 rate=2r/m ", "leaky rate=2r/m burst=5"),
            ("token_bucket rate=1 delay=3", "token_bucket rate=1r/s delay=3"),
            ("swc rate=5r/60s", "sliding_window rate=5r/m"),
        ] {
            let setting = Setting::parse(text).unwrap();
            assert_eq!(setting.to_string(), written);
            assert_eq!(Setting::parse(written).unwrap(), setting);
        }
    }

    #[test]
    fn errors_are_those_of_the_configuration() {
        for (text, why) in [
            ("", "the name of an algorithm comes first, as in \"leaky rate=10r/s burst=20\""),
            ("rate=1r/s", "the name of an algorithm comes first"),
            ("leeky rate=1r/s", "invalid algorithm \"leeky\", one of leaky, gcra, "),
            ("leaky", "exactly one \"rate=\" parameter is needed"),
            ("leaky rate=1 rate=2", "exactly one \"rate=\" parameter is needed"),
            ("leaky rate=x", "invalid rate \"rate=x\""),
            ("leaky rate=1r/d", "invalid rate \"rate=1r/d\": \"leaky\" computes in 1/1000"),
            ("leaky rate=1 burst=-1", "invalid burst value \"burst=-1\""),
            ("leaky rate=1 zone=a", "invalid parameter \"zone=a\""),
            ("leaky rate=1 brust=1", "invalid parameter \"brust=1\""),
            ("sliding_log rate=1r/s burst=1", "\"burst=1\" means nothing to \"sliding_log\""),
            ("leaky_queue rate=1r/s nodelay", "\"nodelay\" means nothing to \"leaky_queue\""),
        ] {
            let error = Setting::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }
}
