//! Forked processes, and owners of locks.
#![allow(unsafe_code)]

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ngx_http_rl::store::Owner;

/// A child that runs a function of the test. Killed and reaped on drop.
///
/// The child is a copy of one thread of a process with several: it must not print, nor wait for
/// anything but what lies in shared memory. (Allocating is fine: glibc's fork keeps the heap whole.)
pub struct Forked {
    pub pid: libc::pid_t,
    reaped: bool,
}

impl Forked {
    /// Starts a child. It ends when `body` returns, with the status 0, or 1 if that panics.
    pub fn run(body: impl FnOnce()) -> Self {
        // SAFETY: the child runs `body` only, which keeps to the rules above, and leaves through
        // `_exit`, so that nothing of the parent's is flushed or dropped twice.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork");
        if pid == 0 {
            // SAFETY: no memory is involved. A child never outlives the test.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let status = i32::from(catch_unwind(AssertUnwindSafe(body)).is_err());
            // SAFETY: ends this process and returns to nobody.
            unsafe { libc::_exit(status) };
        }
        Self { pid, reaped: false }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: i32) {
        assert!(!self.reaped, "the pid may be another process's by now");
        // SAFETY: a signal to our own child, which has not been reaped.
        assert_eq!(unsafe { libc::kill(self.pid, signal) }, 0);
    }

    /// Waits until the child is stopped.
    pub fn wait_stopped(&self) {
        let mut status = 0;
        // SAFETY: `status` is valid for a write.
        let pid = unsafe { libc::waitpid(self.pid, &raw mut status, libc::WUNTRACED) };
        assert_eq!(pid, self.pid);
        assert!(libc::WIFSTOPPED(status), "not stopped: {status:#x}");
    }

    /// Waits for the end of the child; whether it returned from its body.
    pub fn wait(&mut self) -> bool {
        let mut status = 0;
        // SAFETY: `status` is valid for a write.
        let pid = unsafe { libc::waitpid(self.pid, &raw mut status, 0) };
        assert_eq!(pid, self.pid);
        self.reaped = true;
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }

    /// Ends the child at once. It stays a zombie until it is waited for.
    pub fn kill(&self) {
        self.signal(libc::SIGKILL);
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            self.wait();
        }
    }
}

/// Makes the calling process, a forked one, another user's, which may signal nobody of ours. `false`
/// where it is not root's: there is no other user to become.
pub fn become_nobody() -> bool {
    const NOBODY: libc::uid_t = 65_534;
    // SAFETY: no memory is involved.
    unsafe { libc::setuid(NOBODY) == 0 }
}

/// A process that does nothing but lend its name to a thread.
///
/// The word of a lock names a process. Threads that share a table need words that differ from one
/// another, or each would take the other's lock for its own stale one, and that stand for somebody
/// alive, or they would take each other over. A made-up pid or start time is dead; so each thread
/// goes by the pid of a real process that does nothing.
pub struct Namesake(Child);

impl Namesake {
    pub fn new() -> Self {
        // Ends by itself with its input, should the test be killed.
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("cat is everywhere"))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// The word of that process. The start time is left out: alive as long as the pid is.
    pub fn owner(&self) -> Owner {
        Owner::of(self.pid(), 0)
    }
}

impl Drop for Namesake {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("our own child");
    }
}

/// Waits until something has happened, at most ten seconds.
pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let since = Instant::now();
    while !happened() {
        assert!(since.elapsed() < Duration::from_secs(10), "never: {what}");
        sleep(Duration::from_micros(100));
    }
}

/// Tests that measure a wait or keep both processors busy run one after the other.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
