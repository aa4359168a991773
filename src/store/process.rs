//! Who owns a lock, and whether that process still lives.
//!
//! An owner's word holds its pid and part of its start time, so that a process which has got a
//! dead one's pid is told from it.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{Read, Write};
use std::str;

/// Linux gives pids up to 2^22.
const PID_BITS: u32 = 22;

/// The word of a process that takes locks. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(pub(super) u64);

impl Owner {
    /// The calling process. To be asked again after a fork.
    pub fn of_this_process() -> Self {
        let pid = std::process::id();
        Self::of(pid, Stat::read(pid).map_or(0, |stat| stat.start))
    }

    /// A process by its pid and the start time in its `stat`, 0 where that is not known.
    pub fn of(pid: u32, start: u64) -> Self {
        let pid = u64::from(pid) & ((1 << PID_BITS) - 1);
        // No process has the pid 0; its word would be that of a free lock.
        Self((start << PID_BITS | pid).max(1))
    }
}

/// Whether the process behind an owner's word is certainly gone, or will run no more.
///
/// What cannot be found out counts as alive: no right to see the process, no procfs.
pub(super) fn is_dead(owner: u64) -> bool {
    let pid = (owner & ((1 << PID_BITS) - 1)) as u32;
    if !exists(pid) {
        return true;
    }
    let start = owner >> PID_BITS;
    Stat::read(pid).is_some_and(|stat| {
        let same = start == 0 || stat.start << PID_BITS >> PID_BITS == start;
        !same || stat.is_ended
    })
}

/// Whether there is a process of that number.
fn exists(pid: u32) -> bool {
    let Ok(pid @ 1..) = libc::pid_t::try_from(pid) else {
        return false;
    };
    // SAFETY: signal 0 is not sent; the call only says whether it could be.
    let sent = unsafe { libc::kill(pid, 0) } == 0;
    sent || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// What is read of a process's `stat` (proc(5)).
struct Stat {
    /// Field 22, in clock ticks since boot.
    start: u64,
    /// A zombie, or dead: nothing of it runs any more.
    is_ended: bool,
}

impl Stat {
    /// Allocates nothing: a waiter may hold another lock meanwhile.
    fn read(pid: u32) -> Option<Self> {
        let mut path = [0; PATH_BYTES];
        let mut rest = path.as_mut_slice();
        write!(rest, "/proc/{pid}/stat").ok()?;
        let unused = rest.len();
        let path = str::from_utf8(path.get(..PATH_BYTES - unused)?).ok()?;
        let mut stat = [0; STAT_BYTES];
        let bytes = File::open(path).ok()?.read(&mut stat).ok()?;
        Self::parse(stat.get(..bytes)?)
    }

    /// Parses `pid (name) state ppid ...`. The name may hold anything but a zero, also blanks,
    /// parentheses and half a character.
    fn parse(stat: &[u8]) -> Option<Self> {
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let fields = str::from_utf8(stat.get(name_end + 1..)?).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        // The state is field 3, so 18 lie between it and field 22.
        let start = fields.nth(18)?.parse().ok()?;
        Some(Self { start, is_ended: matches!(state, "Z" | "X" | "x") })
    }
}

/// Enough for the path of any 32-bit pid.
const PATH_BYTES: usize = 32;

/// More than the longest line up to field 22: 20 numbers of at most 20 digits, and a name of 64
/// bytes. The kernel gives the line in one read.
const STAT_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_another_start_time_does_not() {
        let Owner(me) = Owner::of_this_process();
        assert!(!is_dead(me));
        let earlier = (me >> PID_BITS) - 1;
        assert!(is_dead(Owner::of(std::process::id(), earlier).0), "the pid has been reused");
        assert!(!is_dead(Owner::of(std::process::id(), 0).0), "no start time: alive");
    }

    #[test]
    fn no_word_names_the_whole_process_group() {
        assert!(is_dead(1 << PID_BITS), "kill(0) would ask about the caller's group");
        assert_eq!(Owner::of(0, 0), Owner(1), "never the word of a free lock");
    }

    #[test]
    fn the_largest_pid_and_a_start_of_42_bits_are_kept_apart() {
        let Owner(word) = Owner::of((1 << PID_BITS) - 1, (1 << 42) - 1);
        assert_eq!(word, u64::MAX);
        let Owner(word) = Owner::of(4_194_303, 1);
        assert_eq!((word & ((1 << PID_BITS) - 1), word >> PID_BITS), (4_194_303, 1));
    }

    #[test]
    fn a_zombie_is_dead_before_it_is_reaped() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let Owner(owner) = Owner::of(child.id(), 0);
        // Ends at once; the bound is for a busy machine.
        let ended = (0..10_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            is_dead(owner)
        });
        assert!(ended, "a zombie counts as alive");
        assert!(exists(child.id()), "not reaped yet, or the test shows nothing");
        child.wait().unwrap();
        assert!(is_dead(owner));
    }

    #[test]
    fn stat_is_read_behind_any_name() {
        let rest = b"1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 10 20\n";
        for (name, state, ended) in [
            (b"nginx".as_slice(), "S", false),
            (b"a) b (c) R 1", "Z", true),
            (b"cut in a character \xc3", "T", false),
        ] {
            let line = [b"7 (", name, b") ", state.as_bytes(), b" ", rest].concat();
            let stat = Stat::parse(&line).unwrap();
            assert_eq!((stat.start, stat.is_ended), (4711, ended));
        }
        for cut in [b"".as_slice(), b"7 (a", b"7 (a)", b"7 (a) S 1 2"] {
            assert!(Stat::parse(cut).is_none());
        }
    }
}
