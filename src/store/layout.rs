//! Header and buckets, word by word. Workers of one binary share this layout.
//!
//! Every field is atomic: other processes write at any time, and a process that was stopped long
//! ago may write late. No bit pattern is trusted; all-zero buckets are an empty table.

use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};

/// Raised with every change below.
pub(super) const LAYOUT_VERSION: u64 = 4;

/// "ngx_rl" and two bytes that UTF-8 does not have.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"ngx_rl\xff\xfe");

/// Counter stripes that have one writer each.
pub(super) const OWN_STRIPES: usize = 20;

/// Counter stripes for workers beyond that, old and new ones during a reload together.
pub(super) const SHARED_STRIPES: usize = 4;

/// Words of a pair of cache lines.
const PAIR: usize = 16;

/// Counters in one stripe: a pair of cache lines full, since CPUs prefetch lines in pairs.
pub(super) const STRIPE_COUNTERS: usize = PAIR;

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
    /// When somebody has last reported that there was no room, in ms of nginx's clock; 0 for never.
    /// Who moves it forward makes the next report.
    pub reported_ms: AtomicU64,
    /// What had been counted by then. Written after `reported_ms`, by the same process.
    pub reported: [AtomicU64; 3],
    reserved: [AtomicU64; 3],
    /// Text for nginx's slab allocator, ended by a zero.
    pub label: [AtomicU8; LABEL_BYTES],
    /// Who counts in each of the first stripes, as in the word of a lock; 0 for nobody.
    pub stripe_owners: [AtomicU64; OWN_STRIPES],
    unused: [AtomicU64; OWN_STRIPES.next_multiple_of(PAIR) - OWN_STRIPES],
    /// Event counters: those with one writer, then the shared ones.
    pub stripes: [Stripe; OWN_STRIPES + SHARED_STRIPES],
}

/// Counters of some of the workers.
#[repr(C, align(128))]
pub(super) struct Stripe(pub [AtomicU64; STRIPE_COUNTERS]);

/// The first two cache lines of a bucket: the lock, then the slots, each a tag and its state if
/// that fits. A key alone in its bucket then lies in the lock's line, the only one that is written
/// and so the only one that goes from worker to worker.
#[repr(C, align(128))]
pub(super) struct BucketHead {
    /// 0 if free, else its owner. See `lock`.
    pub lock: AtomicU64,
    words: [AtomicU64; BUCKET_WORDS],
}

const _: () = assert!(size_of::<BucketHead>() == 128);
const _: () =
    assert!(size_of::<Header>() == 128 + LABEL_BYTES + 256 + 128 * (OWN_STRIPES + SHARED_STRIPES));

/// A bucket: its head and the states that lie behind it, none if they fit into the head.
#[derive(Clone, Copy)]
pub(super) struct Bucket<'a> {
    pub head: &'a BucketHead,
    pub behind: &'a [AtomicU64],
}

impl<'a> Bucket<'a> {
    /// A word behind the lock. Callers stay below [`BUCKET_WORDS`]; anything above is the last.
    fn word(self, index: usize) -> &'a AtomicU64 {
        let [.., last] = &self.head.words;
        self.head.words.get(index).unwrap_or(last)
    }

    /// The tag of a slot in a head whose states have `near` words; 0 if the slot is free.
    #[inline]
    pub fn tag(self, near: usize, slot: usize) -> u64 {
        self.word(slot * (1 + near)).load(Ordering::Acquire)
    }

    /// Sets the tag of a slot. What was stored into the slot before is seen with it.
    #[inline]
    pub fn set_tag(self, near: usize, slot: usize, tag: u64) {
        self.word(slot * (1 + near)).store(tag, Ordering::Release);
    }

    /// The state in a slot of a head whose states have `near` words.
    #[inline]
    pub fn near_state(self, near: usize, slot: usize) -> &'a [AtomicU64] {
        let start = slot * (1 + near) + 1;
        self.head.words.get(start..start + near).unwrap_or_default()
    }

    /// The state in `slot` of a bucket with states of `words` words behind its head.
    #[inline]
    pub fn far_state(self, words: usize, slot: usize) -> &'a [AtomicU64] {
        let start = slot * words;
        self.behind.get(start..start + words).unwrap_or_default()
    }
}

/// How a piece of memory is divided into buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Number of buckets.
    pub buckets: usize,
    /// Records in a bucket.
    pub slots: usize,
    /// Bytes from one bucket to the next, in whole heads.
    pub stride: usize,
}

impl Geometry {
    /// Buckets whose states of `words` words lie in the head.
    pub fn near(bytes: usize, words: usize) -> Self {
        let stride = size_of::<BucketHead>();
        Self { buckets: room(bytes) / stride, slots: BUCKET_WORDS / (1 + words), stride }
    }

    /// Buckets whose states of `words` words lie behind the head: as many slots as there is room
    /// for tags in the head, or fewer if more records fit so. A bucket of a thousand-request log
    /// takes 120 KB, and what is left over may be as much.
    pub fn far(bytes: usize, words: usize) -> Self {
        let with = |slots: usize| {
            let behind = slots.saturating_mul(words).saturating_mul(size_of::<u64>());
            let stride = size_of::<BucketHead>()
                .saturating_add(behind)
                .checked_next_multiple_of(size_of::<BucketHead>())
                .unwrap_or(usize::MAX);
            Self { buckets: room(bytes) / stride, slots, stride }
        };
        (1..=BUCKET_WORDS).map(with).max_by_key(Self::records).unwrap_or_else(|| with(1))
    }

    /// How many records fit.
    pub fn records(&self) -> usize {
        self.buckets * self.slots
    }
}

/// Bytes behind the header.
fn room(bytes: usize) -> usize {
    bytes.saturating_sub(size_of::<Header>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> BucketHead {
        let words = std::array::from_fn(|_| AtomicU64::new(0));
        BucketHead { lock: AtomicU64::new(0), words }
    }

    #[test]
    fn a_key_alone_lies_in_the_line_of_its_lock() {
        for near in [1, 2] {
            let head = empty();
            let bucket = Bucket { head: &head, behind: &[] };
            bucket.set_tag(near, 0, 7);
            bucket.near_state(near, 0).iter().for_each(|word| word.store(7, Ordering::Relaxed));
            let used = |word: &AtomicU64| word.load(Ordering::Relaxed) == 7;
            assert_eq!(head.words.iter().take(7).filter(|word| used(word)).count(), 1 + near);
        }
    }

    #[test]
    fn slots_share_no_word() {
        for near in [0, 1, 2] {
            let head = empty();
            let bucket = Bucket { head: &head, behind: &[] };
            for slot in 0..BUCKET_WORDS / (1 + near) {
                assert_eq!(bucket.tag(near, slot), 0, "{near} words, slot {slot}");
                let state = bucket.near_state(near, slot);
                assert_eq!(state.len(), near);
                assert!(state.iter().all(|word| word.swap(1, Ordering::Relaxed) == 0));
                bucket.set_tag(near, slot, 1);
            }
        }
    }

    #[test]
    fn large_states_fill_the_memory() {
        for (bytes, words, records) in [
            // 128 + 15 * 5 * 8 = 728, which is 768 in whole heads.
            (1 << 20, 5, (((1 << 20) - 3712) / 768) * 15),
            // Buckets of 15 would leave a third of the memory over.
            (1 << 20, 1000, 130),
            (1 << 20, 100_000, 1),
            (1 << 20, 200_000, 0),
            (1 << 20, usize::MAX, 0),
            (100, 5, 0),
        ] {
            let geometry = Geometry::far(bytes, words);
            assert_eq!(geometry.records(), records, "{bytes} bytes, {words} words: {geometry:?}");
        }
    }
}
