//! Numbers that the documentation states, or that follow from it at once.

use fastrand::Rng;
use ngx_http_rl::config::AlgorithmName;
use ngx_http_rl::limit::{Algorithm, Now, Rule, State, Verdict};

use super::{at_ns, gcra, rule, support};

const TOKENS: [AlgorithmName; 2] = [AlgorithmName::Gcra, AlgorithmName::TokenBucket];

const HOUR_MS: u64 = 3_600_000;

/// How long each request is held; `None` if it is refused.
fn waits<A: Algorithm>(rule: &A, times: impl IntoIterator<Item = Now>) -> Vec<Option<u64>> {
    let mut state = None;
    let mut take = |now| match rule.judge(state.as_ref().map(A::State::view).as_ref(), now, 1) {
        Verdict::Accept(admission) => {
            A::State::store(&mut state, admission.next);
            Some(admission.wait_ms)
        }
        Verdict::Reject(_) => None,
    };
    times.into_iter().map(&mut take).collect()
}

/// Which of these instants, in nanoseconds, are admitted.
fn admitted<A: Algorithm>(rule: &A, times_ns: &[u64]) -> Vec<bool> {
    waits(rule, times_ns.iter().copied().map(at_ns)).iter().map(Option::is_some).collect()
}

#[test]
fn a_hundred_thousand_a_second_is_one_every_ten_microseconds() {
    for algorithm in TOKENS {
        let rule = gcra(algorithm, "100000r/s", 5);
        let mut times_ns = vec![777; 7];
        let mut expected = vec![true; 6];
        expected.push(false);
        for n in 1..50_000 {
            times_ns.extend([777 + n * 10_000 - 1, 777 + n * 10_000, 777 + n * 10_000]);
            expected.extend([false, true, false]);
        }
        assert!(admitted(&rule, &times_ns) == expected, "{algorithm}");
    }
}

#[test]
fn the_fastest_and_the_slowest_are_exact() {
    const WEEK_NS: u64 = 7 * 86_400 * 1_000_000_000;
    for (rate, interval_ns) in [("1000000r/s", 1000), ("1r/w", WEEK_NS)] {
        for algorithm in TOKENS {
            let rule = gcra(algorithm, rate, 0);
            for n in 0..1000 {
                let start = 5 + n;
                let times_ns =
                    [0, interval_ns - 1, interval_ns, 2 * interval_ns - 1, 2 * interval_ns]
                        .map(|ns| start + ns);
                let expected = [true, false, true, false, true];
                assert_eq!(admitted(&rule, &times_ns), expected, "{algorithm} {rate}");
            }
        }
    }
}

/// A client that asks a thousand times a second is not punished for asking.
#[test]
fn a_poll_every_millisecond_passes_once_an_hour() {
    const HOURS: u64 = 3;
    for algorithm in TOKENS {
        let rule = gcra(algorithm, "1r/h", 0);
        let polls = waits(&rule, (0..=HOURS * HOUR_MS).map(Now::at_ms));
        let passed: Vec<_> = (0..).zip(&polls).filter(|(_, wait)| wait.is_some()).collect();
        let expected = (0..=HOURS).map(|hour| (hour * HOUR_MS, &Some(0)));
        assert!(passed.iter().copied().eq(expected), "{algorithm}: {passed:?}");
    }
}

/// Half an hour into an aligned window, so that the edges of windows are not those of the polls.
#[test]
fn no_algorithm_starves_a_poll() {
    const POLLS_MS: std::ops::Range<u64> = HOUR_MS / 2..5 * HOUR_MS / 2;
    macro_rules! passed {
        ($rule:expr) => {
            waits($rule, POLLS_MS.map(Now::at_ms)).iter().flatten().count()
        };
    }
    for algorithm in [
        AlgorithmName::LeakyQueue,
        AlgorithmName::FixedWindow,
        AlgorithmName::AnchoredWindow,
        AlgorithmName::SlidingWindow,
        AlgorithmName::SlidingLog,
    ] {
        let (passed, expected) = match rule(algorithm, "1r/h", 0) {
            // Its one place is partly free a millisecond after the first.
            Rule::LeakyQueue(rule) => (passed!(&rule), 3),
            // Half a window, a whole one and half of another.
            Rule::FixedWindow(rule) => (passed!(&rule), 3),
            Rule::SlidingWindow(rule) => (passed!(&rule), 3),
            Rule::AnchoredWindow(rule) => (passed!(&rule), 2),
            Rule::SlidingLog(rule) => (passed!(&rule), 2),
            _ => panic!("another rule"),
        };
        assert_eq!(passed, expected, "{algorithm}");
    }
}

/// Where an interval is no whole number of nanoseconds: 8.57 s, 333.3 ms, 1.43 ms.
#[test]
fn the_long_run_is_exact_to_a_hundredth_of_a_percent() {
    const BURST: u64 = 5;
    const PERIODS: u64 = 100_000;
    let mut rng = Rng::with_seed(support::seed("the_long_run"));
    for (rate, requests, period_ns) in [
        ("7r/m", 7, 60_000_000_000),
        ("3r/s", 3, 1_000_000_000),
        ("700r/s", 700, 1_000_000_000_u64),
    ] {
        // Some hundred thousand requests each, at four times the rate.
        let span_ns = period_ns * (PERIODS / requests);
        let mut now_ns = 0;
        let mut times_ns = Vec::new();
        while now_ns < span_ns {
            times_ns.push(now_ns);
            now_ns += rng.u64(..period_ns / requests / 2);
        }
        let due = PERIODS / requests * requests;
        for algorithm in
            [AlgorithmName::Gcra, AlgorithmName::TokenBucket, AlgorithmName::LeakyQueue]
        {
            let passed = match rule(algorithm, rate, BURST) {
                Rule::Gcra(rule) => admitted(&rule, &times_ns),
                Rule::LeakyQueue(rule) => admitted(&rule, &times_ns),
                _ => panic!("another rule"),
            };
            let passed = passed.iter().filter(|passed| **passed).count() as u64;
            // The first burst is on top; the last request may not have come yet.
            let off = (passed - BURST).abs_diff(due);
            println!("{algorithm} {rate}: {passed} passed, {due} due after the first {BURST}");
            assert!(off * 10_000 <= due, "{algorithm} {rate}: {passed} passed, {due} due");
        }
    }
}

#[test]
fn a_queue_releases_evenly_and_is_full_at_its_last_place() {
    let Rule::LeakyQueue(queue) = rule(AlgorithmName::LeakyQueue, "10r/s", 4) else {
        panic!("another rule");
    };
    let times_ms = [vec![1000; 6], vec![1001, 1001, 1099, 1100, 1101]].concat();
    let waits_of = |times_ms: &[u64]| waits(&queue, times_ms.iter().copied().map(Now::at_ms));
    let mut expected: Vec<_> = [0, 100, 200, 300, 400].map(Some).into();
    // A place is free as soon as the one in front begins to leave.
    expected.extend([None, Some(499), None, None, None, Some(499)]);
    assert_eq!(waits_of(&times_ms), expected);

    let mut rng = Rng::with_seed(support::seed("a_queue_releases_evenly"));
    let mut times_ms = vec![5000];
    times_ms.extend((0..100_000).scan(5000, |ms, _| {
        *ms += rng.u64(..100);
        Some(*ms)
    }));
    let waits = waits_of(&times_ms);
    let releases = times_ms.iter().zip(&waits).filter_map(|(ms, wait)| Some(ms + (*wait)?));
    let releases: Vec<_> = releases.collect();
    assert!(releases.windows(2).all(|two| two[1] - two[0] == 100), "never idle under overload");
    assert!(waits.iter().flatten().all(|wait| *wait < 500), "five places");
    println!("{} of {} admitted", releases.len(), times_ms.len());
}
