//! Who owns a lock, and whether that process still lives.
//!
//! An owner's word holds its pid and part of its start time, so that a process which has got a
//! dead one's pid is told from it.
#![allow(unsafe_code)]

use std::fs;

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
        Self(start << PID_BITS | pid)
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
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses `pid (name) state ppid ...`. The name may hold blanks and parentheses.
    fn parse(stat: &str) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split(' ');
        let state = fields.next()?;
        // The state is field 3, so 18 lie between it and field 22.
        let start = fields.nth(18)?.parse().ok()?;
        Some(Self { start, is_ended: matches!(state, "Z" | "X" | "x") })
    }
}

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
        assert!(is_dead(Owner::of(0, 0).0), "kill(0) would ask about the caller's group");
    }

    #[test]
    fn stat_is_read_behind_any_name() {
        let stat =
            Stat::parse("7 (a) b (c) Z 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 10 20\n")
                .unwrap();
        assert!(stat.is_ended);
        assert_eq!(stat.start, 4711);
        assert!(Stat::parse("7 (a").is_none());
    }
}
