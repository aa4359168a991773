//! Memory for a table.
#![allow(unsafe_code)]

use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use ngx_http_rl::limit::LeakyState;
use ngx_http_rl::store::{Kind, Region, Secret, Table};

/// Bytes of the header, by `store::layout`. `geometry_is_as_the_tests_assume` compares.
pub const HEADER: usize = 3712;

/// Bytes of a bucket.
pub const BUCKET: usize = 128;

/// Slots of a bucket of `LeakyState`.
pub const SLOTS: usize = 5;

/// What the records of `leaky` are.
pub const LEAKY: Kind = Kind { algorithm: 1, words: 2 };

/// The key expression of all test tables.
pub const KEY: &[u8] = b"$binary_remote_addr";

/// Memory that is given back on drop.
pub struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    /// Its layout on the heap; `None` for a mapping, which forked children share.
    heap: Option<Layout>,
}

// SAFETY: the memory belongs to no thread, and is used by atomics alone.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeroed memory, page-aligned as what nginx's slab pool gives for large pieces. Shared with
    /// forked children.
    pub fn zeroed(bytes: usize) -> Self {
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory
        // that is in use.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes.max(1),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        let start = NonNull::new(start.cast()).expect("mmap gives no null");
        Self { start, bytes, heap: None }
    }

    /// Zeroed memory from the heap, where a sanitizer sees what is read or written beside it.
    pub fn on_heap(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(1), BUCKET).expect("a small piece");
        // SAFETY: the layout has a size.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).expect("there is memory");
        Self { start, bytes, heap: Some(layout) }
    }

    /// Zeroed memory for a table of so many buckets.
    pub fn for_buckets(buckets: usize) -> Self {
        Self::zeroed(HEADER + buckets * BUCKET)
    }

    /// The whole of it.
    pub fn region(&self) -> Region {
        self.part(0, self.bytes)
    }

    /// A part of it, in bytes.
    pub fn part(&self, from: usize, bytes: usize) -> Region {
        assert!(from + bytes <= self.bytes);
        // SAFETY: in bounds by the test above, so inside the memory or at its end.
        let start = unsafe { self.start.add(from) };
        // SAFETY: `bytes` bytes of readable and writable memory that no test drops before its
        // tables; it is accessed by tables and through the atomics of `words` only.
        unsafe { Region::new(start, bytes) }
    }

    /// All whole words of it.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: aligned, in the memory, live as long as `self`; any bits are a valid
        // atomic, and tables use atomics of the same place too.
        unsafe { std::slice::from_raw_parts(self.start.cast().as_ptr(), self.bytes / 8) }
    }

    /// A copy of all words.
    pub fn snapshot(&self) -> Vec<u64> {
        self.words().iter().map(|word| word.load(Ordering::SeqCst)).collect()
    }

    /// Words of one bucket: the lock, then each slot's tag and state.
    pub fn bucket(&self, index: usize) -> &[AtomicU64] {
        &self.words()[(HEADER + index * BUCKET) / 8..][..BUCKET / 8]
    }

    /// The lock word of a bucket.
    pub fn lock(&self, index: usize) -> &AtomicU64 {
        &self.bucket(index)[0]
    }

    /// Number of buckets behind the header.
    pub fn buckets(&self) -> usize {
        (self.bytes - HEADER) / BUCKET
    }

    /// All tags that are in use, in buckets of `LeakyState`.
    pub fn tags(&self) -> Vec<u64> {
        self.tags_in(SLOTS)
    }

    /// All tags that are in use, in buckets of so many slots.
    fn tags_in(&self, slots: usize) -> Vec<u64> {
        (0..self.buckets()).flat_map(|index| self.bucket_tags(index, slots)).collect()
    }

    /// The tags that are in use in one bucket of so many slots.
    pub fn bucket_tags(&self, index: usize, slots: usize) -> Vec<u64> {
        let words = BUCKET / 8 - 1;
        self.bucket(index)[1..]
            .chunks_exact(words / slots)
            .map(|slot| slot[0].load(Ordering::SeqCst))
            .filter(|tag| *tag != 0)
            .collect()
    }

    /// How many tags are there twice, in buckets of `LeakyState`.
    pub fn duplicates(&self) -> usize {
        self.duplicates_in(SLOTS)
    }

    /// How many tags are there twice, in buckets of so many slots.
    pub fn duplicates_in(&self, slots: usize) -> usize {
        let mut tags = self.tags_in(slots);
        let all = tags.len();
        tags.sort_unstable();
        tags.dedup();
        all - tags.len()
    }

    /// How many locks are held.
    pub fn held(&self) -> usize {
        (0..self.buckets()).filter(|index| self.lock(*index).load(Ordering::SeqCst) != 0).count()
    }

    /// A new table in all of it.
    pub fn create(&self, secret: u64) -> Table<LeakyState> {
        let secret = Secret::known([secret, !secret]);
        Table::create(self.region(), LEAKY, KEY, secret).expect("memory does")
    }

    /// One more view of the table in it.
    pub fn attach(&self) -> Table<LeakyState> {
        Table::attach(self.region(), LEAKY, KEY).expect("a table is there")
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let start = self.start.as_ptr();
        match self.heap {
            // SAFETY: what `on_heap` got, with the layout it asked for.
            Some(layout) => unsafe { dealloc(start, layout) },
            // SAFETY: the mapping of `zeroed`, whole, and unmapped once.
            None => drop(unsafe { libc::munmap(start.cast(), self.bytes.max(1)) }),
        }
    }
}
