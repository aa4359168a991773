//! The result of a replay, as the reports and `--output json` have it.

use serde::Serialize;

use super::timeline::Timeline;
use crate::lab::input::InputSummary;

/// Everything that a replay has found.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// What was read.
    pub input: InputSummary,
    /// The key expression.
    pub key: String,
    /// How many different keys there were.
    pub keys: u64,
    /// Whether keys are counted exactly; otherwise within [`Self::keys_error_percent`].
    pub keys_exact: bool,
    /// Standard error of the numbers of keys, in per cent; 0 if they are exact.
    pub keys_error_percent: f64,
    /// Each limit, in the order of the command line.
    pub limits: Vec<LimitSummary>,
    /// Requests that one limit admits and another refuses, the most first.
    pub disagreements: Vec<Disagreement>,
    /// What happened when.
    pub timeline: Timeline,
    /// What one should know before relying on the numbers.
    pub notes: Vec<String>,
}

/// What one limit did.
#[derive(Clone, Debug, Serialize)]
pub struct LimitSummary {
    /// The limit as it was understood.
    pub limit: String,
    /// Requests in a period of the limit.
    pub quota: u64,
    /// The period in milliseconds.
    pub period_ms: u64,
    /// Requests served at once.
    pub passed: u64,
    /// Requests served after a wait.
    pub delayed: u64,
    /// Requests not served.
    pub refused: u64,
    /// Keys of which at least one request was delayed or refused.
    pub keys_affected: u64,
    /// Half of the delayed requests waited at most this long, in milliseconds.
    pub wait_p50_ms: u64,
    /// 99 of 100 delayed requests waited at most this long, in milliseconds.
    pub wait_p99_ms: u64,
    /// The longest wait in milliseconds.
    pub wait_max_ms: u64,
    /// The most requests of one key that were admitted in any sliding window of the period.
    pub peak_admitted: u32,
    /// The keys with the most refused, then delayed requests, then the highest peak.
    pub worst: Vec<WorstKey>,
    /// A key that is missing in [`Self::worst`] was refused at most this often because of the
    /// bounded memory; 0 if the list is exact.
    pub worst_missed: u64,
}

/// What one limit did to one key.
#[derive(Clone, Debug, Serialize)]
pub struct WorstKey {
    /// The key, with control characters and what is not UTF-8 escaped.
    pub key: String,
    /// Its requests.
    pub requests: u64,
    /// Refused of them.
    pub refused: u64,
    /// By how much `refused` may be too high; 0 if it is exact.
    pub refused_error: u64,
    /// Delayed of them.
    pub delayed: u64,
    /// Most requests of it in any sliding window of the limit's period.
    pub peak_offered: u32,
    /// Most admitted requests of it in any sliding window of the limit's period.
    pub peak_admitted: u32,
}

/// Requests that one limit admits and another refuses.
#[derive(Clone, Debug, Serialize)]
pub struct Disagreement {
    /// The limit that admits.
    pub admits: String,
    /// The limit that refuses.
    pub refuses: String,
    /// How many requests.
    pub requests: u64,
    /// File and line of the first of them.
    pub first: String,
}

/// The note on counts beyond the exact ones; `None` if there are none.
pub(super) fn sketch_note(keys_error_percent: f64, keys: usize) -> Option<String> {
    (keys_error_percent > 0.0).then(|| {
        format!(
            "more than {keys} keys: numbers of keys have a standard error of \
             {keys_error_percent} %, the worst keys state theirs, and the peaks of keys that were \
             never refused are kept only while they are active"
        )
    })
}
