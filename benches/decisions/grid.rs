//! What is measured.

use ngx_http_rl::config::{AlgorithmName, Delay, Rate, ZoneRule};
use ngx_http_rl::limit::Rule;

use super::line::Line;
use super::ours::Ours;
use super::race::{race, Keys, Load};
use super::sheet::{ns, ratio, Sheet};
use super::stock::Stock;

/// Above whatever the loads ask for, so that everything is admitted.
const FAST: &str = "rate=10000000r/s";

/// In 1/1000 request a second, as stock wants it.
const FAST_STOCK: u64 = 10_000_000_000;

/// In requests.
const BURST: u64 = 1_000_000;

/// How many keys are known.
const KEYS: [u64; 5] = [1, 1_000, 100_000, 1_000_000, 4_000_000];

/// A rule from the words of the directives.
pub fn rule(algorithm: AlgorithmName, rate: &str, burst: u64) -> Rule {
    let rate = Rate::parse(rate.as_bytes()).expect("a rate");
    let zone = ZoneRule::new(algorithm, rate).expect("a rate for it");
    let takes_burst = !algorithm.has_quota();
    let takes_delay = takes_burst && algorithm != AlgorithmName::LeakyQueue;
    let burst = takes_burst.then_some(burst);
    let delay = takes_delay.then_some(Delay::Never);
    zone.rule(burst, delay, burst.unwrap_or(0)).expect("parameters for it")
}

/// Bytes that stock takes for so many keys of so many bytes.
fn stock_bytes(keys: u64, key_bytes: usize) -> usize {
    // A node has 67 bytes before its key, and the slab's sizes are powers of two.
    let node = (67 + key_bytes).next_power_of_two().max(128);
    keys as usize * (node + node / 32) + (256 << 10)
}

fn load(keys: u64, processes: usize) -> Load {
    let decisions = match keys {
        0..=1_000 => 2_000_000,
        _ => 500_000,
    };
    Load { keys: Keys::Known(keys), key_bytes: 4, decisions, per_ms: 1000, processes }
}

fn number(number: u64) -> String {
    match number {
        1_000_000.. => format!("{} M", number / 1_000_000),
        1_000.. => format!("{} k", number / 1_000),
        _ => number.to_string(),
    }
}

/// The main table: `leaky` beside stock and beside the machine.
pub fn hits(quick: bool) {
    let mut sheet = Sheet::new(
        "Decisions: known keys, admitted",
        "`leaky`, random keys of 4 bytes, nanoseconds a decision and process: median (lowest to \
         highest of 5 rounds). The last column is one read and one write of one random cache line \
         in as much memory as ours takes.",
        &["processes, keys", "stock", "ours", "ratio", "cache line"],
    );
    let leaky = rule(AlgorithmName::Leaky, FAST, BURST);
    for processes in [1, 2] {
        for keys in KEYS.into_iter().filter(|keys| !quick || *keys <= 100_000) {
            let bytes = Ours::bytes_for(&leaky, keys);
            let stock = Stock::new(1, stock_bytes(keys, 4), FAST_STOCK, BURST * 1000);
            let (ours, line) = (Ours::new(1, bytes, leaky), Line::new(bytes));
            let [theirs, mine, least] = race(load(keys, processes), [&stock, &ours, &line]);
            sheet.row(vec![
                format!("{processes}, {}", number(keys)),
                ns(&theirs),
                ns(&mine),
                ratio(&theirs, &mine),
                ns(&least),
            ]);
        }
    }
    sheet.print();
}

/// Every algorithm, beside stock's only one.
pub fn algorithms(quick: bool) {
    let mut sheet = Sheet::new(
        "Decisions: every algorithm",
        "As above; `sliding_log` with 100 requests a key and beside stock at the same clock.",
        &["algorithm, processes, keys", "stock", "ours", "ratio"],
    );
    for algorithm in AlgorithmName::ALL {
        let is_log = algorithm == AlgorithmName::SlidingLog;
        let (rate, per_ms) = if is_log { ("rate=100r/1ms", 20) } else { (FAST, 1000) };
        let rule = rule(algorithm, rate, BURST);
        for processes in [1, 2] {
            for keys in [1, 1_000, 100_000].into_iter().filter(|keys| !quick || *keys <= 1_000) {
                let stock = Stock::new(1, stock_bytes(keys, 4), FAST_STOCK, BURST * 1000);
                let ours = Ours::new(1, Ours::bytes_for(&rule, keys), rule);
                let load = Load { per_ms, ..load(keys, processes) };
                let [theirs, mine] = race(load, [&stock, &ours]);
                sheet.row(vec![
                    format!("{algorithm}, {processes}, {}", number(keys)),
                    ns(&theirs),
                    ns(&mine),
                    ratio(&theirs, &mine),
                ]);
            }
        }
    }
    sheet.print();
}

/// A flood that is nearly all refused.
pub fn refusals(_: bool) {
    let mut sheet = Sheet::new(
        "Decisions: refusals",
        "1 request a second, no burst: a flood on one key, and on a thousand.",
        &["algorithm, processes, keys", "stock", "ours", "ratio"],
    );
    for algorithm in [AlgorithmName::Leaky, AlgorithmName::Gcra, AlgorithmName::SlidingWindow] {
        let rule = rule(algorithm, "rate=1r/s", 0);
        for processes in [1, 2] {
            for keys in [1, 1_000] {
                let stock = Stock::new(1, stock_bytes(keys, 4), 1000, 0);
                let ours = Ours::new(1, Ours::bytes_for(&rule, keys), rule);
                let one_second = Load { per_ms: 4_000_000, ..load(keys, processes) };
                let [theirs, mine] = race(one_second, [&stock, &ours]);
                sheet.row(vec![
                    format!("{algorithm}, {processes}, {}", number(keys)),
                    ns(&theirs),
                    ns(&mine),
                    ratio(&theirs, &mine),
                ]);
            }
        }
    }
    sheet.print();
}

/// Zones of 32 KiB, 1 MiB and 16 MiB, and what nginx's slab pool has for one allocation in them.
pub const ZONES: [(&str, usize, usize); 3] =
    [("32 KiB", 32 << 10, 28_672), ("1 MiB", 1 << 20, 1_040_384), ("16 MiB", 16 << 20, 16_674_816)];

/// New keys into a zone that is full of keys that have not recovered.
pub fn new_keys(quick: bool) {
    let mut sheet = Sheet::new(
        "Decisions: a new key into a full zone",
        "Each decision has a key that was never seen; all that are known are live.",
        &["algorithm, processes, zone", "stock", "ours", "ratio"],
    );
    for algorithm in [AlgorithmName::Leaky, AlgorithmName::Gcra] {
        let rule = rule(algorithm, "rate=1r/s", 0);
        for processes in [1, 2] {
            for (zone, bytes, room) in ZONES {
                let stock = Stock::new(1, bytes, 1000, 0);
                let ours = Ours::new(1, room, rule);
                let decisions = if quick { 300_000 } else { 1_000_000 };
                let load =
                    Load { keys: Keys::New, decisions, per_ms: 1 << 40, ..load(1, processes) };
                let [theirs, mine] = race(load, [&stock, &ours]);
                sheet.row(vec![
                    format!("{algorithm}, {processes}, {zone}"),
                    ns(&theirs),
                    ns(&mine),
                    ratio(&theirs, &mine),
                ]);
            }
        }
    }
    sheet.print();
}

/// How the cost grows with limits.
pub fn several_limits(quick: bool) {
    let mut sheet = Sheet::new(
        "Several limits a request",
        "`leaky`, the same key in each zone, all admitted; nanoseconds a request.",
        &["limits, keys", "stock", "ours", "ratio"],
    );
    let leaky = rule(AlgorithmName::Leaky, FAST, BURST);
    for limits in [1, 2, 4] {
        for keys in [1, 1_000, 100_000].into_iter().filter(|keys| !quick || *keys <= 1_000) {
            let stock = Stock::new(limits, stock_bytes(keys, 4), FAST_STOCK, BURST * 1000);
            let ours = Ours::new(limits, Ours::bytes_for(&leaky, keys), leaky);
            let [theirs, mine] = race(load(keys, 1), [&stock, &ours]);
            sheet.row(vec![
                format!("{limits}, {}", number(keys)),
                ns(&theirs),
                ns(&mine),
                ratio(&theirs, &mine),
            ]);
        }
    }
    sheet.print();
}

/// How the cost grows with the key.
pub fn key_lengths(_: bool) {
    let mut sheet = Sheet::new(
        "Longer keys",
        "`leaky`, all admitted; stock takes a checksum of the key and compares it, ours hashes it.",
        &["bytes, keys", "stock", "ours", "ratio"],
    );
    let leaky = rule(AlgorithmName::Leaky, FAST, BURST);
    for key_bytes in [4, 64, 1024] {
        for keys in [1, 1_000] {
            let stock = Stock::new(1, stock_bytes(keys, key_bytes), FAST_STOCK, BURST * 1000);
            let ours = Ours::new(1, Ours::bytes_for(&leaky, keys), leaky);
            let load = Load { key_bytes, ..load(keys, 1) };
            let [theirs, mine] = race(load, [&stock, &ours]);
            sheet.row(vec![
                format!("{key_bytes}, {}", number(keys)),
                ns(&theirs),
                ns(&mine),
                ratio(&theirs, &mine),
            ]);
        }
    }
    sheet.print();
}
