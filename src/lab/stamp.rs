//! The times of a log: `$msec`, `$time_iso8601` and `$time_local` to milliseconds since 1970.

use time::format_description::well_known::Rfc3339;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::OffsetDateTime;

/// `02/Jan/2006:15:04:05 +0000`, nginx's `$time_local`.
const LOCAL: &[BorrowedFormatItem<'static>] = format_description!(
    "[day]/[month repr:short]/[year]:[hour]:[minute]:[second] \
     [offset_hour sign:mandatory][offset_minute]"
);

/// The last instant of the year 9999, in milliseconds: beyond it a time is a mistake, and below it
/// a time leaves room for other bits in its word.
const LATEST_MS: u64 = 253_402_300_799_999;

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Seconds since 1970 with milliseconds.
    Msec,
    /// `2006-01-02T15:04:05+00:00`.
    Iso8601,
    /// `02/Jan/2006:15:04:05 +0000`.
    Local,
}

impl Stamp {
    /// The variables of nginx that hold a time, the finest first.
    pub const VARIABLES: [(&'static str, Self); 3] =
        [("msec", Self::Msec), ("time_iso8601", Self::Iso8601), ("time_local", Self::Local)];

    /// Tells the way a time is written from its text.
    pub fn guess(text: &[u8]) -> Self {
        if text.contains(&b'/') {
            Self::Local
        } else if text.contains(&b'T') {
            Self::Iso8601
        } else {
            Self::Msec
        }
    }
}

/// Reads times, the same second once: lines of a log mostly share theirs with the one before.
#[derive(Debug, Default)]
pub struct StampReader {
    last_text: Vec<u8>,
    last_ms: u64,
    finest: bool,
}

impl StampReader {
    /// The time in milliseconds since 1970, or `None` if the text is no such time.
    pub fn read(&mut self, stamp: Stamp, text: &[u8]) -> Option<u64> {
        if text == self.last_text && !text.is_empty() {
            return Some(self.last_ms);
        }
        let time_ms = match stamp {
            Stamp::Msec => msec(text)?,
            Stamp::Iso8601 => {
                unix_ms(OffsetDateTime::parse(std::str::from_utf8(text).ok()?, &Rfc3339).ok()?)?
            }
            Stamp::Local => {
                unix_ms(OffsetDateTime::parse(std::str::from_utf8(text).ok()?, LOCAL).ok()?)?
            }
        };
        self.finest |= time_ms % 1000 != 0;
        self.last_text.clear();
        self.last_text.extend_from_slice(text);
        self.last_ms = time_ms;
        Some(time_ms)
    }

    /// Whether any time so far had a part below the second.
    pub fn finer_than_a_second(&self) -> bool {
        self.finest
    }
}

fn unix_ms(at: OffsetDateTime) -> Option<u64> {
    u64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()
}

/// `1700000000.123`, where the fraction may be missing or of any length.
fn msec(text: &[u8]) -> Option<u64> {
    let (seconds, fraction) = match memchr::memchr(b'.', text) {
        Some(dot) => (text.get(..dot)?, text.get(dot.saturating_add(1)..)?),
        None => (text, &b""[..]),
    };
    // Twelve digits of seconds reach the latest time and cannot overflow with milliseconds.
    if seconds.is_empty() || seconds.len() > 12 || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = seconds.iter().chain(fraction.iter().chain(b"000").take(3));
    let time_ms = digits.copied().try_fold(0_u64, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    });
    time_ms.filter(|time_ms| *time_ms <= LATEST_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_nginx_writes_them() {
        let mut reader = StampReader::default();
        for (stamp, text, time_ms) in [
            (Stamp::Msec, "1700000000.123", Some(1_700_000_000_123)),
            (Stamp::Msec, "1700000000", Some(1_700_000_000_000)),
            (Stamp::Msec, "1700000000.5", Some(1_700_000_000_500)),
            (Stamp::Msec, "1700000000.5019", Some(1_700_000_000_501)),
            (Stamp::Msec, "", None),
            (Stamp::Msec, "-", None),
            (Stamp::Msec, "17x.5", None),
            (Stamp::Msec, "9999999999999", None),
            (Stamp::Msec, "253402300800", None),
            (Stamp::Msec, "253402300799.9999", Some(LATEST_MS)),
            (Stamp::Iso8601, "2023-11-14T22:13:20+00:00", Some(1_700_000_000_000)),
            (Stamp::Iso8601, "2023-11-15T05:13:20+07:00", Some(1_700_000_000_000)),
            (Stamp::Iso8601, "2023-11-14T22:13:20.25Z", Some(1_700_000_000_250)),
            (Stamp::Iso8601, "2023-11-14", None),
            (Stamp::Local, "14/Nov/2023:22:13:20 +0000", Some(1_700_000_000_000)),
            (Stamp::Local, "14/Nov/2023:17:43:20 -0430", Some(1_700_000_000_000)),
            (Stamp::Local, "14/Nov/1923:17:43:20 -0430", None),
            (Stamp::Local, "31/Feb/2023:17:43:20 -0430", None),
        ] {
            assert_eq!(reader.read(stamp, text.as_bytes()), time_ms, "{text}");
            if time_ms.is_some() {
                assert_eq!(Stamp::guess(text.as_bytes()), stamp, "{text}");
            }
        }
        assert!(reader.finer_than_a_second());
    }
}
