//! Keys that some limit may still hold something against. They have a second, denser number,
//! which is what limits and windows index by, so that memory grows with live keys only.

/// How many numbers are looked at after each request: all of them within half as many requests as
/// there are live keys.
pub(super) const SWEPT_A_REQUEST: usize = 2;

/// Stands for no number.
const NONE: u32 = u32::MAX;

/// Numbers of live keys.
pub(super) struct Live {
    /// A key is not asked about before it has been quiet for so long: asking every limit costs
    /// more than a request.
    quiet_ms: u64,
    /// By key.
    of_key: Vec<u32>,
    /// By live number.
    slots: Vec<Slot>,
    free: Vec<u32>,
    cursor: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    key: u32,
    requests: u32,
    /// Requests that have been read but not yet put in order.
    expected: u32,
    last_ms: u64,
}

impl Live {
    /// Numbers that are kept for at least `quiet_ms` after the last request of their key.
    pub(super) fn new(quiet_ms: u64) -> Self {
        Self { quiet_ms, of_key: Vec::new(), slots: Vec::new(), free: Vec::new(), cursor: 0 }
    }

    /// The number of a key of which a request has been read.
    pub(super) fn expect(&mut self, key: u32) -> u32 {
        let place = key as usize;
        if self.of_key.len() <= place {
            self.of_key.resize(place + 1, NONE);
        }
        let number = match self.of_key.get_mut(place) {
            Some(number) if *number == NONE => {
                *number = self.free.pop().unwrap_or_else(|| {
                    self.slots.push(Slot { key, requests: 0, expected: 0, last_ms: 0 });
                    u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
                });
                *number
            }
            Some(number) => *number,
            None => NONE,
        };
        if let Some(slot) = self.slots.get_mut(number as usize) {
            slot.key = key;
            slot.expected += 1;
        }
        number
    }

    /// Notes that an expected request has come.
    pub(super) fn request(&mut self, number: usize, now_ms: u64) {
        if let Some(slot) = self.slots.get_mut(number) {
            slot.expected = slot.expected.saturating_sub(1);
            slot.requests = slot.requests.saturating_add(1);
            slot.last_ms = now_ms;
        }
    }

    /// Looks at the next number; tells it and its key if it may be at rest.
    pub(super) fn next_at_rest(&mut self, now_ms: u64) -> Option<(usize, u32)> {
        let number = self.cursor;
        self.cursor = if number + 1 < self.slots.len() { number + 1 } else { 0 };
        let slot = self.slots.get(number)?;
        let quiet = slot.last_ms.saturating_add(self.quiet_ms) <= now_ms;
        (slot.key != NONE && slot.expected == 0 && quiet).then_some((number, slot.key))
    }

    /// Frees the number of a key and tells how many requests it had.
    pub(super) fn recycle(&mut self, number: usize, key: u32) -> u64 {
        if let Some(live) = self.of_key.get_mut(key as usize) {
            *live = NONE;
        }
        let Some(slot) = self.slots.get_mut(number) else { return 0 };
        slot.key = NONE;
        self.free.extend(u32::try_from(number));
        std::mem::take(&mut slot.requests).into()
    }

    /// All numbers in use with their keys.
    pub(super) fn all(&self) -> Vec<(usize, u32)> {
        let numbered = self.slots.iter().enumerate().map(|(number, slot)| (number, slot.key));
        numbered.filter(|(_, key)| *key != NONE).collect()
    }

    /// How many numbers there are, free ones included.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.slots.len()
    }
}
