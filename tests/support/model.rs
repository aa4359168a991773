//! One key: its state, judged and stored as the engine does.

/// Does the same with whatever rule there is.
#[allow(unused_macros, reason = "every test binary uses another part")]
macro_rules! each_rule {
    ($rule:expr, $held:ident => $do:expr) => {
        match $rule {
            ngx_http_rl::limit::Rule::Leaky($held) => $do,
            ngx_http_rl::limit::Rule::Gcra($held) => $do,
            ngx_http_rl::limit::Rule::LeakyQueue($held) => $do,
            ngx_http_rl::limit::Rule::FixedWindow($held) => $do,
            ngx_http_rl::limit::Rule::AnchoredWindow($held) => $do,
            ngx_http_rl::limit::Rule::SlidingWindow($held) => $do,
            ngx_http_rl::limit::Rule::SlidingLog($held) => $do,
        }
    };
}
#[allow(unused_imports, reason = "every test binary uses another part")]
pub(crate) use each_rule;

use ngx_http_rl::limit::{
    Algorithm, Next, Now, Owned, Rule, Standing, State, Thousandths, Verdict, View, REQUEST,
};

/// A rule and what it keeps for one key.
pub struct Key<A: Algorithm> {
    pub rule: A,
    state: Option<Owned<A>>,
}

/// A verdict without what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Accept { wait_ms: u64, excess: Thousandths },
    Reject { excess: Thousandths, retry_after_ms: Option<u64> },
}

impl<A: Algorithm> Key<A> {
    /// A key that has no record.
    pub fn new(rule: A) -> Self {
        Self { rule, state: None }
    }

    /// A key whose record is there already.
    pub fn with(rule: A, state: Owned<A>) -> Self {
        Self { rule, state: Some(state) }
    }

    pub fn view(&self) -> Option<View<'_, A>> {
        self.state.as_ref().map(A::State::view)
    }

    /// Judges a request and stores nothing.
    pub fn judge(&self, now: Now, cost: u32) -> Verdict<Next<A>> {
        self.rule.judge(self.view().as_ref(), now, cost)
    }

    pub fn passes(&self, now: Now, cost: u32) -> bool {
        matches!(self.judge(now, cost), Verdict::Accept(_))
    }

    /// Judges a request and stores what the verdict says.
    pub fn take(&mut self, now: Now, cost: u32) -> Told {
        let verdict = self.judge(now, cost);
        self.store(&verdict);
        Told::of(&verdict)
    }

    /// Charges a request without asking.
    pub fn charge(&mut self, now: Now, cost: u32) {
        let next = self.rule.charge(self.view().as_ref(), now, cost).next;
        A::State::store(&mut self.state, next);
    }

    pub fn store(&mut self, verdict: &Verdict<Next<A>>) {
        let next = match verdict {
            Verdict::Accept(admission) => Some(admission.next),
            Verdict::Reject(refusal) => refusal.moved,
        };
        if let Some(next) = next {
            A::State::store(&mut self.state, next);
        }
    }

    pub fn standing(&self, now: Now) -> Standing {
        self.rule.standing(self.view().as_ref(), now)
    }

    /// Whether the key is as good as one without a record.
    pub fn is_recovered(&self, now: Now) -> bool {
        self.view().is_none_or(|view| self.rule.recovered(&view, now))
    }

    pub fn charged(&self, now: Now) -> Thousandths {
        self.view().map_or(0, |view| self.rule.charged(&view, now))
    }
}

impl Told {
    pub fn of<N>(verdict: &Verdict<N>) -> Self {
        match verdict {
            Verdict::Accept(admission) => {
                Self::Accept { wait_ms: admission.wait_ms, excess: admission.excess }
            }
            Verdict::Reject(refusal) => {
                Self::Reject { excess: refusal.excess, retry_after_ms: refusal.retry_after_ms }
            }
        }
    }

    pub fn is_accept(self) -> bool {
        matches!(self, Self::Accept { .. })
    }
}

/// What a rule may admit of one key that is new at `first`, up to `last`, both included.
pub fn most(rule: &Rule, first: Now, last: Now) -> u64 {
    let (span_ms, span_ns) = (last.ms - first.ms, last.ns - first.ns);
    // Windows by the clock that are touched; windows that can have been opened one after the other.
    let touched = |window_ms: u64| last.wall_ms / window_ms - first.wall_ms / window_ms + 1;
    let opened = |window_ms: u64| span_ms / window_ms + 1;
    match rule {
        Rule::Leaky(rule) => (rule.burst + rule.rate.saturating_mul(span_ms) / 1000) / REQUEST + 1,
        Rule::Gcra(rule) => (rule.tolerance_ns + span_ns) / rule.schedule.interval_ns + 1,
        // The place that is just being left counts as free.
        Rule::LeakyQueue(rule) => (rule.capacity_ns + span_ns) / rule.schedule.interval_ns + 1,
        Rule::FixedWindow(rule) => touched(rule.window_ms) * u64::from(rule.quota),
        Rule::SlidingWindow(rule) => touched(rule.window_ms) * u64::from(rule.quota),
        Rule::AnchoredWindow(rule) => opened(rule.window_ms) * u64::from(rule.quota),
        Rule::SlidingLog(rule) => opened(rule.window_ms) * u64::from(rule.quota),
    }
}
