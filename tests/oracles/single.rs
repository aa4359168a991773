//! `limit_req`: one limit, one key. Each row is decided twice: by the pure judge, which shows every
//! number of the row, and by engine and table, which must come to the same.

use std::convert::Infallible;

use ngx_http_rl::engine::{decide, Metered, Mode};
use ngx_http_rl::limit::{Algorithm, Full, Leaky, LeakyState, Now, Verdict};
use serde_json::{json, Value};

use super::data::{columns_of, columns_of_state, rule, Case};
use super::support::memory::Memory;

pub const COLUMNS: [&str; 5] = ["t", "d", "excess", "state_excess", "state_last"];

pub fn check(case: &Case<'_>) -> usize {
    let rule = rule(case.parameter("zone"), case.parameter("limit"));
    let t0 = case.t0();
    let memory = Memory::for_buckets(1);
    let table = memory.create(7);
    let limit = [Metered { rule: &rule, table: &table, full: Full::Evict }];
    let key = table.hash(b"the key");
    let mut state = None;
    let mut rows = 0;
    for (row, now) in case.rows() {
        let [d, excess, state_excess, state_last] = [1, 2, 3, 4].map(|column| row.field(column));
        let expected = json!([d, excess, state_excess, state_last]);
        row.compare("judge [d, excess, state]", &expected, &judged(&rule, &mut state, now, t0));

        let outcome = decide(&limit, Mode::Enforce, now, |_| Ok::<_, Infallible>(Some(key)));
        let (got_d, got_excess, index) = columns_of(outcome.unwrap());
        // A request that passes at once logs nothing.
        let expected = if index.is_null() { &json!(null) } else { excess };
        let record = table.look(key, |state| state.copied()).unwrap();
        let (got_state_excess, got_state_last) = columns_of_state(record, t0);
        row.compare(
            "engine [d, excess, state]",
            &json!([d, expected, state_excess, state_last]),
            &json!([got_d, got_excess, got_state_excess, got_state_last]),
        );
        rows += 1;
    }
    rows
}

/// What the rule alone says, and the state that it leaves.
fn judged(rule: &Leaky, state: &mut Option<LeakyState>, now: Now, t0: i64) -> Value {
    let (d, excess) = match rule.judge(state.as_ref(), now, 1) {
        Verdict::Accept(admission) => {
            *state = Some(admission.next);
            (json!(admission.wait_ms), admission.excess)
        }
        Verdict::Reject(refusal) => (json!(-1), refusal.excess),
    };
    let (state_excess, state_last) = columns_of_state(*state, t0);
    json!([d, excess, state_excess, state_last])
}
