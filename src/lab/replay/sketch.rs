//! What is kept of keys beyond the million that are counted exactly: how many there were, and
//! which ones were refused most.

use std::collections::BTreeSet;

use crate::lab::keys::Keys;

/// Bits of a hash that choose a register: an error of 1.04 / sqrt(2^14), which is 0.8 %.
const INDEX_BITS: u32 = 14;

/// The relative standard error of [`Distinct`], in per cent.
pub(super) const DISTINCT_ERROR_PERCENT: f64 = 0.82;

/// Counts different keys by their hashes (HyperLogLog, Flajolet et al. 2007).
#[derive(Clone)]
pub(super) struct Distinct(Vec<u8>);

impl Default for Distinct {
    fn default() -> Self {
        Self(vec![0; 1 << INDEX_BITS])
    }
}

impl Distinct {
    pub(super) fn add(&mut self, hash: u64) {
        let register = hash >> (u64::BITS - INDEX_BITS);
        // At most 51, so that the cast cuts nothing: a one is set below the index.
        let zeros = ((hash << INDEX_BITS) | 1 << (INDEX_BITS - 1)).leading_zeros() + 1;
        let register = usize::try_from(register).unwrap_or(0);
        if let Some(most) = self.0.get_mut(register) {
            *most = (*most).max(zeros as u8);
        }
    }

    pub(super) fn estimate(&self) -> u64 {
        let registers = self.0.len() as f64;
        let sum: f64 = self.0.iter().map(|zeros| (-f64::from(*zeros)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let empty = self.0.iter().filter(|zeros| **zeros == 0).count();
        // Few keys: counting empty registers is better.
        let estimate = if raw <= 2.5 * registers && empty > 0 {
            registers * (registers / empty as f64).ln()
        } else {
            raw
        };
        estimate.round() as u64
    }
}

/// What one limit did to one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyTotals {
    /// Requests of the key.
    pub(super) requests: u64,
    /// Refused of them.
    pub(super) refused: u64,
    /// Delayed of them.
    pub(super) delayed: u64,
    /// Most requests in a period of the limit.
    pub(super) peak_offered: u32,
    /// Most admitted requests in a period of the limit.
    pub(super) peak_admitted: u32,
    /// By how much `refused` may be too high.
    pub(super) error: u64,
}

impl KeyTotals {
    /// Adds another stretch of the same key.
    pub(super) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.delayed += other.delayed;
        self.peak_offered = self.peak_offered.max(other.peak_offered);
        self.peak_admitted = self.peak_admitted.max(other.peak_admitted);
        self.error += other.error;
    }
}

/// The keys with the most refusals (Space-Saving, Metwally et al. 2005): a key that comes new into
/// a full sketch takes the place of the one with the fewest and inherits its count as error.
pub(super) struct Worst {
    keys: Keys,
    totals: Vec<KeyTotals>,
    order: BTreeSet<(u64, u32)>,
    capacity: usize,
}

impl Worst {
    pub(super) fn new(capacity: usize) -> Self {
        Self { keys: Keys::default(), totals: Vec::new(), order: BTreeSet::new(), capacity }
    }

    /// Adds what was counted of a key.
    pub(super) fn add(&mut self, text: &[u8], mut totals: KeyTotals) {
        if let Some(number) = self.keys.find(text) {
            let old = self.totals.get(number as usize).copied().unwrap_or_default();
            self.order.remove(&(old.refused, number));
            totals.merge(&old);
        } else if self.order.len() >= self.capacity {
            if let Some((fewest, number)) = self.order.pop_first() {
                self.keys.remove(number);
                totals.refused += fewest;
                totals.error = fewest;
            }
        }
        let number = self.keys.number(text);
        let place = number as usize;
        if self.totals.len() <= place {
            self.totals.resize(place + 1, KeyTotals::default());
        }
        if let Some(held) = self.totals.get_mut(place) {
            *held = totals;
        }
        self.order.insert((totals.refused, number));
    }

    /// All keys of the sketch with their counts, the most refused first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], KeyTotals)> {
        self.order.iter().rev().map(|(_, number)| {
            let totals = self.totals.get(*number as usize).copied().unwrap_or_default();
            (self.keys.text(*number), totals)
        })
    }

    /// By how much the refusals of a key that is not in the sketch may have been missed.
    pub(super) fn missed(&self) -> u64 {
        let full = self.order.len() >= self.capacity;
        self.order.first().filter(|_| full).map_or(0, |(fewest, _)| *fewest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_keys_are_counted_within_three_deviations() {
        let keys = Keys::default();
        let mut distinct = Distinct::default();
        for (n, checked) in [(100_u64, 100_u64), (20_000, 20_000), (300_000, 300_000)] {
            for key in 0..n {
                distinct.add(keys.hash(&key.to_le_bytes()));
            }
            let off = distinct.estimate().abs_diff(checked) as f64 / checked as f64;
            assert!(off < 0.03, "{n}: {}", distinct.estimate());
        }
    }

    #[test]
    fn heavy_keys_survive_a_spray() {
        let refused = |refused| KeyTotals { refused, ..KeyTotals::default() };
        let mut worst = Worst::new(10);
        for n in 0..1000_u64 {
            worst.add(format!("spray {n}").as_bytes(), refused(1));
            if n % 10 == 0 {
                worst.add(b"heavy", refused(30));
            }
        }
        let (text, totals) = worst.iter().next().unwrap();
        assert_eq!(text, b"heavy");
        assert!(totals.refused >= 3000 && totals.refused - totals.error <= 3000, "{totals:?}");
        assert!(worst.missed() <= 4000 / 10);
    }
}
