//! The value of `$rl_req_status`.

use crate::engine::{Mode, Outcome};

/// What became of a request, as stock's `$limit_req_status` words it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Within all limits.
    Passed,
    /// Held. Then passed, if the client was still there.
    Delayed,
    /// Refused.
    Rejected,
    /// Would have been held.
    DelayedDryRun,
    /// Would have been refused.
    RejectedDryRun,
}

impl Status {
    /// The status of a request, `None` if no limit applied to it.
    pub fn of(outcome: &Outcome, mode: Mode) -> Option<Self> {
        Some(match (outcome, mode) {
            (Outcome::Unlimited, _) => return None,
            (Outcome::Pass, _) => Self::Passed,
            (Outcome::Delay { .. }, Mode::Enforce) => Self::Delayed,
            (Outcome::Delay { .. }, Mode::DryRun) => Self::DelayedDryRun,
            (Outcome::Reject { .. }, Mode::Enforce) => Self::Rejected,
            (Outcome::Reject { .. }, Mode::DryRun) => Self::RejectedDryRun,
        })
    }

    /// The word that the variable shows.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Delayed => "DELAYED",
            Self::Rejected => "REJECTED",
            Self::DelayedDryRun => "DELAYED_DRY_RUN",
            Self::RejectedDryRun => "REJECTED_DRY_RUN",
        }
    }
}
