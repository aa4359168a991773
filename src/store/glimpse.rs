//! Refusing without the lock.
//!
//! A refusal changes nothing, and a flood on one key is nearly all refusals. Taken under the lock
//! each would pull the cache line from worker to worker; read without it, the line stays where it
//! is, in all of them. Only keys that this process has just refused are tried so: to look first
//! and lock then costs every other request more.

use std::cell::Cell;
use std::sync::atomic::{fence, Ordering};

use super::hash::KeyHash;
use super::lock;
use super::record::Record;
use super::table::Table;

/// How many keys are remembered, by their low bits.
const KEYS: usize = 64;

/// Keys that this process has refused last.
pub(super) struct Refused([Cell<u64>; KEYS]);

impl Default for Refused {
    fn default() -> Self {
        Self([const { Cell::new(0) }; KEYS])
    }
}

impl Refused {
    #[inline]
    fn place(&self, KeyHash(hash): KeyHash) -> &Cell<u64> {
        let [first, ..] = &self.0;
        self.0.get(hash as usize % KEYS).unwrap_or(first)
    }
}

impl<R: Record> Table<R> {
    /// Whether the key was refused when this process last judged it.
    #[inline]
    pub fn was_refused(&self, key: KeyHash) -> bool {
        // What is asked to happen inside the lock has to get there.
        #[cfg(feature = "test-hooks")]
        if super::hooks::is_asked() {
            return false;
        }
        self.refused.place(key).get() == key.0
    }

    /// Remembers what became of the last request of a key.
    #[inline]
    pub fn remember(&self, key: KeyHash, refused: bool) {
        if refused {
            self.refused.place(key).set(key.0);
        } else if self.was_refused(key) {
            self.refused.place(key).set(0);
        }
    }

    /// What `refuse` says of a key's record, read without its lock; `None` if it does not refuse,
    /// or if somebody may be writing: the lock has to be taken then.
    ///
    /// The record is read twice, with the lock found free before each time, and must be refused
    /// for the same reason. What is true when the lock is found free the second time is what is
    /// told, unless the record was being written at both readings and looked the same; it would
    /// have to have been written back and forth in between.
    pub fn glimpse<T: PartialEq>(
        &self,
        key: KeyHash,
        refuse: impl Fn(&R::View<'_>) -> Option<T>,
    ) -> Option<T> {
        let (first, second) = self.candidates(key);
        [first, second].into_iter().find_map(|index| {
            let bucket = self.space.bucket(index)?;
            let read = || {
                if lock::Word::load(&bucket.head.lock) != lock::FREE {
                    return None;
                }
                let slot = self.find(bucket, key.0)?;
                let told = refuse(&R::load(self.words(bucket, slot)));
                // What follows is read after the record.
                fence(Ordering::Acquire);
                told
            };
            let told = read()?;
            (read()? == told).then_some(told)
        })
    }
}
