//! What the machine can do at best: one read and one write of one random cache line in the same
//! memory.

use std::sync::atomic::Ordering;

use super::memory::Memory;
use super::race::Side;

/// Words of a line.
const WORDS: usize = 8;

/// Lines, of which each key has one.
pub struct Line {
    memory: Memory,
}

impl Line {
    /// Lines in so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { memory: Memory::zeroed(bytes.max(4096)) }
    }
}

impl Side for Line {
    fn enter(&self, _: usize) {}

    #[inline]
    fn take(&self, key: &[u8], now_ms: u64) -> bool {
        let key: [u8; 4] = key[..4].try_into().expect("four bytes");
        let lines = self.memory.words().len() / WORDS;
        // Keys are spread evenly over all numbers of 32 bits.
        let line = (u32::from_ne_bytes(key) as usize * lines) >> 32;
        let word = &self.memory.words()[line * WORDS];
        word.store(word.load(Ordering::Relaxed).max(now_ms), Ordering::Relaxed);
        true
    }
}
