//! States as words, and what a record is worth.

use std::sync::atomic::{compiler_fence, AtomicU64, Ordering};

use crate::limit::{Algorithm, LeakyState, Now, Scalar, State, Thousandths, View};

use super::layout::BUCKET_WORDS;

/// A state that a table can hold. Every bit pattern must be a valid one.
pub trait Record: State {
    /// Words of a state that lies in the head of its bucket; 0 for one that lies behind it, whose
    /// number of words each table has for itself.
    const WORDS: usize;

    /// Slots of a bucket with the states in its head: each takes a tag and a state.
    const SLOTS: usize = BUCKET_WORDS / (1 + Self::WORDS);

    /// Which algorithm the state belongs to. Written to the header; never used twice.
    const ALGORITHM: u64;

    /// The state in some words.
    fn load(words: &[AtomicU64]) -> Self::View<'_>;

    /// Stores what an admission says. Of a new record the words hold anything.
    fn save(words: &[AtomicU64], next: Self::Next);
}

/// A state of a few words, which is stored as a whole.
pub trait ScalarRecord: Scalar {
    /// The state as words.
    type Words: AsRef<[u64]> + AsMut<[u64]> + Default;

    /// Number of words.
    const LEN: usize;

    /// Which algorithm the state belongs to. Written to the header; never used twice.
    const ID: u64;

    /// The words to store, in the order in which they are stored.
    fn to_words(self) -> Self::Words;

    /// The state that some words stand for.
    fn from_words(words: Self::Words) -> Self;
}

impl<S: ScalarRecord> Record for S {
    const WORDS: usize = S::LEN;
    const ALGORITHM: u64 = S::ID;

    #[inline]
    fn load(words: &[AtomicU64]) -> S {
        let mut state = S::Words::default();
        for (value, word) in state.as_mut().iter_mut().zip(words) {
            *value = word.load(Ordering::Relaxed);
        }
        S::from_words(state)
    }

    #[inline]
    fn save(words: &[AtomicU64], next: S) {
        for (word, value) in words.iter().zip(next.to_words().as_ref()) {
            word.store(*value, Ordering::Relaxed);
            // In the record's order also for who is killed in between.
            compiler_fence(Ordering::Release);
        }
    }
}

impl ScalarRecord for LeakyState {
    type Words = [u64; 2];

    const LEN: usize = 2;
    const ID: u64 = 1;

    // `last` first: a process killed between the two leaves a record that is too strict, never
    // one that is too lax.
    fn to_words(self) -> [u64; 2] {
        [self.last, self.excess]
    }

    fn from_words([last, excess]: [u64; 2]) -> Self {
        Self { last, excess }
    }
}

/// What records are worth at an instant, by the rule of the limit that asks for room.
pub struct Worth<'a, A> {
    rule: &'a A,
    now: Now,
}

impl<'a, A: Algorithm> Worth<'a, A> {
    /// The worth of records under `rule` at `now`.
    pub fn new(rule: &'a A, now: Now) -> Self {
        Self { rule, now }
    }

    /// Whether the record can go without loss.
    pub(super) fn recovered(&self, state: &View<'_, A>) -> bool {
        self.rule.recovered(state, self.now)
    }

    /// What dropping the record would forgive, in 1/1000 request.
    pub(super) fn charged(&self, state: &View<'_, A>) -> Thousandths {
        self.rule.charged(state, self.now)
    }
}
