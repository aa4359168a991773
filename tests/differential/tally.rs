//! What a run has met, so that a run that meets too little does not pass for a proof.

use super::case::{Limit, Request};
use super::stock::Told;

/// How often each thing happened.
#[derive(Default)]
pub struct Tally {
    pub decisions: u64,
    /// Idle keys that stock dropped and we would have kept.
    pub dropped: u64,
    unlimited: u64,
    passed: u64,
    delayed: u64,
    rejected: u64,
    dry_delayed: u64,
    dry_rejected: u64,
    /// By the number of limits that the request's location has.
    by_limits: [u64; 3],
    /// Delayed or refused by a limit that is not the last one.
    by_earlier_limit: u64,
    same_millisecond: u64,
    step_back: u64,
    step_back_over_60_s: u64,
    idle_over_60_s: u64,
}

impl Tally {
    /// Counts a request, after another at `before`.
    pub fn add(&mut self, before: u64, request: &Request, limits: &[Limit], told: &Told) {
        self.decisions += 1;
        *match &*told.status {
            "" => &mut self.unlimited,
            "PASSED" => &mut self.passed,
            "DELAYED" => &mut self.delayed,
            "REJECTED" => &mut self.rejected,
            "DELAYED_DRY_RUN" => &mut self.dry_delayed,
            "REJECTED_DRY_RUN" => &mut self.dry_rejected,
            other => panic!("unknown status {other}"),
        } += 1;
        self.by_limits[limits.len() - 1] += 1;
        let last = limits.last().map(|limit| format!("\"{}\"", limit.zone));
        if last.is_some_and(|zone| !told.line.is_empty() && !told.line.ends_with(&zone)) {
            self.by_earlier_limit += 1;
        }
        match request.now.cast_signed() - before.cast_signed() {
            0 => self.same_millisecond += 1,
            ..-60_000 => self.step_back_over_60_s += 1,
            -60_000..0 => self.step_back += 1,
            60_000.. => self.idle_over_60_s += 1,
            _ => {}
        }
    }

    /// Prints all counts. Each must have been met.
    pub fn print(&self) {
        let [one, two, three] = self.by_limits;
        let counts = [
            ("unlimited (all keys empty)", self.unlimited),
            ("passed", self.passed),
            ("delayed", self.delayed),
            ("rejected", self.rejected),
            ("delayed, dry run", self.dry_delayed),
            ("rejected, dry run", self.dry_rejected),
            ("by one limit", one),
            ("by two limits", two),
            ("by three limits", three),
            ("named by an earlier limit", self.by_earlier_limit),
            ("in the same millisecond", self.same_millisecond),
            ("after a step back of up to 60 s", self.step_back),
            ("after a step back of more than 60 s", self.step_back_over_60_s),
            ("after 60 s or more without any", self.idle_over_60_s),
            ("idle keys dropped by stock", self.dropped),
        ];
        println!("{} decisions, equal in code, wait, status, log line, states", self.decisions);
        for (what, count) in counts {
            println!("{count:>10}  {what}");
            assert!(count > 0, "not met: {what}");
        }
    }
}
