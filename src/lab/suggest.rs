//! The smallest burst of each algorithm, and the smallest quota of the window algorithms, that
//! would have refused no more than a given share of a log.
//!
//! The log is kept as times and key numbers, 12 bytes a request, and replayed for each candidate.
//! More burst never refuses more requests in total, so the candidates are bisected.

use serde::Serialize;

use super::error::LabError;
use super::input::{InputSummary, Sink};
use super::keys::Keys;
use super::limiter::{limiter_of, Decision};
use super::setting::Setting;
use super::zone;
use crate::config::{AlgorithmName, Rate};
use crate::limit::Rule;

/// Parts of a share: a ten thousandth of a per cent.
const SHARE_PARTS: u64 = 1_000_000;

/// A share of requests, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u64);

impl Share {
    /// Parses per cents such as `0.1%`, with up to four decimals.
    ///
    /// # Errors
    ///
    /// Anything else, and more than 100 %.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parse = || {
            let number = text.strip_suffix('%')?.trim_end();
            let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
            let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
            if whole.is_empty() || decimals.len() > 4 || !digits(whole) || !digits(decimals) {
                return None;
            }
            let parts = format!("{whole}{decimals:0<4}").parse().ok()?;
            (parts <= SHARE_PARTS).then_some(Self(parts))
        };
        parse().ok_or_else(|| "expected per cents such as 0.1%, at most 100%".to_string())
    }

    fn of(self, requests: u64) -> u64 {
        u64::try_from(u128::from(requests) * u128::from(self.0) / u128::from(SHARE_PARTS))
            .unwrap_or(requests)
    }
}

/// The requests of a log.
#[derive(Default)]
pub struct Stream {
    keys: Keys,
    times_ms: Vec<u64>,
    numbers: Vec<u32>,
}

impl Sink for Stream {
    fn key(&mut self, text: &[u8]) -> u32 {
        self.keys.number(text)
    }

    fn request(&mut self, time_ms: u64, key: u32, _line: u64) {
        self.times_ms.push(time_ms);
        self.numbers.push(key);
    }
}

impl Stream {
    /// How many requests a rule refuses, counted no further than just above `most`.
    fn refused(&self, rule: &Rule, most: u64) -> u64 {
        let mut limiter = limiter_of(rule);
        let mut refused = 0;
        for (time_ms, key) in self.times_ms.iter().zip(&self.numbers) {
            if limiter.decide(*key as usize, *time_ms) == Decision::Refuse {
                refused += 1;
                if refused > most {
                    break;
                }
            }
        }
        refused
    }

    fn requests(&self) -> u64 {
        self.times_ms.len() as u64
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The rate. For the window algorithms its period alone counts: their quota is looked for.
    pub rate: Rate,
    /// The share of requests that may be refused.
    pub at_most: Share,
    /// The key expression of the log.
    pub key: String,
}

/// The answers for one log.
#[derive(Clone, Debug, Serialize)]
pub struct Suggestions {
    /// What was read.
    pub input: InputSummary,
    /// The key expression.
    pub key: String,
    /// How many different keys there were.
    pub keys: u64,
    /// How many requests might be refused.
    pub refused_at_most: u64,
    /// One answer for each algorithm that can have the rate.
    pub suggestions: Vec<Suggestion>,
    /// Why the others cannot.
    pub impossible: Vec<String>,
}

/// The least that an algorithm needs.
#[derive(Clone, Debug, Serialize)]
pub struct Suggestion {
    /// The algorithm.
    pub algorithm: String,
    /// The limit as `rl-lab replay --limit` takes it.
    pub limit: String,
    /// The smallest burst, or for a window algorithm the smallest number of requests a period.
    pub smallest: u64,
    /// Whether [`Self::smallest`] is a burst.
    pub is_burst: bool,
    /// How many requests it would have refused.
    pub refused: u64,
    /// How long the last request of a whole burst waits without `nodelay`, in milliseconds.
    pub drain_ms: u64,
    /// The lines for nginx.
    pub directives: Vec<String>,
}

/// Answers for all algorithms. Not all need be able to have the rate: `leaky`'s arithmetic, for
/// one, has a lowest.
pub fn suggest(stream: &Stream, input: InputSummary, question: &Question) -> Suggestions {
    let refused_at_most = question.at_most.of(stream.requests());
    let (mut suggestions, mut impossible) = (Vec::new(), Vec::new());
    for algorithm in AlgorithmName::ALL {
        let search = Search { stream, question, algorithm, refused_at_most };
        match search.run() {
            Ok(suggestion) => suggestions.push(suggestion),
            Err(why) => impossible.push(why.to_string()),
        }
    }
    Suggestions {
        input,
        key: question.key.clone(),
        keys: stream.keys.len() as u64,
        refused_at_most,
        suggestions,
        impossible,
    }
}

struct Search<'a> {
    stream: &'a Stream,
    question: &'a Question,
    algorithm: AlgorithmName,
    refused_at_most: u64,
}

impl Search<'_> {
    fn run(&self) -> Result<Suggestion, LabError> {
        let first = if self.algorithm.has_quota() { 1 } else { 0 };
        // As many as all requests is always enough.
        let most = self.stream.requests().max(1);
        let smallest = least(first, most, |candidate| self.suffices(candidate))?;
        self.answer(smallest)
    }

    fn suffices(&self, candidate: u64) -> Result<bool, LabError> {
        let refused = self.stream.refused(&self.setting(candidate)?.rule, self.refused_at_most);
        Ok(refused <= self.refused_at_most)
    }

    /// The limit with a candidate as its quota or its burst.
    fn setting(&self, candidate: u64) -> Result<Setting, LabError> {
        let rate = self.question.rate.to_string();
        if self.algorithm.has_quota() {
            let period = rate.trim_start_matches(|c: char| c.is_ascii_digit());
            return Setting::of(self.algorithm, [format!("rate={candidate}{period}").as_str()]);
        }
        let mut words = vec![format!("rate={rate}")];
        if candidate > 0 {
            words.push(format!("burst={candidate}"));
            words.extend(self.algorithm.has_delay().then(|| "nodelay".to_string()));
        }
        Setting::of(self.algorithm, words.iter().map(String::as_str))
    }

    fn answer(&self, smallest: u64) -> Result<Suggestion, LabError> {
        let setting = self.setting(smallest)?;
        let is_burst = !self.algorithm.has_quota();
        let rate = setting.zone.rate();
        let drain_ms = u128::from(smallest) * u128::from(rate.period_ms())
            / u128::from(rate.requests().max(1));
        Ok(Suggestion {
            algorithm: self.algorithm.to_string(),
            limit: setting.to_string(),
            smallest,
            is_burst,
            refused: self.stream.refused(&setting.rule, u64::MAX),
            drain_ms: if is_burst { u64::try_from(drain_ms).unwrap_or(u64::MAX) } else { 0 },
            directives: self.directives(&setting),
        })
    }

    fn directives(&self, setting: &Setting) -> Vec<String> {
        let (algorithm, rate) = (self.algorithm, setting.zone.rate());
        let megabytes = zone::megabytes(&setting.rule, self.stream.keys.len() as u64);
        let key = nginx_key(&self.question.key);
        let mut zone = format!("rl_zone {key} zone={algorithm}:{megabytes}m rate={rate}");
        if algorithm != AlgorithmName::default() {
            zone += &format!(" algorithm={algorithm}");
        }
        let words = setting.words();
        vec![format!("{zone};"), format!("rl_req  zone={algorithm}{words};")]
    }
}

/// The smallest number from `first` on that suffices, or `most` if none below does. All numbers
/// above one that suffices must, too. Tries twice as many as `most` has bits, at the most.
///
/// # Errors
///
/// The first error of `suffices`.
pub(super) fn least(
    first: u64,
    most: u64,
    mut suffices: impl FnMut(u64) -> Result<bool, LabError>,
) -> Result<u64, LabError> {
    let (mut too_few, mut enough) = (None, first);
    while enough < most && !suffices(enough)? {
        too_few = Some(enough);
        enough = enough.saturating_mul(2).clamp(1, most);
    }
    while let Some(few) = too_few.filter(|few| enough - few > 1) {
        let middle = few + (enough - few) / 2;
        if suffices(middle)? {
            enough = middle;
        } else {
            too_few = Some(middle);
        }
    }
    Ok(enough)
}

/// The key for a configuration: the address in its short form, in quotes where nginx needs them.
fn nginx_key(key: &str) -> String {
    let key = match key {
        "$remote_addr" => "$binary_remote_addr",
        key => key,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '$' | '_' | '/' | '.' | ':');
    if key.chars().all(plain) {
        return key.to_string();
    }
    format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(algorithm: AlgorithmName, rate: &str, at_most: &str, times_ms: &[u64]) -> Suggestion {
        let mut stream = Stream::default();
        for time_ms in times_ms {
            let key = stream.key(b"a");
            stream.request(*time_ms, key, 0);
        }
        let question = Question {
            rate: Rate::parse(rate.as_bytes()).unwrap(),
            at_most: Share::parse(at_most).unwrap(),
            key: "$remote_addr".to_string(),
        };
        let answers = suggest(&stream, InputSummary::default(), &question).suggestions;
        answers.into_iter().find(|answer| answer.algorithm == algorithm.name()).unwrap()
    }

    #[test]
    fn the_smallest_burst() {
        // Eight at once need burst=7; without the one that may be refused, burst=6.
        let times = [0; 8];
        let none = answer(AlgorithmName::Leaky, "10r/s", "0%", &times);
        assert_eq!((none.smallest, none.refused, none.drain_ms), (7, 0, 700));
        let zone = "rl_zone $binary_remote_addr zone=leaky:1m rate=10r/s;";
        assert_eq!(none.directives, [zone, "rl_req  zone=leaky burst=7 nodelay;"]);
        let one = answer(AlgorithmName::Leaky, "10r/s", "12.5%", &times);
        assert_eq!((one.smallest, one.refused), (6, 1));
        let even = answer(AlgorithmName::Leaky, "10", "0%", &[0, 100, 200, 300]);
        assert_eq!((even.smallest, even.limit.as_str()), (0, "leaky rate=10r/s"));
        let queue = answer(AlgorithmName::LeakyQueue, "10r/s", "0%", &times);
        assert_eq!(queue.limit, "leaky_queue rate=10r/s burst=7");
    }

    #[test]
    fn the_smallest_quota() {
        let times = [0, 1, 2, 59_999, 60_000, 60_001];
        let fixed = |rate, at_most, times| answer(AlgorithmName::FixedWindow, rate, at_most, times);
        let window = fixed("1r/m", "0%", &times);
        assert_eq!((window.smallest, window.limit.as_str()), (4, "fixed_window rate=4r/m"));
        assert_eq!(window.directives[1], "rl_req  zone=fixed_window;");
        assert_eq!(fixed("9", "20%", &times).limit, "fixed_window rate=2r/s");
        assert_eq!(fixed("9", "0%", &[]).smallest, 1);
    }

    #[test]
    fn shares_are_per_cents() {
        let parts = |text| Share::parse(text).map(|share| share.0);
        assert_eq!(
            ["0.1%", "0%", "100 %", "0.0001%"].map(parts),
            [Ok(1000), Ok(0), Ok(1_000_000), Ok(1)]
        );
        for text in ["", "%", "0.1", "-1%", "101%", "0.00001%", "1e2%"] {
            assert!(Share::parse(text).is_err(), "{text}");
        }
        assert_eq!(Share(1000).of(1999), 1);
    }

    #[test]
    fn keys_are_quoted_where_nginx_needs_it() {
        assert_eq!(nginx_key("$remote_addr$uri"), "$remote_addr$uri");
        assert_eq!(nginx_key("$a; \"b\""), "\"$a; \\\"b\\\"\"");
    }
}
