//! The lock of a bucket: a word that names its owner.
//!
//! 0 is free. An owner sets its own word and puts 0 back; a waiter that finds the owner dead takes
//! the lock over by compare-and-swap from the word it saw. A living owner is never taken over,
//! however long it has been stopped: it would go on writing into somebody else's critical section.
//!
//! nginx's own spin locks (`ngx_shmtx`) hold a pid too, but only the master frees them. Generic
//! over the word and the waiting, so that a model checker can run it.

use std::sync::atomic::{AtomicU64, Ordering};

/// The word of a lock that nobody holds.
pub const FREE: u64 = 0;

/// Order of [`Word::load`].
pub const LOAD: Ordering = Ordering::Acquire;

/// Order of [`Word::store`]: the next owner sees all that was written under the lock.
pub const STORE: Ordering = Ordering::Release;

/// Order of [`Word::swap_if`]. It publishes nothing: what an owner writes before it has the lock is
/// nobody's business. What a dead owner wrote is seen by its heir because the kernel has ended it.
pub const SWAP: Ordering = Ordering::Acquire;

/// A word in memory that several processes share.
pub trait Word {
    /// The word now, with all that was written before it was stored.
    fn load(&self) -> u64;
    /// Stores a word after all that was written before.
    fn store(&self, word: u64);
    /// Replaces `from` by `to`; if it does, with all that was written before `from` was stored.
    ///
    /// # Errors
    ///
    /// The word that is there instead.
    fn swap_if(&self, from: u64, to: u64) -> Result<(), u64>;
}

impl Word for AtomicU64 {
    #[inline]
    fn load(&self) -> u64 {
        AtomicU64::load(self, LOAD)
    }

    #[inline]
    fn store(&self, word: u64) {
        AtomicU64::store(self, word, STORE);
    }

    #[inline]
    fn swap_if(&self, from: u64, to: u64) -> Result<(), u64> {
        self.compare_exchange(from, to, SWAP, Ordering::Relaxed).map(drop)
    }
}

/// How a waiter goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Look again.
    Again,
    /// The owner is dead: take the lock over.
    TakeOver,
    /// Do without the lock.
    GiveUp,
}

/// Waits for a lock a little and decides how to go on.
pub trait Wait {
    /// Called each time the lock is found held, with the word of its owner.
    fn wait(&mut self, owner: u64) -> Next;
}

/// A lock that is held. Dropping it, also while unwinding, gives it back.
pub struct Held<'a, W: Word> {
    word: &'a W,
    me: u64,
}

impl<'a, W: Word> Held<'a, W> {
    /// Takes a lock. `me` is not 0. The owner must be one thread and must not hold this lock.
    ///
    /// # Errors
    ///
    /// The owner's word, where waiting was given up.
    #[inline]
    pub fn take(word: &'a W, me: u64, waiting: &mut impl Wait) -> Result<Self, u64> {
        Self::take_held(word, me, word.load(), waiting)
    }

    /// Looks before each swap: one that fails takes the cache line away from the owner all the same.
    fn take_held(
        word: &'a W,
        me: u64,
        mut owner: u64,
        waiting: &mut impl Wait,
    ) -> Result<Self, u64> {
        loop {
            let from = if owner == FREE {
                FREE
            } else if owner == me {
                // Left by a process that had this pid and start, or by a section of this one that
                // was never ended. Nobody else will give it back.
                me
            } else {
                match waiting.wait(owner) {
                    Next::Again => {
                        owner = word.load();
                        continue;
                    }
                    Next::TakeOver => owner,
                    Next::GiveUp => return Err(owner),
                }
            };
            match word.swap_if(from, me) {
                Ok(()) => return Ok(Self { word, me }),
                Err(other) => owner = other,
            }
        }
    }

    /// Takes a lock if it is free.
    #[inline]
    pub fn try_take(word: &'a W, me: u64) -> Option<Self> {
        word.swap_if(FREE, me).ok().map(|()| Self { word, me })
    }

    /// Whether the lock is still ours. Only damaged memory, or a second process with our word, can
    /// have taken it away. Asked where a store to the wrong bucket would outlast the decision:
    /// before a tag is written.
    #[inline]
    pub fn is_mine(&self) -> bool {
        self.word.load() == self.me
    }
}

impl<W: Word> Drop for Held<'_, W> {
    #[inline]
    fn drop(&mut self) {
        // Never blindly: see `is_mine`. A load and a store do for a swap, since nobody else
        // replaces a living owner's word.
        if self.word.load() == self.me {
            self.word.store(FREE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers from a list, then gives up.
    struct Script(Vec<Next>);

    impl Wait for Script {
        fn wait(&mut self, _: u64) -> Next {
            self.0.pop().unwrap_or(Next::GiveUp)
        }
    }

    #[test]
    fn a_lock_is_given_back_on_drop() {
        let word = AtomicU64::new(FREE);
        let held = Held::take(&word, 7, &mut Script(vec![])).unwrap();
        assert!(held.is_mine());
        assert_eq!(Held::take(&word, 8, &mut Script(vec![Next::Again])).err(), Some(7));
        assert!(Held::try_take(&word, 8).is_none());
        drop(held);
        assert_eq!(Word::load(&word), FREE);
    }

    #[test]
    fn a_dead_owner_is_taken_over_and_does_not_free_the_new_one() {
        let word = AtomicU64::new(FREE);
        let dead = Held::take(&word, 7, &mut Script(vec![])).unwrap();
        let heir = Held::take(&word, 8, &mut Script(vec![Next::TakeOver])).unwrap();
        assert!(!dead.is_mine());
        drop(dead);
        assert!(heir.is_mine());
    }

    #[test]
    fn the_own_word_is_stale() {
        let word = AtomicU64::new(7);
        assert!(Held::take(&word, 7, &mut Script(vec![])).is_ok());
    }

    #[test]
    fn unwinding_gives_the_lock_back() {
        let word = AtomicU64::new(FREE);
        let result = std::panic::catch_unwind(|| {
            let _held = Held::take(&word, 7, &mut Script(vec![])).unwrap();
            panic!("inside the lock");
        });
        assert!(result.is_err());
        assert_eq!(Word::load(&word), FREE);
    }
}
