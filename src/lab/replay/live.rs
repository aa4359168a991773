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
    of_key: Vec<KeyState>,
    /// By live number.
    slots: Vec<Slot>,
    free: Vec<u32>,
    cursor: usize,
}

#[derive(Clone, Copy)]
struct KeyState {
    live: u32,
    /// Requests that have been read but not yet put in order.
    expected: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    key: u32,
    requests: u32,
    last_ms: u64,
}

impl Live {
    /// Numbers that are kept for at least `quiet_ms` after the last request of their key.
    pub(super) fn new(quiet_ms: u64) -> Self {
        Self { quiet_ms, of_key: Vec::new(), slots: Vec::new(), free: Vec::new(), cursor: 0 }
    }

    /// Notes that a request of the key has been read and will come.
    pub(super) fn expect(&mut self, key: u32) {
        let place = key as usize;
        if self.of_key.len() <= place {
            self.of_key.resize(place + 1, KeyState { live: NONE, expected: 0 });
        }
        if let Some(state) = self.of_key.get_mut(place) {
            state.expected += 1;
        }
    }

    /// The number of a key whose request has come.
    pub(super) fn number(&mut self, key: u32, now_ms: u64) -> usize {
        let Some(state) = self.of_key.get_mut(key as usize) else { return 0 };
        state.expected = state.expected.saturating_sub(1);
        if state.live == NONE {
            state.live = self.free.pop().unwrap_or_else(|| {
                self.slots.push(Slot { key, requests: 0, last_ms: now_ms });
                u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
            });
        }
        let number = state.live as usize;
        if let Some(slot) = self.slots.get_mut(number) {
            *slot = Slot { key, requests: slot.requests.saturating_add(1), last_ms: now_ms };
        }
        number
    }

    /// Looks at the next number; tells it and its key if it may be at rest.
    pub(super) fn next_at_rest(&mut self, now_ms: u64) -> Option<(usize, u32)> {
        let number = self.cursor;
        self.cursor = if number + 1 < self.slots.len() { number + 1 } else { 0 };
        let slot = self.slots.get(number)?;
        if slot.key == NONE || slot.last_ms.saturating_add(self.quiet_ms) > now_ms {
            return None;
        }
        let expected = self.of_key.get(slot.key as usize)?.expected;
        (expected == 0).then_some((number, slot.key))
    }

    /// Frees the number of a key and tells how many requests it had.
    pub(super) fn recycle(&mut self, number: usize, key: u32) -> u64 {
        if let Some(state) = self.of_key.get_mut(key as usize) {
            state.live = NONE;
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
