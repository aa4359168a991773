//! Where a new key goes: a free slot, a recovered one, one that a resident makes free by moving
//! to its other bucket, or, in a full zone that evicts, that of the record with the least to lose.

use std::sync::atomic::{compiler_fence, AtomicU64, Ordering};

use super::counters::Counter;
use super::hash::KeyHash;
use super::layout::Bucket;
use super::record::{Record, Worth};
use super::table::{Home, Locked, Table, Untracked, Visit};
use crate::limit::{Algorithm, Full};

/// After a search for a move that found none, this many keys without room evict at once, or are
/// refused or passed: searching costs a dozen cache misses, and a spray of new keys into a full zone
/// would pay it each time. The number is measured: the first loss comes no earlier, and the spray
/// costs a sixth.
const BACK_OFF: u64 = 15;

/// A slot that a new record may take.
struct Place<'a> {
    locked: &'a Locked<'a>,
    slot: usize,
    /// As what the resident that goes for it is counted.
    loses: Option<Counter>,
}

impl<R: Record> Table<R> {
    /// Stores the record of a new key.
    ///
    /// # Errors
    ///
    /// There is no room, and no other record is to go for it.
    pub(super) fn insert<A>(
        &self,
        home: Home<'_>,
        key: KeyHash,
        next: R::Next,
        worth: &Worth<'_, A>,
    ) -> Result<(), Untracked>
    where
        A: Algorithm<State = R>,
    {
        let Place { locked, slot, loses } = self.room(home, worth)?;
        if let Some(counter) = loses {
            self.count(counter);
        }
        self.put(locked, slot, key.0, |words| R::save(words, next));
        Ok(())
    }

    /// Makes sure that a key has a record or room for one, and makes none: for a limit that refuses
    /// new keys without room, and is judged some time before it is charged.
    ///
    /// # Errors
    ///
    /// There is none, or the record cannot be reached.
    pub fn make_room<A>(&self, key: KeyHash, worth: &Worth<'_, A>) -> Result<(), Untracked>
    where
        A: Algorithm<State = R>,
    {
        self.visit(key, self.candidates(key), false, |visit| match visit {
            Visit::Hit(..) => Ok(()),
            Visit::Miss(home) => self.room(home, worth).map(|_| ()),
        })?
    }

    /// Finds a slot for a new key. Residents may be moved for it, but none is lost yet.
    ///
    /// # Errors
    ///
    /// There is no room, and no other record is to go for it.
    fn room<'a, A>(&self, home: Home<'a>, worth: &Worth<'_, A>) -> Result<Place<'a>, Untracked>
    where
        A: Algorithm<State = R>,
    {
        let place = self
            .free_place(home)
            .or_else(|| self.recovered_place(home, worth))
            .or_else(|| self.moved_place(home, worth));
        if let Some(place) = place {
            return Ok(place);
        }
        self.note_shortage();
        match worth.full() {
            Full::Evict => return self.least_charged_place(home, worth).ok_or(Untracked::NoRoom),
            Full::Reject => self.count(Counter::RefusedForSpace),
            Full::Pass => self.count(Counter::PassedForSpace),
        }
        Err(Untracked::NoRoom)
    }

    /// Writes a record into a slot: the tag is cleared first and written last, so that a kill in
    /// between loses the record and never leaves a tag with somebody else's state. Says whether it is
    /// written: not where the lock has been taken away.
    fn put(
        &self,
        locked: &Locked<'_>,
        slot: usize,
        tag: u64,
        write: impl FnOnce(&[AtomicU64]),
    ) -> bool {
        if !locked.held.is_mine() {
            return false;
        }
        locked.bucket.set_tag(R::WORDS, slot, 0);
        // A store with `Release` lets later ones move before it. Nothing but the compiler could do
        // that here: a killed process has executed its stores in order.
        compiler_fence(Ordering::Release);
        write(self.words(locked.bucket, slot));
        let mine = locked.held.is_mine();
        if mine {
            locked.bucket.set_tag(R::WORDS, slot, tag);
        }
        mine
    }

    fn free_place<'a>(&self, home: Home<'a>) -> Option<Place<'a>> {
        home.buckets().find_map(|locked| {
            let slot = self.free_slot(locked.bucket)?;
            Some(Place { locked, slot, loses: None })
        })
    }

    fn recovered_place<'a, A>(&self, home: Home<'a>, worth: &Worth<'_, A>) -> Option<Place<'a>>
    where
        A: Algorithm<State = R>,
    {
        home.buckets().find_map(|locked| {
            let slot = self.recovered_slot(locked.bucket, worth)?;
            Some(Place { locked, slot, loses: Some(Counter::EvictedRecovered) })
        })
    }

    /// The record that loses least.
    fn least_charged_place<'a, A>(&self, home: Home<'a>, worth: &Worth<'_, A>) -> Option<Place<'a>>
    where
        A: Algorithm<State = R>,
    {
        let loses = Some(Counter::EvictedLive);
        home.buckets()
            .flat_map(|locked| {
                (0..self.bucket_slots()).map(move |slot| Place { locked, slot, loses })
            })
            .min_by_key(|place| worth.loss(&R::load(self.words(place.locked.bucket, place.slot))))
    }

    /// A slot whose resident has been moved away: by one step if its other bucket has room, else
    /// by two, where a resident of that bucket has to be moved first.
    fn moved_place<'a, A>(&self, home: Home<'a>, worth: &Worth<'_, A>) -> Option<Place<'a>>
    where
        A: Algorithm<State = R>,
    {
        // A log of many entries would take too long to copy under a lock.
        if R::WORDS == 0 {
            return None;
        }
        let back_off = &self.space.header().back_off;
        // Bounded also where the memory holds anything else.
        let left = back_off.load(Ordering::Relaxed).min(BACK_OFF);
        if left > 0 {
            back_off.store(left - 1, Ordering::Relaxed);
            return None;
        }
        for (_, _, target) in self.residents(home) {
            self.space.prefetch(target);
        }
        let place = self.one_step(home, worth).or_else(|| self.two_steps(home, worth));
        if place.is_none() {
            back_off.store(BACK_OFF, Ordering::Relaxed);
        }
        place
    }

    fn one_step<'a, A>(&self, home: Home<'a>, worth: &Worth<'_, A>) -> Option<Place<'a>>
    where
        A: Algorithm<State = R>,
    {
        self.residents(home).find_map(|(locked, slot, target)| {
            // Unlocked first: most buckets have no room, and a lock writes to the cache line.
            self.roomy_slot(self.space.bucket(target)?, worth)?;
            let target = self.try_lock(target)?;
            let room = self.roomy_slot(target.bucket, worth)?;
            self.move_record(locked, slot, &target, room).then_some(Place {
                locked,
                slot,
                loses: None,
            })
        })
    }

    fn two_steps<'a, A>(&self, home: Home<'a>, worth: &Worth<'_, A>) -> Option<Place<'a>>
    where
        A: Algorithm<State = R>,
    {
        self.residents(home).find_map(|(locked, slot, middle)| {
            let middle_bucket = self.space.bucket(middle)?;
            (0..self.bucket_slots()).find_map(|step| {
                let far = self.other(middle_bucket.tag(R::WORDS, step), middle);
                if far == middle || home.contains(far) {
                    return None;
                }
                self.roomy_slot(self.space.bucket(far)?, worth)?;
                let middle = self.try_lock(middle)?;
                // The resident may have gone or been replaced since it was looked at.
                let tag = middle.bucket.tag(R::WORDS, step);
                if tag == 0 || self.other(tag, middle.index) != far {
                    return None;
                }
                let far = self.try_lock(far)?;
                let room = self.roomy_slot(far.bucket, worth)?;
                let moved = self.move_record(&middle, step, &far, room)
                    && self.move_record(locked, slot, &middle, step);
                moved.then_some(Place { locked, slot, loses: None })
            })
        })
    }

    /// All residents of a key's candidates, with the bucket that each could move to.
    fn residents<'a>(
        &self,
        home: Home<'a>,
    ) -> impl Iterator<Item = (&'a Locked<'a>, usize, usize)> + use<'a, '_, R> {
        home.buckets().flat_map(move |locked| {
            (0..self.bucket_slots()).filter_map(move |slot| {
                let target = self.other(locked.bucket.tag(R::WORDS, slot), locked.index);
                (!home.contains(target)).then_some((locked, slot, target))
            })
        })
    }

    /// Copies a record to a free or recovered slot, then frees its own: a kill in between leaves
    /// two copies, of which a look-up takes the first.
    fn move_record(&self, from: &Locked<'_>, slot: usize, to: &Locked<'_>, room: usize) -> bool {
        let tag = from.bucket.tag(R::WORDS, slot);
        if to.bucket.tag(R::WORDS, room) != 0 {
            self.count(Counter::EvictedRecovered);
        }
        let source = self.words(from.bucket, slot);
        let copied = self.put(to, room, tag, |words| copy(source, words));
        if !copied || !from.held.is_mine() {
            return false;
        }
        from.bucket.set_tag(R::WORDS, slot, 0);
        self.count(Counter::Moved);
        true
    }

    /// A slot that is free or holds a recovered record.
    fn roomy_slot<A>(&self, bucket: Bucket<'_>, worth: &Worth<'_, A>) -> Option<usize>
    where
        A: Algorithm<State = R>,
    {
        self.free_slot(bucket).or_else(|| self.recovered_slot(bucket, worth))
    }

    fn free_slot(&self, bucket: Bucket<'_>) -> Option<usize> {
        (0..self.bucket_slots()).find(|slot| bucket.tag(R::WORDS, *slot) == 0)
    }

    fn recovered_slot<A>(&self, bucket: Bucket<'_>, worth: &Worth<'_, A>) -> Option<usize>
    where
        A: Algorithm<State = R>,
    {
        (0..self.bucket_slots()).find(|slot| worth.recovered(&R::load(self.words(bucket, *slot))))
    }
}

impl<'a> Home<'a> {
    /// The candidates, the first one first.
    fn buckets(self) -> impl Iterator<Item = &'a Locked<'a>> {
        [Some(self.first), self.second].into_iter().flatten()
    }

    /// Whether a bucket is one of the candidates, whose locks are held already.
    fn contains(self, index: usize) -> bool {
        self.buckets().any(|locked| locked.index == index)
    }
}

/// Copies a state word by word, in the order in which it is stored.
fn copy(from: &[AtomicU64], to: &[AtomicU64]) {
    for (from, to) in from.iter().zip(to) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        compiler_fence(Ordering::Release);
    }
}
