//! States as words, and what a record is worth.

use std::sync::atomic::{compiler_fence, AtomicU64, Ordering};

use crate::limit::{
    Ahead, Algorithm, Full, LeakyState, Log, LogEntries, LogView, Now, Rule, Scalar, SlidingState,
    State, View, WindowState,
};

use super::layout::{Geometry, BUCKET_WORDS};

/// What the records of a table are, as its header says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The algorithm that the records belong to, by number.
    pub algorithm: u64,
    /// Words of a record.
    pub words: usize,
}

impl Kind {
    /// The records that a rule keeps. Numbers are never used twice.
    pub fn of(rule: &Rule) -> Self {
        let (algorithm, words) = match rule {
            Rule::Leaky(_) => (1, LeakyState::WORDS),
            Rule::Gcra(_) => (2, Ahead::WORDS),
            Rule::LeakyQueue(_) => (3, Ahead::WORDS),
            Rule::FixedWindow(_) => (4, WindowState::WORDS),
            Rule::AnchoredWindow(_) => (5, WindowState::WORDS),
            Rule::SlidingWindow(_) => (6, SlidingState::WORDS),
            Rule::SlidingLog(rule) => (7, rule.quota as usize),
        };
        Self { algorithm, words }
    }
}

/// A `sliding_log` zone for fewer keys is of no use.
pub const LEAST_KEYS: usize = 8;

/// How many records of a rule fit into so many bytes for a table.
pub fn capacity(rule: &Rule, bytes: usize) -> usize {
    let Kind { words, .. } = Kind::of(rule);
    let geometry = match rule {
        Rule::SlidingLog(_) => Geometry::far(bytes, words),
        Rule::Leaky(_)
        | Rule::Gcra(_)
        | Rule::LeakyQueue(_)
        | Rule::FixedWindow(_)
        | Rule::AnchoredWindow(_)
        | Rule::SlidingWindow(_) => Geometry::near(bytes, words),
    };
    geometry.records()
}

/// A state that a table can hold. Every bit pattern must be a valid one.
pub trait Record: State {
    /// Words of a state that lies in the head of its bucket; 0 for one that lies behind it, whose
    /// number of words each table has for itself.
    const WORDS: usize;

    /// Slots of a bucket with the states in its head: each takes a tag and a state.
    const SLOTS: usize = BUCKET_WORDS / (1 + Self::WORDS);

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

    /// The words to store, in the order in which they are stored.
    fn to_words(self) -> Self::Words;

    /// The state that some words stand for.
    fn from_words(words: Self::Words) -> Self;
}

impl<S: ScalarRecord> Record for S {
    const WORDS: usize = S::LEN;

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

    // `last` first: a process killed between the two leaves a record that is too strict, never
    // one that is too lax.
    fn to_words(self) -> [u64; 2] {
        [self.last, self.excess]
    }

    fn from_words([last, excess]: [u64; 2]) -> Self {
        Self { last, excess }
    }
}

impl ScalarRecord for Ahead {
    type Words = [u64; 1];

    const LEN: usize = 1;

    fn to_words(self) -> [u64; 1] {
        [self.until_ns]
    }

    fn from_words([until_ns]: [u64; 1]) -> Self {
        Self { until_ns }
    }
}

impl ScalarRecord for WindowState {
    type Words = [u64; 2];

    const LEN: usize = 2;

    // The start first, here and below: killed in between, an old count stands in a new window, and
    // the record is too strict.
    fn to_words(self) -> [u64; 2] {
        [self.start_ms, u64::from(self.count)]
    }

    fn from_words([start_ms, count]: [u64; 2]) -> Self {
        Self { start_ms, count: u32::try_from(count).unwrap_or(u32::MAX) }
    }
}

impl ScalarRecord for SlidingState {
    type Words = [u64; 2];

    const LEN: usize = 2;

    fn to_words(self) -> [u64; 2] {
        [self.start_ms, u64::from(self.previous) << 32 | u64::from(self.current)]
    }

    fn from_words([start_ms, counts]: [u64; 2]) -> Self {
        Self { start_ms, previous: (counts >> 32) as u32, current: counts as u32 }
    }
}

impl Record for Log {
    const WORDS: usize = 0;

    fn load(words: &[AtomicU64]) -> LogView<'_> {
        LogView(words)
    }

    fn save(words: &[AtomicU64], next: LogEntries) {
        next.write(words);
    }
}

/// What records are worth at an instant, by the rule of the limit that asks for room, and what is
/// to be done where none can go without loss.
///
/// The table does not know the latter by itself: during a reload old and new workers may share it
/// and have different orders.
pub struct Worth<'a, A> {
    rule: &'a A,
    now: Now,
    full: Full,
}

impl<'a, A: Algorithm> Worth<'a, A> {
    /// The worth of records under `rule` at `now`. A full table evicts.
    pub fn new(rule: &'a A, now: Now) -> Self {
        Self { rule, now, full: Full::Evict }
    }

    /// The same, and this is what a full table does.
    pub fn when_full(self, full: Full) -> Self {
        Self { full, ..self }
    }

    /// What a full table does.
    pub(super) fn full(&self) -> Full {
        self.full
    }

    /// Whether the record can go without loss.
    pub(super) fn recovered(&self, state: &View<'_, A>) -> bool {
        self.rule.recovered(state, self.now)
    }

    /// What dropping the record would lose, the least first: what it would forgive, then how long
    /// it would have gone on doing so.
    pub(super) fn loss(&self, state: &View<'_, A>) -> impl Ord + use<A> {
        (self.rule.charged(state, self.now), self.rule.recovery_order(state, self.now))
    }
}
