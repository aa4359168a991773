//! A token bucket in exact arithmetic: tokens times the period, in whole numbers, so that nothing
//! is ever rounded. It starts full.

/// What a request is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How long it is held, `None` if it is refused.
    pub wait_ms: Option<u64>,
    /// After what wait it would pass, if it is refused and ever can.
    pub retry_after_ms: Option<u64>,
    /// How many more requests pass at this instant.
    pub remaining: u64,
}

/// One key. Tokens are in 1/`period_ns`.
pub struct Bucket {
    requests: u128,
    period_ns: u128,
    capacity: u128,
    tokens: u128,
    filled_ns: u64,
}

const NS_PER_MS: u128 = 1_000_000;

impl Bucket {
    pub fn full(requests: u64, period_ms: u64, capacity: u64, now_ns: u64) -> Self {
        let period_ns = u128::from(period_ms) * NS_PER_MS;
        let capacity = u128::from(capacity) * period_ns;
        let requests = u128::from(requests);
        Self { requests, period_ns, capacity, tokens: capacity, filled_ns: now_ns }
    }

    /// Takes as many tokens as a request costs, if they are there.
    pub fn answer(&mut self, now_ns: u64, cost: u32) -> Answer {
        self.fill(now_ns);
        let cost = u128::from(cost) * self.period_ns;
        let Some(left) = self.tokens.checked_sub(cost) else {
            let lacks_ns = (cost - self.tokens).div_ceil(self.requests);
            let retry_after_ms = (cost <= self.capacity).then(|| whole(lacks_ns, NS_PER_MS, true));
            return Answer { wait_ms: None, retry_after_ms, remaining: self.remaining() };
        };
        // Without `nodelay` a request is held until the last token that it takes would have come
        // into an otherwise empty bucket of one: until it is on schedule.
        let ahead = self.capacity - left - self.period_ns;
        self.tokens = left;
        let wait_ms = whole(ahead, self.requests * NS_PER_MS, false);
        Answer { wait_ms: Some(wait_ms), retry_after_ms: None, remaining: self.remaining() }
    }

    fn fill(&mut self, now_ns: u64) {
        let come = u128::from(now_ns - self.filled_ns) * self.requests;
        self.tokens = self.capacity.min(self.tokens + come);
        self.filled_ns = now_ns;
    }

    fn remaining(&self) -> u64 {
        whole(self.tokens, self.period_ns, false)
    }
}

fn whole(amount: u128, unit: u128, rounds_up: bool) -> u64 {
    let units = if rounds_up { amount.div_ceil(unit) } else { amount / unit };
    u64::try_from(units).expect("a time")
}
