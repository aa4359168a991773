//! What becomes of a zone's records when the configuration is read again.
//!
//! nginx keeps the memory of a zone whose name, size and tag are the same. Old workers go on using
//! it, so it is never laid out anew: what cannot be kept needs another tag, by which nginx maps new
//! memory and frees the old once the new configuration is in force.

use crate::store::Kind;

/// What decides whether the records of a zone keep their meaning. Rate, window and burst do not:
/// states hold times, counts and thousandths of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneShape<'a> {
    /// Size of the zone's memory in bytes.
    pub size: usize,
    /// What its records are.
    pub kind: Kind,
    /// The key expression.
    pub key: &'a [u8],
}

/// What becomes of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// They are kept.
    Keep,
    /// The zone starts anew, since this has changed.
    Anew(Change),
    /// The configuration is refused, as by stock: records under another key would be taken for
    /// those of this one.
    Refuse,
}

/// What has changed of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The algorithm.
    Algorithm,
    /// The number of requests that `sliding_log` keeps for each key.
    RecordSize,
    /// The size of the memory.
    ZoneSize,
}

/// Decides by what a zone was and what it is to be.
pub fn reload(old: &ZoneShape<'_>, new: &ZoneShape<'_>) -> Reload {
    if old.kind.algorithm != new.kind.algorithm {
        Reload::Anew(Change::Algorithm)
    } else if old.kind.words != new.kind.words {
        Reload::Anew(Change::RecordSize)
    } else if old.size != new.size {
        Reload::Anew(Change::ZoneSize)
    } else if old.key != new.key {
        Reload::Refuse
    } else {
        Reload::Keep
    }
}

/// The high byte of all tags of this module. No address has it: it is not canonical.
const TAG_MARK: u64 = 0xd2 << 56;

/// The tag of a zone with such records. nginx only compares tags.
pub fn tag(kind: Kind) -> u64 {
    TAG_MARK | (kind.algorithm & 0xff) << 48 | (kind.words as u64 & 0xffff_ffff)
}

/// Whether a tag is one that [`tag`] has made.
pub fn is_tag(tag: u64) -> bool {
    tag & 0xff << 56 == TAG_MARK
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: ZoneShape<'_> =
        ZoneShape { size: 1 << 20, kind: Kind { algorithm: 7, words: 5 }, key: b"$arg_k" };

    #[test]
    fn every_case() {
        let with_algorithm = |algorithm| ZoneShape { kind: Kind { algorithm, words: 5 }, ..OLD };
        let with_words = |words| ZoneShape { kind: Kind { algorithm: 7, words }, ..OLD };
        let other_key = |shape| ZoneShape { key: b"$uri", ..shape };
        let larger = |shape| ZoneShape { size: 2 << 20, ..shape };
        for (new, expected) in [
            (OLD, Reload::Keep),
            (with_algorithm(6), Reload::Anew(Change::Algorithm)),
            (with_words(6), Reload::Anew(Change::RecordSize)),
            (larger(OLD), Reload::Anew(Change::ZoneSize)),
            (other_key(OLD), Reload::Refuse),
            // Nothing is left that could be taken for something else.
            (other_key(with_algorithm(6)), Reload::Anew(Change::Algorithm)),
            (other_key(with_words(6)), Reload::Anew(Change::RecordSize)),
            (other_key(larger(OLD)), Reload::Anew(Change::ZoneSize)),
            (larger(with_algorithm(6)), Reload::Anew(Change::Algorithm)),
        ] {
            assert_eq!(reload(&OLD, &new), expected, "{new:?}");
        }
    }

    #[test]
    fn tags_differ_exactly_where_records_do() {
        let kinds: Vec<_> = (1..8)
            .flat_map(|algorithm| [1, 2, 100, 1 << 21].map(|words| Kind { algorithm, words }))
            .collect();
        for a in &kinds {
            assert!(is_tag(tag(*a)));
            for b in &kinds {
                assert_eq!(tag(*a) == tag(*b), a == b, "{a:?} {b:?}");
            }
        }
        for address in [0, 0x7fff_ffff_ffff, u64::MAX] {
            assert!(!is_tag(address), "{address:x}");
        }
    }
}
