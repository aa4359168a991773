//! Numbers as nginx reads them.

/// A decimal number of digits alone (`ngx_atoi`): no sign, no blank, at least one digit.
/// `None` also where it does not fit a signed machine word.
pub(super) fn parse_decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits
        .iter()
        .try_fold(0_i64, |number, digit| {
            let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        })
        .map(i64::cast_unsigned)
}

/// A positive number of at most `most`, or why it is none.
pub(super) fn parse_positive(digits: &[u8], most: u64) -> Result<u64, NotPositive> {
    match parse_decimal(digits) {
        Some(0) => Err(NotPositive::Malformed),
        Some(number) if number <= most => Ok(number),
        Some(_) => Err(NotPositive::TooHigh),
        // All digits and yet no number: too long for a machine word.
        None if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            Err(NotPositive::TooHigh)
        }
        None => Err(NotPositive::Malformed),
    }
}

/// Why an argument is not the positive number it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotPositive {
    /// Not digits alone, or zero.
    Malformed,
    /// Above what the arithmetic can hold.
    TooHigh,
}

/// A size in bytes with an optional suffix `k` or `m` in either case (`ngx_parse_size`).
pub(super) fn parse_size(text: &[u8]) -> Option<u64> {
    let (digits, unit) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 1024),
        (b'm' | b'M', digits) => (digits, 1024 * 1024),
        _ => (text, 1),
    };
    let bytes = parse_decimal(digits)?.checked_mul(unit)?;
    i64::try_from(bytes).is_ok().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_digits_alone() {
        for (text, number) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("9223372036854775807", Some(i64::MAX as u64)),
            ("9223372036854775808", None),
            ("", None),
            ("+1", None),
            ("-1", None),
            ("1 ", None),
            ("1.5", None),
            ("0x10", None),
        ] {
            assert_eq!(parse_decimal(text.as_bytes()), number, "{text:?}");
        }
    }

    #[test]
    fn sizes_have_one_suffix() {
        for (text, bytes) in [
            ("32768", Some(32768)),
            ("32k", Some(32768)),
            ("32K", Some(32768)),
            ("10m", Some(10 << 20)),
            ("1M", Some(1 << 20)),
            ("1g", None),
            ("k", None),
            ("", None),
            ("10mm", None),
            ("9223372036854775807m", None),
        ] {
            assert_eq!(parse_size(text.as_bytes()), bytes, "{text:?}");
        }
    }
}
