//! The engine against the unmodified C module, decision by decision.
//!
//! `RL_SEED` replays a run, `RL_LONG=1` makes it ten times as long.
#![cfg(feature = "vendored")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::convert::Infallible;
use std::env;

use fastrand::Rng;
use ngx_http_rl::engine::{decide, Metered, Mode, Outcome};
use ngx_http_rl::limit::{Leaky, LeakyState, Millis};
use ngx_http_rl::report;
use ngx_http_rl::store::{Table, Worth};
use support::memory::Memory;

#[path = "stock/mod.rs"]
mod stock;
mod support;

/// Decisions in one case, all on the same zones.
const ROWS: usize = 500;

/// Keys of a zone: few, so that they meet again.
const KEYS: usize = 6;

#[test]
fn a_million_decisions_are_those_of_stock() {
    let seed = env::var("RL_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("RL_SEED={seed}");
    let long = env::var_os("RL_LONG").is_some_and(|value| value != "0");
    let cases = if long { 20_000 } else { 2_000 };
    let mut rng = Rng::with_seed(seed);
    let mut expired = 0;
    for case in 0..cases {
        expired += Case::random(&mut rng).run(&mut rng, case);
    }
    println!("{} decisions, stock dropped {expired} idle keys", cases * ROWS);
}

struct Case {
    rules: Vec<Leaky>,
    memory: Vec<Memory>,
    keys: Vec<Vec<u8>>,
    now: u64,
}

impl Case {
    fn random(rng: &mut Rng) -> Self {
        let zones = rng.usize(1..=3);
        let rules = (0..zones).map(|_| random_rule(rng)).collect();
        let keys = (0..KEYS).map(|n| vec![b'a' + n as u8; rng.usize(1..80)]).collect();
        Self {
            rules,
            memory: (0..zones).map(|_| Memory::zeroed(1 << 15)).collect(),
            keys,
            now: rng.u64(1_000_000_000..1 << 41),
        }
    }

    /// Returns how many idle keys stock dropped.
    fn run(mut self, rng: &mut Rng, case: usize) -> usize {
        let tables: Vec<Table<LeakyState>> = self.memory.iter().map(|m| m.create(7)).collect();
        let zones: Vec<_> =
            self.rules.iter().enumerate().map(|(n, rule)| stock::Zone::new(n, rule.rate)).collect();
        let limits: Vec<_> = self
            .rules
            .iter()
            .zip(&tables)
            .map(|(rule, table)| Metered { rule: *rule, table })
            .collect();
        let mut expired = 0;
        for row in 0..ROWS {
            self.now =
                self.now.saturating_add_signed(random_step(rng, self.rules[0].rate)).max(1 << 29);
            let keys: Vec<&[u8]> = limits
                .iter()
                .map(|_| if rng.u8(..) < 20 { &[][..] } else { &*self.keys[rng.usize(..KEYS)] })
                .collect();
            let theirs = stock::decide(&zones, &self.rules, &keys, self.now);
            let ours = ours(&limits, &keys, self.now);
            assert_eq!(
                ours, theirs,
                "ours, stock; case {case} row {row} now {} rules {:?} keys {keys:?}",
                self.now, self.rules
            );
            expired += self.drop_what_stock_dropped(&limits, &zones);
        }
        expired
    }

    /// Stock drops drained keys that have been idle for 60 s when a new one comes: ours then
    /// becomes what stands for no record, one that has long recovered.
    fn drop_what_stock_dropped(
        &self,
        limits: &[Metered<'_, Leaky>],
        zones: &[stock::Zone],
    ) -> usize {
        let mut dropped = 0;
        for (limit, zone) in limits.iter().zip(zones) {
            for key in self.keys.iter().filter(|key| !zone.has(key)) {
                let hash = limit.table.hash(key);
                let known = limit.table.look(hash, |state| state.is_some_and(|s| s.last.0 > 0));
                if known.unwrap() {
                    let worth = Worth::new(&limit.rule, Millis(self.now));
                    let none = LeakyState::default();
                    limit.table.update(hash, &worth, |_| (Some(none), ())).unwrap();
                    dropped += 1;
                }
            }
        }
        dropped
    }
}

/// What stock's handler tells: return code, wait, line of the log.
fn ours(limits: &[Metered<'_, Leaky>], keys: &[&[u8]], now: u64) -> stock::Told {
    let outcome = decide(limits, Mode::Enforce, Millis(now), |limit| {
        let n = limits.iter().position(|other| std::ptr::eq(other, limit)).unwrap();
        Ok::<_, Infallible>((!keys[n].is_empty()).then(|| limit.table.hash(keys[n])))
    });
    let text = |line: report::Line| String::from_utf8(line.as_bytes().to_vec()).unwrap();
    let name = |limit: usize| limit.to_string().into_bytes();
    match outcome.unwrap() {
        Outcome::Unlimited | Outcome::Pass => (stock::DECLINED, 0, String::new()),
        Outcome::Delay { limit, wait_ms, excess } => {
            (stock::AGAIN, wait_ms, text(report::delayed(&name(limit), excess, Mode::Enforce)))
        }
        Outcome::Reject { limit, excess } => {
            (503, 0, text(report::rejected(&name(limit), excess, Mode::Enforce)))
        }
    }
}

fn random_rule(rng: &mut Rng) -> Leaky {
    let rate = match rng.u8(..4) {
        0 => rng.u64(1..=100) * 1000 / 60,
        1 => rng.u64(1..=50) * 1000,
        2 => rng.u64(1..=5) * 1000,
        _ => rng.u64(1000..1_000_000) * 1000,
    };
    let burst = [0, 1, rng.u64(..10), rng.u64(..1000)][rng.usize(..4)] * 1000;
    let delay = [0, rng.u64(..10) * 1000, u64::MAX][rng.usize(..3)];
    Leaky { rate, burst, delay }
}

/// Milliseconds to the next request: none, about one emission, long pauses, steps back.
fn random_step(rng: &mut Rng, rate: u64) -> i64 {
    let emission_ms = (1_000_000 / rate.max(1)).max(1) as i64;
    match rng.u8(..20) {
        0..6 => 0,
        6..15 => rng.i64(0..=emission_ms * 2),
        15 => rng.i64(0..120_000),
        16 => rng.i64(0..100_000_000),
        17 => -rng.i64(0..100),
        18 => -rng.i64(0..70_000),
        _ => rng.i64(0..4),
    }
}
