//! Two and four processes on one table, under every algorithm: one limit is exact over all of them,
//! and the earlier of two lets pass one request more for each further process.
//!
//! A request that could not be tracked, since a process lost its processor for 50 ms inside a lock,
//! passes; it is counted, and allowed for.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod support;

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use ngx_http_rl::config::{AlgorithmName, Rate, ZoneRule};
use ngx_http_rl::engine::{decide, AnyMeter, AnyTable, Mode, Outcome};
use ngx_http_rl::limit::{Algorithm, Full, Now, Rule, NS_PER_MS};
use ngx_http_rl::store::{Counter, KeyHash, Owner, Secret};
use support::memory::{Memory, KEY};
use support::model::{each_rule, most};
use support::process::{alone, Forked};

const PROCESSES: [usize; 2] = [2, 4];

/// Few, which all want at once, and many.
const KEYS: [usize; 2] = [3, 1000];

/// Limits of a request: one, or two of which the later one refuses nobody.
const LIMITS: [usize; 2] = [1, 2];

/// So many decisions are made by one look at the clock, as nginx does in a turn of its loop.
const A_TURN: u64 = 16;

/// What the clocks show when a run begins: within a window, for those that have their edges by the
/// clock.
const BEGIN: Now = Now { ms: 1_000_000, ns: 1_000_000 * NS_PER_MS, wall_ms: 1_790_000_000_005 };

/// A rule that a short run meets the limit of: 11 at once or 5 in a window, and then 100 a second or
/// 5 more every 20 ms.
fn rule(algorithm: AlgorithmName) -> Rule {
    let (rate, burst) =
        if algorithm.has_quota() { ("rate=5r/20ms", None) } else { ("rate=100r/s", Some(10)) };
    let zone = ZoneRule::new(algorithm, Rate::parse(rate.as_bytes()).unwrap()).unwrap();
    zone.rule(burst, None, burst.unwrap_or(0)).unwrap()
}

/// A rule that refuses nobody.
fn loose() -> Rule {
    let rate = Rate::parse(b"rate=1000000000r/s").unwrap();
    let zone = ZoneRule::new(AlgorithmName::Leaky, rate).unwrap();
    zone.rule(Some(1_000_000_000), None, 1_000_000_000).unwrap()
}

/// A zone and one limit on it.
struct Zone {
    rule: Rule,
    table: AnyTable,
    _memory: Memory,
}

impl Zone {
    /// With room for all keys, so that none is ever lost.
    fn new(rule: Rule) -> Self {
        let memory = Memory::zeroed(1 << 18);
        let table = AnyTable::create(&rule, memory.region(), KEY, Secret::known([1, 2]));
        Self { rule, table: table.expect("memory does"), _memory: memory }
    }

    fn meter(&self) -> AnyMeter<'_> {
        self.table.meter(&self.rule, Full::Evict)
    }
}

struct Run {
    zones: Vec<Zone>,
    processes: usize,
    keys: usize,
    /// Admissions of each key.
    tallies: Memory,
    began: Instant,
}

impl Run {
    fn new(algorithm: AlgorithmName, processes: usize, keys: usize, limits: usize) -> Self {
        let rules = [rule(algorithm), loose()];
        let zones = rules.into_iter().take(limits).map(Zone::new).collect();
        let tallies = Memory::zeroed(keys * 8);
        Self { zones, processes, keys, tallies, began: Instant::now() }
    }

    fn admitted(&self, key: usize) -> &AtomicU64 {
        &self.tallies.words()[key]
    }

    /// Runs a body in each process, with a function that decides on a request of a key.
    fn in_processes(&self, body: impl Fn(usize, &mut dyn FnMut(usize, Now))) {
        let start = |process: usize| {
            Forked::run(|| {
                self.zones.iter().for_each(|z| z.table.adopt(Owner::of_this_process(), process));
                let meters: Vec<AnyMeter<'_>> = self.zones.iter().map(Zone::meter).collect();
                body(process, &mut |key, now| self.decide(&meters, key, now));
            })
        };
        let mut children: Vec<Forked> = (0..self.processes).map(start).collect();
        children.iter_mut().for_each(|child| assert!(child.wait(), "a process failed"));
    }

    /// All requests share the one key of the later limit.
    fn decide(&self, meters: &[AnyMeter<'_>], key: usize, now: Now) {
        let hash = |meter: &AnyMeter<'_>| -> Result<Option<KeyHash>, ()> {
            let (zone, key) = if ptr::eq(meter, &meters[0]) { (0, key) } else { (1, 0) };
            Ok(Some(self.zones[zone].table.hash(&key.to_le_bytes())))
        };
        match decide(meters, Mode::Enforce, now, hash) {
            Ok(Outcome::Pass | Outcome::Delay { .. }) => {
                self.admitted(key).fetch_add(1, SeqCst);
            }
            Ok(Outcome::Reject { limit, .. }) => assert_eq!(limit, 0, "the loose limit refuses"),
            outcome => panic!("{outcome:?}"),
        }
    }

    fn now(&self) -> Now {
        let ns = self.began.elapsed().as_nanos() as u64;
        let ms = ns / NS_PER_MS;
        Now { ms: BEGIN.ms + ms, ns: BEGIN.ns + ns, wall_ms: BEGIN.wall_ms + ms }
    }

    fn untracked(&self) -> u64 {
        let count = |zone: &Zone| {
            let counters = zone.table.counters();
            assert_eq!(counters.of(Counter::EvictedLive), 0, "there is room");
            counters.of(Counter::Untracked)
        };
        self.zones.iter().map(count).sum()
    }

    /// Compares the total of each key with what it must be and with what an exact limit admits. One
    /// that is not the last may be passed by one request more for each further process, in each
    /// window anew.
    fn check(&self, least: u64, exact: u64, windows: u64) -> Seen {
        let slack = (self.zones.len() as u64 - 1) * (self.processes as u64 - 1) * windows;
        let untracked = self.untracked();
        let totals: Vec<u64> = (0..self.keys).map(|key| self.admitted(key).load(SeqCst)).collect();
        let above = |most: u64| totals.iter().map(|total| total.saturating_sub(most)).sum::<u64>();
        let beyond = above(exact + slack);
        assert!(
            beyond <= untracked,
            "{beyond} above {exact} + {slack}, {untracked} untracked: {totals:?}"
        );
        assert!(totals.iter().all(|total| *total >= least), "below {least}: {totals:?}");
        Seen { untracked, within_slack: above(exact) - beyond }
    }
}

/// What a run has met: requests that could not be tracked, and such as an exact limit would have
/// refused.
#[derive(Debug, Default)]
struct Seen {
    untracked: u64,
    within_slack: u64,
}

/// Every algorithm, number of processes, of keys and of limits.
fn all(test: impl Fn(&Run, AlgorithmName) -> Seen) {
    let _alone = alone();
    for algorithm in AlgorithmName::ALL {
        let (mut runs, mut all) = (0, Seen::default());
        for processes in PROCESSES {
            for (keys, limits) in KEYS.iter().flat_map(|keys| LIMITS.map(|limits| (*keys, limits)))
            {
                let run = Run::new(algorithm, processes, keys, limits);
                let seen = test(&run, algorithm);
                all.untracked += seen.untracked;
                all.within_slack += seen.within_slack;
                runs += 1;
            }
        }
        println!("{algorithm}: {runs} runs, {all:?}");
    }
}

/// While the clock stands still each key is admitted what a new one has at once: not one more, and
/// not one less.
#[test]
fn at_one_instant_the_totals_are_exact() {
    all(|run, algorithm| {
        let rule = rule(algorithm);
        let limit = each_rule!(rule, rule => rule.standing(None, BEGIN).limit);
        let rounds = limit + 3 + if run.keys < 100 { 200 } else { 0 };
        run.in_processes(|process, decide| {
            let mut random = fastrand::Rng::with_seed(process as u64);
            let mut order: Vec<usize> = (0..run.keys).collect();
            for _ in 0..rounds {
                random.shuffle(&mut order);
                order.iter().for_each(|key| decide(*key, BEGIN));
            }
        });
        run.check(limit, limit, 1)
    });
}

/// While the clock runs no key is ever admitted more than its limit says of the time that has
/// passed.
#[test]
fn over_a_run_no_total_is_above_the_guarantee() {
    let time = Duration::from_millis(60) * support::scale();
    all(|run, algorithm| {
        let rule = rule(algorithm);
        run.in_processes(|process, decide| {
            let mut random = fastrand::Rng::with_seed(process as u64);
            while run.began.elapsed() < time {
                let cached = run.now();
                for _ in 0..A_TURN {
                    let now = Now { ns: run.now().ns, ..cached };
                    decide(random.usize(..run.keys), now);
                }
            }
        });
        // Also the last of the processes has ended by now.
        let end = run.now();
        let exact = most(&rule, BEGIN, end);
        let windows = if algorithm.has_quota() { exact / 5 } else { 1 };
        // Few keys are asked for all the time.
        let least = if run.keys < 100 { 5 } else { 0 };
        run.check(least, exact, windows)
    });
}
