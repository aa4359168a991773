//! The lock of a bucket under all orders of its steps that the memory model allows.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --no-default-features --test lock_loom`
//!
//! An `UnsafeCell` of loom stands for a bucket: it fails if two owners are inside at once, and
//! also if one comes in without having seen all that the one before has done.
#![cfg(loom)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use std::mem;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use loom::sync::Arc;
use loom::thread;
use ngx_http_rl::store::lock::{Held, Next, Wait, Word, FREE, LOAD, STORE, SWAP};

/// The word of a lock with the orders of the real one.
struct Modelled(AtomicU64);

impl Word for Modelled {
    fn load(&self) -> u64 {
        self.0.load(LOAD)
    }

    fn store(&self, word: u64) {
        self.0.store(word, STORE);
    }

    fn swap_if(&self, from: u64, to: u64) -> Result<(), u64> {
        self.0.compare_exchange(from, to, SWAP, Ordering::Relaxed).map(drop)
    }
}

/// A lock, what it protects, and how often that was visited.
struct Bucket {
    lock: Modelled,
    inside: UnsafeCell<()>,
    visits: AtomicUsize,
    /// Set by the kernel, so to say, when the owner with the word [`MORTAL`] has ended.
    ended: AtomicBool,
}

/// The word of the owner that ends inside.
const MORTAL: u64 = 9;

impl Bucket {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lock: Modelled(AtomicU64::new(FREE)),
            inside: UnsafeCell::new(()),
            visits: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        })
    }

    /// Takes the lock and visits the bucket, unless it has to wait too often. How often it has.
    fn visit(&self, me: u64) -> usize {
        let Ok(held) = Held::take(&self.lock, me, &mut Waiter::at(self)) else { return 0 };
        self.touch();
        assert!(held.is_mine());
        drop(held);
        1
    }

    /// Takes the lock and ends without giving it back.
    fn end_inside(&self) -> usize {
        let Ok(held) = Held::take(&self.lock, MORTAL, &mut Waiter::at(self)) else { return 0 };
        self.touch();
        mem::forget(held);
        self.ended.store(true, Ordering::Release);
        1
    }

    fn touch(&self) {
        self.inside.with_mut(|_| ());
        // Two steps, so that a lost visit shows.
        self.visits.store(self.visits.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Looks at what is left when all threads have been joined.
    fn ends_with(&self, visits: usize) {
        assert_eq!(self.visits.load(Ordering::Relaxed), visits);
        assert_eq!(self.lock.load(), FREE);
    }
}

/// Takes over from an owner that has ended, and gives up after a few tries: two waiters that spin
/// could make way for each other for ever.
struct Waiter<'a> {
    bucket: &'a Bucket,
    tries: u32,
}

impl<'a> Waiter<'a> {
    fn at(bucket: &'a Bucket) -> Self {
        Self { bucket, tries: 2 }
    }
}

impl Wait for Waiter<'_> {
    fn wait(&mut self, owner: u64) -> Next {
        if owner == MORTAL && self.bucket.ended.load(Ordering::Acquire) {
            return Next::TakeOver;
        }
        if self.tries == 0 {
            return Next::GiveUp;
        }
        self.tries -= 1;
        thread::yield_now();
        Next::Again
    }
}

/// Runs a model with so many forced switches of threads at most.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn one_owner_at_a_time_sees_what_the_one_before_did() {
    check(4, || {
        let bucket = Bucket::new();
        let other = bucket.clone();
        let thread = thread::spawn(move || other.visit(2) + other.visit(2));
        let visits = bucket.visit(1) + bucket.visit(1);
        bucket.ends_with(visits + thread.join().unwrap());
        assert_eq!(bucket.visit(1), 1, "a lock that is free was not to be had");
    });
}

#[test]
fn three_owners() {
    check(3, || {
        let bucket = Bucket::new();
        let threads = [2, 3].map(|me| {
            let bucket = bucket.clone();
            thread::spawn(move || bucket.visit(me))
        });
        let visits = bucket.visit(1);
        let others = threads.map(|thread| thread.join().unwrap());
        bucket.ends_with(visits + others.iter().sum::<usize>());
    });
}

#[test]
fn a_lock_that_is_only_tried_is_exclusive_too() {
    check(4, || {
        let bucket = Bucket::new();
        let other = bucket.clone();
        let thread = thread::spawn(move || {
            Held::try_take(&other.lock, 2).map_or(0, |_held| {
                other.touch();
                1
            })
        });
        let visits = bucket.visit(1);
        bucket.ends_with(visits + thread.join().unwrap());
    });
}

#[test]
fn one_of_two_waiters_takes_over_from_the_dead() {
    check(3, || {
        let bucket = Bucket::new();
        let mortal = bucket.clone();
        let heir = bucket.clone();
        let mortal = thread::spawn(move || mortal.end_inside());
        let heir = thread::spawn(move || heir.visit(2));
        let mut visits = bucket.visit(1) + mortal.join().unwrap() + heir.join().unwrap();
        // Both may have come too early, or given up.
        if bucket.lock.load() == MORTAL {
            visits += 1;
            assert_eq!(bucket.visit(1), 1, "not taken over from the dead");
        }
        bucket.ends_with(visits);
    });
}

/// An owner that goes on without having given the lock back, as after a section that was never
/// ended, gets it again at once; and nobody else takes it over, since it lives.
#[test]
fn an_owner_that_returned_without_unlocking_has_its_lock_again() {
    check(4, || {
        let bucket = Bucket::new();
        let other = bucket.clone();
        let thread = thread::spawn(move || other.visit(2));
        let mut visits = 0;
        if let Ok(held) = Held::take(&bucket.lock, 1, &mut Waiter::at(&bucket)) {
            bucket.touch();
            mem::forget(held);
            visits = 1 + bucket.visit(1);
            assert_eq!(visits, 2, "its own lock was not to be had");
        }
        bucket.ends_with(visits + thread.join().unwrap());
    });
}

#[test]
fn locks_of_two_buckets_are_handed_over_one_by_one() {
    check(3, || {
        let buckets = [Bucket::new(), Bucket::new()];
        let others = buckets.clone();
        let both = |[lower, upper]: &[Arc<Bucket>; 2], me| {
            let Ok(first) = Held::take(&lower.lock, me, &mut Waiter::at(lower)) else { return 0 };
            let Ok(second) = Held::take(&upper.lock, me, &mut Waiter::at(upper)) else { return 0 };
            lower.touch();
            upper.touch();
            drop((second, first));
            1
        };
        let thread = thread::spawn(move || both(&others, 2));
        let visits = both(&buckets, 1);
        let visits = visits + thread.join().unwrap();
        buckets.iter().for_each(|bucket| bucket.ends_with(visits));
    });
}
