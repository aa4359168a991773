//! Key texts to dense numbers: one look-up a line, whatever the number of limits.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// Texts by number and numbers by text. Numbers of removed texts are used again.
#[derive(Default)]
pub struct Keys {
    /// Keyed, so that nobody who writes into a log can make its keys collide.
    hasher: RandomState,
    numbers: HashTable<Slot>,
    texts: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

/// A text that is no longer lies in the table itself: an IPv4 address, and most that make a slot
/// of half a cache line.
const INLINE: usize = 19;

/// A number with the hash of its text, which the table needs when it grows.
#[derive(Clone, Copy)]
struct Slot {
    hash: u64,
    number: u32,
    /// Length of the text if it is inline, else 255.
    length: u8,
    inline: [u8; INLINE],
}

impl Slot {
    fn new(hash: u64, number: u32, text: &[u8]) -> Self {
        let mut slot = Self { hash, number, length: u8::MAX, inline: [0; INLINE] };
        if let Some(inline) = slot.inline.get_mut(..text.len()) {
            inline.copy_from_slice(text);
            slot.length = u8::try_from(text.len()).unwrap_or(u8::MAX);
        }
        slot
    }

    /// Whether this is the slot of the text, as far as can be told from the slot alone.
    fn holds(&self, text: &[u8]) -> Option<bool> {
        self.inline.get(..usize::from(self.length)).map(|inline| inline == text)
    }
}

impl Keys {
    /// A hash of a text, of 64 good bits, the same for as long as this lives.
    pub fn hash(&self, text: &[u8]) -> u64 {
        self.hasher.hash_one(text)
    }

    /// The number of a text that has one.
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        self.find_hashed(text, self.hash(text))
    }

    /// The number of a text, a new one if the text is new.
    pub fn number(&mut self, text: &[u8]) -> u32 {
        let hash = self.hash(text);
        if let Some(number) = self.find_hashed(text, hash) {
            return number;
        }
        let number = self.insert(text);
        self.numbers.insert_unique(hash, Slot::new(hash, number, text), |slot| slot.hash);
        number
    }

    /// The text of a number; empty if there is none.
    pub fn text(&self, number: u32) -> &[u8] {
        self.texts.get(number as usize).map_or(&[], |text| text)
    }

    /// How many texts have a number.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// All numbers in use.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.numbers.iter().map(|slot| slot.number)
    }

    /// Forgets a text; its number may be given to another one.
    pub fn remove(&mut self, number: u32) {
        let hash = self.hash(self.text(number));
        if let Ok(entry) = self.numbers.find_entry(hash, |slot| slot.number == number) {
            entry.remove();
            if let Some(text) = self.texts.get_mut(number as usize) {
                *text = Box::default();
            }
            self.free.push(number);
        }
    }

    fn find_hashed(&self, text: &[u8], hash: u64) -> Option<u32> {
        let same = |slot: &Slot| {
            let elsewhere = || self.text(slot.number) == text;
            slot.hash == hash && slot.holds(text).unwrap_or_else(elsewhere)
        };
        self.numbers.find(hash, same).map(|slot| slot.number)
    }

    fn insert(&mut self, text: &[u8]) -> u32 {
        if let Some(number) = self.free.pop() {
            if let Some(old) = self.texts.get_mut(number as usize) {
                *old = text.into();
            }
            return number;
        }
        self.texts.push(text.into());
        // Four thousand million texts would not fit the memory long before this saturates.
        u32::try_from(self.texts.len() - 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_used_again() {
        let mut keys = Keys::default();
        let texts: Vec<String> = (0..1000)
            .map(|n| format!("10.0.0.{n}{}", if n % 2 == 0 { "/a/long/path" } else { "" }))
            .collect();
        for (n, text) in texts.iter().enumerate() {
            assert_eq!(keys.number(text.as_bytes()) as usize, n);
        }
        assert_eq!(keys.number(b"10.0.0.7"), 7);
        keys.remove(7);
        assert_eq!((keys.len(), keys.text(7)), (999, &b""[..]));
        assert_eq!(keys.number(b"new"), 7);
        assert_eq!(keys.text(7), b"new");
        assert_eq!(keys.number(b"10.0.0.7"), 1000);
    }
}
