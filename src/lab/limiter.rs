//! From the text of a limit to something that decides: the one place of the laboratory that
//! names algorithms.

use super::error::LabError;
use super::limits::LimitSpec;
use crate::config::Delay;
use crate::limit::{Algorithm, Leaky, Millis, Verdict};

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
    /// all limits have called the key recovered and have been told to forget it.
    fn decide(&mut self, key: usize, now_ms: u64) -> Decision;

    /// Whether nothing is held against the key any more.
    fn recovered(&self, key: usize, now_ms: u64) -> bool;

    /// Drops what is held against the key.
    fn forget(&mut self, key: usize);
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
pub const ALGORITHMS: &[(&str, Family)] = &[("leaky", Family::Rate)];

/// The limiter that a limit asks for.
///
/// # Errors
///
/// An algorithm that does not exist, or a parameter that it cannot use.
pub fn limiter_of(spec: &LimitSpec) -> Result<Box<dyn Limiter>, LabError> {
    match spec.algorithm.as_str() {
        "leaky" => Ok(Box::new(Held::new(Leaky {
            rate: spec.rate.milli_per_second(),
            burst: spec.burst.unwrap_or(0).saturating_mul(1000),
            delay: spec.delay.map_or(0, Delay::milli),
        }))),
        unknown => Err(LabError::Usage(format!(
            "--limit \"{spec}\": unknown algorithm \"{unknown}\", known are: {}",
            ALGORITHMS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// An algorithm with the states of its keys, by key number.
struct Held<A: Algorithm> {
    rule: A,
    states: Vec<Option<A::State>>,
}

impl<A: Algorithm> Held<A> {
    fn new(rule: A) -> Self {
        Self { rule, states: Vec::new() }
    }
}

impl<A: Algorithm> Limiter for Held<A> {
    fn decide(&mut self, key: usize, now_ms: u64) -> Decision {
        if key >= self.states.len() {
            self.states.resize(key.saturating_add(1), None);
        }
        let Some(state) = self.states.get_mut(key) else {
            return Decision::Refuse;
        };
        match self.rule.judge(state.as_ref(), Millis(now_ms), 1) {
            Verdict::Reject(_) => Decision::Refuse,
            Verdict::Accept(admission) => {
                *state = Some(admission.next);
                match admission.wait_ms {
                    0 => Decision::Pass,
                    wait_ms => Decision::Delay { wait_ms },
                }
            }
        }
    }

    fn recovered(&self, key: usize, now_ms: u64) -> bool {
        match self.states.get(key) {
            Some(Some(state)) => self.rule.recovered(state, Millis(now_ms)),
            _ => true,
        }
    }

    fn forget(&mut self, key: usize) {
        if let Some(state) = self.states.get_mut(key) {
            *state = None;
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
    fn keys_are_apart_and_forgotten() {
        let mut limit = limiter("leaky rate=10r/s burst=1");
        assert_eq!(limit.decide(3, 0), Decision::Pass);
        assert_eq!(limit.decide(3, 0), Decision::Delay { wait_ms: 100 });
        assert_eq!(limit.decide(3, 0), Decision::Refuse);
        assert_eq!(limit.decide(0, 0), Decision::Pass);
        assert!(!limit.recovered(3, 199));
        assert!(limit.recovered(3, 200) && limit.recovered(99, 0));
        limit.forget(3);
        assert_eq!(limit.decide(3, 0), Decision::Pass);
    }

    #[test]
    fn every_listed_algorithm_can_be_made() {
        for (name, _) in ALGORITHMS {
            let _ = limiter(&format!("{name} rate=1r/s"));
        }
    }

    #[test]
    fn an_unknown_algorithm_is_named() {
        let spec = LimitSpec::parse("leeky rate=1r/s").unwrap();
        let error = limiter_of(&spec).err().unwrap().to_string();
        assert!(error.contains("unknown algorithm \"leeky\", known are: leaky"), "{error}");
    }
}
