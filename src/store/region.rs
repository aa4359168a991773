//! Raw memory as a header and buckets. The only file of the table that follows a pointer.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{Bucket, BucketHead, Geometry, Header};

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

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A region that is divided into a header and buckets.
#[derive(Clone, Copy)]
pub(super) struct Space {
    region: Region,
    geometry: Geometry,
}

impl Space {
    /// Divides a region. `None` if it is not aligned as the layout needs it, or if the header and
    /// one bucket at least do not fit as `geometry` says.
    pub fn divide(region: Region, geometry: Geometry) -> Option<Self> {
        let Geometry { buckets, stride, .. } = geometry;
        let end = buckets.checked_mul(stride)?.checked_add(size_of::<Header>())?;
        let fits = buckets > 0
            && stride >= size_of::<BucketHead>()
            && stride % size_of::<BucketHead>() == 0
            && end <= region.bytes
            && region.memory.cast::<Header>().is_aligned();
        fits.then_some(Self { region, geometry })
    }

    /// The memory.
    pub fn region(&self) -> Region {
        self.region
    }

    /// How it is divided.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The header.
    #[inline]
    pub fn header(&self) -> &Header {
        // SAFETY: aligned and large enough by the test in `divide`; live by the contract of
        // `Region::new`. All fields are atomic, so that any bit pattern is valid and other
        // processes may write.
        unsafe { self.region.memory.cast().as_ref() }
    }

    /// Bucket number `index`, `None` beyond the last one.
    #[inline]
    pub fn bucket(&self, index: usize) -> Option<Bucket<'_>> {
        let Geometry { buckets, stride, .. } = self.geometry;
        if index >= buckets {
            return None;
        }
        let start = size_of::<Header>() + index * stride;
        let behind = (stride - size_of::<BucketHead>()) / size_of::<AtomicU64>();
        // SAFETY: in bounds by the test above and the one in `divide`; header and heads have the
        // same alignment, and starts are whole multiples of it; live and atomic as in `header`.
        unsafe {
            let head = self.region.memory.byte_add(start).cast::<BucketHead>();
            let words = std::slice::from_raw_parts(head.add(1).cast().as_ptr(), behind);
            Some(Bucket { head: head.as_ref(), behind: words })
        }
    }

    /// All of the region as words.
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: aligned to more than a word by the test in `divide`; as many whole words as fit;
        // live and atomic as in `header`.
        unsafe {
            std::slice::from_raw_parts(
                self.region.memory.cast().as_ptr(),
                self.region.bytes / size_of::<u64>(),
            )
        }
    }

    /// Makes sure that fresh memory is all zero. A new mapping is, and reading all of it would map
    /// every page; but nginx built for debugging fills what it hands out with a pattern.
    pub fn zero_if_filled(&self) {
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
    pub fn prefetch(&self, index: usize) {
        if let Some(bucket) = self.bucket(index) {
            bucket.prefetch();
        }
    }
}

impl Bucket<'_> {
    /// Asks the processor to fetch the head.
    #[inline]
    pub fn prefetch(self) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
            let line = std::ptr::from_ref(self.head).cast::<i8>();
            // Not for writing: of the four lines that a decision fetches it writes one or two, and
            // on a key that several workers want the others would go back and forth too.
            // SAFETY: a prefetch of any address has no effect but on speed; these two lines are
            // the bucket's.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(line);
                _mm_prefetch::<_MM_HINT_T0>(line.add(64));
            }
        }
    }
}
