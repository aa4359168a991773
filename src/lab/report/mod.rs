//! Results as text: tables for a terminal, JSON, and a page with charts.
//!
//! | file | what |
//! |---|---|
//! | `sheet` | what the tables hold, wherever they are shown |
//! | `table` | a replay for a terminal |
//! | `html`, `chart` | a replay as a page |
//! | `suggestion` | suggestions for a terminal |

mod chart;
mod html;
mod sheet;
mod suggestion;
mod table;

pub use html::page;
pub use suggestion::suggestions;
pub use table::tables;

use super::error::LabError;

/// The result as one JSON object, times in milliseconds.
///
/// # Errors
///
/// None that a result can cause; what the encoder says.
pub fn json(result: &impl serde::Serialize) -> Result<String, LabError> {
    serde_json::to_string_pretty(result)
        .map(|json| json + "\n")
        .map_err(|why| LabError::Report(format!("cannot encode the result: {why}")))
}

/// A period as people write it: `1s`, `1m`, `1h`, `1d`, else milliseconds.
fn period(period_ms: u64) -> String {
    let units =
        [(604_800_000, "w"), (86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
    let unit = units
        .iter()
        .find(|(unit_ms, _)| period_ms >= *unit_ms && period_ms.is_multiple_of(*unit_ms));
    match unit {
        Some((unit_ms, name)) => format!("{}{name}", period_ms / unit_ms),
        None => format!("{period_ms}ms"),
    }
}

/// A share in per cent with as many digits as tell something.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_string();
    }
    format!("{:.2} %", part as f64 * 100.0 / whole as f64)
}

/// A time in milliseconds since 1970 as `2006-01-02T15:04:05Z`.
fn instant(time_ms: u64) -> String {
    use time::format_description::well_known::Rfc3339;
    let seconds = i64::try_from(time_ms / 1000).unwrap_or(i64::MAX);
    time::OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|at| at.format(&Rfc3339).ok())
        .unwrap_or_else(|| format!("{time_ms} ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_as_people_write_them() {
        assert_eq!([1000, 60_000, 7_200_000, 1500].map(period), ["1s", "1m", "2h", "1500ms"]);
        assert_eq!(percent(1, 3), "33.33 %");
        assert_eq!(percent(0, 0), "-");
        assert_eq!(instant(1_700_000_000_123), "2023-11-14T22:13:20Z");
        assert_eq!(instant(u64::MAX), "18446744073709551615 ms");
    }
}
