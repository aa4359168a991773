//! One key on a virtual clock: its requests in the order of time, and what a limit says of each.

use std::collections::VecDeque;

use crate::limit::{Algorithm, Now, Owned, Refusal, Rule, State, Verdict, View};

/// A key under one limit.
pub struct Key<'a, A: Algorithm> {
    rule: &'a A,
    state: Option<Owned<A>>,
}

impl<'a, A: Algorithm> Key<'a, A> {
    /// A key of which nothing is known yet.
    pub fn new(rule: &'a A) -> Self {
        Self { rule, state: None }
    }

    /// The state of the key; a new one has none.
    pub fn view(&self) -> Option<View<'_, A>> {
        self.state.as_ref().map(A::State::view)
    }

    /// Judges one request and charges it if it is admitted.
    pub fn decide(&mut self, at_ms: u64) -> Outcome {
        let verdict = self.rule.judge(self.view().as_ref(), Now::at_ms(at_ms), 1);
        match verdict {
            Verdict::Accept(admission) => {
                A::State::store(&mut self.state, admission.next);
                Outcome { at_ms, answer: Answer::Admitted { wait_ms: admission.wait_ms } }
            }
            Verdict::Reject(Refusal { moved, retry_after_ms, .. }) => {
                if let Some(moved) = moved {
                    A::State::store(&mut self.state, moved);
                }
                Outcome { at_ms, answer: Answer::Refused { retry_after_ms } }
            }
        }
    }
}

/// A request and the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When it came, in milliseconds.
    pub at_ms: u64,
    /// The answer.
    pub answer: Answer,
}

impl Outcome {
    /// Whether it was admitted, at once or after a wait.
    pub fn is_admitted(&self) -> bool {
        matches!(self.answer, Answer::Admitted { .. })
    }
}

/// What a limit says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is served.
    Admitted {
        /// For how long it is held, in milliseconds.
        wait_ms: u64,
    },
    /// It is not.
    Refused {
        /// The least wait after which it would be admitted, in milliseconds, if there is one.
        retry_after_ms: Option<u64>,
    },
}

/// All requests of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline(Vec<Outcome>);

impl Timeline {
    /// Sends requests at these times through a rule.
    pub fn run(rule: &Rule, times: impl IntoIterator<Item = u64>) -> Self {
        fn run<A: Algorithm>(rule: &A, times: impl IntoIterator<Item = u64>) -> Timeline {
            let mut key = Key::new(rule);
            times.into_iter().map(|at_ms| key.decide(at_ms)).collect()
        }
        match rule {
            Rule::Leaky(rule) => run(rule, times),
            Rule::Gcra(rule) => run(rule, times),
            Rule::LeakyQueue(rule) => run(rule, times),
            Rule::FixedWindow(rule) => run(rule, times),
            Rule::AnchoredWindow(rule) => run(rule, times),
            Rule::SlidingWindow(rule) => run(rule, times),
            Rule::SlidingLog(rule) => run(rule, times),
        }
    }

    /// How many requests there were.
    pub fn total(&self) -> usize {
        self.0.len()
    }

    /// How many were admitted.
    pub fn passed(&self) -> usize {
        self.admitted().count()
    }

    /// One character for each request: 1 admitted, 0 refused.
    pub fn decisions(&self) -> String {
        self.0.iter().map(|outcome| if outcome.is_admitted() { '1' } else { '0' }).collect()
    }

    /// The most that were admitted in any span of that length, by when they came. A span includes
    /// one of its ends only.
    pub fn max_in_any_ms(&self, span_ms: u64) -> usize {
        let mut counter = SpanCounter::new(span_ms);
        let counts = self.admitted().map(|at_ms| {
            counter.advance(at_ms);
            counter.add(at_ms);
            counter.count()
        });
        counts.max().unwrap_or(0)
    }

    /// How many were admitted in each span of that length from 0 on, to the last request.
    pub fn admitted_per_ms(&self, span_ms: u64) -> Vec<usize> {
        let Some(last) = self.0.last() else { return Vec::new() };
        let span_ms = span_ms.max(1);
        let mut admitted = self.admitted().peekable();
        (0..=last.at_ms / span_ms)
            .map(|n| {
                let mut count = 0;
                while admitted.next_if(|at_ms| at_ms / span_ms <= n).is_some() {
                    count += 1;
                }
                count
            })
            .collect()
    }

    /// The longest wait of an admitted request, in milliseconds.
    pub fn longest_wait_ms(&self) -> u64 {
        let wait_ms = |outcome: &Outcome| match outcome.answer {
            Answer::Admitted { wait_ms } => wait_ms,
            Answer::Refused { .. } => 0,
        };
        self.0.iter().map(wait_ms).max().unwrap_or(0)
    }

    fn admitted(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().filter(|outcome| outcome.is_admitted()).map(|outcome| outcome.at_ms)
    }
}

impl FromIterator<Outcome> for Timeline {
    fn from_iter<I: IntoIterator<Item = Outcome>>(outcomes: I) -> Self {
        Self(outcomes.into_iter().collect())
    }
}

/// An exact count of what came in the last span: after a time `t` it holds what came in
/// `(t - span, t]`.
#[derive(Clone, Debug)]
pub struct SpanCounter {
    span_ms: u64,
    times: VecDeque<u64>,
}

impl SpanCounter {
    /// A counter for spans of that length.
    pub fn new(span_ms: u64) -> Self {
        Self { span_ms, times: VecDeque::new() }
    }

    /// Moves on to a time that is not before the last one.
    pub fn advance(&mut self, at_ms: u64) {
        while self.times.front().is_some_and(|first| at_ms.saturating_sub(*first) >= self.span_ms) {
            self.times.pop_front();
        }
    }

    /// Counts one more at a time that the counter has been moved on to.
    pub fn add(&mut self, at_ms: u64) {
        self.times.push_back(at_ms);
    }

    /// How many came in the span.
    pub fn count(&self) -> usize {
        self.times.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{FixedWindow, LeakyQueue, Schedule};

    #[test]
    fn a_span_includes_one_of_its_ends() {
        let rule = Rule::FixedWindow(FixedWindow { quota: 9, window_ms: 1000 });
        let timeline = Timeline::run(&rule, [0, 999, 1000, 1999, 3500]);
        assert_eq!(timeline.max_in_any_ms(1000), 2);
        assert_eq!(timeline.max_in_any_ms(1001), 3);
        assert_eq!(timeline.admitted_per_ms(1000), [2, 2, 0, 1]);
        assert_eq!(timeline.decisions(), "11111");
    }

    #[test]
    fn refused_requests_count_nowhere() {
        let schedule = Schedule { interval_ns: 1_000_000_000, horizon_ns: u64::MAX };
        let rule = Rule::LeakyQueue(LeakyQueue { schedule, capacity_ns: 2_000_000_000 });
        let timeline = Timeline::run(&rule, [5, 5, 5, 9_000]);
        assert_eq!((timeline.passed(), timeline.total()), (3, 4));
        assert_eq!(timeline.decisions(), "1101");
        assert_eq!(timeline.longest_wait_ms(), 1000);
        assert_eq!(timeline.max_in_any_ms(1), 2);
        assert_eq!(Timeline::default().admitted_per_ms(1000), [0; 0]);
        assert_eq!(Timeline::default().max_in_any_ms(1000), 0);
    }
}
