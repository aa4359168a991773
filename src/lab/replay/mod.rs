//! A replay: each request of a log is put to every limit at its own time, and what they say is
//! counted.
//!
//! | file | what |
//! |---|---|
//! | `window` | most requests in any sliding window |
//! | `waits` | percentiles of waits |
//! | `ledger` | what each limit did to each key, exactly up to a million keys |
//! | `sketch` | what is kept of keys beyond that |
//! | `live` | keys that some limit still holds something against |
//! | `timeline` | what happened when |
//! | `disagree` | requests that one limit admits and another refuses |
//! | `summary` | the result |

mod disagree;
mod ledger;
mod live;
mod sketch;
mod summary;
mod timeline;
mod waits;
mod window;

use disagree::Disagreements;
use ledger::{Ledger, EXACT_KEYS};
use live::Live;
pub use summary::{Disagreement, LimitSummary, Summary, WorstKey};
pub use timeline::{Stretch, Timeline};
use waits::Waits;
use window::{Verdict, Windows};

use super::error::LabError;
use super::input::{printable, InputSummary, Sink};
use super::keys::Keys;
use super::limiter::{limiter_of, Decision, Limiter};
use super::setting::Setting;

/// A set of limits, one bit each.
type LimitSet = u16;

/// The most limits of one replay, so that a time and a set of limits fit one word.
pub const MOST_LIMITS: u32 = LimitSet::BITS;

/// The limits of a set.
fn bits(mut set: LimitSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(lowest)
    })
}

/// One limit and what it has said so far.
struct Judge {
    setting: Setting,
    limiter: Box<dyn Limiter>,
    delayed: u64,
    refused: u64,
    waits: Waits,
}

/// Requests are judged in batches, limit by limit: the memory that a limit needs for one key is
/// fetched while another is judged, which is most of the time where there are many keys.
const BATCH: usize = 128;

/// A request on its way through the limits.
#[derive(Clone, Copy)]
struct Request {
    now_ms: u64,
    live: usize,
    line: u64,
    verdict: Verdict,
}

/// A replay in progress.
pub struct Replay {
    judges: Vec<Judge>,
    keys: Keys,
    ledger: Ledger,
    live: Live,
    windows: Windows,
    timeline: Timeline,
    disagreements: Disagreements,
    batch: Vec<Request>,
}

impl Replay {
    /// A replay against these limits.
    ///
    /// # Errors
    ///
    /// No limit or too many.
    pub fn new(settings: Vec<Setting>) -> Result<Self, LabError> {
        Self::counting_exactly(settings, EXACT_KEYS)
    }

    fn counting_exactly(settings: Vec<Setting>, exact_keys: usize) -> Result<Self, LabError> {
        if settings.is_empty() || settings.len() > MOST_LIMITS as usize {
            return Err(LabError::Usage(format!(
                "{} limits: from 1 to {MOST_LIMITS} are replayed at once",
                settings.len()
            )));
        }
        let periods_ms: Vec<u64> =
            settings.iter().map(|setting| setting.zone.rate().period_ms()).collect();
        // No window is idle before its period is over.
        let longest_ms = periods_ms.iter().max().copied().unwrap_or(0);
        let windows = Windows::new(&periods_ms);
        let period_of = (0..settings.len()).map(|limit| windows.period_of(limit)).collect();
        let mut judges = Vec::new();
        for setting in settings {
            let (limiter, waits) = (limiter_of(&setting.rule), Waits::default());
            judges.push(Judge { setting, limiter, delayed: 0, refused: 0, waits });
        }
        Ok(Self {
            keys: Keys::default(),
            ledger: Ledger::new(period_of, exact_keys),
            live: Live::new(longest_ms),
            windows,
            timeline: Timeline::new(judges.len()),
            disagreements: Disagreements::new(judges.len()),
            batch: Vec::with_capacity(BATCH),
            judges,
        })
    }

    /// The result, with the `top` worst keys of each limit.
    pub fn finish(mut self, input: InputSummary, key: &str, top: usize) -> Summary {
        self.flush();
        for (number, key) in self.live.all() {
            self.settle(number, key);
        }
        let exact = self.ledger.is_exact();
        let keys_error_percent = if exact { 0.0 } else { sketch::DISTINCT_ERROR_PERCENT };
        let mut notes = input.notes();
        notes.extend(summary::sketch_note(keys_error_percent, EXACT_KEYS));
        let name = |limit: usize| {
            self.judges.get(limit).map_or_else(String::new, |judge| judge.setting.to_string())
        };
        let mut disagreements: Vec<Disagreement> = self
            .disagreements
            .iter()
            .map(|(admits, refuses, pair)| Disagreement {
                admits: name(admits),
                refuses: name(refuses),
                requests: pair.requests,
                first: input.place(pair.first_line),
            })
            .collect();
        disagreements.sort_by_key(|pair| std::cmp::Reverse(pair.requests));
        let limits = (0..).zip(&self.judges);
        let limits = limits.map(|(n, judge)| self.limit(n, judge, input.requests, top)).collect();
        Summary {
            key: key.to_string(),
            keys: self.ledger.distinct(&self.keys),
            keys_exact: exact,
            keys_error_percent,
            limits,
            disagreements,
            notes,
            timeline: self.timeline,
            input,
        }
    }

    fn limit(&self, limit: usize, judge: &Judge, requests: u64, top: usize) -> LimitSummary {
        let (worst, worst_missed) = self.ledger.worst(limit, top, &self.keys);
        let worst = worst.into_iter().map(|ranked| WorstKey {
            key: printable(&ranked.text),
            requests: ranked.totals.requests,
            refused: ranked.totals.refused,
            refused_error: ranked.totals.error,
            delayed: ranked.totals.delayed,
            peak_offered: ranked.totals.peak_offered,
            peak_admitted: ranked.totals.peak_admitted,
        });
        LimitSummary {
            limit: judge.setting.to_string(),
            quota: judge.setting.zone.rate().requests(),
            period_ms: judge.setting.zone.rate().period_ms(),
            passed: requests - judge.delayed - judge.refused,
            delayed: judge.delayed,
            refused: judge.refused,
            keys_affected: self.ledger.affected(limit, &self.keys),
            wait_p50_ms: judge.waits.percentile(50),
            wait_p99_ms: judge.waits.percentile(99),
            wait_max_ms: judge.waits.most_ms(),
            peak_admitted: self.timeline.peak(limit),
            worst: worst.collect(),
            worst_missed,
        }
    }

    /// Judges the requests of the batch and counts what the limits say.
    fn flush(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        for (limit, judge) in self.judges.iter_mut().enumerate() {
            judge.judge(1 << limit, &mut batch);
        }
        self.windows.warm(batch.iter().map(|request| request.live));
        for request in &batch {
            self.count(request);
        }
        if let Some(last) = batch.last() {
            self.sweep(last.now_ms, batch.len() * live::SWEPT_A_REQUEST);
        }
        batch.clear();
        self.batch = batch;
    }

    /// Counts a request that has been judged.
    fn count(&mut self, request: &Request) {
        let (verdict, timeline) = (request.verdict, &mut self.timeline);
        let place = timeline.request(request.now_ms);
        for limit in bits(verdict.refused) {
            if let Some(stretch) = timeline.stretch(limit, place) {
                stretch.refused += 1;
            }
        }
        let peak = |limit: usize, count: u32| {
            if let Some(stretch) = timeline.stretch(limit, place) {
                stretch.peak = stretch.peak.max(count);
            }
        };
        self.windows.note(request.live, request.now_ms, verdict, peak);
        if verdict.refused != 0 && verdict.admitted != 0 {
            self.disagreements.request(verdict.admitted, verdict.refused, request.line);
        }
    }

    /// Recycles numbers of keys that nothing is held against any more; looks at so many.
    fn sweep(&mut self, now_ms: u64, numbers: usize) {
        for _ in 0..numbers {
            let Some((number, key)) = self.live.next_at_rest(now_ms) else { continue };
            let rest = self.windows.is_idle(number, now_ms)
                && self.judges.iter().all(|judge| judge.limiter.recovered(number, now_ms));
            if rest {
                self.settle(number, key);
                self.ledger.at_rest(key, &mut self.keys);
            }
        }
    }

    /// Enters what happened to a live key into the ledger, and frees its number.
    fn settle(&mut self, number: usize, key: u32) {
        let (ledger, key_place) = (&mut self.ledger, key as usize);
        ledger.add_requests(key_place, self.live.recycle(number, key));
        self.windows.take(number, |limit, tally, offered_peak| {
            ledger.add(key_place, limit, tally, offered_peak);
        });
    }
}

impl Judge {
    /// Judges each request of a batch and enters what it says under its own bit.
    fn judge(&mut self, bit: LimitSet, batch: &mut [Request]) {
        for request in batch {
            let verdict = &mut request.verdict;
            match self.limiter.decide(request.live, request.now_ms) {
                Decision::Pass => verdict.admitted |= bit,
                Decision::Delay { wait_ms } => {
                    verdict.admitted |= bit;
                    verdict.delayed |= bit;
                    self.delayed += 1;
                    self.waits.add(wait_ms);
                }
                Decision::Refuse => {
                    verdict.refused |= bit;
                    self.refused += 1;
                }
            }
        }
    }
}

impl Sink for Replay {
    /// The live number of the key, so that its request need not look for it again.
    fn key(&mut self, text: &[u8]) -> u32 {
        self.live.expect(self.keys.number(text))
    }

    fn request(&mut self, now_ms: u64, key: u32, line: u64) {
        let live = key as usize;
        self.live.request(live, now_ms);
        self.windows.make_room(live);
        self.batch.push(Request { now_ms, live, line, verdict: Verdict::default() });
        if self.batch.len() >= BATCH {
            self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(limits: &[&str], exact_keys: usize) -> Replay {
        let settings = limits.iter().map(|text| Setting::parse(text).unwrap()).collect();
        Replay::counting_exactly(settings, exact_keys).unwrap()
    }

    fn request(replay: &mut Replay, at_ms: u64, key: &str) {
        let number = replay.key(key.as_bytes());
        replay.request(1_700_000_000_000 + at_ms, number, 0);
    }

    fn finish(replay: Replay, requests: u64) -> Summary {
        replay.finish(InputSummary { requests, ..InputSummary::default() }, "$k", 3)
    }

    #[test]
    fn a_timetable() {
        let limits = ["leaky rate=10r/s burst=2 delay=1", "leaky rate=1r/s burst=1 nodelay"];
        let mut run = replay(&limits, 10);
        // Waits under the first limit: 0, 0, 100, refused; then 0 for another key.
        for key in ["a", "a", "a", "a", "b"] {
            request(&mut run, 0, key);
        }
        let summary = finish(run, 5);
        let [first, second] = &summary.limits[..] else { panic!("two limits") };
        assert_eq!((first.passed, first.delayed, first.refused), (3, 1, 1));
        assert_eq!((second.passed, second.delayed, second.refused), (3, 0, 2));
        assert_eq!((first.wait_p50_ms, first.wait_max_ms), (100, 100));
        assert_eq!((summary.keys, first.keys_affected), (2, 1));
        assert_eq!((first.peak_admitted, second.peak_admitted), (3, 2));
        let worst = &first.worst[0];
        assert_eq!((worst.key.as_str(), worst.requests, worst.refused), ("a", 4, 1));
        assert_eq!((worst.peak_offered, worst.peak_admitted), (4, 3));
        assert_eq!(summary.disagreements.len(), 1);
        assert_eq!(summary.disagreements[0].refuses, limits[1]);
    }

    #[test]
    fn memory_is_that_of_live_keys() {
        let mut run = replay(&["leaky rate=10r/s burst=1 nodelay"], 100);
        for n in 0..20_000_u64 {
            // Three requests each, of which the third is refused.
            (0..3).for_each(|_| request(&mut run, n * 100, &format!("key {n}")));
            request(&mut run, n * 100, "always");
        }
        assert!(run.live.room() < 50, "{}", run.live.room());
        assert!(run.keys.len() < 200, "{}", run.keys.len());
        let summary = finish(run, 80_000);
        assert!(!summary.keys_exact && summary.keys.abs_diff(20_001) < 600, "{}", summary.keys);
        let limit = &summary.limits[0];
        assert_eq!(limit.refused, 20_000);
        assert!(limit.keys_affected.abs_diff(20_000) < 600, "{}", limit.keys_affected);
        assert!(summary.notes.iter().any(|note| note.contains("standard error")));
    }

    #[test]
    fn recycling_changes_nothing() {
        let limits = ["leaky rate=2r/s burst=1", "leaky rate=30r/m burst=3 nodelay"];
        let (mut small, mut large) = (replay(&limits, 0), replay(&limits, 1 << 20));
        let mut at_ms = 0;
        for n in 0..30_000_u64 {
            at_ms += n * 7919 % 60;
            for run in [&mut small, &mut large] {
                request(run, at_ms, &format!("{}", n * 104_729 % 97 * (n % 5)));
            }
        }
        let (small, large) = (finish(small, 30_000), finish(large, 30_000));
        for (small, large) in small.limits.iter().zip(&large.limits) {
            assert!(large.refused > 0);
            assert_eq!(
                (small.passed, small.delayed, small.refused, small.peak_admitted),
                (large.passed, large.delayed, large.refused, large.peak_admitted)
            );
            let keys = |limit: &LimitSummary| {
                let key = |worst: &WorstKey| (worst.key.clone(), worst.refused, worst.requests);
                limit.worst.iter().map(key).collect::<Vec<_>>()
            };
            assert_eq!(keys(small)[..1], keys(large)[..1]);
        }
    }
}
