//! How many live keys a zone holds before the first of them is lost.

use ngx_http_rl::config::AlgorithmName;
use ngx_http_rl::store::Counter;

use super::grid::{rule, ZONES};
use super::ours::Ours;
use super::race::Side;
use super::sheet::Sheet;
use super::stock::Stock;

/// The clock stands still, so that no key recovers.
const NOW_MS: u64 = 1_000_000_000;

/// Keys per zone, ours and stock's.
pub fn keys_per_megabyte(quick: bool) {
    let mut sheet = Sheet::new(
        "Keys in a zone",
        "Different live keys that fit before the first of them is lost, and the share of slots in \
         use then: median of 5 seeds. Stock's are counted by asking for every key again.",
        &["algorithm, zone", "stock", "ours", "ratio", "slots in use"],
    );
    for (zone, bytes, room) in ZONES.into_iter().filter(|(_, bytes, _)| !quick || *bytes < 2 << 20)
    {
        let theirs = stock(bytes);
        for algorithm in [AlgorithmName::Leaky, AlgorithmName::Gcra] {
            let mut seeds: Vec<(u64, usize)> =
                (0..5).map(|seed| ours(algorithm, room, seed)).collect();
            seeds.sort_unstable();
            let (keys, slots) = seeds[2];
            sheet.row(vec![
                format!("{algorithm}, {zone}"),
                theirs.to_string(),
                keys.to_string(),
                format!("**{:.2}x**", keys as f64 / theirs as f64),
                format!("{:.1} %", keys as f64 * 100.0 / slots as f64),
            ]);
        }
    }
    sheet.print();
}

/// Keys before the first loss, and slots.
fn ours(algorithm: AlgorithmName, room: usize, seed: u64) -> (u64, usize) {
    let side = Ours::new(1, room, rule(algorithm, "rate=1r/s", 0));
    let slots = side.slots();
    for number in 0.. {
        assert!(side.take(&key(seed, number), NOW_MS));
        if side.counters().of(Counter::EvictedLive) > 0 {
            return (number, slots);
        }
    }
    unreachable!("a table is finite")
}

/// The largest number of keys of which the first is still known: stock drops the oldest.
fn stock(bytes: usize) -> u64 {
    let fits = |keys: u64| {
        let side = Stock::new(1, bytes, 1000, 0);
        (0..keys).for_each(|number| assert!(side.take(&key(0, number), NOW_MS)));
        // A key that is known is refused.
        !side.take(&key(0, 0), NOW_MS)
    };
    let (mut low, mut high) = (1, bytes as u64 / 64);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn key(seed: u64, number: u64) -> [u8; 4] {
    (((seed << 24) + number) as u32).wrapping_mul(2_654_435_769).to_ne_bytes()
}
