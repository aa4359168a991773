//! Raw memory as a header and buckets. The only file of the table that follows a pointer.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{Bucket, Header};

/// Memory that holds a table, shared with other processes.
#[derive(Clone, Copy)]
pub struct Region {
    memory: NonNull<u8>,
    bytes: usize,
}

impl Region {
    /// Takes a piece of memory.
    ///
    /// # Safety
    ///
    /// `memory` must point at `bytes` bytes that are readable and writable as long as the value or
    /// a copy of it is in use, and that are written by nothing but tables of this crate, in whatever
    /// process. nginx may read the label.
    pub unsafe fn new(memory: NonNull<u8>, bytes: usize) -> Self {
        Self { memory, bytes }
    }

    /// Whether the memory is aligned as the layout needs it and holds a bucket at least.
    pub(super) fn is_usable(&self) -> bool {
        self.memory.cast::<Header>().is_aligned() && self.buckets() > 0
    }

    /// How many buckets fit behind the header.
    pub(super) fn buckets(&self) -> usize {
        self.bytes.saturating_sub(size_of::<Header>()) / size_of::<Bucket>()
    }

    /// The header. The region must be usable.
    #[inline]
    pub(super) fn header(&self) -> &Header {
        debug_assert!(self.is_usable());
        // SAFETY: aligned and large enough, since a table checks `is_usable` before it keeps a
        // region; live by the contract of `new`. All fields are atomic, so that any bit pattern is
        // valid and other processes may write.
        unsafe { self.memory.cast().as_ref() }
    }

    /// Bucket number `index`, `None` beyond the last one.
    #[inline]
    pub(super) fn bucket(&self, index: usize) -> Option<&Bucket> {
        if index >= self.buckets() {
            return None;
        }
        // SAFETY: in bounds by the test above; header and buckets have the same alignment and
        // whole sizes of it; live and atomic as in `header`.
        Some(unsafe {
            self.memory.byte_add(size_of::<Header>()).cast::<Bucket>().add(index).as_ref()
        })
    }

    /// All of the region as words.
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: aligned to more than a word by `is_usable`; as many whole words as fit; live and
        // atomic as in `header`.
        unsafe {
            std::slice::from_raw_parts(self.memory.cast().as_ptr(), self.bytes / size_of::<u64>())
        }
    }

    /// Makes sure that fresh memory is all zero. A new mapping is, and reading all of it would map
    /// every page; but nginx built for debugging fills what it hands out with a pattern.
    pub(super) fn zero_if_filled(&self) {
        let probe = size_of::<Header>() / size_of::<u64>();
        if self.words().iter().take(probe).all(|word| word.load(Ordering::Relaxed) == 0) {
            return;
        }
        for word in self.words() {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Asks the processor to fetch a bucket that is about to be locked.
    #[inline]
    pub(super) fn prefetch(&self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(bucket) = self.bucket(index) {
            use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
            let line = std::ptr::from_ref(bucket).cast::<i8>();
            // SAFETY: a prefetch of any address has no effect but on speed; these two lines are
            // the bucket's.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(line);
                _mm_prefetch::<_MM_HINT_T0>(line.add(64));
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }
}
