//! The names of the algorithms.

use std::fmt;

/// An algorithm by the name that `algorithm=` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AlgorithmName {
    /// nginx's leaky bucket.
    #[default]
    Leaky,
    /// The generic cell rate algorithm.
    Gcra,
    /// GCRA, told in tokens.
    TokenBucket,
    /// The leaky bucket as a queue.
    LeakyQueue,
    /// Windows by the wall clock.
    FixedWindow,
    /// Windows that open at a key's first request.
    AnchoredWindow,
    /// The sliding window counter.
    SlidingWindow,
    /// The sliding log.
    SlidingLog,
}

impl AlgorithmName {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::Leaky,
        Self::Gcra,
        Self::TokenBucket,
        Self::LeakyQueue,
        Self::FixedWindow,
        Self::AnchoredWindow,
        Self::SlidingWindow,
        Self::SlidingLog,
    ];

    /// The algorithm of a name; `swc` is short for `sliding_window`.
    pub fn of(name: &[u8]) -> Option<Self> {
        if name == b"swc" {
            return Some(Self::SlidingWindow);
        }
        Self::ALL.into_iter().find(|algorithm| algorithm.name().as_bytes() == name)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leaky => "leaky",
            Self::Gcra => "gcra",
            Self::TokenBucket => "token_bucket",
            Self::LeakyQueue => "leaky_queue",
            Self::FixedWindow => "fixed_window",
            Self::AnchoredWindow => "anchored_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingLog => "sliding_log",
        }
    }

    /// Whether it counts requests against a quota, and so has neither burst nor delay.
    pub fn has_quota(self) -> bool {
        match self {
            Self::Leaky | Self::Gcra | Self::TokenBucket | Self::LeakyQueue => false,
            Self::FixedWindow | Self::AnchoredWindow | Self::SlidingWindow | Self::SlidingLog => {
                true
            }
        }
    }

    /// Whether `delay=` says which requests it holds: not where it holds all of them or none.
    pub fn has_delay(self) -> bool {
        !self.has_quota() && self != Self::LeakyQueue
    }
}

impl fmt::Display for AlgorithmName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
