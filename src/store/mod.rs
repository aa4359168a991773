//! The shared-memory table: what is kept for each key, found by several workers at once.
//!
//! One piece of a zone's memory holds a header and an array of buckets. A bucket is two cache
//! lines: a lock word, a few tags and as many states. Each key has two candidate buckets, and
//! since the second follows from the first and the tag alone (partial-key cuckoo hashing: Fan,
//! Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter", CoNEXT 2014), a resident can be moved to its
//! other bucket although its key is not stored.
//!
//! | file | concern |
//! |---|---|
//! | `layout` | header and bucket, word by word |
//! | `region` | raw memory as header and buckets (unsafe) |
//! | `hash` | keys to tags and buckets |
//! | `record` | states as words, and what a record is worth |
//! | `lock` | the lock of a bucket: owner in the word, take-over from the dead |
//! | `process` | who owns a lock, and whether that process lives (unsafe) |
//! | `patience` | how long to wait for a lock |
//! | `glimpse` | refusing without the lock |
//! | `table` | look-up, hit and miss |
//! | `room` | where a new key goes: free, recovered, a move, an eviction |
//! | `shortage` | when to say that there was no room |
//! | `counters` | striped event counters |
//! | `hooks` | for tests: stops a process inside a lock, or panics there |

mod counters;
mod glimpse;
mod hash;
#[cfg(feature = "test-hooks")]
pub mod hooks;
mod layout;
pub mod lock;
mod patience;
mod process;
mod record;
mod region;
mod room;
mod shortage;
mod table;

pub use counters::{Counter, Counters};
pub use hash::{KeyHash, Secret};
pub use process::Owner;
pub use record::{capacity, Kind, Record, ScalarRecord, Worth, LEAST_KEYS};
pub use region::Region;
pub use shortage::Shortage;
pub use table::{AttachError, Table, Untracked};
