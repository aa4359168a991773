//! `leaky_queue`, told in the time when the next request may leave.

use super::step::{at, time_column, Step, Teller};
use crate::lab::decimal::{fraction, Scale};
use crate::lab::sheet::Column;
use crate::limit::{Ahead, LeakyQueue, Now, View};

pub(super) struct QueueTeller {
    rule: LeakyQueue,
    scale: Scale,
}

impl QueueTeller {
    pub(super) fn new(rule: LeakyQueue, times: Scale) -> Self {
        Self { rule, scale: times.and(rule.schedule.interval_ns) }
    }

    fn gap_ns(&self) -> u64 {
        self.rule.schedule.interval_ns.max(1)
    }

    /// How many requests can wait, the one that is just leaving included.
    fn places(&self) -> u64 {
        self.rule.capacity_ns / self.gap_ns()
    }
}

impl Teller for QueueTeller {
    type Rule = LeakyQueue;
    type Seen = Ahead;

    fn rule(&self) -> &LeakyQueue {
        &self.rule
    }

    fn explain(&self) -> String {
        format!(
            "A queue of {} places, from which one leaves each gap = {} s.\n\
             out = max(next out, t); wait = out - t. Passes if wait / gap < {}; then next out = out \
             + gap.",
            self.places(),
            self.scale.seconds(self.gap_ns()),
            self.places(),
        )
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            time_column(),
            Column::number("next out before"),
            Column::number("out"),
            Column::number("wait"),
            Column::text("wait / gap < places ?"),
            Column::text("decision"),
            Column::number("next out after"),
            Column::number("leaves at"),
        ]
    }

    fn see(&self, view: &View<'_, LeakyQueue>, _: Now) -> Ahead {
        *view
    }

    fn row(&self, step: &Step<'_, Self>) -> Vec<String> {
        let scale = &self.scale;
        let out_ns = step.charged.next.until_ns.saturating_sub(self.gap_ns());
        let wait_ns = out_ns.saturating_sub(step.now.ns);
        let places = scale.places_in(self.gap_ns());
        let gaps = fraction(wait_ns.into(), self.gap_ns().into(), places);
        let leaves = step.outcome.is_admitted().then(|| scale.seconds(out_ns));
        vec![
            at(scale, step.now.ms),
            step.found_or_new(|found| scale.seconds(found.until_ns)),
            scale.seconds(out_ns),
            scale.seconds(wait_ns),
            step.ask(format!("{gaps} < {}", self.places())),
            step.decision(),
            step.after.map_or_else(|| "-".to_string(), |after| scale.seconds(after.until_ns)),
            leaves.unwrap_or_else(|| "-".to_string()),
        ]
    }
}
