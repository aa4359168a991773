//! Processes that end or stop inside the lock of a bucket, one at a time. `table_kills` does it at
//! random.
//!
//! The bounds are generous, for a busy machine; the measured times are printed.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod support;

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ngx_http_rl::limit::{Algorithm, Leaky, LeakyState, Now, Verdict};
use ngx_http_rl::store::{Counter, KeyHash, Owner, Table, Untracked, Worth};
use support::keys::{key, keys_in, record, take, RULE};
use support::memory::Memory;
use support::process::{alone, become_nobody, wait_until, Forked, Namesake};

/// How long another process may be held up by one that has ended. The design wants 100 ms.
const SOON: Duration = Duration::from_secs(1);

/// A table of two buckets or more, and words for signs between the processes.
struct Scene {
    memory: Memory,
    signs: Memory,
    table: Table<LeakyState>,
    /// A key of bucket 0 alone, and one of bucket 1 alone.
    keys: [KeyHash; 2],
}

impl Scene {
    fn new() -> Self {
        Self::with_buckets(2)
    }

    fn with_buckets(buckets: usize) -> Self {
        let memory = Memory::for_buckets(buckets);
        let table = memory.create(1);
        let keys = [0, 1].map(|bucket| keys_in(&table, (bucket, bucket), 1)[0]);
        Self { memory, signs: Memory::zeroed(64), table, keys }
    }

    /// Set by the child once it is inside a lock.
    fn inside(&self) -> &AtomicU64 {
        &self.signs.words()[0]
    }

    /// Set by the parent to let the child out.
    fn let_out(&self) -> &AtomicU64 {
        &self.signs.words()[1]
    }

    /// Forks a child that stays inside the lock of a key until it is let out, charges it, and ends.
    fn child_inside(&self, key: KeyHash) -> Forked {
        let child = Forked::run(|| {
            self.table.adopt(Owner::of_this_process(), 1);
            charge_slowly(&self.table, key, || {
                self.inside().store(1, SeqCst);
                while self.let_out().load(SeqCst) == 0 {
                    sleep(Duration::from_micros(100));
                }
            })
            .expect("the lock was free");
        });
        wait_until("the child is inside", || self.inside().load(SeqCst) == 1);
        child
    }

    fn untracked(&self) -> u64 {
        self.table.counters().of(Counter::Untracked)
    }
}

/// Charges one request, with something in between, under the lock.
fn charge_slowly(
    table: &Table<LeakyState>,
    key: KeyHash,
    between: impl FnOnce(),
) -> Result<bool, Untracked> {
    table.update(key, &Worth::<Leaky>::new(&RULE, Now::at_ms(0)), |state| {
        between();
        match RULE.judge(state, Now::at_ms(0), 1) {
            Verdict::Accept(admission) => (Some(admission.next), true),
            Verdict::Reject(_) => (None, false),
        }
    })
}

/// A decision and how long it took.
fn timed(table: &Table<LeakyState>, key: KeyHash) -> (Result<bool, Untracked>, Duration) {
    let since = Instant::now();
    (take(table, key, 0), since.elapsed())
}

#[test]
fn the_lock_of_a_killed_process_is_taken_over() {
    let _alone = alone();
    let mut longest = Duration::ZERO;
    for round in 0..20 * support::scale() {
        let scene = Scene::new();
        // Half of them with a record, that is in a hit, the others in a miss.
        if round % 2 == 0 {
            take(&scene.table, scene.keys[0], 0).unwrap();
        }
        let before = record(&scene.table, scene.keys[0]);
        let mut child = scene.child_inside(scene.keys[0]);
        assert_ne!(scene.memory.held(), 0);
        child.kill();
        child.wait();
        let (passed, took) = timed(&scene.table, scene.keys[0]);
        longest = longest.max(took);
        assert_eq!(passed, Ok(true));
        // The child did not get to charge anything.
        let excess = record(&scene.table, scene.keys[0]).unwrap().excess;
        assert_eq!(excess, before.map_or(0, |state| state.excess + 1000));
        assert_eq!((scene.memory.held(), scene.untracked()), (0, 0));
    }
    println!("a lock of the dead costs {longest:?} at most");
    assert!(longest < SOON);
}

/// Between its end and the master's `wait`, a killed worker still has its pid.
#[test]
fn a_zombie_is_taken_over() {
    let _alone = alone();
    let scene = Scene::new();
    let child = scene.child_inside(scene.keys[0]);
    child.kill();
    let (passed, took) = timed(&scene.table, scene.keys[0]);
    println!("a lock of a zombie costs {took:?}");
    assert_eq!(passed, Ok(true));
    assert!(took < SOON);
    assert_eq!(scene.untracked(), 0);
    child.signal(0); // not reaped: else the test shows nothing
}

#[test]
fn both_locks_of_a_miss_are_taken_over() {
    let _alone = alone();
    let scene = Scene::new();
    let both = keys_in(&scene.table, (0, 1), 1)[0];
    let mut child = scene.child_inside(both);
    assert_eq!(scene.memory.held(), 2, "a miss holds both");
    child.kill();
    child.wait();
    let (passed, took) = timed(&scene.table, both);
    assert_eq!(passed, Ok(true));
    assert!(took < SOON);
    assert_eq!((scene.memory.held(), scene.memory.tags().len()), (0, 1));
}

#[test]
fn a_stopped_process_costs_one_wait_and_loses_nothing() {
    let _alone = alone();
    let scene = Scene::new();
    let [key, elsewhere] = scene.keys;
    take(&scene.table, key, 0).unwrap();
    let mut child = scene.child_inside(key);
    child.signal(libc::SIGSTOP);
    child.wait_stopped();

    let (passed, first) = timed(&scene.table, key);
    assert_eq!(passed, Err(Untracked::Unreachable));
    assert!(first >= Duration::from_millis(50), "given up after {first:?}");
    assert!(first < SOON, "given up after {first:?}");
    let mut later: Vec<Duration> = (0..100)
        .map(|_| {
            let (passed, took) = timed(&scene.table, key);
            assert_eq!(passed, Err(Untracked::Unreachable));
            took
        })
        .collect();
    later.sort();
    println!("a stopped owner: {first:?}, then {:?}", later[50]);
    assert!(later[50] < Duration::from_millis(5), "waited again: {:?}", later[50]);
    assert_eq!(scene.untracked(), 101);
    let (passed, took) = timed(&scene.table, elsewhere);
    assert_eq!(passed, Ok(true));
    assert!(took < Duration::from_millis(40), "another bucket waits: {took:?}");

    scene.let_out().store(1, SeqCst);
    child.signal(libc::SIGCONT);
    assert!(child.wait(), "the child failed");
    // One by us, one by the child, one now; none of those that passed untracked.
    assert_eq!(take(&scene.table, key, 0), Ok(true));
    assert_eq!(record(&scene.table, key).map(|state| state.excess), Some(2000));
    assert_eq!((scene.memory.held(), scene.memory.duplicates()), (0, 0));
    assert_eq!(scene.untracked(), 101);
}

/// A decision that has to do without both of its buckets waits no longer than for one.
#[test]
fn the_wait_is_bounded_per_decision() {
    let _alone = alone();
    let scene = Scene::new();
    let both = keys_in(&scene.table, (0, 1), 2);
    let child = scene.child_inside(both[0]);
    assert_eq!(scene.memory.held(), 2);
    child.signal(libc::SIGSTOP);
    child.wait_stopped();
    let (passed, took) = timed(&scene.table, both[1]);
    println!("a stopped owner of both buckets: {took:?}");
    assert_eq!(passed, Err(Untracked::Unreachable));
    assert!(took >= Duration::from_millis(50) && took < Duration::from_millis(500), "{took:?}");
}

/// Stopped first, killed later: whoever has given up on it must still find out.
#[test]
fn a_process_that_was_stopped_and_then_killed_is_taken_over() {
    let _alone = alone();
    let scene = Scene::new();
    let mut child = scene.child_inside(scene.keys[0]);
    child.signal(libc::SIGSTOP);
    child.wait_stopped();
    assert_eq!(take(&scene.table, scene.keys[0], 0), Err(Untracked::Unreachable));
    child.kill();
    child.wait();
    let since = Instant::now();
    while take(&scene.table, scene.keys[0], 0).is_err() {
        assert!(since.elapsed() < SOON, "untracked for ever");
    }
    println!("stopped, then killed: tracked again after {:?}", since.elapsed());
    assert_eq!(scene.memory.held(), 0);
}

/// The owner's pid is somebody else's by now.
#[test]
fn a_reused_pid_is_taken_over() {
    let _alone = alone();
    let scene = Scene::new();
    let [key, _] = scene.keys;
    let other = scene.memory.attach();
    let living = Namesake::new();
    // No process starts at the tick after the boot.
    scene.table.adopt(Owner::of(living.pid(), 1), 0);
    let mut answer = (Ok(false), Duration::ZERO);
    // The other view asks while this one is inside.
    charge_slowly(&scene.table, key, || answer = timed(&other, key)).unwrap();
    assert_eq!(answer.0, Ok(true));
    assert!(answer.1 < SOON);
}

/// Workers may run under another user than who holds the lock, as while a binary is upgraded: what
/// they may not signal lives until it is gone.
#[test]
fn a_process_of_another_user_is_alive_until_it_ends() {
    let _alone = alone();
    let scene = Scene::new();
    let [key, elsewhere] = scene.keys;
    // Asks from a process of another user, and leaves the answer in a word.
    let ask = |key: KeyHash| {
        let answer = &scene.signs.words()[2];
        let mut other = Forked::run(|| {
            become_nobody();
            scene.table.adopt(Owner::of_this_process(), 1);
            answer.store(1 + u64::from(take(&scene.table, key, 0).is_ok()), SeqCst);
        });
        assert!(other.wait());
        answer.swap(0, SeqCst) == 2
    };
    let mut owner = scene.child_inside(key);
    assert!(!ask(key), "taken from somebody alive");
    assert!(ask(elsewhere));
    assert_eq!(scene.memory.held(), 1, "the owner has it still");
    owner.kill();
    owner.wait();
    assert!(ask(key), "not taken over from the dead");
    // The first of all processes is not ours, whoever runs this test.
    scene.memory.lock(1).store(1, SeqCst);
    assert!(!ask(elsewhere), "taken from init");
    scene.memory.lock(1).store(0, SeqCst);
    assert_eq!((scene.memory.held(), scene.untracked()), (0, 2));
}

/// Stopped where a new record is about to be written, with both locks held, while others insert and
/// move around it, and then continued: no record is there twice, and none is lost.
#[test]
fn a_process_stopped_before_it_inserts_writes_nothing_twice() {
    let _alone = alone();
    let scene = Scene::with_buckets(12);
    let (first, second) = (3, 7);
    let new = keys_in(&scene.table, (first, second), 1)[0];
    let mut child = scene.child_inside(new);
    child.signal(libc::SIGSTOP);
    child.wait_stopped();

    let fits = (scene.table.slots() * 3 / 4) as u64;
    let (mut tracked, mut not) = (Vec::new(), 0);
    for key in (1000..1000 + fits).map(|number| key(&scene.table, number)) {
        match take(&scene.table, key, 0) {
            Ok(passed) => {
                assert!(passed);
                tracked.push(key);
            }
            Err(why) => {
                assert_eq!(why, Untracked::Unreachable);
                not += 1;
            }
        }
    }
    assert_eq!(take(&scene.table, new, 0), Err(Untracked::Unreachable));
    assert!(not > 0 && tracked.len() > 20, "{not} untracked, {} tracked", tracked.len());

    scene.let_out().store(1, SeqCst);
    child.signal(libc::SIGCONT);
    assert!(child.wait(), "the child failed");
    assert_eq!((scene.memory.held(), scene.memory.duplicates()), (0, 0));
    tracked.push(new);
    assert_eq!(scene.memory.tags().len(), tracked.len());
    assert!(tracked.iter().all(|key| record(&scene.table, *key).is_some()), "a record is lost");
}

/// The same pid without a start time may be the owner: not taken over.
#[test]
fn a_pid_without_a_start_time_counts_as_alive() {
    let _alone = alone();
    let scene = Scene::new();
    let [key, _] = scene.keys;
    let other = scene.memory.attach();
    let living = Namesake::new();
    scene.table.adopt(living.owner(), 0);
    let mut answer = Ok(false);
    charge_slowly(&scene.table, key, || answer = take(&other, key, 0)).unwrap();
    assert_eq!(answer, Err(Untracked::Unreachable));
    drop(living);
    // The lock has been given back, so that it is tracked again though it was remembered.
    assert_eq!(take(&other, key, 0), Ok(true));
}

/// Unwinding is what the guard of the glue makes of a panic.
#[test]
fn a_panic_inside_gives_the_lock_back() {
    let scene = Scene::new();
    let key = key(&scene.table, 1);
    take(&scene.table, key, 0).unwrap();
    let before = record(&scene.table, key);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        charge_slowly(&scene.table, key, || panic!("for this test"))
    }));
    assert!(panicked.is_err());
    assert_eq!((record(&scene.table, key), scene.memory.held()), (before, 0));
}
