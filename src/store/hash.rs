//! Keys to tags and buckets.
//!
//! SipHash-1-3 with a secret of the zone: nobody outside can compute keys that collide or that
//! fill one bucket. The 64 bits are the key's identity; among four million keys two share them
//! with a probability of 4e-7.

use siphasher::sip::SipHasher13;

/// Key of a zone's hash.
#[derive(Clone, Copy)]
pub struct Secret(pub(super) [u64; 2]);

impl Secret {
    /// A secret from the operating system's random source.
    ///
    /// # Errors
    ///
    /// The source is not available.
    pub fn random() -> Result<Self, getrandom::Error> {
        Ok(Self([getrandom::u64()?, getrandom::u64()?]))
    }

    /// A secret that is known, for repeatable tests.
    pub fn known(words: [u64; 2]) -> Self {
        Self(words)
    }
}

/// What stands for a key in a table. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyHash(pub(super) u64);

impl KeyHash {
    /// The hash of a key under a secret.
    #[inline]
    pub(crate) fn of(secret: Secret, key: &[u8]) -> Self {
        let Secret([k0, k1]) = secret;
        Self::from_hash(SipHasher13::new_with_keys(k0, k1).hash(key))
    }

    /// 0 marks a free slot, so that hash shares a tag with 1.
    #[inline]
    fn from_hash(hash: u64) -> Self {
        Self(hash.max(1))
    }

    /// The first candidate among `buckets` buckets.
    #[inline]
    pub(super) fn first_bucket(self, buckets: usize) -> usize {
        scale(self.0, buckets)
    }
}

/// The other candidate of a tag that is in bucket `index`. The other of the other is `index`.
#[inline]
pub(super) fn other_bucket(secret: Secret, tag: u64, index: usize, buckets: usize) -> usize {
    let Secret([k0, _]) = secret;
    let sum = scale(mix(tag ^ k0), buckets);
    if sum >= index {
        sum - index
    } else {
        sum + buckets - index
    }
}

/// Maps a hash evenly to `0..range` (Lemire, "Fast random integer generation in an interval").
#[inline]
fn scale(hash: u64, range: usize) -> usize {
    // The product of two 64-bit words shifted by 64 is below the second.
    ((u128::from(hash) * range as u128) >> 64) as usize
}

/// Spreads the bits of a word (the finaliser of MurmurHash3).
#[inline]
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let word = (word ^ (word >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

/// Digest of a key expression, to tell two apart.
pub(super) fn digest(expression: &[u8]) -> u64 {
    KeyHash::of(Secret([0, 0]), expression).0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows 0, 15 and 63 of the reference vectors of SipHash-1-3 with 64 bits: the key is the bytes
    /// 0 to 15, the text the bytes 0 to n - 1.
    #[test]
    fn the_hash_is_siphash_1_3() {
        let secret = Secret::known([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        for (n, hash) in [
            (0, [0xdc, 0xc4, 0x0f, 0x05, 0x58, 0x01, 0xac, 0xab]),
            (15, [0x56, 0x99, 0x51, 0x2a, 0x6d, 0xd8, 0x20, 0xd3]),
            (63, [0xa8, 0xb3, 0xbb, 0xb7, 0x62, 0x90, 0x19, 0x9d]),
        ] {
            let text: Vec<u8> = (0..n).collect();
            assert_eq!(KeyHash::of(secret, &text), KeyHash(u64::from_le_bytes(hash)), "{n} bytes");
        }
    }

    #[test]
    fn no_key_has_the_tag_of_a_free_slot() {
        assert_eq!(KeyHash::from_hash(0), KeyHash(1));
        assert_eq!(KeyHash::from_hash(1), KeyHash(1));
        assert_eq!(KeyHash::from_hash(u64::MAX), KeyHash(u64::MAX));
    }

    #[test]
    fn the_other_bucket_of_the_other_is_the_first() {
        let secret = Secret::known([3, 5]);
        for buckets in [1, 2, 3, 7, 208, 8112] {
            for seed in 0..2000_u64 {
                let hash = KeyHash::of(secret, &seed.to_le_bytes());
                let first = hash.first_bucket(buckets);
                let second = other_bucket(secret, hash.0, first, buckets);
                assert!(first < buckets && second < buckets);
                assert_eq!(other_bucket(secret, hash.0, second, buckets), first);
            }
        }
    }

    #[test]
    fn any_tag_and_any_index_stay_in_bounds() {
        for tag in [0, 1, u64::MAX, 1 << 63] {
            for index in 0..9 {
                assert!(other_bucket(Secret::known([7, 7]), tag, index, 9) < 9);
            }
        }
    }
}
