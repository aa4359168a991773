//! Spans of time as nginx reads them.

use super::number::parse_decimal;

/// nginx's suffixes with their length in milliseconds, in the order in which they may follow each
/// other (`ngx_parse_time`).
const UNITS: [(&[u8], u64); 8] = [
    (b"y", 365 * DAY_MS),
    (b"M", 30 * DAY_MS),
    (b"w", 7 * DAY_MS),
    (b"d", DAY_MS),
    (b"h", 60 * MINUTE_MS),
    (b"m", MINUTE_MS),
    (b"s", SECOND_MS),
    (b"ms", 1),
];

pub(super) const SECOND_MS: u64 = 1000;
pub(super) const MINUTE_MS: u64 = 60 * SECOND_MS;
pub(super) const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// A span in milliseconds: numbers with suffixes from the longest to the shortest, or a bare
/// number of seconds, as in nginx's own directives: `10s`, `1h30m`, `500ms`, `10`.
///
/// `None` also for a span of 0.
pub(super) fn parse_time_ms(text: &[u8]) -> Option<u64> {
    let mut rest = text;
    let mut units = UNITS.as_slice();
    let mut total_ms = 0_u64;
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, tail) = rest.split_at_checked(digits)?;
        let letters = tail.iter().take_while(|byte| !byte.is_ascii_digit()).count();
        let (suffix, tail) = tail.split_at_checked(letters)?;
        // Without a suffix a number counts as seconds, and must be the last.
        let suffix = if suffix.is_empty() { b"s" } else { suffix };
        let place = units.iter().position(|(unit, _)| *unit == suffix)?;
        let (_, unit_ms) = units.get(place)?;
        total_ms = total_ms.checked_add(parse_decimal(number)?.checked_mul(*unit_ms)?)?;
        units = units.get(place + 1..)?;
        rest = tail;
    }
    (total_ms > 0).then_some(total_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_those_of_nginx() {
        for (text, ms) in [
            ("10s", Some(10_000)),
            ("10", Some(10_000)),
            ("500ms", Some(500)),
            ("1h30m", Some(5_400_000)),
            ("1m30", Some(90_000)),
            ("1y", Some(31_536_000_000)),
            ("1M", Some(2_592_000_000)),
            ("1w", Some(604_800_000)),
            ("", None),
            ("0s", None),
            ("s", None),
            ("1x", None),
            ("1m1h", None),
            ("1s1s", None),
            ("-1s", None),
            ("1.5s", None),
            ("1 s", None),
            ("9223372036854775807w", None),
        ] {
            assert_eq!(parse_time_ms(text.as_bytes()), ms, "{text:?}");
        }
    }
}
