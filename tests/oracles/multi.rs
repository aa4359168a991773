//! `limit_req_multi`: several limits on several zones, by engine and tables.

use std::convert::Infallible;

use ngx_http_rl::engine::{decide, Metered, Mode};
use ngx_http_rl::limit::{Full, Leaky, LeakyState, Now};
use ngx_http_rl::store::{KeyHash, Table};
use serde_json::{json, Value};

use super::data::{array, columns_of, columns_of_state, rule, Case};
use super::support::memory::Memory;

pub const COLUMNS: [&str; 7] = ["t", "location", "keys", "d", "excess", "limit_index", "states"];

/// Enough for the keys of a case: no record may be evicted.
const BUCKETS: usize = 1 << 7;

pub fn check(case: &Case<'_>) -> usize {
    let zones = array(case.parameter("zones"));
    let locations = array(case.parameter("locations"));
    let memory: Vec<_> = zones.iter().map(|_| Memory::for_buckets(BUCKETS)).collect();
    let tables: Vec<Table<LeakyState>> = memory.iter().map(|memory| memory.create(7)).collect();
    let mut rows = 0;
    for (row, now) in case.rows() {
        let location = array(&locations[index(row.field(1))]);
        let zone_of = |limit: &Value| index(&limit["zone"]);
        let rules: Vec<_> =
            location.iter().map(|limit| rule(&zones[zone_of(limit)], limit)).collect();
        let limits: Vec<_> = location
            .iter()
            .zip(&rules)
            .map(|(limit, rule)| Metered {
                rule,
                table: &tables[zone_of(limit)],
                full: Full::Evict,
            })
            .collect();
        let keys: Vec<_> = array(row.field(2))
            .iter()
            .zip(&tables)
            .map(|(key, table)| hash(table, key.as_str().unwrap()))
            .collect();
        let [d, excess, limit, states] = [3, 4, 5, 6].map(|column| row.field(column));
        row.compare(
            "engine [d, excess, limit_index, states]",
            &json!([d, excess, limit, without_empty_nodes(states)]),
            &decided(&limits, &tables, &keys, now, case.t0()),
        );
        rows += 1;
    }
    rows
}

/// An empty key does not count.
fn hash(table: &Table<LeakyState>, key: &str) -> Option<KeyHash> {
    (!key.is_empty()).then(|| table.hash(key.as_bytes()))
}

/// Decides one row and writes down what the oracle writes down.
fn decided(
    limits: &[Metered<'_, Leaky>],
    tables: &[Table<LeakyState>],
    keys: &[Option<KeyHash>],
    now: Now,
    t0: i64,
) -> Value {
    let outcome = decide(limits, Mode::Enforce, now, |limit| {
        let zone = tables.iter().position(|table| std::ptr::eq(table, limit.table)).unwrap();
        Ok::<_, Infallible>(keys[zone])
    });
    let (d, excess, limit) = columns_of(outcome.unwrap());
    let states: Vec<_> = tables
        .iter()
        .zip(keys)
        .map(|(table, key)| {
            let record = key.and_then(|key| table.look(key, |state| state.copied()).unwrap());
            let (excess, last) = columns_of_state(record, t0);
            if record.is_some() {
                json!([excess, last])
            } else {
                json!(null)
            }
        })
        .collect();
    json!([d, excess, limit, states])
}

/// States without the nodes that stock's look-up makes and nothing is charged to: ours makes none.
fn without_empty_nodes(states: &Value) -> Value {
    array(states)
        .iter()
        .map(|state| if *state == json!([0, null]) { &Value::Null } else { state })
        .cloned()
        .collect()
}

fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}
