//! `sliding_window`, told in two counts and the estimate, with the exact count beside it.

use super::step::{at, time_column, Step, Teller};
use crate::lab::decimal::{fraction, short_seconds, Scale};
use crate::lab::estimate::Estimate;
use crate::lab::sheet::Column;
use crate::lab::timeline::SpanCounter;
use crate::limit::{Now, SlidingState, SlidingWindow, View, NS_PER_MS};

pub(super) struct SlidingTeller {
    rule: SlidingWindow,
    scale: Scale,
    places: usize,
}

impl SlidingTeller {
    pub(super) fn new(rule: SlidingWindow, times: Scale) -> Self {
        let window_ns = rule.window_ms.saturating_mul(NS_PER_MS);
        Self { rule, scale: times, places: times.and(window_ns).places_in(window_ns) }
    }

    fn window_ms(&self) -> u64 {
        self.rule.window_ms.max(1)
    }

    /// The number of a window, its first being 0.
    fn number(&self, state: &SlidingState) -> String {
        (state.start_ms / self.window_ms()).to_string()
    }

    /// The weighted sum, and the estimate alone.
    fn estimate(&self, step: &Step<'_, Self>) -> [String; 2] {
        let estimate = Estimate::of(&self.rule, step.found.as_ref(), step.now);
        let Estimate { previous, current, covered_ms, window_ms } = estimate;
        let share = fraction(covered_ms.into(), window_ms.into(), self.places);
        let total = fraction(estimate.times_window(), window_ms.into(), self.places);
        [format!("{previous} x {share} + {current} = {total}"), total]
    }

    /// What an exact count holds against the key, and where it would have decided differently.
    fn exact(&self, step: &Step<'_, Self>) -> [String; 2] {
        let mut counter = SpanCounter::new(self.window_ms());
        for at_ms in step.admitted {
            counter.add(*at_ms);
        }
        counter.advance(step.now.wall_ms);
        let would_pass = counter.count() < self.rule.quota as usize;
        let verdict = match (step.outcome.is_admitted(), would_pass) {
            (true, false) => "passes wrongly",
            (false, true) => "refused wrongly",
            _ => "",
        };
        [counter.count().to_string(), verdict.to_string()]
    }
}

impl Teller for SlidingTeller {
    type Rule = SlidingWindow;
    type Seen = SlidingState;

    fn rule(&self) -> &SlidingWindow {
        &self.rule
    }

    fn explain(&self) -> String {
        let window = short_seconds(self.window_ms());
        format!(
            "window = floor(t / {window} s); in a new one previous = current and current = 0.\n\
             estimate = previous x (share of the window before that the last {window} s cover) + \
             current.\n\
             Passes if estimate < {}, and counts. Beside it what a count of the last {window} s holds.",
            self.rule.quota
        )
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            time_column(),
            Column::number("window before"),
            Column::number("previous before"),
            Column::number("current before"),
            Column::number("window"),
            Column::text("previous x share + current"),
            Column::text("estimate < quota ?"),
            Column::text("decision"),
            Column::number("previous after"),
            Column::number("current after"),
            Column::number("exact count"),
            Column::text("against it"),
        ]
    }

    fn see(&self, view: &View<'_, SlidingWindow>, _: Now) -> SlidingState {
        *view
    }

    fn row(&self, step: &Step<'_, Self>) -> Vec<String> {
        let [sum, estimate] = self.estimate(step);
        let found = step.found.unwrap_or_default();
        let after = step.after.unwrap_or_default();
        let [exact, against] = self.exact(step);
        vec![
            at(&self.scale, step.now.ms),
            step.found_or_new(|found| self.number(found)),
            found.previous.to_string(),
            found.current.to_string(),
            self.number(&step.charged.next),
            sum,
            step.ask(format!("{estimate} < {}", self.rule.quota)),
            step.decision(),
            after.previous.to_string(),
            after.current.to_string(),
            exact,
            against,
        ]
    }
}
