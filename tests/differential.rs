//! The engine against the unmodified C module, decision by decision: return code, wait, status
//! variable, log line (which has excess and zone), and what either side keeps of the keys.
//!
//! `RL_SEED` replays a run, `RL_LONG=1` makes it ten times as long.
//!
//! | file | what |
//! |---|---|
//! | `differential/case` | random zones, limits, keys and clocks |
//! | `differential/tally` | what has been met |
//! | `stock` | the C module behind a shim (unsafe) |
#![cfg(feature = "vendored")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::convert::Infallible;

use case::{Case, Request};
use fastrand::Rng;
use ngx_http_rl::engine::{decide, Metered, Mode, Outcome};
use ngx_http_rl::limit::{Full, Leaky, LeakyState, Now};
use ngx_http_rl::report::{self, Status};
use ngx_http_rl::store::{Counter, Table, Worth};
use stock::Told;
use support::memory::Memory;
use tally::Tally;

#[path = "differential/case.rs"]
mod case;
#[path = "stock/mod.rs"]
mod stock;
mod support;
#[path = "differential/tally.rs"]
mod tally;

/// Decisions in one case, all on the same zones.
const ROWS: usize = 500;

/// How many of them are shown if one differs.
const SHOWN: usize = 10;

/// Enough for the keys of a case: no record may be evicted.
const BUCKETS: usize = 64;

#[test]
fn a_million_decisions_are_those_of_stock() {
    let seed = support::seed("differential");
    let cases = if support::scale() > 1 { 20_000 } else { 2_000 };
    let mut tally = Tally::default();
    for case in 0..cases {
        // A seed for each case: the one that fails is the first one of a run from its own seed.
        let seed = seed.wrapping_add(case);
        let mut rng = Rng::with_seed(seed);
        let case = Case::random(&mut rng);
        if let Err(why) = run(&case, &mut rng, &mut tally) {
            panic!("RL_SEED={seed} has it in its first case\n{}\n{why}", case.describe());
        }
    }
    tally.print();
    assert_eq!(tally.decisions, cases * ROWS as u64);
}

/// One zone on both sides.
struct Zone {
    stock: stock::Zone,
    table: Table<LeakyState>,
    _memory: Memory,
}

impl Zone {
    fn new(number: usize, rate: u64) -> Self {
        let memory = Memory::for_buckets(BUCKETS);
        Self { stock: stock::Zone::new(number, rate), table: memory.create(7), _memory: memory }
    }
}

/// Decides the requests of a case on both sides; how they differ, if they do.
fn run(case: &Case, rng: &mut Rng, tally: &mut Tally) -> Result<(), String> {
    let zones: Vec<_> =
        case.rates.iter().enumerate().map(|(n, rate)| Zone::new(n, *rate)).collect();
    let mut now = case.start;
    let mut rows: Vec<(Request, Told)> = Vec::with_capacity(ROWS);
    while rows.len() < ROWS {
        let request = case.request(rng, now);
        let theirs = stock(case, &zones, &request);
        let ours = ours(case, &zones, &request);
        tally.add(now, &request, &case.locations[request.location], &theirs);
        tally.dropped += drop_what_stock_dropped(case, &zones, request.now);
        let state = differing_state(case, &zones);
        if ours != theirs || state.is_some() {
            return Err(difference(&rows, &request, &ours, &theirs, state));
        }
        rows.push((request, theirs));
        now = request.now;
    }
    for zone in &zones {
        let counters = zone.table.counters();
        for event in [Counter::EvictedLive, Counter::EvictedRecovered, Counter::Untracked] {
            assert_eq!(counters.of(event), 0, "{event:?} would explain a difference");
        }
    }
    Ok(())
}

/// The last requests that were decided alike, and the one that was not.
fn difference(
    rows: &[(Request, Told)],
    request: &Request,
    ours: &Told,
    theirs: &Told,
    state: Option<String>,
) -> String {
    let mut text = format!("the requests before row {}:\n", rows.len());
    for (request, told) in &rows[rows.len().saturating_sub(SHOWN)..] {
        text += &format!("{request:?}\n      {told:?}\n");
    }
    text += &format!("{request:?}\nours  {ours:?}\nstock {theirs:?}\n");
    text + &state.unwrap_or_default()
}

fn stock(case: &Case, zones: &[Zone], request: &Request) -> Told {
    let limits: Vec<_> = case.locations[request.location]
        .iter()
        .map(|limit| {
            let key = &*case.keys[request.keys[limit.zone]];
            (&zones[limit.zone].stock, limit.rule, key)
        })
        .collect();
    stock::decide(&limits, case.dry_run, request.now)
}

fn ours(case: &Case, zones: &[Zone], request: &Request) -> Told {
    let limits: Vec<Metered<'_, Leaky>> = case.locations[request.location]
        .iter()
        .map(|limit| Metered {
            rule: &limit.rule,
            table: &zones[limit.zone].table,
            full: Full::Evict,
        })
        .collect();
    let zone_of = |limit: &Metered<'_, Leaky>| {
        zones.iter().position(|zone| std::ptr::eq(&zone.table, limit.table)).unwrap()
    };
    let mode = if case.dry_run { Mode::DryRun } else { Mode::Enforce };
    let outcome = decide(&limits, mode, Now::at_ms(request.now), |limit| {
        let key = &case.keys[request.keys[zone_of(limit)]];
        Ok::<_, Infallible>((!key.is_empty()).then(|| limit.table.hash(key)))
    })
    .unwrap();
    told(outcome, mode, |limit| zone_of(&limits[limit]))
}

/// Our outcome in the words of stock's handler.
fn told(outcome: Outcome, mode: Mode, zone_of: impl Fn(usize) -> usize) -> Told {
    let name = |limit| zone_of(limit).to_string().into_bytes();
    let (code, wait_ms, line) = match outcome {
        Outcome::Unlimited | Outcome::Pass => (stock::DECLINED, 0, None),
        Outcome::Delay { limit, wait_ms, excess } => {
            (stock::AGAIN, wait_ms, Some(report::delayed(&name(limit), excess, mode)))
        }
        Outcome::Reject { limit, excess } => {
            (503, 0, Some(report::rejected(&name(limit), excess, mode)))
        }
    };
    // A dry run shows its waits nowhere.
    let (code, wait_ms) = if mode == Mode::DryRun { (stock::DECLINED, 0) } else { (code, wait_ms) };
    let line = line.map_or_else(String::new, |line| {
        String::from_utf8(line.as_bytes().to_vec()).expect("the test's zones have plain names")
    });
    let status = Status::of(&outcome, mode).map_or("", Status::word).to_owned();
    Told { code, wait_ms, status, line }
}

/// A key's record on our side, as excess and time; `None` also for one that says nothing.
fn our_state(zone: &Zone, key: &[u8]) -> Option<(u64, u64)> {
    let record = zone.table.look(zone.table.hash(key), |state| state.copied()).unwrap();
    record.map(|state| (state.excess, state.last)).filter(|(_, last)| *last > 0)
}

/// Stock drops drained keys that have been idle for 60 s when a new one comes (DESIGN.md, section
/// 5): ours then becomes what stands for no record, one that has long recovered.
fn drop_what_stock_dropped(case: &Case, zones: &[Zone], now: u64) -> u64 {
    let mut dropped = 0;
    for (zone, rate) in zones.iter().zip(&case.rates) {
        for key in &case.keys {
            let Some(state) = our_state(zone, key) else { continue };
            // Anything else that is missing there is a difference.
            if is_droppable(*rate, state, now) && zone.stock.state(key).is_none() {
                let rule = Leaky { rate: *rate, burst: 0, delay: 0 };
                let worth = Worth::new(&rule, Now::at_ms(now));
                let none = LeakyState::default();
                zone.table.update(zone.table.hash(key), &worth, |_| (Some(none), ())).unwrap();
                dropped += 1;
            }
        }
    }
    dropped
}

/// Whether stock may drop a record: `ngx_http_limit_req_expire`, for which time ahead is idle too.
fn is_droppable(rate: u64, (excess, last): (u64, u64), now: u64) -> bool {
    let idle_ms = now.abs_diff(last);
    idle_ms >= 60_000 && rate * idle_ms / 1000 >= excess
}

/// The first key that the two sides know differently. A node of stock's that nothing was charged
/// to has the time 0 and is as good as none.
fn differing_state(case: &Case, zones: &[Zone]) -> Option<String> {
    zones.iter().enumerate().find_map(|(n, zone)| {
        case.keys.iter().find_map(|key| {
            let ours = our_state(zone, key);
            let theirs = zone.stock.state(key).filter(|(_, last)| *last > 0);
            (ours != theirs).then(|| {
                format!("zone {n}, key {}: ours {ours:?}, stock {theirs:?}", key.escape_ascii())
            })
        })
    })
}
