//! `sliding_log`, told in the times that it drops and keeps.

use super::step::{at, time_column, Step, Teller};
use crate::lab::decimal::{short_seconds, Scale};
use crate::lab::sheet::Column;
use crate::limit::{Algorithm, Now, SlidingLog, View};

pub(super) struct LogTeller {
    rule: SlidingLog,
    scale: Scale,
}

impl LogTeller {
    pub(super) fn new(rule: SlidingLog, scale: Scale) -> Self {
        Self { rule, scale }
    }

    fn list(&self, times: &[u64]) -> String {
        let times: Vec<_> = times.iter().map(|time_ms| at(&self.scale, *time_ms)).collect();
        format!("[{}]", times.join(" "))
    }
}

impl Teller for LogTeller {
    type Rule = SlidingLog;
    /// The times that count, the oldest first.
    type Seen = Vec<u64>;

    fn rule(&self) -> &SlidingLog {
        &self.rule
    }

    fn explain(&self) -> String {
        let window = short_seconds(self.rule.window_ms);
        format!(
            "The log keeps when requests were admitted; times up to t - {window} s are dropped.\n\
             Passes if fewer than {} are left, and is added.",
            self.rule.quota
        )
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            time_column(),
            Column::text("dropped"),
            Column::text("log before"),
            Column::text("length < quota ?"),
            Column::text("decision"),
            Column::text("log after"),
        ]
    }

    fn see(&self, view: &View<'_, SlidingLog>, now: Now) -> Vec<u64> {
        let standing = self.rule.standing(Some(view), now);
        let counted = standing.limit.saturating_sub(standing.remaining);
        let counted = usize::try_from(counted).unwrap_or(usize::MAX);
        let mut times: Vec<_> = view.times_ms().take(counted).collect();
        times.reverse();
        times
    }

    fn row(&self, step: &Step<'_, Self>) -> Vec<String> {
        let kept = step.found.clone().unwrap_or_default();
        let left = step.left.clone().unwrap_or_default();
        // Both end with the same newest time: what is missing has been dropped in between.
        let dropped = left.get(..left.len().saturating_sub(kept.len())).unwrap_or_default();
        vec![
            at(&self.scale, step.now.ms),
            if dropped.is_empty() { "-".to_string() } else { self.list(dropped) },
            self.list(&kept),
            step.ask(format!("{} < {}", kept.len(), self.rule.quota)),
            step.decision(),
            self.list(step.after.as_deref().unwrap_or_default()),
        ]
    }
}
