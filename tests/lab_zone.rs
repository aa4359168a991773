//! What `rl-lab suggest` says of a zone's size, against the table itself: all keys at once, on a
//! frozen clock, so that nothing recovers.
#![cfg(feature = "lab")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    reason = "a test may panic"
)]

mod support;

use ngx_http_rl::engine::{AnyTable, Meter};
use ngx_http_rl::lab::setting::Setting;
use ngx_http_rl::lab::zone;
use ngx_http_rl::limit::{Full, Now};
use ngx_http_rl::store::{Counter, Secret};
use support::memory::{Memory, KEY};

/// Bytes that nginx's slab pool has for one allocation in zones of so many megabytes, and how many
/// seeds are tried.
const POOLS: [(u64, usize, u64); 2] = [(1, 1_040_384, 5), (16, 16_674_816, 1)];

/// How many keys a table of so many bytes loses.
fn lost(setting: &Setting, bytes: usize, keys: u64, seed: u64) -> u64 {
    let memory = Memory::zeroed(bytes);
    let secret = Secret::known([seed, !seed]);
    let table = AnyTable::create(&setting.rule, memory.region(), KEY, secret).unwrap();
    let meter = table.meter(&setting.rule, Full::Evict);
    for number in 0..keys {
        meter.take(table.hash(&number.to_le_bytes()), Now::at_ms(1));
    }
    table.counters().of(Counter::EvictedLive)
}

/// The most keys for which so many megabytes are said to do.
fn most_keys(setting: &Setting, megabytes: u64) -> u64 {
    let (mut enough, mut too_many) = (0, megabytes << 20);
    while too_many - enough > 1 {
        let middle = enough + (too_many - enough) / 2;
        if zone::megabytes(&setting.rule, middle) <= megabytes {
            enough = middle;
        } else {
            too_many = middle;
        }
    }
    enough
}

#[test]
fn a_suggested_zone_keeps_all_keys() {
    for limit in [
        "leaky rate=1r/m burst=5",
        "gcra rate=1r/m burst=5",
        "sliding_window rate=5r/h",
        "sliding_log rate=1r/h",
        "sliding_log rate=60r/h",
        "sliding_log rate=600r/h",
        "sliding_log rate=10000r/h",
    ] {
        let setting = Setting::parse(limit).unwrap();
        for (megabytes, bytes, seeds) in POOLS {
            let keys = most_keys(&setting, megabytes);
            println!("{limit}: {keys} keys in {megabytes}m");
            assert!(keys > 0, "{limit}");
            for seed in 1..=seeds {
                assert_eq!(lost(&setting, bytes, keys, seed), 0, "{limit}, {megabytes}m");
            }
        }
    }
}

/// The headroom is that, and not a multiple of it.
#[test]
fn a_zone_of_an_eighth_does_not_do() {
    for limit in ["leaky rate=1r/m burst=5", "gcra rate=1r/m burst=5", "sliding_log rate=60r/h"] {
        let setting = Setting::parse(limit).unwrap();
        let (megabytes, bytes, _) = POOLS[0];
        assert!(lost(&setting, bytes / 8, most_keys(&setting, megabytes), 1) > 0, "{limit}");
    }
}
