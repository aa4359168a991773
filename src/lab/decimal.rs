//! Times and fractions as text, without floats: what is printed is what was compared.
//!
//! A column has as many places as all of its values need to be exact, so that it is aligned and
//! sums can be followed by hand. Where a fraction has no end it is cut: a value below a limit is
//! never printed as the limit.

use crate::limit::NS_PER_MS;

const NS_PER_S: u64 = 1000 * NS_PER_MS;

/// Places of a nanosecond.
const MOST_PLACES: usize = 9;

/// A fraction with so many decimal places, cut off.
pub fn fraction(numerator: u128, denominator: u128, places: usize) -> String {
    let denominator = denominator.max(1);
    let unit = ten_to(places);
    let scaled = numerator.saturating_mul(unit) / denominator;
    if places == 0 {
        return scaled.to_string();
    }
    format!("{}.{:0places$}", scaled / unit, scaled % unit)
}

/// Milliseconds as seconds, with as many places as they need and at least one.
pub fn seconds(ms: u64) -> String {
    Scale::of(&[ms]).seconds(ms.saturating_mul(NS_PER_MS))
}

/// Milliseconds as seconds, with no place that is not needed.
pub fn short_seconds(ms: u64) -> String {
    seconds(ms).trim_end_matches('0').trim_end_matches('.').to_string()
}

fn ten_to(places: usize) -> u128 {
    (0..places.min(MOST_PLACES)).fold(1, |power, _| power * 10)
}

/// The unit that all times of a trace are multiples of, and with it the places they need.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    unit_ns: u64,
}

impl Scale {
    /// For these times, in milliseconds.
    pub fn of(times_ms: &[u64]) -> Self {
        let unit_ms = times_ms.iter().fold(0, |unit, time| common_divisor(unit, *time));
        Self { unit_ns: unit_ms.saturating_mul(NS_PER_MS) }
    }

    /// For a span as well, in nanoseconds.
    pub fn and(self, span_ns: u64) -> Self {
        Self { unit_ns: common_divisor(self.unit_ns, span_ns) }
    }

    /// A time in nanoseconds as seconds.
    pub fn seconds(&self, ns: u64) -> String {
        fraction(ns.into(), NS_PER_S.into(), self.places_of(NS_PER_S, 1, MOST_PLACES))
    }

    /// How many places the times need as parts of a span, from two to six.
    pub fn places_in(&self, span_ns: u64) -> usize {
        self.places_of(span_ns, 2, 6)
    }

    fn places_of(&self, span_ns: u64, least: usize, most: usize) -> usize {
        let is_exact = |places: &usize| {
            let scaled = u128::from(self.unit_ns) * ten_to(*places);
            scaled.checked_rem(span_ns.into()) == Some(0)
        };
        (least..most).find(is_exact).unwrap_or(most)
    }
}

/// The greatest common divisor, where 0 is a multiple of everything.
fn common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    // Ends: the remainder gets smaller with each turn.
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_cut() {
        assert_eq!(fraction(49_500, 10_000, 2), "4.95");
        assert_eq!(fraction(4_999_999, 1_000_000, 2), "4.99");
        assert_eq!(fraction(7, 2, 0), "3");
        assert_eq!(fraction(1, 0, 1), "1.0");
    }

    #[test]
    fn seconds_have_the_places_they_need() {
        for (ms, long, short) in
            [(0, "0.0", "0"), (2000, "2.0", "2"), (9500, "9.5", "9.5"), (59_990, "59.99", "59.99")]
        {
            assert_eq!((seconds(ms), short_seconds(ms)), (long.to_string(), short.to_string()));
        }
        assert_eq!(short_seconds(10_000), "10");
    }

    #[test]
    fn a_scale_is_exact_for_all_its_times() {
        let scale = Scale::of(&[2000, 9500, 9800]).and(2_000_000_000);
        assert_eq!(scale.seconds(9_500_000_000), "9.5");
        assert_eq!(scale.places_in(2_000_000_000), 2);
        assert_eq!(scale.and(333_333_333).seconds(1), "0.000000001");
        assert_eq!(Scale::of(&[0]).seconds(0), "0.0");
        assert_eq!(Scale::of(&[1]).places_in(2_000_000_000), 4);
    }
}
