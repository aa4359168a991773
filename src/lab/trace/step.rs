//! One request after the other: what an algorithm finds, decides and leaves.

use crate::lab::decimal::{self, Scale};
use crate::lab::sheet::{sheet, Column};
use crate::lab::timeline::{Answer, Key, Outcome, Timeline};
use crate::limit::{Admission, Algorithm, Next, Now, View, NS_PER_MS};

/// How the steps of one algorithm are told. It decides nothing: it reads states.
pub(super) trait Teller {
    /// What decides.
    type Rule: Algorithm;
    /// A state as values to print.
    type Seen: Clone;

    fn rule(&self) -> &Self::Rule;

    /// The rule with its numbers, in a sentence or two.
    fn explain(&self) -> String;

    fn columns(&self) -> Vec<Column>;

    /// Reads a state as it counts at an instant.
    fn see(&self, view: &View<'_, Self::Rule>, now: Now) -> Self::Seen;

    /// The cells of a row, one for each column.
    fn row(&self, step: &Step<'_, Self>) -> Vec<String>;
}

/// One request.
pub(super) struct Step<'a, T: Teller + ?Sized> {
    /// When it comes.
    pub now: Now,
    /// When the one before came.
    pub previous_ms: Option<u64>,
    /// The state as the request before has left it.
    pub left: Option<T::Seen>,
    /// The same state as this request finds it; none for a new key.
    pub found: Option<T::Seen>,
    /// What charging the request stores, were it admitted: how the algorithm itself has brought
    /// the state up to date.
    pub charged: Admission<Next<T::Rule>>,
    /// The state after it.
    pub after: Option<T::Seen>,
    /// The answer.
    pub outcome: Outcome,
    /// When the requests came that have been admitted before.
    pub admitted: &'a [u64],
}

impl<T: Teller + ?Sized> Step<'_, T> {
    /// The state that was found, in words; a new key has none.
    pub fn found_or_new(&self, tell: impl FnOnce(&T::Seen) -> String) -> String {
        self.found.as_ref().map_or_else(|| "new".to_string(), tell)
    }

    /// A comparison and its answer.
    pub fn ask(&self, comparison: String) -> String {
        let answer = if self.outcome.is_admitted() { "yes" } else { "no" };
        format!("{comparison} ? {answer}")
    }

    /// The decision in words.
    pub fn decision(&self) -> String {
        match self.outcome.answer {
            Answer::Admitted { wait_ms: 0 } => "passes".to_string(),
            Answer::Admitted { wait_ms } => format!("waits {}", decimal::seconds(wait_ms)),
            Answer::Refused { retry_after_ms: None } => "REFUSED".to_string(),
            Answer::Refused { retry_after_ms: Some(retry_after_ms) } => {
                format!("REFUSED, retry in {}", decimal::seconds(retry_after_ms))
            }
        }
    }
}

/// Sends requests through the rule of a teller.
pub(super) fn walk<T: Teller>(teller: &T, times: &[u64]) -> (String, Timeline) {
    let mut key = Key::new(teller.rule());
    let (mut rows, mut outcomes, mut admitted) = (Vec::new(), Vec::new(), Vec::new());
    let (mut left, mut previous_ms) = (None, None);
    for &at_ms in times {
        let now = Now::at_ms(at_ms);
        let found = key.view().map(|view| teller.see(&view, now));
        let charged = teller.rule().charge(key.view().as_ref(), now, 1);
        let outcome = key.decide(at_ms);
        let after = key.view().map(|view| teller.see(&view, now));
        let step =
            Step { now, previous_ms, left, found, charged, after, outcome, admitted: &admitted };
        rows.push(teller.row(&step));
        (left, previous_ms) = (step.after, Some(at_ms));
        outcomes.push(outcome);
        admitted.extend(outcome.is_admitted().then_some(at_ms));
    }
    let text = format!("{}\n\n{}\n", teller.explain(), sheet(&teller.columns(), rows));
    (text, outcomes.into_iter().collect())
}

/// The column of the arrival times.
pub(super) fn time_column() -> Column {
    Column::number("t (s)")
}

/// Milliseconds on a scale.
pub(super) fn at(scale: &Scale, ms: u64) -> String {
    scale.seconds(ms.saturating_mul(NS_PER_MS))
}
