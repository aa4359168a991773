//! What happened when: a bounded number of equal stretches of time, twice as long whenever the
//! log outgrows them.

use serde::Serialize;

/// The most stretches: about as many as a chart has columns of pixels to tell apart.
const MOST_STRETCHES: usize = 480;

/// The shortest stretch.
const FIRST_WIDTH_MS: u64 = 1000;

/// Counts over time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// Begin of the first stretch, in milliseconds since 1970.
    pub start_ms: u64,
    /// Length of a stretch in milliseconds.
    pub width_ms: u64,
    /// Requests of each stretch; what a limit has not refused of them it has admitted.
    pub offered: Vec<u64>,
    /// For each limit, what it did in each stretch.
    pub limits: Vec<Vec<Stretch>>,
}

/// What a limit did in one stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// Refused requests.
    pub refused: u32,
    /// The most that was admitted of one key in one period of the limit that ended here.
    pub peak: u32,
}

impl Stretch {
    fn merge(&mut self, other: Self) {
        self.refused = self.refused.saturating_add(other.refused);
        self.peak = self.peak.max(other.peak);
    }
}

impl Timeline {
    pub(super) fn new(limits: usize) -> Self {
        Self { limits: vec![Vec::new(); limits], ..Self::default() }
    }

    /// Counts a request and tells its stretch. Times never go back.
    pub(super) fn request(&mut self, now_ms: u64) -> usize {
        if self.offered.is_empty() {
            self.width_ms = FIRST_WIDTH_MS;
            self.start_ms = now_ms / FIRST_WIDTH_MS * FIRST_WIDTH_MS;
        }
        let mut place = self.place(now_ms);
        while place >= MOST_STRETCHES {
            self.halve();
            place = self.place(now_ms);
        }
        if self.offered.len() <= place {
            self.offered.resize(place + 1, 0);
            for limit in &mut self.limits {
                limit.resize(place + 1, Stretch::default());
            }
        }
        if let Some(offered) = self.offered.get_mut(place) {
            *offered += 1;
        }
        place
    }

    /// The stretch of a limit, to count in.
    pub(super) fn stretch(&mut self, limit: usize, place: usize) -> Option<&mut Stretch> {
        self.limits.get_mut(limit)?.get_mut(place)
    }

    /// The most that a limit admitted of any key in any of its periods.
    pub(super) fn peak(&self, limit: usize) -> u32 {
        let stretches = self.limits.get(limit).map_or(&[][..], Vec::as_slice);
        stretches.iter().map(|stretch| stretch.peak).max().unwrap_or(0)
    }

    fn place(&self, now_ms: u64) -> usize {
        let place = now_ms.saturating_sub(self.start_ms) / self.width_ms.max(1);
        usize::try_from(place).unwrap_or(usize::MAX)
    }

    /// Makes one stretch of each two.
    fn halve(&mut self) {
        self.width_ms *= 2;
        self.offered = self.offered.chunks(2).map(|pair| pair.iter().sum()).collect();
        for limit in &mut self.limits {
            let merged = limit.chunks(2).map(|pair| {
                let mut sum = Stretch::default();
                pair.iter().for_each(|stretch| sum.merge(*stretch));
                sum
            });
            *limit = merged.collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_grow_with_the_log() {
        let mut timeline = Timeline::new(1);
        for second in 0..1000_u64 {
            let place = timeline.request(5_000_500 + second * 1000);
            let stretch = timeline.stretch(0, place).unwrap();
            stretch.merge(Stretch { refused: 1, peak: second as u32 });
        }
        assert_eq!((timeline.start_ms, timeline.width_ms), (5_000_000, 4000));
        assert_eq!(timeline.offered, vec![4; 250]);
        assert_eq!(timeline.limits[0][249], Stretch { refused: 4, peak: 999 });
    }

    #[test]
    fn a_gap_of_years_is_bounded() {
        let mut timeline = Timeline::new(2);
        timeline.request(0);
        timeline.request(u64::MAX / 2);
        assert!(timeline.offered.len() <= MOST_STRETCHES);
        assert_eq!(timeline.offered.iter().sum::<u64>(), 2);
    }
}
