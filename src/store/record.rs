//! States as words, and what a record is worth.

use super::layout::BUCKET_WORDS;
use crate::limit::{Algorithm, LeakyState, Milli, Millis};

/// A state that fits a bucket. Every bit pattern must be a valid one.
pub trait Record: Copy {
    /// The state as words.
    type Words: AsRef<[u64]> + AsMut<[u64]> + Default;

    /// Number of words.
    const WORDS: usize;

    /// Slots of a bucket: each takes a tag and a state.
    const SLOTS: usize = BUCKET_WORDS / (1 + Self::WORDS);

    /// Which algorithm the state belongs to. Written to the header; never used twice.
    const ALGORITHM: u64;

    /// The words to store, in the order in which they are stored.
    fn to_words(self) -> Self::Words;

    /// The state that some words stand for.
    fn from_words(words: Self::Words) -> Self;
}

impl Record for LeakyState {
    type Words = [u64; 2];

    const WORDS: usize = 2;
    const ALGORITHM: u64 = 1;

    // `last` first: a process killed between the two leaves a record that is too strict, never
    // one that is too lax.
    fn to_words(self) -> [u64; 2] {
        [self.last.0, self.excess]
    }

    fn from_words([last, excess]: [u64; 2]) -> Self {
        Self { last: Millis(last), excess }
    }
}

/// What records are worth at an instant, by the rule of the limit that asks for room.
pub struct Worth<'a, A> {
    rule: &'a A,
    now: Millis,
}

impl<'a, A: Algorithm> Worth<'a, A> {
    /// The worth of records under `rule` at `now`.
    pub fn new(rule: &'a A, now: Millis) -> Self {
        Self { rule, now }
    }

    /// Whether the record can go without loss.
    pub(super) fn recovered(&self, state: &A::State) -> bool {
        self.rule.recovered(state, self.now)
    }

    /// What dropping the record would forgive, in 1/1000 request.
    pub(super) fn charged(&self, state: &A::State) -> Milli {
        self.rule.charged(state, self.now)
    }
}
