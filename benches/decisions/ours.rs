//! Our side: the engine over a table, as a worker of nginx calls it.

use std::convert::Infallible;

use ngx_http_rl::engine::{self, AnyTable, Hold, Judgement, Meter, Mode, Outcome};
use ngx_http_rl::limit::{Full, Now, Rule};
use ngx_http_rl::store::{capacity, Counter, Counters, KeyHash, Owner, Secret};

use super::memory::Memory;
use super::race::Side;

/// Limits that one request is judged by, the same key in each.
pub struct Ours {
    limits: Vec<Limit>,
}

struct Limit {
    rule: Rule,
    table: AnyTable,
    _memory: Memory,
}

impl Ours {
    /// So many limits of one rule, each with a table of so many bytes.
    pub fn new(limits: usize, bytes: usize, rule: Rule) -> Self {
        let limit = |seed| {
            let memory = Memory::zeroed(bytes);
            let secret = Secret::known([seed, !seed]);
            let table = AnyTable::create(&rule, memory.region(), b"$binary_remote_addr", secret);
            Limit { rule, table: table.expect("the memory does"), _memory: memory }
        };
        Self { limits: (1..).take(limits).map(limit).collect() }
    }

    /// Bytes for a table that so many keys fill to three quarters.
    pub fn bytes_for(rule: &Rule, keys: u64) -> usize {
        let slots = keys as usize * 4 / 3;
        // A table of a known size tells what a record takes.
        let record = (64 << 20) as f64 / capacity(rule, 64 << 20) as f64;
        (slots as f64 * record) as usize + (64 << 10)
    }

    /// What the first table has counted.
    pub fn counters(&self) -> Counters {
        self.limits[0].table.counters()
    }

    /// Records that the first table has room for.
    pub fn slots(&self) -> usize {
        self.limits[0].table.slots()
    }
}

impl Side for Ours {
    fn enter(&self, worker: usize) {
        for limit in &self.limits {
            limit.table.adopt(Owner::of_this_process(), worker);
        }
    }

    #[inline]
    fn take(&self, key: &[u8], now_ms: u64) -> bool {
        let now = Now::at_ms(now_ms);
        let hash = |limit: &Limit| Ok::<_, Infallible>(Some(limit.table.hash(key)));
        let outcome = engine::decide(&self.limits, Mode::Enforce, now, hash);
        !matches!(outcome, Ok(Outcome::Reject { .. }))
    }
}

/// As `nginx::limit` has it.
impl Meter for Limit {
    fn judge(&self, key: KeyHash, now: Now) -> Judgement {
        self.table.meter(&self.rule, Full::Evict).judge(key, now)
    }

    fn take(&self, key: KeyHash, now: Now) -> Judgement {
        self.table.meter(&self.rule, Full::Evict).take(key, now)
    }

    fn charge(&self, key: KeyHash, now: Now) -> Hold {
        self.table.meter(&self.rule, Full::Evict).charge(key, now)
    }

    fn count(&self, counter: Counter) {
        self.table.count(counter);
    }
}
