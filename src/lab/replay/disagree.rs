//! Requests that one limit admits and another refuses.

use super::{bits, LimitSet};

/// Counts for each pair of limits.
pub(super) struct Disagreements {
    limits: usize,
    /// By the limit that admits and the one that refuses.
    pairs: Vec<Pair>,
}

/// What one limit admits and another refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    /// How many requests.
    pub(super) requests: u64,
    /// The first of them: its line among all.
    pub(super) first_line: u64,
}

impl Disagreements {
    pub(super) fn new(limits: usize) -> Self {
        Self { limits, pairs: vec![Pair::default(); limits * limits] }
    }

    /// Counts a request that these limits admit and these refuse.
    pub(super) fn request(&mut self, admitted: LimitSet, refused: LimitSet, line: u64) {
        for admits in bits(admitted) {
            for refuses in bits(refused) {
                if let Some(pair) = self.pairs.get_mut(admits * self.limits + refuses) {
                    if pair.requests == 0 {
                        pair.first_line = line;
                    }
                    pair.requests += 1;
                }
            }
        }
    }

    /// All pairs with a request: the limit that admits, the one that refuses, and the count.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize, Pair)> + '_ {
        let limits = self.limits.max(1);
        let all = self.pairs.iter().enumerate();
        all.filter(|(_, pair)| pair.requests > 0)
            .map(move |(place, pair)| (place / limits, place % limits, *pair))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_counted_in_its_direction() {
        let mut disagreements = Disagreements::new(3);
        disagreements.request(0b001, 0b110, 7);
        disagreements.request(0b010, 0b001, 8);
        disagreements.request(0b001, 0b100, 9);
        disagreements.request(0b111, 0, 10);
        let pairs: Vec<_> = disagreements.iter().collect();
        let pair = |requests, first_line| Pair { requests, first_line };
        assert_eq!(pairs, [(0, 1, pair(1, 7)), (0, 2, pair(2, 7)), (1, 0, pair(1, 8))]);
    }
}
