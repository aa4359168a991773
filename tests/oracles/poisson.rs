//! Lab D: how far the sliding window counter is from an exact count, for clients whose requests come
//! at random. The file has mean and spread of its own runs.

use std::collections::VecDeque;

use fastrand::Rng;
use ngx_http_rl::config::AlgorithmName;
use ngx_http_rl::limit::{Algorithm, Now, Rule, SlidingWindow, Verdict};
use serde_json::{json, Value};

use super::data::{array, members, only};
use super::rules::{estimate_x_window, rule};
use super::run::most_in_any;
use super::support::seed;

/// What the file calls its figures.
const FIGURES: [&str; 6] = [
    "requests",
    "admitted_pct",
    "wrongly_admitted_pct_of_all",
    "wrongly_rejected_pct_of_all",
    "mean_abs_dev_pct_of_exact",
    WORST,
];

/// The one figure that is no sum or mean over the clients.
const WORST: &str = "worst_client_max_60s";

/// Figures are written with two or three decimals; also what a figure without spread may be off.
const ROUNDING: f64 = 0.01;

const MINUTE_MS: u64 = 60_000;

/// What is counted in one run.
#[derive(Default)]
struct Tally {
    requests: u64,
    admitted: u64,
    wrongly_admitted: u64,
    wrongly_rejected: u64,
    deviations: f64,
    deviated: u64,
    worst: usize,
}

/// Checks all levels of load; how many runs and requests there were.
pub fn check(place: &str, lab: &Value) -> (usize, usize) {
    only(place, lab, &["title", "statistical", "random_seeds", "definitions", "levels"]);
    // The title alone has the numbers: "… 300 clients x 10 minutes …, limit 100/min".
    let title = lab["title"].as_str().unwrap();
    let numbers = title.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
    let [clients, minutes, limit] = numbers.collect::<Vec<u64>>()[..] else {
        panic!("{place}: no clients, minutes and limit in {title:?}");
    };
    let parameters = json!({"limit": limit, "window_ms": MINUTE_MS});
    let Rule::SlidingWindow(rule) = rule(AlgorithmName::SlidingWindow, &parameters) else {
        panic!("another rule");
    };
    let mut rng = Rng::with_seed(seed(place));
    let levels = array(&lab["levels"]);
    let mut requests = 0;
    for level in levels {
        only(place, level, &["load", "printed", "mean", "sd", "min", "max"]);
        let load = level["load"].as_f64().unwrap();
        let mut tally = Tally::default();
        for _ in 0..clients {
            let mean_gap_ms = MINUTE_MS as f64 / (load * limit as f64);
            tally.add_client(&rule, arrivals(&mut rng, mean_gap_ms, minutes * MINUTE_MS));
        }
        requests += tally.requests;
        check_level(&format!("{place}, load {load}"), level, &tally.figures());
    }
    (levels.len(), usize::try_from(requests).unwrap())
}

/// A Poisson stream: the gaps are exponential.
fn arrivals(rng: &mut Rng, mean_gap_ms: f64, end_ms: u64) -> Vec<u64> {
    let mut times = Vec::new();
    let mut time_ms = 0.0;
    loop {
        time_ms -= (1.0 - rng.f64()).ln() * mean_gap_ms;
        if time_ms >= end_ms as f64 {
            return times;
        }
        times.push(time_ms as u64);
    }
}

impl Tally {
    fn add_client(&mut self, rule: &SlidingWindow, times: Vec<u64>) {
        let mut state = None;
        let mut admitted = Vec::new();
        let mut recent = VecDeque::new();
        for time_ms in times {
            let now = Now::at_ms(time_ms);
            while recent.front().is_some_and(|first| first + rule.window_ms <= time_ms) {
                recent.pop_front();
            }
            let estimate = estimate_x_window(state, now, rule.window_ms) as f64;
            self.deviate(estimate / rule.window_ms as f64, recent.len());
            let has_room = recent.len() < rule.quota as usize;
            self.requests += 1;
            match rule.judge(state.as_ref(), now, 1) {
                Verdict::Accept(admission) => {
                    state = Some(admission.next);
                    recent.push_back(time_ms);
                    admitted.push(time_ms);
                    self.admitted += 1;
                    self.wrongly_admitted += u64::from(!has_room);
                }
                Verdict::Reject(_) => self.wrongly_rejected += u64::from(has_room),
            }
        }
        self.worst = self.worst.max(most_in_any(&admitted, rule.window_ms));
    }

    fn deviate(&mut self, estimate: f64, exact: usize) {
        if exact > 0 {
            self.deviations += (estimate - exact as f64).abs() / exact as f64;
            self.deviated += 1;
        }
    }

    /// In the order of [`FIGURES`].
    fn figures(&self) -> [f64; 6] {
        let percent = |part: u64| 100.0 * part as f64 / self.requests as f64;
        [
            self.requests as f64,
            percent(self.admitted),
            percent(self.wrongly_admitted),
            percent(self.wrongly_rejected),
            100.0 * self.deviations / self.deviated as f64,
            self.worst as f64,
        ]
    }
}

fn check_level(place: &str, level: &Value, figures: &[f64; 6]) {
    for (name, got) in FIGURES.iter().zip(figures) {
        let (low, high) = bounds(level, name);
        println!("{place}, {name}: {got:.3}, from {low:.3} to {high:.3} allowed");
        assert!((low..=high).contains(got), "{place}, {name}: {got} not in {low}..={high}");
        let printed = level["printed"][name].as_f64().unwrap();
        assert!((low..=high).contains(&printed), "{place}, printed {name}: {printed}");
    }
    for kind in ["printed", "mean", "sd", "min", "max"] {
        assert_eq!(members(&level[kind]).len(), FIGURES.len(), "{place}, {kind}: another figure");
    }
}

/// Where a figure may be: five standard deviations around the mean, or the spread of the file's own
/// runs widened by its width to either side, whatever allows more.
///
/// The seed is a new one each time, so the bound has to hold for any. Sums over 300 independent
/// clients are as good as normal, and five deviations would be enough were the deviation not
/// itself estimated, from 24 runs: by chance it is too small by a third. The spread of 24 runs is
/// about four deviations wide, and errs otherwise. The worst client is a maximum, whose upper tail
/// falls like exp(-1.3 x) after x deviations: it needs twelve.
fn bounds(level: &Value, name: &str) -> (f64, f64) {
    let [mean, sd, least, most] =
        ["mean", "sd", "min", "max"].map(|kind| level[kind][name].as_f64().unwrap());
    let spread = most - least;
    let deviations = if name == WORST { 12.0 } else { 5.0 };
    let low = (mean - 5.0 * sd).min(least - spread);
    let high = (mean + deviations * sd).max(most + spread);
    (low - ROUNDING, high + ROUNDING)
}
