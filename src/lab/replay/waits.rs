//! A histogram of waits: exact up to 65 seconds, within a thirty thousandth above.

/// Bits of a wait that are kept: the relative error is at most 2^-(this - 1).
const BITS: u32 = 16;

/// Waits by size.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    counts: Vec<u64>,
    total: u64,
    most_ms: u64,
}

impl Waits {
    /// Counts a wait in milliseconds.
    pub(super) fn add(&mut self, wait_ms: u64) {
        let place = place_of(wait_ms);
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.total += 1;
        self.most_ms = self.most_ms.max(wait_ms);
    }

    /// The least wait that `percent` of all do not exceed, in milliseconds; 0 if there are none.
    pub(super) fn percentile(&self, percent: u64) -> u64 {
        let rank = (self.total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return wait_of(place).min(self.most_ms);
            }
        }
        0
    }

    /// The longest wait in milliseconds.
    pub(super) fn most_ms(&self) -> u64 {
        self.most_ms
    }
}

/// The first places are waits themselves, then each doubling has half as many.
fn place_of(wait_ms: u64) -> usize {
    let shift = (u64::BITS - wait_ms.leading_zeros()).saturating_sub(BITS);
    let place = (u64::from(shift) << (BITS - 1)) + (wait_ms >> shift);
    usize::try_from(place).unwrap_or(usize::MAX)
}

/// The longest wait of a place.
fn wait_of(place: usize) -> u64 {
    let place = place as u64;
    let shift = (place >> (BITS - 1)).saturating_sub(1);
    let kept = place - (shift << (BITS - 1));
    (kept << shift) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_hold_what_they_say() {
        for wait_ms in
            (0..70_000).step_by(7).chain([131_071, 131_072, 1 << 30, u64::MAX / 2, u64::MAX])
        {
            let told = wait_of(place_of(wait_ms));
            assert!(told >= wait_ms && told - wait_ms <= wait_ms / 32_768, "{wait_ms}: {told}");
            assert!(wait_ms > 65_535 || told == wait_ms, "{wait_ms}: {told}");
        }
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut waits = Waits::default();
        assert_eq!((waits.percentile(50), waits.most_ms()), (0, 0));
        for wait_ms in 1..=200 {
            waits.add(wait_ms);
        }
        assert_eq!([50, 99, 100].map(|p| waits.percentile(p)), [100, 198, 200]);
    }
}
