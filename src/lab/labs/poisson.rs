//! Lab D: how often the sliding window counter decides otherwise than an exact count.
//!
//! Requests come at random and independently. The counter decides by its own history; each time it
//! is compared with what an exact count of that same history would have decided.

use fastrand::Rng;

use crate::lab::decimal::fraction;
use crate::lab::error::LabError;
use crate::lab::estimate::Estimate;
use crate::lab::setting::Setting;
use crate::lab::sheet::{sheet, Column};
use crate::lab::timeline::{Key, SpanCounter};
use crate::limit::{Now, Rule, SlidingWindow};

const CLIENTS: usize = 300;
const DURATION_MS: u64 = 600_000;
const LIMIT: &str = "sliding_window rate=100r/m";

/// Parts of one in which deviations are added up.
const BILLIONTHS: u128 = 1_000_000_000;

/// A load, and what the article prints for it.
struct Level {
    /// In percent of the limit, which is also requests a minute, as the limit is 100 of them.
    percent: u32,
    /// Requests, then admitted, wrongly admitted, wrongly refused and deviation in percent, then
    /// the most in 60 s.
    printed: [&'static str; 6],
}

const LEVELS: [Level; 6] = [
    Level { percent: 50, printed: ["149694", "100.000", "0.000", "0.000", "4.1", "82"] },
    Level { percent: 90, printed: ["270762", "98.261", "6.143", "0.684", "3.0", "118"] },
    Level { percent: 100, printed: ["300591", "94.060", "13.273", "2.359", "2.8", "117"] },
    Level { percent: 125, printed: ["375057", "78.840", "18.401", "7.472", "2.5", "118"] },
    Level { percent: 200, printed: ["599541", "49.924", "16.129", "9.629", "4.4", "108"] },
    Level { percent: 400, printed: ["1200609", "24.982", "9.710", "8.324", "8.9", "103"] },
];

/// The table of all loads.
pub(super) fn tell(seed: u64) -> Result<String, LabError> {
    let setting = Setting::parse(LIMIT)?;
    let mut rows = Vec::new();
    if let Rule::SlidingWindow(rule) = setting.rule {
        let mut rng = Rng::with_seed(seed);
        for level in &LEVELS {
            let mut tally = Tally::default();
            for _ in 0..CLIENTS {
                tally.add_client(&rule, Arrivals::new(&mut rng, level.percent));
            }
            let load = format!("{} x", fraction(level.percent.into(), 100, 2));
            rows.push(row(load, "this", tally.figures()));
            rows.push(row(String::new(), "article", level.printed.map(str::to_string)));
        }
    }
    Ok(format!(
        "Lab D. The estimate of a sliding window counter: wrong where a client lives at the limit.\n\
         {setting}; for each load {CLIENTS} clients for 10 minutes, whose requests come at random \
         (Poisson); seed {seed}.\n\n{}\n\n\
         * Shares are of all requests. Wrongly admitted: although 100 or more of the client's own \
         admitted requests lie in the last 60 s; wrongly refused: although fewer do.\n\
         * The deviation is the mean of |estimate - exact count| / exact count where that is not 0.\n\
         * The article's run had other random numbers: compare sizes, not digits.\n",
        sheet(&columns(), rows)
    ))
}

fn columns() -> [Column; 8] {
    [
        Column::number("load / limit"),
        Column::text("run"),
        Column::number("requests"),
        Column::number("admitted %"),
        Column::number("wrongly admitted %"),
        Column::number("wrongly refused %"),
        Column::number("mean deviation %"),
        Column::number("worst client's max in any 60 s"),
    ]
}

fn row(load: String, run: &str, figures: [String; 6]) -> Vec<String> {
    [load, run.to_string()].into_iter().chain(figures).collect()
}

/// The requests of a client.
struct Arrivals<'a> {
    rng: &'a mut Rng,
    mean_gap_ms: f64,
    at_ms: f64,
}

impl<'a> Arrivals<'a> {
    fn new(rng: &'a mut Rng, per_minute: u32) -> Self {
        Self { rng, mean_gap_ms: 60_000.0 / f64::from(per_minute), at_ms: 0.0 }
    }
}

impl Iterator for Arrivals<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        // 1 - u is above 0, where the logarithm would be infinite.
        self.at_ms -= (1.0 - self.rng.f64()).ln() * self.mean_gap_ms;
        let at_ms = self.at_ms as u64;
        (at_ms < DURATION_MS).then_some(at_ms)
    }
}

/// What is counted at a load.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    requests: u64,
    admitted: u64,
    wrongly_admitted: u64,
    wrongly_refused: u64,
    /// Requests with an exact count above 0, and the sum of their deviations in billionths.
    compared: u64,
    deviation: u128,
    most: usize,
}

impl Tally {
    fn add_client(&mut self, rule: &SlidingWindow, arrivals: Arrivals<'_>) {
        let mut key = Key::new(rule);
        let mut counter = SpanCounter::new(rule.window_ms);
        for at_ms in arrivals {
            counter.advance(at_ms);
            let exact = counter.count();
            let estimate = Estimate::of(rule, key.view().as_ref(), Now::at_ms(at_ms));
            let is_admitted = key.decide(at_ms).is_admitted();
            if is_admitted {
                counter.add(at_ms);
                self.most = self.most.max(counter.count());
            }
            self.add(is_admitted, exact < rule.quota as usize);
            self.add_deviation(&estimate, exact as u128);
        }
    }

    fn add(&mut self, is_admitted: bool, would_pass: bool) {
        self.requests += 1;
        self.admitted += u64::from(is_admitted);
        self.wrongly_admitted += u64::from(is_admitted && !would_pass);
        self.wrongly_refused += u64::from(!is_admitted && would_pass);
    }

    fn add_deviation(&mut self, estimate: &Estimate, exact: u128) {
        let exact = exact * u128::from(estimate.window_ms);
        let difference = estimate.times_window().abs_diff(exact) * BILLIONTHS;
        if let Some(deviation) = difference.checked_div(exact) {
            self.compared += 1;
            self.deviation += deviation;
        }
    }

    /// In the order of the columns.
    fn figures(&self) -> [String; 6] {
        let percent = |part: u64| fraction(u128::from(part) * 100, self.requests.into(), 3);
        let compared = u128::from(self.compared) * BILLIONTHS;
        [
            self.requests.to_string(),
            percent(self.admitted),
            percent(self.wrongly_admitted),
            percent(self.wrongly_refused),
            fraction(self.deviation * 100, compared, 2),
            self.most.to_string(),
        ]
    }
}
