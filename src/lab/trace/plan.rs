//! What is to be traced: times and limits, from the command line.

use super::Args;
use crate::config::{AlgorithmName, ConfigError, Rate};
use crate::lab::error::LabError;
use crate::lab::setting::{parse_words, Setting};

/// The common stream: a cluster before the edge of a window of 10 s and one behind it.
const COMMON_MS: [u64; 12] =
    [2000, 7000, 8000, 9000, 9500, 9800, 10_100, 10_400, 10_700, 11_200, 15_000, 19_500];

/// Five in ten seconds.
const COMMON_RATE: &str = "rate=5r/10s";

/// The same rate as nginx's own `limit_req` can write it.
const COMMON_LEAKY_RATE: &str = "rate=30r/m";

/// Four above the first: five at once.
const COMMON_WORDS: [&str; 2] = ["burst=4", "nodelay"];

/// The last time that can be traced, in seconds: 31 years, which all clocks hold.
const LAST_S: u64 = 1_000_000_000;

/// A trace to be told.
pub(super) struct Plan {
    /// When requests come, in milliseconds, in the order of time.
    pub times: Vec<u64>,
    /// The limits.
    pub settings: Vec<Setting>,
    /// Algorithms that cannot use the rate or the burst, and why; only where all are asked for.
    pub left_out: Vec<(AlgorithmName, LabError)>,
    /// The span that the summary looks for the most admissions in, in milliseconds.
    pub span_ms: u64,
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, LabError> {
        let usage = |why: ConfigError<'_>| LabError::Usage(why.to_string());
        let times = args.times.as_deref().map_or_else(|| Ok(COMMON_MS.to_vec()), parse_times)?;
        let written = Written::of(args);
        let rate = written.rate.as_deref().unwrap_or(COMMON_RATE);
        let span_ms = Rate::parse(rate.as_bytes()).map_err(usage)?.period_ms();
        let mut plan = Self { times, settings: Vec::new(), left_out: Vec::new(), span_ms };
        if let Some(name) = &args.algorithm {
            let argument = format!("algorithm={name}");
            let algorithm = AlgorithmName::of(name.as_bytes())
                .ok_or_else(|| usage(ConfigError::Algorithm(argument.as_bytes())))?;
            plan.settings.push(written.setting(algorithm, |_| true)?);
            return Ok(plan);
        }
        // What is no burst or delay at all is not a matter of the algorithm.
        parse_words(&written.words())?;
        for algorithm in AlgorithmName::ALL {
            match written.setting(algorithm, |word| can_use(algorithm, word)) {
                Ok(setting) => plan.settings.push(setting),
                Err(why) => plan.left_out.push((algorithm, why)),
            }
        }
        match plan.left_out.pop() {
            Some((_, why)) if plan.settings.is_empty() => Err(why),
            last => {
                plan.left_out.extend(last);
                Ok(plan)
            }
        }
    }
}

/// The words of the directives as the command line gives them.
struct Written {
    rate: Option<String>,
    words: Vec<String>,
}

impl Written {
    fn of(args: &Args) -> Self {
        let word = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{name}={value}"))
        };
        let nodelay = args.nodelay.then(|| "nodelay".to_string());
        Self {
            rate: word("rate", &args.rate),
            words: [word("burst", &args.burst), word("delay", &args.delay), nodelay]
                .into_iter()
                .flatten()
                .collect(),
        }
    }

    /// The limit of an algorithm, with the words that it is to be given.
    fn setting(
        &self,
        algorithm: AlgorithmName,
        is_given: impl Fn(&str) -> bool,
    ) -> Result<Setting, LabError> {
        if self.rate.is_none() && self.words.is_empty() {
            return common(algorithm);
        }
        let rate = self.rate.as_deref().unwrap_or(COMMON_RATE);
        let words = self.words().into_iter().filter(|word| is_given(word));
        Setting::of(algorithm, std::iter::once(rate).chain(words))
    }

    fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

/// The limit of an algorithm where nothing is written: five in ten seconds, five at once.
fn common(algorithm: AlgorithmName) -> Result<Setting, LabError> {
    let rate = if algorithm == AlgorithmName::Leaky { COMMON_LEAKY_RATE } else { COMMON_RATE };
    let words = COMMON_WORDS.into_iter().filter(|word| can_use(algorithm, word));
    Setting::of(algorithm, std::iter::once(rate).chain(words))
}

/// Whether a word means anything to an algorithm, where one command line is for all of them.
fn can_use(algorithm: AlgorithmName, word: &str) -> bool {
    if word.starts_with("burst=") {
        !algorithm.has_quota()
    } else {
        algorithm.has_delay()
    }
}

/// Times in seconds with up to three decimals, separated by commas.
fn parse_times(text: &str) -> Result<Vec<u64>, LabError> {
    let mut times = Vec::new();
    let mut last_ms = 0;
    for word in text.split(',').map(str::trim) {
        let at_ms = parse_time_ms(word).ok_or_else(|| {
            LabError::Usage(format!(
                "invalid time \"{word}\" in \"--times {text}\": seconds from 0 to {LAST_S} with up \
                 to three decimals, such as 2 or 9.5"
            ))
        })?;
        if at_ms < last_ms {
            return Err(LabError::Usage(format!(
                "invalid order in \"--times {text}\": {word} comes after a later time"
            )));
        }
        times.push(at_ms);
        last_ms = at_ms;
    }
    Ok(times)
}

fn parse_time_ms(word: &str) -> Option<u64> {
    let (whole, decimals) = word.split_once('.').unwrap_or((word, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(decimals) || decimals.len() > 3 {
        return None;
    }
    let whole_s: u64 = whole.parse().ok()?;
    let ms: u64 = format!("{decimals:0<3}").parse().ok()?;
    let at_ms = whole_s.checked_mul(1000)?.checked_add(ms)?;
    (at_ms <= LAST_S * 1000).then_some(at_ms)
}
