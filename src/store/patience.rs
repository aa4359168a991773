//! How long to wait for the locks of one decision.
//!
//! A lock is held for a few dozen instructions, so a waiter spins at first. One that is held for
//! longer has an owner that is not running: preempted, stopped or dead. Then the processor is
//! given away between looks, the owner is looked at now and then, and in the end the decision does
//! without.
//!
//! The only place outside the glue that reads a clock, and only when a lock is held for long.

use std::cell::Cell;
use std::hint::spin_loop;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::lock::{Next, Wait};
use super::process::is_dead;

/// Spins double from one up to this many pauses, which takes about 10 us in all.
const LONGEST_SPIN: u32 = 256;

/// How long the processor is given away between looks. Not by `sched_yield`: since 6.18 Linux takes
/// a whole time slice from who calls it, and on a busy machine a waiter gets no turn in 50 ms.
const NAP: Duration = Duration::from_micros(50);

/// How often the owner is looked at: a look costs some 20 us.
const LOOK_AT_OWNER: Duration = Duration::from_micros(200);

/// What one decision waits in all, whatever it needs. A stopped worker may hold up others for this
/// long once.
const PER_DECISION: Duration = Duration::from_millis(50);

/// How often the owner of a remembered lock is looked at: who was stopped may be killed later.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How many locks of stopped owners are remembered. A stopped process holds four at most.
const REMEMBERED: usize = 8;

/// The waiting of one decision.
pub(super) struct Patience<'a> {
    stuck: &'a Stuck,
    /// The lock that is being waited for.
    pub bucket: usize,
    spin: u32,
    /// When waiting began in earnest, and when the owner was looked at.
    since: Option<(Instant, Instant)>,
}

impl<'a> Patience<'a> {
    pub fn new(stuck: &'a Stuck) -> Self {
        Self { stuck, bucket: 0, spin: 1, since: None }
    }
}

impl Wait for Patience<'_> {
    fn wait(&mut self, owner: u64) -> Next {
        if self.spin <= LONGEST_SPIN {
            (0..self.spin).for_each(|_| spin_loop());
            self.spin *= 2;
            return Next::Again;
        }
        let now = Instant::now();
        if let Some(next) = self.stuck.advise(self.bucket, owner, now) {
            return next;
        }
        sleep(NAP);
        let (since, looked) = self.since.get_or_insert((now, now));
        if now - *looked >= LOOK_AT_OWNER {
            *looked = now;
            if is_dead(owner) {
                return Next::TakeOver;
            }
        }
        if now - *since >= PER_DECISION {
            self.stuck.remember(StuckLock { bucket: self.bucket, owner, looked: now });
            return Next::GiveUp;
        }
        Next::Again
    }
}

/// Locks that were waited for in vain. They are not waited for again while their word is the same.
#[derive(Default)]
pub(super) struct Stuck {
    locks: [Cell<Option<StuckLock>>; REMEMBERED],
    next: Cell<usize>,
    any: Cell<bool>,
}

#[derive(Clone, Copy)]
struct StuckLock {
    bucket: usize,
    owner: u64,
    /// When the owner was looked at.
    looked: Instant,
}

impl Stuck {
    /// How to go on with a lock, if it is remembered.
    fn advise(&self, bucket: usize, owner: u64, now: Instant) -> Option<Next> {
        if !self.any.get() {
            return None;
        }
        let (place, lock) = self.locks.iter().find_map(|place| {
            place.get().filter(|l| l.bucket == bucket && l.owner == owner).map(|lock| (place, lock))
        })?;
        if now - lock.looked < LOOK_AGAIN {
            return Some(Next::GiveUp);
        }
        place.set(Some(StuckLock { looked: now, ..lock }));
        Some(if is_dead(owner) { Next::TakeOver } else { Next::GiveUp })
    }

    fn remember(&self, lock: StuckLock) {
        let next = self.next.get();
        if let Some(place) = self.locks.get(next % REMEMBERED) {
            place.set(Some(lock));
        }
        self.next.set(next.wrapping_add(1));
        self.any.set(true);
    }

    /// The lock has been taken, so its owner runs again or is gone.
    #[inline]
    pub fn forget(&self, bucket: usize) {
        if self.any.get() {
            self.forget_cold(bucket);
        }
    }

    #[cold]
    fn forget_cold(&self, bucket: usize) {
        for lock in &self.locks {
            if lock.get().is_some_and(|stuck| stuck.bucket == bucket) {
                lock.set(None);
            }
        }
        self.any.set(self.locks.iter().any(|lock| lock.get().is_some()));
    }
}
