//! What becomes of a key for which there is no room.

/// What happens to a new key where the table has no room for its state without losing another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Full {
    /// It takes the place of the key with the least to lose.
    #[default]
    Evict,
    /// Its request is refused.
    Reject,
    /// Its request passes, and nothing is kept of it.
    Pass,
}
