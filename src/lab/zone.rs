//! How large the zone of a limit has to be.

use super::suggest::least;
use crate::limit::Rule;
use crate::store::{capacity, LEAST_KEYS};

/// The largest size that is looked at, in megabytes: a size in bytes fits nginx's signed word.
const MOST_MEGABYTES: u64 = 1 << 40;

/// The least size, in whole megabytes, of a zone that keeps so many keys at once.
///
/// With headroom, as no table is filled to the last slot before it loses a key: twice the keys;
/// four times under `sliding_log`, whose records are too large to be moved out of a full bucket.
/// With two or three times as many slots, up to three keys in a hundred were lost there; with four
/// times, none.
pub fn megabytes(rule: &Rule, keys: u64) -> u64 {
    let spare = if matches!(rule, Rule::SlidingLog(_)) { 4 } else { 2 };
    let slots = keys.saturating_mul(spare).max(LEAST_KEYS as u64);
    let holds = |megabytes| Ok(capacity(rule, table_bytes(megabytes)) as u64 >= slots);
    least(1, MOST_MEGABYTES, holds).unwrap_or(MOST_MEGABYTES)
}

/// What nginx's slab allocator leaves for the table: it keeps 24 bytes for each page of 4096, and
/// a header. Rounded down.
fn table_bytes(megabytes: u64) -> usize {
    let bytes = usize::try_from(megabytes << 20).unwrap_or(usize::MAX);
    bytes - bytes / 128 - 4096
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::setting::Setting;

    fn rule(limit: &str) -> Rule {
        Setting::parse(limit).unwrap().rule
    }

    /// What a real zone was seen to have.
    #[test]
    fn a_zone_has_no_less_than_is_counted_on() {
        assert!(table_bytes(1) <= 1_040_384 && table_bytes(1) > 1_030_000);
        assert!(table_bytes(16) <= 16_674_816 && table_bytes(16) > 16_600_000);
    }

    #[test]
    fn sizes() {
        for (limit, keys, expected) in [
            ("leaky rate=1r/s", 0, 1),
            // 128 bytes for five keys: 40335 in 1m.
            ("leaky rate=1r/s", 20_167, 1),
            ("leaky rate=1r/s", 20_200, 2),
            ("leaky rate=1r/s", 1_000_000, 50),
            // 128 bytes for seven.
            ("gcra rate=1r/s", 1_000_000, 36),
            ("fixed_window rate=9r/s", 1_000_000, 50),
            // Eight bytes for each remembered admission.
            ("sliding_log rate=1000r/m", 1000, 31),
            // nginx would refuse to start with fewer than eight keys.
            ("sliding_log rate=2000000r/m", 0, 124),
        ] {
            assert_eq!(megabytes(&rule(limit), keys), expected, "{limit}, {keys} keys");
        }
        assert_eq!(megabytes(&rule("sliding_log rate=2000000r/m"), u64::MAX), MOST_MEGABYTES);
    }
}
