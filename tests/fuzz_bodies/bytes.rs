//! The input as numbers, words and rules.

use ngx_http_rl::config::{AlgorithmName, Delay, Rate, ZoneRule};
use ngx_http_rl::limit::Rule;

/// What is left of an input. Behind its end there are zeros.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.number(1) as u8
    }

    /// So many bytes, eight at most, as one number.
    pub fn number(&mut self, bytes: usize) -> u64 {
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// A number below `most`, which is at most 65536.
    pub fn below(&mut self, most: usize) -> usize {
        let bytes = if most > 256 { 2 } else { 1 };
        self.number(bytes) as usize % most
    }

    /// A word of damaged memory, or what a clock shows: mostly what is more likely to hurt than
    /// random bits.
    pub fn word(&mut self) -> u64 {
        match self.byte() % 8 {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << (self.byte() % 64),
            3 => self.number(1),
            4 => u64::MAX - self.number(1),
            5 => 1_790_000_000_000 + self.number(4),
            6 => self.number(4),
            _ => self.number(8),
        }
    }

    /// A rule as a configuration would say it; `None` where the algorithm cannot use the rate. A
    /// log keeps twelve requests at most.
    pub fn rule(&mut self) -> Option<Rule> {
        const PERIODS_MS: [u64; 6] = [1, 20, 1000, 10_000, 3_600_000, 604_800_000];
        let algorithm = AlgorithmName::ALL[self.below(AlgorithmName::ALL.len())];
        let most = if algorithm == AlgorithmName::SlidingLog { 12 } else { 256 };
        let requests = 1 + self.below(most);
        let period_ms = PERIODS_MS[self.below(PERIODS_MS.len())];
        let burst = self.below(40) as u64;
        let delay = match self.byte() % 3 {
            0 => None,
            1 => Some(Delay::Never),
            _ => Some(Delay::After(u64::from(self.byte()))),
        };
        let rate = Rate::parse(format!("rate={requests}r/{period_ms}ms").as_bytes()).ok()?;
        let zone = ZoneRule::new(algorithm, rate).ok()?;
        match algorithm {
            _ if algorithm.has_quota() => zone.rule(None, None, 0),
            AlgorithmName::LeakyQueue => zone.rule(Some(burst), None, burst),
            _ => zone.rule(Some(burst), delay, burst),
        }
        .ok()
    }
}
