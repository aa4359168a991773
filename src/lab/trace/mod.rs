//! `rl-lab trace`: a few requests through an algorithm, step by step.
//!
//! A teller for each algorithm prints what the algorithm itself has found and stored; none decides.

mod gcra;
mod leaky;
mod log;
mod plan;
mod queue;
mod sliding;
mod step;
mod windows;

use std::io::Write;

use self::plan::Plan;
use self::step::walk;
use super::decimal::{seconds, short_seconds, Scale};
use super::error::LabError;
use super::setting::Setting;
use super::sheet::{sheet, Column};
use super::timeline::Timeline;
use crate::config::AlgorithmName;
use crate::limit::Rule;

/// Show, request by request, what an algorithm finds, compares, decides and stores
///
/// Without --rate, --burst, --delay and --nodelay: five requests in ten seconds, five at once.
/// Without --times: twelve requests that tell the algorithms apart.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// One algorithm, as in "rl_zone ... algorithm=NAME"; all eight without it
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<String>,
    /// Requests in a period, as in "rl_zone ... rate=RATE": 10r/s, 30r/m; 5r/10s without it
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Requests above the first that may come at once, as in "rl_req ... burst=NUMBER"
    #[arg(long, value_name = "NUMBER")]
    pub burst: Option<String>,
    /// How many of them are not held, as in "rl_req ... delay=NUMBER"
    #[arg(long, value_name = "NUMBER", conflicts_with = "nodelay")]
    pub delay: Option<String>,
    /// Hold none of them, as in "rl_req ... nodelay"
    #[arg(long)]
    pub nodelay: bool,
    /// When requests come, in seconds, in the order of time: 2.0,7.0,9.5
    #[arg(long, value_name = "SECONDS,...", allow_hyphen_values = true)]
    pub times: Option<String>,
}

/// Traces what the command line asks for.
///
/// # Errors
///
/// A parameter that is none, or that the algorithm cannot use; an output that cannot be written.
pub fn run(args: &Args, out: &mut impl Write) -> Result<(), LabError> {
    let plan = Plan::of(args)?;
    let text = tell(&plan);
    out.write_all(text.as_bytes()).map_err(LabError::stdout)
}

fn tell(plan: &Plan) -> String {
    let mut text = String::new();
    let mut rows = Vec::new();
    for setting in &plan.settings {
        let (steps, timeline) = trace(setting, &plan.times);
        text += &format!("{setting}\n{steps}\n");
        rows.push(summary_row(setting, &timeline, plan.span_ms));
    }
    for (algorithm, why) in &plan.left_out {
        text += &format!("{algorithm}: left out: {why}\n\n");
    }
    let columns = [
        Column::text("limit"),
        Column::text("decisions"),
        Column::number("passed"),
        Column::number(format!("max in any {} s", short_seconds(plan.span_ms))),
        Column::number("longest wait (s)"),
    ];
    text + &format!(
        "Summary: 1 passed, 0 refused; times in seconds; the maximum counts admitted requests by \
         when they came\n\n{}\n",
        sheet(&columns, rows)
    )
}

fn summary_row(setting: &Setting, timeline: &Timeline, span_ms: u64) -> Vec<String> {
    vec![
        setting.to_string(),
        timeline.decisions(),
        format!("{} of {}", timeline.passed(), timeline.total()),
        timeline.max_in_any_ms(span_ms).to_string(),
        seconds(timeline.longest_wait_ms()),
    ]
}

/// The steps of one limit as text, and what came of them.
fn trace(setting: &Setting, times: &[u64]) -> (String, Timeline) {
    let scale = Scale::of(times);
    match setting.rule {
        Rule::Leaky(rule) => walk(&leaky::LeakyTeller::new(rule, scale), times),
        Rule::Gcra(rule) if setting.zone.algorithm() == AlgorithmName::TokenBucket => {
            walk(&gcra::TokenTeller::new(rule, scale), times)
        }
        Rule::Gcra(rule) => walk(&gcra::GcraTeller::new(rule, scale), times),
        Rule::LeakyQueue(rule) => walk(&queue::QueueTeller::new(rule, scale), times),
        Rule::FixedWindow(rule) => walk(&windows::FixedTeller::new(rule, scale), times),
        Rule::AnchoredWindow(rule) => walk(&windows::AnchoredTeller::new(rule, scale), times),
        Rule::SlidingWindow(rule) => walk(&sliding::SlidingTeller::new(rule, scale), times),
        Rule::SlidingLog(rule) => walk(&log::LogTeller::new(rule, scale), times),
    }
}
