//! The table of a zone: look-up, hit and miss.

use std::cell::Cell;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::counters::{self, Counter, Counters};
use super::glimpse::Refused;
use super::hash::{digest, other_bucket, KeyHash, Secret};
use super::layout::{Bucket, Geometry, LABEL_BYTES, LAYOUT_VERSION, MAGIC};
use super::lock::Held;
use super::patience::{Patience, Stuck};
use super::process::Owner;
use super::record::{Kind, Record, Worth};
use super::region::{Region, Space};
use crate::limit::Algorithm;

/// Why a request is not charged to its key. The table has counted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untracked {
    /// The record cannot be reached: a process that does not run holds its lock. The request passes
    /// this limit.
    Unreachable,
    /// There is no record and no room for one. What this means is said by the [`Full`] that the
    /// operation was given.
    ///
    /// [`Full`]: crate::limit::Full
    NoRoom,
}

/// Why a table cannot be laid out in a piece of memory, or be found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// Too small for a bucket, or not aligned to 128 bytes.
    Memory,
    /// The records are not of the size that this table has.
    Records,
    /// The header's field of that name is not what it must be.
    Header(&'static str),
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("the memory is too small or not aligned"),
            Self::Records => f.write_str("the records are of another size"),
            Self::Header(field) => write!(f, "the header has another {field}"),
        }
    }
}

impl std::error::Error for AttachError {}

/// One process's view of a table. Threads need a view each, with an owner each.
///
/// Bounds and secret are kept here and never read from the memory again.
pub struct Table<R> {
    pub(super) space: Space,
    pub(super) secret: Secret,
    words: usize,
    owner: Cell<Owner>,
    stripe: Cell<usize>,
    stuck: Stuck,
    pub(super) refused: Refused,
    /// Whether there was no room for a key of this process, since it was last reported.
    pub(super) short: Cell<bool>,
    records: std::marker::PhantomData<Cell<R>>,
}

/// A bucket whose lock is held.
pub(super) struct Locked<'a> {
    pub index: usize,
    pub bucket: Bucket<'a>,
    pub held: Held<'a, AtomicU64>,
}

impl<R: Record> Table<R> {
    /// Lays out an empty table in fresh memory.
    ///
    /// # Errors
    ///
    /// The memory does not do.
    pub fn create(
        region: Region,
        kind: Kind,
        key: &[u8],
        secret: Secret,
    ) -> Result<Self, AttachError> {
        let table = Self::view(region, kind, secret)?;
        table.space.zero_if_filled();
        let header = table.space.header();
        let Secret([k0, k1]) = secret;
        for (field, value) in [
            (&header.version, LAYOUT_VERSION),
            (&header.algorithm, kind.algorithm),
            (&header.record_words, kind.words as u64),
            (&header.key_digest, digest(key)),
            (&header.buckets, table.buckets() as u64),
            (&header.secret[0], k0),
            (&header.secret[1], k1),
            (&header.magic, MAGIC),
        ] {
            field.store(value, Ordering::Release);
        }
        Ok(table)
    }

    /// Finds a table that [`Self::create`] has laid out in this memory. Writes nothing.
    ///
    /// # Errors
    ///
    /// The memory does not do, or holds something else.
    pub fn attach(region: Region, kind: Kind, key: &[u8]) -> Result<Self, AttachError> {
        let mut table = Self::view(region, kind, Secret([0, 0]))?;
        let header = table.space.header();
        for (field, value, name) in [
            (&header.magic, MAGIC, "magic"),
            (&header.version, LAYOUT_VERSION, "layout version"),
            (&header.algorithm, kind.algorithm, "algorithm"),
            (&header.record_words, kind.words as u64, "record size"),
            (&header.key_digest, digest(key), "key"),
            (&header.buckets, table.buckets() as u64, "number of buckets"),
        ] {
            if field.load(Ordering::Acquire) != value {
                return Err(AttachError::Header(name));
            }
        }
        table.secret = Secret(header.secret.each_ref().map(|word| word.load(Ordering::Relaxed)));
        Ok(table)
    }

    fn view(region: Region, kind: Kind, secret: Secret) -> Result<Self, AttachError> {
        let words = kind.words;
        if R::WORDS != 0 && R::WORDS != words {
            return Err(AttachError::Records);
        }
        let space = Space::divide(region, Self::geometry(region.bytes(), words));
        Ok(Self {
            space: space.ok_or(AttachError::Memory)?,
            secret,
            words,
            owner: Cell::new(Owner::of_this_process()),
            stripe: Cell::new(counters::shared(0)),
            stuck: Stuck::default(),
            refused: Refused::default(),
            short: Cell::new(false),
            records: std::marker::PhantomData,
        })
    }

    fn geometry(bytes: usize, words: usize) -> Geometry {
        if R::WORDS == 0 {
            Geometry::far(bytes, words)
        } else {
            Geometry::near(bytes, R::WORDS)
        }
    }

    /// Says who takes locks and counts through this view: after a fork, that is somebody else.
    pub fn adopt(&self, owner: Owner, worker: usize) {
        self.owner.set(owner);
        self.stripe.set(counters::claim(self.space.header(), owner, worker));
    }

    /// The memory of the table.
    pub fn region(&self) -> Region {
        self.space.region()
    }

    /// How many records the table can hold.
    pub fn slots(&self) -> usize {
        self.buckets() * self.bucket_slots()
    }

    #[inline]
    fn buckets(&self) -> usize {
        self.space.geometry().buckets
    }

    /// Slots of a bucket: known to the compiler where it counts.
    #[inline]
    pub(super) fn bucket_slots(&self) -> usize {
        if R::WORDS == 0 {
            self.space.geometry().slots
        } else {
            R::SLOTS
        }
    }

    /// The hash by which a key is known here.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash::of(self.secret, key)
    }

    /// The numbers of the two buckets in which a key's record may be, the preferred one first.
    #[inline]
    pub fn candidates(&self, key: KeyHash) -> (usize, usize) {
        let first = key.first_bucket(self.buckets());
        (first, other_bucket(self.secret, key.0, first, self.buckets()))
    }

    /// Counts an event.
    #[inline]
    pub fn count(&self, counter: Counter) {
        counters::add(self.space.header(), self.stripe.get(), counter);
    }

    /// The events so far, of all processes.
    pub fn counters(&self) -> Counters {
        Counters::sum(self.space.header())
    }

    /// Writes a text into the header, cut to what fits, and gives it back as a C string: it is
    /// seen at the same address by all processes that the mapping was handed down to.
    pub fn write_label(&self, text: &[u8]) -> *mut u8 {
        let label = &self.space.header().label;
        let text = text.iter().take(LABEL_BYTES - 1).chain([&0]);
        for (place, byte) in label.iter().zip(text) {
            place.store(*byte, Ordering::Relaxed);
        }
        ptr::from_ref(label).cast_mut().cast()
    }

    /// Looks at a key's record, `None` if there is none, and makes none.
    ///
    /// # Errors
    ///
    /// The record cannot be reached; `look` was not called.
    #[inline]
    pub fn look<T>(
        &self,
        key: KeyHash,
        look: impl FnOnce(Option<&R::View<'_>>) -> T,
    ) -> Result<T, Untracked> {
        let candidates = self.candidates(key);
        match self.glance(key, candidates) {
            Glance::Hit(locked, slot) => Ok(look(Some(&R::load(self.words(locked.bucket, slot))))),
            glance => self.visit(key, candidates, glance.is_miss(), |visit| match visit {
                Visit::Hit(locked, slot) => look(Some(&R::load(self.words(locked.bucket, slot)))),
                Visit::Miss(_) => look(None),
            }),
        }
    }

    /// Shows a key's record, `None` if there is none, and stores the one that comes back, if any.
    ///
    /// # Errors
    ///
    /// The record cannot be reached, and `update` was not called; or it was, and there is no room
    /// for what it gave back.
    #[inline]
    pub fn update<A, T>(
        &self,
        key: KeyHash,
        worth: &Worth<'_, A>,
        update: impl FnOnce(Option<&R::View<'_>>) -> (Option<R::Next>, T),
    ) -> Result<T, Untracked>
    where
        A: Algorithm<State = R>,
    {
        let candidates = self.candidates(key);
        match self.glance(key, candidates) {
            Glance::Hit(locked, slot) => Ok(self.change(&locked, slot, update)),
            glance => self.visit(key, candidates, glance.is_miss(), |visit| match visit {
                Visit::Hit(locked, slot) => Ok(self.change(locked, slot, update)),
                Visit::Miss(home) => {
                    #[cfg(feature = "test-hooks")]
                    super::hooks::hold_or_panic_if_asked();
                    let (next, answer) = update(None);
                    let stored = next.map_or(Ok(()), |next| self.insert(home, key, next, worth));
                    stored.map(|()| answer)
                }
            })?,
        }
    }

    /// Shows the record in a slot and stores the one that comes back, if any.
    #[inline(always)]
    fn change<T>(
        &self,
        locked: &Locked<'_>,
        slot: usize,
        update: impl FnOnce(Option<&R::View<'_>>) -> (Option<R::Next>, T),
    ) -> T {
        #[cfg(feature = "test-hooks")]
        super::hooks::hold_or_panic_if_asked();
        let words = self.words(locked.bucket, slot);
        let (next, answer) = update(Some(&R::load(words)));
        if let Some(next) = next {
            R::save(words, next);
        }
        answer
    }

    /// Finds a key's record if that takes no waiting, as nearly all requests do. One lock at a
    /// time.
    #[inline(always)]
    fn glance(&self, key: KeyHash, (first, second): (usize, usize)) -> Glance<'_> {
        let (Some(near), Some(far)) = (self.space.bucket(first), self.space.bucket(second)) else {
            return Glance::Busy;
        };
        near.prefetch();
        far.prefetch();
        for (index, bucket) in [(first, near), (second, far)] {
            let Owner(me) = self.owner.get();
            let Some(held) = Held::try_take(&bucket.head.lock, me) else { return Glance::Busy };
            self.stuck.forget(index);
            let locked = Locked { index, bucket, held };
            if let Some(slot) = self.find(locked.bucket, key.0) {
                return Glance::Hit(locked, slot);
            }
        }
        Glance::Miss
    }

    /// Finds a key's record and shows it under its lock, or its two candidates if there is none.
    /// `missed` says that both have just been looked at.
    #[inline(never)]
    pub(super) fn visit<T>(
        &self,
        key: KeyHash,
        (first, second): (usize, usize),
        missed: bool,
        show: impl FnOnce(Visit<'_>) -> T,
    ) -> Result<T, Untracked> {
        let mut patience = Patience::new(&self.stuck);
        let outcome = (|| {
            let single = first == second;
            for index in [first, second] {
                if missed && !single {
                    break;
                }
                let locked = self.lock(index, &mut patience)?;
                if let Some(slot) = self.find(locked.bucket, key.0) {
                    return Ok(show(Visit::Hit(&locked, slot)));
                }
                if single {
                    return Ok(show(Visit::Miss(Home { first: &locked, second: None })));
                }
            }
            self.visit_missing(key, (first, second), &mut patience, show)
        })();
        if outcome.is_err() {
            self.count(Counter::Untracked);
        }
        outcome
    }

    /// Looks again with both locks held: between the two looks a resident may have been moved
    /// from the second bucket to the first.
    fn visit_missing<T>(
        &self,
        key: KeyHash,
        (first, second): (usize, usize),
        patience: &mut Patience<'_>,
        show: impl FnOnce(Visit<'_>) -> T,
    ) -> Result<T, Untracked> {
        // In the order of addresses, so that two waiters cannot each hold what the other wants.
        let lower = self.lock(first.min(second), patience)?;
        let upper = self.lock(first.max(second), patience)?;
        let (first, second) = if first < second { (&lower, &upper) } else { (&upper, &lower) };
        for locked in [first, second] {
            if let Some(slot) = self.find(locked.bucket, key.0) {
                return Ok(show(Visit::Hit(locked, slot)));
            }
        }
        Ok(show(Visit::Miss(Home { first, second: Some(second) })))
    }

    #[inline]
    fn lock(&self, index: usize, patience: &mut Patience<'_>) -> Result<Locked<'_>, Untracked> {
        let bucket = self.space.bucket(index).ok_or(Untracked::Unreachable)?;
        patience.bucket = index;
        let Owner(me) = self.owner.get();
        let held =
            Held::take(&bucket.head.lock, me, patience).map_err(|_| Untracked::Unreachable)?;
        self.stuck.forget(index);
        Ok(Locked { index, bucket, held })
    }

    /// Takes the lock of a bucket if it is free.
    #[inline]
    pub(super) fn try_lock(&self, index: usize) -> Option<Locked<'_>> {
        let bucket = self.space.bucket(index)?;
        let Owner(me) = self.owner.get();
        let held = Held::try_take(&bucket.head.lock, me)?;
        Some(Locked { index, bucket, held })
    }

    /// The slot that holds a tag. Compares all: a search that stops early mispredicts on random
    /// keys.
    #[inline]
    pub(super) fn find(&self, bucket: Bucket<'_>, tag: u64) -> Option<usize> {
        let matches = (0..self.bucket_slots())
            .fold(0_u32, |set, slot| set | u32::from(bucket.tag(R::WORDS, slot) == tag) << slot);
        (matches != 0).then(|| matches.trailing_zeros() as usize)
    }

    /// The words of the state in a slot.
    #[inline]
    pub(super) fn words<'a>(&self, bucket: Bucket<'a>, slot: usize) -> &'a [AtomicU64] {
        if R::WORDS == 0 {
            bucket.far_state(self.words, slot)
        } else {
            bucket.near_state(R::WORDS, slot)
        }
    }

    /// The other candidate of a resident of bucket `index`.
    pub(super) fn other(&self, tag: u64, index: usize) -> usize {
        other_bucket(self.secret, tag, index, self.buckets())
    }
}

/// What is found without waiting.
enum Glance<'a> {
    /// The key's record, with the lock of its bucket held.
    Hit(Locked<'a>, usize),
    /// No record in either bucket, each looked at in its turn.
    Miss,
    /// A lock is held by somebody else.
    Busy,
}

impl Glance<'_> {
    fn is_miss(&self) -> bool {
        matches!(self, Self::Miss)
    }
}

/// What a visit finds.
pub(super) enum Visit<'a> {
    /// The key's record, with the lock of its bucket held.
    Hit(&'a Locked<'a>, usize),
    /// No record; the locks of both candidates are held.
    Miss(Home<'a>),
}

/// The candidates of a key that has no record. They may be the same bucket.
#[derive(Clone, Copy)]
pub(super) struct Home<'a> {
    pub first: &'a Locked<'a>,
    pub second: Option<&'a Locked<'a>>,
}
