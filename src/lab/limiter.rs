//! From the text of a limit to something that decides: the one place of the laboratory that
//! names algorithms.

use super::error::LabError;
use super::limits::LimitSpec;
use crate::config::{AlgorithmName, ZoneRule};
use crate::limit::{Algorithm, Now, Rule, State, Verdict};

/// What one limit says of one request. Times in milliseconds of the log's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Served at once.
    Pass,
    /// Served after a wait.
    Delay {
        /// How long, in milliseconds. At least 1.
        wait_ms: u64,
    },
    /// Not served.
    Refuse,
}

/// One limit with what it holds against each key.
pub trait Limiter {
    /// Judges one request and charges it if it is admitted.
    ///
    /// `key` is a dense number that stands for the key's text, used again for another text once
    /// all limits have called the key recovered. What is held is kept then: a recovered state is
    /// judged as none would be, and its memory is the next key's.
    fn decide(&mut self, key: usize, now_ms: u64) -> Decision;

    /// Whether nothing is held against the key any more.
    fn recovered(&self, key: usize, now_ms: u64) -> bool;
}

/// What an algorithm is given besides a rate, which is what `suggest` can vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A rate with a burst and a delay.
    Rate,
    /// A rate with a burst, each request waiting for its turn.
    Queue,
    /// A number of requests in a window, nothing else.
    Window,
}

/// The algorithms that a limit can name.
pub const ALGORITHMS: &[(&str, Family)] = &[
    ("leaky", Family::Rate),
    ("gcra", Family::Rate),
    ("token_bucket", Family::Rate),
    ("leaky_queue", Family::Queue),
    ("fixed_window", Family::Window),
    ("anchored_window", Family::Window),
    ("sliding_window", Family::Window),
    ("sliding_log", Family::Window),
];

/// The limiter that a limit asks for.
///
/// # Errors
///
/// An algorithm that does not exist, or a parameter that it cannot use.
pub fn limiter_of(spec: &LimitSpec) -> Result<Box<dyn Limiter>, LabError> {
    let usage = |why: String| LabError::Usage(format!("--limit \"{spec}\": {why}"));
    let name = spec.algorithm.as_str();
    let algorithm = AlgorithmName::of(name.as_bytes()).ok_or_else(|| {
        let known = AlgorithmName::ALL.map(AlgorithmName::name).join(", ");
        usage(format!("unknown algorithm \"{name}\", known are: {known}"))
    })?;
    let zone = ZoneRule::new(algorithm, spec.rate).map_err(|why| {
        usage(format!("\"rate={}\" is none for \"{algorithm}\", which {why}", spec.rate_text))
    })?;
    let largest_burst = spec.burst.unwrap_or(0);
    let rule =
        zone.rule(spec.burst, spec.delay, largest_burst).map_err(|why| usage(why.to_string()))?;
    Ok(match rule {
        Rule::Leaky(rule) => Box::new(Held::new(rule)),
        Rule::Gcra(rule) => Box::new(Held::new(rule)),
        Rule::LeakyQueue(rule) => Box::new(Held::new(rule)),
        Rule::FixedWindow(rule) => Box::new(Held::new(rule)),
        Rule::AnchoredWindow(rule) => Box::new(Held::new(rule)),
        Rule::SlidingWindow(rule) => Box::new(Held::new(rule)),
        Rule::SlidingLog(rule) => Box::new(Held::new(rule)),
    })
}

/// What an algorithm keeps for a key, here.
type Owned<A> = <<A as Algorithm>::State as State>::Owned;

/// An algorithm with the states of its keys, by key number.
struct Held<A: Algorithm> {
    rule: A,
    states: Vec<Option<Owned<A>>>,
}

impl<A: Algorithm> Held<A> {
    fn new(rule: A) -> Self {
        Self { rule, states: Vec::new() }
    }
}

impl<A: Algorithm> Limiter for Held<A> {
    fn decide(&mut self, key: usize, now_ms: u64) -> Decision {
        if key >= self.states.len() {
            self.states.resize_with(key.saturating_add(1), || None);
        }
        let Some(state) = self.states.get_mut(key) else {
            return Decision::Refuse;
        };
        let view = state.as_ref().map(A::State::view);
        match self.rule.judge(view.as_ref(), Now::at_ms(now_ms), 1) {
            Verdict::Reject(refusal) => {
                // A window that a clock has left behind; a log's clock never goes back.
                if let Some(moved) = refusal.moved {
                    A::State::store(state, moved);
                }
                Decision::Refuse
            }
            Verdict::Accept(admission) => {
                A::State::store(state, admission.next);
                match admission.wait_ms {
                    0 => Decision::Pass,
                    wait_ms => Decision::Delay { wait_ms },
                }
            }
        }
    }

    fn recovered(&self, key: usize, now_ms: u64) -> bool {
        match self.states.get(key) {
            Some(Some(state)) => self.rule.recovered(&A::State::view(state), Now::at_ms(now_ms)),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(text: &str) -> Box<dyn Limiter> {
        limiter_of(&LimitSpec::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn keys_are_apart_and_recover() {
        let mut limit = limiter("leaky rate=10r/s burst=1");
        assert_eq!(limit.decide(3, 0), Decision::Pass);
        assert_eq!(limit.decide(3, 0), Decision::Delay { wait_ms: 100 });
        assert_eq!(limit.decide(3, 0), Decision::Refuse);
        assert_eq!(limit.decide(0, 0), Decision::Pass);
        assert!(!limit.recovered(3, 199));
        assert!(limit.recovered(3, 200) && limit.recovered(99, 0));
        assert_eq!(limit.decide(3, 200), Decision::Pass);
        assert_eq!(limit.decide(3, 200), Decision::Delay { wait_ms: 100 });
    }

    #[test]
    fn every_algorithm_is_listed_and_can_be_made() {
        let names: Vec<_> = ALGORITHMS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, AlgorithmName::ALL.map(AlgorithmName::name));
        for (name, family) in ALGORITHMS {
            let mut limit = limiter(&format!("{name} rate=2r/s"));
            assert_eq!(limit.decide(0, 1_700_000_000_000), Decision::Pass, "{name}");
            assert!(limit.recovered(0, 1_700_000_002_000), "{name}");
            let has_quota = AlgorithmName::of(name.as_bytes()).unwrap().has_quota();
            assert_eq!(has_quota, *family == Family::Window, "{name}");
        }
    }

    #[test]
    fn an_unknown_algorithm_is_named() {
        let spec = LimitSpec::parse("leeky rate=1r/s").unwrap();
        let error = limiter_of(&spec).err().unwrap().to_string();
        assert!(error.contains("unknown algorithm \"leeky\", known are: leaky, gcra"), "{error}");
        for (text, why) in [
            ("sliding_log rate=1r/s burst=1", "\"burst=1\" means nothing to \"sliding_log\""),
            ("leaky_queue rate=1r/s nodelay", "\"nodelay\" means nothing to \"leaky_queue\""),
            ("leaky rate=1r/d", "\"rate=1r/d\" is none for \"leaky\""),
        ] {
            let error = limiter_of(&LimitSpec::parse(text).unwrap()).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
