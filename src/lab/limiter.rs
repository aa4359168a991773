//! From a limit to something that decides, with what it holds against each key.

use crate::limit::{Algorithm, Now, Owned, Rule, State, Verdict};

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

/// The limiter that decides by a rule.
pub fn limiter_of(rule: &Rule) -> Box<dyn Limiter> {
    match *rule {
        Rule::Leaky(rule) => Box::new(Held::new(rule)),
        Rule::Gcra(rule) => Box::new(Held::new(rule)),
        Rule::LeakyQueue(rule) => Box::new(Held::new(rule)),
        Rule::FixedWindow(rule) => Box::new(Held::new(rule)),
        Rule::AnchoredWindow(rule) => Box::new(Held::new(rule)),
        Rule::SlidingWindow(rule) => Box::new(Held::new(rule)),
        Rule::SlidingLog(rule) => Box::new(Held::new(rule)),
    }
}

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
    use crate::config::AlgorithmName;
    use crate::lab::setting::Setting;

    fn limiter(text: &str) -> Box<dyn Limiter> {
        limiter_of(&Setting::parse(text).unwrap().rule)
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
    fn every_algorithm_can_be_made() {
        for name in AlgorithmName::ALL {
            let mut limit = limiter(&format!("{name} rate=2r/s"));
            assert_eq!(limit.decide(0, 1_700_000_000_000), Decision::Pass, "{name}");
            assert!(limit.recovered(0, 1_700_000_002_000), "{name}");
        }
    }
}
