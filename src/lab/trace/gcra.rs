//! `gcra` told in times, and `token_bucket`, which is the same rule told in tokens.

use super::step::{at, time_column, Step, Teller};
use crate::lab::decimal::{fraction, Scale};
use crate::lab::sheet::Column;
use crate::limit::{Ahead, Gcra, Now, View};

/// A rule with the places that its times and its tokens need.
struct Told {
    rule: Gcra,
    scale: Scale,
    token_places: usize,
}

impl Told {
    fn new(rule: Gcra, times: Scale) -> Self {
        let interval_ns = rule.schedule.interval_ns;
        let scale = times.and(interval_ns);
        Self { rule, scale, token_places: scale.places_in(interval_ns) }
    }

    /// How many requests pass at once.
    fn capacity(&self) -> u64 {
        self.rule.tolerance_ns / self.interval_ns() + 1
    }

    fn interval_ns(&self) -> u64 {
        self.rule.schedule.interval_ns.max(1)
    }

    /// A span in tokens.
    fn tokens(&self, span_ns: u64) -> String {
        fraction(span_ns.into(), self.interval_ns().into(), self.token_places)
    }

    /// The tokens that a key has at an instant: what its TAT lacks to the farthest it may be.
    fn tokens_left(&self, state: Option<&Ahead>, now_ns: u64) -> String {
        let full_ns = self.rule.tolerance_ns.saturating_add(self.interval_ns());
        let ahead_ns = state.map_or(0, |state| state.until_ns.saturating_sub(now_ns));
        self.tokens(full_ns.saturating_sub(ahead_ns))
    }

    /// From when on requests are held.
    fn held(&self) -> String {
        if self.rule.undelayed_ns >= self.rule.tolerance_ns {
            return "Nobody is held.".to_string();
        }
        match self.rule.undelayed_ns {
            0 => "Held until it is on schedule.".to_string(),
            undelayed_ns => {
                format!(
                    "Held until it is no more than {} s ahead.",
                    self.scale.seconds(undelayed_ns)
                )
            }
        }
    }
}

pub(super) struct GcraTeller(Told);

impl GcraTeller {
    pub(super) fn new(rule: Gcra, times: Scale) -> Self {
        Self(Told::new(rule, times))
    }
}

impl Teller for GcraTeller {
    type Rule = Gcra;
    type Seen = Ahead;

    fn rule(&self) -> &Gcra {
        &self.0.rule
    }

    fn explain(&self) -> String {
        let interval = self.0.scale.seconds(self.0.interval_ns());
        let tolerance = self.0.scale.seconds(self.0.rule.tolerance_ns);
        format!(
            "One request each T = {interval} s is on schedule; TAT is when the next one would be.\n\
             Passes if max(TAT, t) - t <= tolerance = {tolerance} s; then TAT = max(TAT, t) + T. {}",
            self.0.held()
        )
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            time_column(),
            Column::number("TAT before"),
            Column::number("max(TAT, t)"),
            Column::text("ahead of schedule <= tolerance ?"),
            Column::text("decision"),
            Column::number("TAT after"),
            Column::number("tokens at t"),
        ]
    }

    fn see(&self, view: &View<'_, Gcra>, _: Now) -> Ahead {
        *view
    }

    fn row(&self, step: &Step<'_, Self>) -> Vec<String> {
        let scale = &self.0.scale;
        let due_ns = step.charged.next.until_ns.saturating_sub(self.0.interval_ns());
        let ahead = scale.seconds(due_ns.saturating_sub(step.now.ns));
        let tolerance = scale.seconds(self.0.rule.tolerance_ns);
        vec![
            at(scale, step.now.ms),
            step.found_or_new(|found| scale.seconds(found.until_ns)),
            scale.seconds(due_ns),
            step.ask(format!("{ahead} <= {tolerance}")),
            step.decision(),
            step.after.map_or_else(|| "-".to_string(), |after| scale.seconds(after.until_ns)),
            self.0.tokens_left(step.found.as_ref(), step.now.ns),
        ]
    }
}

pub(super) struct TokenTeller(Told);

impl TokenTeller {
    pub(super) fn new(rule: Gcra, times: Scale) -> Self {
        Self(Told::new(rule, times))
    }
}

impl Teller for TokenTeller {
    type Rule = Gcra;
    type Seen = Ahead;

    fn rule(&self) -> &Gcra {
        &self.0.rule
    }

    fn explain(&self) -> String {
        format!(
            "The bucket holds {} tokens and gains one each {} s; a new key's is full.\n\
             Passes if there is a whole token, and takes it. {}",
            self.0.capacity(),
            self.0.scale.seconds(self.0.interval_ns()),
            self.0.held()
        )
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            time_column(),
            Column::number("tokens before"),
            Column::number("at"),
            Column::number("gained since"),
            Column::number(format!("now (up to {})", self.0.capacity())),
            Column::text("tokens >= 1 ?"),
            Column::text("decision"),
            Column::number("tokens after"),
        ]
    }

    fn see(&self, view: &View<'_, Gcra>, _: Now) -> Ahead {
        *view
    }

    fn row(&self, step: &Step<'_, Self>) -> Vec<String> {
        let nothing = || "-".to_string();
        let previous = step.previous_ms.map(Now::at_ms);
        let tokens = self.0.tokens_left(step.found.as_ref(), step.now.ns);
        let before = |previous: Now| self.0.tokens_left(step.left.as_ref(), previous.ns);
        let gained = |previous: Now| self.0.tokens(step.now.ns.saturating_sub(previous.ns));
        vec![
            at(&self.0.scale, step.now.ms),
            previous.map_or_else(|| "new".to_string(), before),
            previous.map_or_else(nothing, |previous| self.0.scale.seconds(previous.ns)),
            previous.map_or_else(nothing, gained),
            tokens.clone(),
            step.ask(format!("{tokens} >= 1")),
            step.decision(),
            self.0.tokens_left(step.after.as_ref(), step.now.ns),
        ]
    }
}
