//! `fixed_window` and `anchored_window`, told in windows and counts.

use super::step::{at, time_column, Step, Teller};
use crate::lab::decimal::{short_seconds, Scale};
use crate::lab::sheet::Column;
use crate::limit::{AnchoredWindow, FixedWindow, Now, View, WindowState};

pub(super) struct FixedTeller {
    rule: FixedWindow,
    scale: Scale,
}

impl FixedTeller {
    pub(super) fn new(rule: FixedWindow, scale: Scale) -> Self {
        Self { rule, scale }
    }

    /// The number of a window, its first being 0.
    fn number(&self, state: &WindowState) -> String {
        (state.start_ms / self.rule.window_ms.max(1)).to_string()
    }
}

impl Teller for FixedTeller {
    type Rule = FixedWindow;
    type Seen = WindowState;

    fn rule(&self) -> &FixedWindow {
        &self.rule
    }

    fn explain(&self) -> String {
        format!(
            "window = floor(t / {} s); a new window starts with count = 0.\n\
             Passes if count < {}, and counts.",
            short_seconds(self.rule.window_ms),
            self.rule.quota
        )
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            time_column(),
            Column::number("window before"),
            Column::number("count before"),
            Column::number("window"),
            Column::text("count < quota ?"),
            Column::text("decision"),
            Column::number("count after"),
        ]
    }

    fn see(&self, view: &View<'_, FixedWindow>, _: Now) -> WindowState {
        *view
    }

    fn row(&self, step: &Step<'_, Self>) -> Vec<String> {
        vec![
            at(&self.scale, step.now.ms),
            step.found_or_new(|found| self.number(found)),
            step.found.map_or(0, |found| found.count).to_string(),
            self.number(&step.charged.next),
            step.ask(format!("{} < {}", before_charge(&step.charged.next), self.rule.quota)),
            step.decision(),
            count_after(step.after),
        ]
    }
}

pub(super) struct AnchoredTeller {
    rule: AnchoredWindow,
    scale: Scale,
}

impl AnchoredTeller {
    pub(super) fn new(rule: AnchoredWindow, scale: Scale) -> Self {
        Self { rule, scale }
    }
}

impl Teller for AnchoredTeller {
    type Rule = AnchoredWindow;
    type Seen = WindowState;

    fn rule(&self) -> &AnchoredWindow {
        &self.rule
    }

    fn explain(&self) -> String {
        format!(
            "A window opens at the first request that finds none open, with count = 0, and lasts {} \
             s.\nPasses if count < {}, and counts.",
            short_seconds(self.rule.window_ms),
            self.rule.quota
        )
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            time_column(),
            Column::number("start before"),
            Column::number("count before"),
            Column::number("start"),
            Column::text("count < quota ?"),
            Column::text("decision"),
            Column::number("count after"),
        ]
    }

    fn see(&self, view: &View<'_, AnchoredWindow>, _: Now) -> WindowState {
        *view
    }

    fn row(&self, step: &Step<'_, Self>) -> Vec<String> {
        vec![
            at(&self.scale, step.now.ms),
            step.found_or_new(|found| at(&self.scale, found.start_ms)),
            step.found.map_or(0, |found| found.count).to_string(),
            at(&self.scale, step.charged.next.start_ms),
            step.ask(format!("{} < {}", before_charge(&step.charged.next), self.rule.quota)),
            step.decision(),
            count_after(step.after),
        ]
    }
}

/// The count that was compared.
fn before_charge(charged: &WindowState) -> u32 {
    charged.count.saturating_sub(1)
}

fn count_after(after: Option<WindowState>) -> String {
    after.map_or(0, |after| after.count).to_string()
}
