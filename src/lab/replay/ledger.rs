//! What each limit did to each key, for as many keys as are counted exactly.

use super::sketch::{Distinct, KeyTotals, Worst};
use crate::lab::keys::Keys;

/// Keys that are counted exactly. Beyond them, keys that are at rest go to the sketches.
pub(super) const EXACT_KEYS: usize = 1_000_000;

/// Places in the sketch of the worst keys, for each limit.
const SKETCH_KEYS: usize = 100_000;

/// What a limit did to a key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Refused requests.
    pub(super) refused: u32,
    /// Delayed requests.
    pub(super) delayed: u32,
    /// Most admitted requests in any period of the limit.
    pub(super) peak: u32,
}

/// Tallies by key and limit.
pub(super) struct Ledger {
    limits: usize,
    /// Place of a limit's period among the different ones.
    period_of: Vec<usize>,
    periods: usize,
    requests: Vec<u64>,
    /// Most requests in any period, by key and period.
    offered_peaks: Vec<u32>,
    /// By key and limit.
    tallies: Vec<Tally>,
    sketches: Option<Sketches>,
    exact_keys: usize,
}

/// What is left of dropped keys.
struct Sketches {
    all: Distinct,
    by_limit: Vec<LimitSketch>,
}

struct LimitSketch {
    affected: Distinct,
    worst: Worst,
}

/// One key as it will be shown.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    /// The key's text.
    pub(super) text: Box<[u8]>,
    /// What the limit did to it.
    pub(super) totals: KeyTotals,
}

impl Ledger {
    /// A ledger for limits whose periods have these places.
    pub(super) fn new(period_of: Vec<usize>, exact_keys: usize) -> Self {
        Self {
            limits: period_of.len(),
            periods: period_of.iter().max().map_or(0, |place| place + 1),
            period_of,
            requests: Vec::new(),
            offered_peaks: Vec::new(),
            tallies: Vec::new(),
            sketches: None,
            exact_keys,
        }
    }

    /// Adds requests of a key.
    pub(super) fn add_requests(&mut self, key: usize, requests: u64) {
        if self.requests.len() <= key {
            self.requests.resize(key + 1, 0);
            self.offered_peaks.resize((key + 1) * self.periods, 0);
            self.tallies.resize((key + 1) * self.limits, Tally::default());
        }
        if let Some(held) = self.requests.get_mut(key) {
            *held += requests;
        }
    }

    /// Adds what a limit did to a key, whose requests have been added, and its most requests in
    /// a period of the limit.
    pub(super) fn add(&mut self, key: usize, limit: usize, tally: Tally, offered_peak: u32) {
        if let Some(held) = self.tallies.get_mut(key * self.limits + limit) {
            held.refused = held.refused.saturating_add(tally.refused);
            held.delayed = held.delayed.saturating_add(tally.delayed);
            held.peak = held.peak.max(tally.peak);
        }
        let period = self.period_of.get(limit).copied().unwrap_or(0);
        if let Some(held) = self.offered_peaks.get_mut(key * self.periods + period) {
            *held = offered_peak.max(*held);
        }
    }

    /// Empties what is held of a key, for another one.
    fn clear(&mut self, key: usize) {
        let tallies = self.tallies.get_mut(key * self.limits..(key + 1) * self.limits);
        tallies.unwrap_or_default().fill(Tally::default());
        let peaks = self.offered_peaks.get_mut(key * self.periods..(key + 1) * self.periods);
        peaks.unwrap_or_default().fill(0);
        if let Some(requests) = self.requests.get_mut(key) {
            *requests = 0;
        }
    }

    /// Moves a key that is at rest to the sketches if there are too many to count exactly.
    pub(super) fn at_rest(&mut self, key: u32, keys: &mut Keys) {
        if keys.len() <= self.exact_keys {
            return;
        }
        let mut sketches = self.sketches.take().unwrap_or_else(|| Sketches::new(self.limits));
        let text = keys.text(key);
        sketches.all.add(keys.hash(text));
        for (limit, sketch) in sketches.by_limit.iter_mut().enumerate() {
            let totals = self.totals(key as usize, limit);
            if totals.refused + totals.delayed > 0 {
                sketch.affected.add(keys.hash(text));
            }
            if totals.refused > 0 {
                sketch.worst.add(text, totals);
            }
        }
        self.sketches = Some(sketches);
        keys.remove(key);
        self.clear(key as usize);
    }

    /// Whether all counts are exact.
    pub(super) fn is_exact(&self) -> bool {
        self.sketches.is_none()
    }

    /// How many different keys there were.
    pub(super) fn distinct(&self, keys: &Keys) -> u64 {
        let Some(sketches) = &self.sketches else { return keys.len() as u64 };
        let mut all = sketches.all.clone();
        keys.iter().for_each(|key| all.add(keys.hash(keys.text(key))));
        all.estimate()
    }

    /// How many different keys a limit has refused or delayed at least once.
    pub(super) fn affected(&self, limit: usize, keys: &Keys) -> u64 {
        let affected = keys.iter().filter(|key| {
            let totals = self.totals(*key as usize, limit);
            totals.refused + totals.delayed > 0
        });
        let sketch = self.sketches.as_ref().and_then(|sketches| sketches.by_limit.get(limit));
        let Some(sketch) = sketch else { return affected.count() as u64 };
        let mut distinct = sketch.affected.clone();
        affected.for_each(|key| distinct.add(keys.hash(keys.text(key))));
        distinct.estimate()
    }

    /// The keys with the most refused, then delayed requests, then the highest peak; and by how
    /// much the refusals of one that is missing may have been overlooked.
    pub(super) fn worst(&self, limit: usize, top: usize, keys: &Keys) -> (Vec<Ranked>, u64) {
        let sketch = self.sketches.as_ref().and_then(|sketches| sketches.by_limit.get(limit));
        let mut held = vec![KeyTotals::default(); self.requests.len()];
        let mut ranked: Vec<(KeyTotals, &[u8])> = Vec::new();
        for (text, totals) in sketch.iter().flat_map(|sketch| sketch.worst.iter()) {
            // A dropped key may have come back, and is then counted in both.
            match keys.find(text).and_then(|key| held.get_mut(key as usize)) {
                Some(held) => *held = totals,
                None => ranked.push((totals, text)),
            }
        }
        for key in keys.iter() {
            let mut totals = self.totals(key as usize, limit);
            totals.merge(&held.get(key as usize).copied().unwrap_or_default());
            ranked.push((totals, keys.text(key)));
        }
        let rank = |totals: &KeyTotals| (totals.refused, totals.delayed, totals.peak_offered);
        let order = |a: &(KeyTotals, &[u8]), b: &(KeyTotals, &[u8])| {
            rank(&b.0).cmp(&rank(&a.0)).then_with(|| a.1.cmp(b.1))
        };
        if top < ranked.len() {
            ranked.select_nth_unstable_by(top, order);
            ranked.truncate(top);
        }
        ranked.sort_unstable_by(order);
        let shown = ranked.into_iter().map(|(totals, text)| Ranked { text: text.into(), totals });
        (shown.collect(), sketch.map_or(0, |sketch| sketch.worst.missed()))
    }

    fn totals(&self, key: usize, limit: usize) -> KeyTotals {
        let tally = self.tallies.get(key * self.limits + limit).copied().unwrap_or_default();
        let period = self.period_of.get(limit).copied().unwrap_or(0);
        KeyTotals {
            requests: self.requests.get(key).copied().unwrap_or(0),
            refused: tally.refused.into(),
            delayed: tally.delayed.into(),
            peak_offered: self.offered_peaks.get(key * self.periods + period).copied().unwrap_or(0),
            peak_admitted: tally.peak,
            error: 0,
        }
    }
}

impl Sketches {
    fn new(limits: usize) -> Self {
        let sketch =
            || LimitSketch { affected: Distinct::default(), worst: Worst::new(SKETCH_KEYS) };
        Self { all: Distinct::default(), by_limit: (0..limits).map(|_| sketch()).collect() }
    }
}
