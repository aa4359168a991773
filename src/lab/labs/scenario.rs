//! Labs A, B, C and E: streams of which every request is known.

use crate::lab::decimal::seconds;
use crate::lab::error::LabError;
use crate::lab::setting::Setting;
use crate::lab::sheet::{sheet, Column};
use crate::lab::timeline::Timeline;

/// So many requests, one each so often.
struct Segment {
    start_ms: u64,
    step_ms: u64,
    requests: u64,
}

impl Segment {
    const fn new(start_ms: u64, step_ms: u64, requests: u64) -> Self {
        Self { start_ms, step_ms, requests }
    }

    fn times(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.requests).map(|n| self.start_ms + n * self.step_ms)
    }
}

/// One stream through several limits.
pub(super) struct Scenario {
    /// What it shows, then what is sent.
    heading: &'static str,
    segments: &'static [Segment],
    /// As in `rl-lab replay --limit`.
    limits: &'static [&'static str],
    /// What is to be said of the table.
    notes: &'static [&'static str],
}

impl Scenario {
    /// The table of all limits.
    pub(super) fn tell(&self) -> Result<String, LabError> {
        let times: Vec<_> = self.segments.iter().flat_map(Segment::times).collect();
        let mut rows = Vec::new();
        for limit in self.limits {
            let setting = Setting::parse(limit)?;
            rows.push(row(&setting, &Timeline::run(&setting.rule, times.iter().copied())));
        }
        let notes: String = self.notes.iter().map(|note| format!("* {note}\n")).collect();
        Ok(format!("{}\n\n{}\n\n{notes}", self.heading, sheet(&columns(), rows)))
    }
}

fn columns() -> [Column; 8] {
    [
        Column::text("limit"),
        Column::number("passed"),
        Column::number("refused"),
        Column::number("max in any 1 s"),
        Column::number("2 s"),
        Column::number("60 s"),
        Column::number("longest wait (s)"),
        Column::text("admitted in each 10 s"),
    ]
}

fn row(setting: &Setting, timeline: &Timeline) -> Vec<String> {
    let (passed, total) = (timeline.passed(), timeline.total());
    let admitted: Vec<_> = timeline.admitted_per_ms(10_000).iter().map(usize::to_string).collect();
    vec![
        setting.to_string(),
        format!("{passed} of {total}"),
        (total - passed).to_string(),
        timeline.max_in_any_ms(1000).to_string(),
        timeline.max_in_any_ms(2000).to_string(),
        timeline.max_in_any_ms(60_000).to_string(),
        seconds(timeline.longest_wait_ms()),
        admitted.join(" "),
    ]
}

/// 100 a minute, and for those that have a burst 100 at once.
const HUNDRED_A_MINUTE: &[&str] = &[
    "fixed_window rate=100r/m",
    "anchored_window rate=100r/m",
    "sliding_log rate=100r/m",
    "sliding_window rate=100r/m",
    "token_bucket rate=100r/m burst=99 nodelay",
    "gcra rate=100r/m burst=99 nodelay",
    "leaky_queue rate=100r/m burst=99",
    "leaky rate=100r/m burst=99 nodelay",
];

const LEAKY_NOTE: &str =
    "leaky, nginx's own arithmetic, is not in the article; it takes 100r/m for \
                          1.666 requests a second.";

pub(super) const A: Scenario = Scenario {
    heading:
        "Lab A. The edge of a window: who knows where it is sends twice the quota around it.\n\
              100 a minute; one request at 0 s, then 200 requests 10 ms apart from 59 s on.",
    segments: &[Segment::new(0, 0, 1), Segment::new(59_000, 10, 200)],
    limits: HUNDRED_A_MINUTE,
    notes: &[
        "The article gives: both fixed windows 199 in 2 s; token bucket and GCRA 104 passed; the \
         queue's longest wait 60.0 s.",
        "It gives the request at 0 s and what came out; number and spacing of the others are \
         inferred.",
        LEAKY_NOTE,
    ],
};

pub(super) const B: Scenario = Scenario {
    heading: "Lab B. Steady overload: windows serve in bursts and then not at all.\n\
              100 a minute; one request each 0.3 s, twice the limit, for three minutes.",
    segments: &[Segment::new(0, 300, 600)],
    limits: HUNDRED_A_MINUTE,
    notes: &[
        "The article gives: fixed window and sliding log 34 33 33 0 0 0 in each minute; token \
         bucket and GCRA 399 passed; the queue's longest wait 59.7 s.",
        "It gives what came out; spacing and duration are inferred.",
        LEAKY_NOTE,
    ],
};

pub(super) const C: Scenario = Scenario {
    heading: "Lab C. A page is opened: a burst below what a browser sends at once refuses it.\n\
              10 a second; twelve requests at the same instant.",
    segments: &[Segment::new(0, 0, 12)],
    limits: &[
        "token_bucket rate=10r/s nodelay",
        "token_bucket rate=10r/s burst=19 nodelay",
        "gcra rate=10r/s nodelay",
        "gcra rate=10r/s burst=19 nodelay",
        "fixed_window rate=10r/s",
        "anchored_window rate=10r/s",
        "sliding_log rate=10r/s",
        "sliding_window rate=10r/s",
        "leaky_queue rate=10r/s burst=19",
        "leaky rate=10r/s",
    ],
    notes: &[
        "The article gives: a bucket of one token refuses 11 of 12; one of 20, as a token bucket \
         or as GCRA, passes all 12.",
        "Its b counts the first request, burst does not: b=1 is no burst, b=20 is burst=19.",
    ],
};

pub(super) const E: Scenario = Scenario {
    heading: "Lab E. The worst case: what \"100 a minute\" lets through in a minute that begins \
              anywhere.\n\
              100 a minute; 100 requests in the last 0.1 s of the first minute, then 10 a second \
              for two minutes.",
    segments: &[Segment::new(59_900, 1, 100), Segment::new(60_000, 100, 1200)],
    limits: HUNDRED_A_MINUTE,
    notes: &[
        "The article gives the same figures of passed, 60 s and 1 s, with one exception: 299 \
         passed for the token bucket.",
        "That 299 is an artefact of floating-point tokens, which miss a whole one by a rounding \
         error; exact arithmetic gives 300, as for GCRA, which is the same rule.",
        LEAKY_NOTE,
    ],
};
