//! `leaky`, told in nginx's excess: requests ahead of schedule.

use super::step::{at, time_column, Step, Teller};
use crate::lab::decimal::{fraction, Scale};
use crate::lab::sheet::Column;
use crate::limit::{Leaky, LeakyState, Now, Thousandths, View, REQUEST};

pub(super) struct LeakyTeller {
    rule: Leaky,
    scale: Scale,
}

impl LeakyTeller {
    pub(super) fn new(rule: Leaky, scale: Scale) -> Self {
        Self { rule, scale }
    }
}

impl Teller for LeakyTeller {
    type Rule = Leaky;
    type Seen = LeakyState;

    fn rule(&self) -> &Leaky {
        &self.rule
    }

    fn explain(&self) -> String {
        let Leaky { rate, burst, delay } = self.rule;
        let rate = requests(rate);
        let held = if delay >= burst {
            "Nobody is held.".to_string()
        } else {
            format!("While it is above {0}, held for (excess - {0}) / {rate} s.", delay / REQUEST)
        };
        format!(
            "excess = max(0, excess - elapsed x {rate} + 1); a new key starts with 0.\n\
             Passes if excess <= {}, and stores it. {held}",
            burst / REQUEST
        )
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            time_column(),
            Column::number("excess before"),
            Column::number("last before"),
            Column::text("excess - elapsed x rate + 1"),
            Column::text("excess <= burst ?"),
            Column::text("decision"),
            Column::number("excess after"),
            Column::number("last after"),
        ]
    }

    fn see(&self, view: &View<'_, Leaky>, _: Now) -> LeakyState {
        *view
    }

    fn row(&self, step: &Step<'_, Self>) -> Vec<String> {
        let excess = step.charged.excess;
        let (rate, burst) = (requests(self.rule.rate), self.rule.burst / REQUEST);
        let sum = step.found.map_or_else(
            || format!("new key: {}", requests(excess)),
            |found| {
                let elapsed = at(&self.scale, step.now.ms.saturating_sub(found.last));
                format!(
                    "{} - {elapsed} x {rate} + 1 -> {}",
                    requests(found.excess),
                    requests(excess)
                )
            },
        );
        let stored = |state: Option<LeakyState>| {
            state.map_or_else(
                || ["new".to_string(), "-".to_string()],
                |state| [requests(state.excess), at(&self.scale, state.last)],
            )
        };
        let ([before, before_at], [after, after_at]) = (stored(step.found), stored(step.after));
        vec![
            at(&self.scale, step.now.ms),
            before,
            before_at,
            sum,
            step.ask(format!("{} <= {burst}", requests(excess))),
            step.decision(),
            after,
            after_at,
        ]
    }
}

/// Requests with all the places that nginx keeps.
fn requests(thousandths: Thousandths) -> String {
    fraction(thousandths.into(), REQUEST.into(), 3)
}
