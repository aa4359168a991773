//! Memory for a table with guards around it, and bits that are put into it.

use std::sync::atomic::Ordering::SeqCst;

use ngx_http_rl::store::{Owner, Record, Region, Table};

use super::bytes::Bytes;
use crate::support::memory::{Memory, BUCKET, HEADER};

/// Words before and behind the table that must stay. None in a fuzzer, whose sanitizer also sees
/// what is only read outside.
const GUARD: usize = if cfg!(fuzzing) { 0 } else { 16 };

const GUARD_WORD: u64 = 0x6775_6172_6421_2121;

/// The largest pid there can be; nobody has it on a machine that has not just counted through all
/// of them.
const NOBODY: u32 = (1 << 22) - 1;

/// A piece of memory and its guards.
pub struct Arena {
    memory: Memory,
    bytes: usize,
}

impl Arena {
    /// Zeroed memory of so many bytes.
    pub fn zeroed(bytes: usize) -> Self {
        let memory = Memory::on_heap(bytes + 2 * GUARD * 8);
        let arena = Self { memory, bytes };
        arena.guards().for_each(|n| arena.memory.words()[n].store(GUARD_WORD, SeqCst));
        arena
    }

    pub fn region(&self) -> Region {
        self.part(0, self.bytes)
    }

    pub fn part(&self, from: usize, bytes: usize) -> Region {
        self.memory.part(GUARD * 8 + from, bytes)
    }

    fn guards(&self) -> impl Iterator<Item = usize> {
        let all = self.memory.words().len();
        (0..GUARD).chain(all - GUARD..all)
    }

    pub fn guards_stand(&self) -> bool {
        let words = self.memory.words();
        self.guards().all(|n| words[n].load(SeqCst) == GUARD_WORD)
    }

    /// Whole words between the guards.
    pub fn words(&self) -> usize {
        self.bytes / 8
    }

    pub fn word(&self, index: usize) -> u64 {
        self.memory.words()[GUARD + index].load(SeqCst)
    }

    pub fn snapshot(&self) -> Vec<u64> {
        self.memory.snapshot()
    }

    /// Puts a word somewhere. Where a lock may be it is free, the own one's or a dead process's:
    /// waiting for somebody alive takes 50 ms each, and `table_hostile` has that.
    pub fn poke(&self, index: usize, word: u64) {
        let behind = (index * 8).checked_sub(HEADER);
        let may_be_lock = behind.is_some_and(|bytes| bytes.is_multiple_of(BUCKET));
        let word = match word % 8 {
            _ if !may_be_lock => word,
            6 => own_word(),
            // The whole of a wait for each, so few of them.
            7 if word > 1 << 63 => word | u64::from(NOBODY),
            _ => 0,
        };
        self.put(index, word);
    }

    /// Puts a word somewhere as it is.
    pub fn put(&self, index: usize, word: u64) {
        self.memory.words()[GUARD + index].store(word, SeqCst);
    }

    /// Fills all of it, header too, by what the input says, and then by what follows from that.
    pub fn scribble(&self, bytes: &mut Bytes<'_>) {
        let mut random = fastrand::Rng::with_seed(bytes.number(4));
        for index in 0..self.words() {
            let drawn: [u8; 9] = std::array::from_fn(|_| random.u8(..));
            self.poke(index, Bytes(&drawn).word());
        }
    }
}

/// The owner that a table in an arena takes its locks for: nobody else takes it for alive.
pub fn adopt<R: Record>(table: &Table<R>, worker: usize) {
    table.adopt(Owner::of(NOBODY - 1, 1), worker);
}

/// The word of that owner: pid and start time.
fn own_word() -> u64 {
    1 << 22 | u64::from(NOBODY - 1)
}
