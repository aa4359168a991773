//! Header and buckets, word by word. Workers of one binary share this layout.
//!
//! Every field is atomic: other processes write at any time, and a process that was stopped long
//! ago may write late. No bit pattern is trusted; all-zero buckets are an empty table.

use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};

/// Raised with every change below.
pub(super) const LAYOUT_VERSION: u64 = 1;

/// "ngx_rl" and two bytes that UTF-8 does not have.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"ngx_rl\xff\xfe");

/// How many cache-line pairs share the counting. Workers beyond that share one.
pub(super) const STRIPES: usize = 8;

/// Counters in one stripe: a pair of cache lines full, since CPUs prefetch lines in pairs.
pub(super) const STRIPE_COUNTERS: usize = 16;

/// Room for the text that nginx's slab allocator shows in its log lines, with its final zero.
pub(super) const LABEL_BYTES: usize = 256;

/// Words of a bucket behind its lock.
pub(super) const BUCKET_WORDS: usize = 15;

/// What stands before the buckets.
#[repr(C, align(128))]
pub(super) struct Header {
    /// [`MAGIC`]. Written once, by the process that lays out the table; so are the fields up to
    /// `secret`.
    pub magic: AtomicU64,
    /// [`LAYOUT_VERSION`].
    pub version: AtomicU64,
    /// Which algorithm the records belong to.
    pub algorithm: AtomicU64,
    /// Words of a record.
    pub record_words: AtomicU64,
    /// Digest of the key expression.
    pub key_digest: AtomicU64,
    /// Number of buckets. For comparison only, never a bound.
    pub buckets: AtomicU64,
    /// Key of the hash.
    pub secret: [AtomicU64; 2],
    /// How many of the next keys without room evict at once. Written racily by anyone who finds no
    /// room; a lost step does no harm.
    pub back_off: AtomicU64,
    reserved: [AtomicU64; 7],
    /// Text for nginx's slab allocator, ended by a zero.
    pub label: [AtomicU8; LABEL_BYTES],
    /// Event counters.
    pub stripes: [Stripe; STRIPES],
}

/// Counters of some of the workers.
#[repr(C, align(128))]
pub(super) struct Stripe(pub [AtomicU64; STRIPE_COUNTERS]);

/// A bucket: lock, tags, states. How many of each depends on the record.
#[repr(C, align(128))]
pub(super) struct Bucket {
    /// 0 if free, else its owner. See `lock`.
    pub lock: AtomicU64,
    words: [AtomicU64; BUCKET_WORDS],
}

const _: () = assert!(size_of::<Bucket>() == 128);
const _: () = assert!(size_of::<Header>() == 128 + LABEL_BYTES + STRIPES * 128);

impl Bucket {
    /// A word behind the lock. Callers stay below [`BUCKET_WORDS`]; anything above is the last.
    fn word(&self, index: usize) -> &AtomicU64 {
        let [.., last] = &self.words;
        self.words.get(index).unwrap_or(last)
    }

    /// The tag of a slot; 0 if the slot is free.
    #[inline]
    pub fn tag(&self, slot: usize) -> u64 {
        self.word(slot).load(Ordering::Acquire)
    }

    /// Sets the tag of a slot. What was stored into the slot before is seen with it.
    #[inline]
    pub fn set_tag(&self, slot: usize, tag: u64) {
        self.word(slot).store(tag, Ordering::Release);
    }

    /// Word `word` of the state in `slot`, where a bucket has `slots` slots of `words` words.
    #[inline]
    pub fn state_word(&self, slots: usize, words: usize, slot: usize, word: usize) -> &AtomicU64 {
        self.word(slots + slot * words + word)
    }
}
