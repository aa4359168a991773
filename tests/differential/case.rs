//! Random cases: zones, the limits of some locations, keys, and a clock.

use fastrand::Rng;
use ngx_http_rl::limit::{Leaky, Thousandths};

use super::stock::LIMITS;

/// Keys of a case: few, so that they meet again. The last one is empty.
const KEYS: usize = 7;

/// One zone's limit in a location.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub zone: usize,
    pub rule: Leaky,
}

/// What does not change during a case.
pub struct Case {
    /// The rate of each zone, in 1/1000 request a second.
    pub rates: Vec<Thousandths>,
    /// The limits of each location. All locations share the zones.
    pub locations: Vec<Vec<Limit>>,
    pub keys: Vec<Vec<u8>>,
    pub dry_run: bool,
    /// When it begins, in ms.
    pub start: u64,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub now: u64,
    pub location: usize,
    /// For each zone the index of its key.
    pub keys: [usize; LIMITS],
}

impl Case {
    pub fn random(rng: &mut Rng) -> Self {
        let zones = rng.usize(1..=LIMITS);
        let rates: Vec<_> = (0..zones).map(|_| random_rate(rng)).collect();
        let locations = (0..rng.usize(1..=3)).map(|_| random_location(rng, &rates)).collect();
        let mut keys: Vec<_> = (1..KEYS).map(|n| random_key(rng, n)).collect();
        keys.push(Vec::new());
        // A stock node that nothing was charged to has the time 0. It is as good as none if the
        // time since has a leak of a request at least (now * rate >= 10^6), and less than a word
        // holds (now * rate < 2^64: stock wraps).
        Self { rates, locations, keys, dry_run: rng.u8(..8) == 0, start: rng.u64(1 << 31..1 << 33) }
    }

    /// What matters of it to a reader: the seed has the rest.
    pub fn describe(&self) -> String {
        let lengths: Vec<_> = self.keys.iter().map(Vec::len).collect();
        let mut text = format!("rates {:?}, dry run {}\n", self.rates, self.dry_run);
        for (n, limits) in self.locations.iter().enumerate() {
            text += &format!("location {n}: {limits:?}\n");
        }
        text + &format!("lengths of keys {lengths:?}")
    }

    /// The next request, some time after (or before) `now`.
    pub fn request(&self, rng: &mut Rng, now: u64) -> Request {
        let rate = self.rates[rng.usize(..self.rates.len())];
        let now = now.saturating_add_signed(random_step(rng, rate)).max(1 << 30);
        Request {
            now,
            location: rng.usize(..self.locations.len()),
            keys: std::array::from_fn(|_| random_key_index(rng)),
        }
    }
}

/// Rates that a configuration can give, of all magnitudes, and lower ones.
fn random_rate(rng: &mut Rng) -> Thousandths {
    match rng.u8(..10) {
        0 => rng.u64(1..16),
        1..4 => rng.u64(1..=100) * 1000 / 60,
        4..7 => rng.u64(1..=50) * 1000,
        _ => {
            let magnitude = rng.u32(1..6);
            rng.u64(1..10_u64.pow(magnitude)) * 1000
        }
    }
}

/// Limits on a zone each, in any order.
fn random_location(rng: &mut Rng, rates: &[Thousandths]) -> Vec<Limit> {
    let mut zones: Vec<_> = (0..rates.len()).collect();
    rng.shuffle(&mut zones);
    zones.truncate(rng.usize(1..=rates.len()));
    zones
        .into_iter()
        .map(|zone| {
            let burst = [0, 1, rng.u64(..10), rng.u64(..1000)][rng.usize(..4)] * 1000;
            let delay = [0, rng.u64(..10) * 1000, u64::MAX][rng.usize(..3)];
            Limit { zone, rule: Leaky { rate: rates[zone], burst, delay } }
        })
        .collect()
}

/// A key; some are the beginning of another, some have bytes that are no text.
fn random_key(rng: &mut Rng, n: usize) -> Vec<u8> {
    match rng.u8(..3) {
        0 => vec![b'k'; n],
        1 => vec![0; n],
        // Up to the slab pool's larger classes.
        _ => (0..rng.usize(n..300)).map(|i| (i * 7 + n) as u8).collect(),
    }
}

/// Mostly some of the keys, so that excess builds up.
fn random_key_index(rng: &mut Rng) -> usize {
    rng.usize(..KEYS).min(rng.usize(..=KEYS))
}

/// Milliseconds to the next request: none, about one emission, long pauses, steps back.
fn random_step(rng: &mut Rng, rate: Thousandths) -> i64 {
    let emission_ms = (1_000_000 / rate).max(1).cast_signed();
    match rng.u8(..40) {
        0..12 => 0,
        12..28 => rng.i64(0..=emission_ms * 2),
        28 => rng.i64(0..120_000),
        29 => rng.i64(0..100_000_000),
        30 => 60_000 + rng.i64(-1..=1),
        31 => -60_000 + rng.i64(-1..=1),
        32 => -rng.i64(0..100),
        33 => -rng.i64(0..70_000),
        34 => -rng.i64(0..10_000_000),
        _ => rng.i64(0..4),
    }
}
