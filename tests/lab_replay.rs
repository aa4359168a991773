//! The program `rl-lab` as people run it: small logs whose answers can be computed by hand.
//!
//! | file | what |
//! |---|---|
//! | `lab_replay/program` | runs the program, writes logs |
//! | `lab_replay/errors` | what ends a run, and with which code |
#![cfg(feature = "lab")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

#[path = "lab_replay/errors.rs"]
mod errors;
#[path = "lab_replay/program.rs"]
mod program;

use std::io::Write;

use flate2::write::GzEncoder;
use flate2::Compression;
use program::{combined, Folder, Run};
use serde_json::Value;

const MSEC: &str = "$msec $remote_addr";

/// Passed, delayed and refused under the first limit.
fn counts(result: &Value) -> [u64; 3] {
    let limit = &result["limits"][0];
    ["passed", "delayed", "refused"].map(|name| limit[name].as_u64().unwrap())
}

#[test]
fn a_burst_of_combined_lines() {
    // 10 r/s, burst=2, four at once: 0, 100 and 200 ms, the fourth refused. One second on, the
    // key has drained; another key is apart.
    let log = [
        combined("::1", 20, "GET / HTTP/1.1"),
        combined("::1", 20, "GET / HTTP/1.1"),
        combined("::1", 20, "GET / HTTP/1.1"),
        combined("::1", 20, "GET / HTTP/1.1"),
        combined("::2", 20, "GET / HTTP/1.1"),
        combined("::1", 21, "GET / HTTP/1.1"),
    ]
    .concat();
    let result = Run::replay(&["-", "--limit", "leaky rate=10r/s burst=2"]).fed(&log).json();
    assert_eq!(counts(&result), [3, 2, 1]);
    let limit = &result["limits"][0];
    assert_eq!(limit["wait_p50_ms"], 100);
    assert_eq!((&limit["wait_p99_ms"], &limit["wait_max_ms"]), (&200.into(), &200.into()));
    assert_eq!(limit["keys_affected"], 1);
    assert_eq!(limit["peak_admitted"], 3);
    let worst = &limit["worst"][0];
    assert_eq!((&worst["key"], &worst["requests"]), (&"::1".into(), &5.into()));
    assert_eq!((&worst["refused"], &worst["peak_offered"]), (&1.into(), &4.into()));
    assert_eq!(result["keys"], 2);
    assert_eq!(result["input"]["first_ms"], 1_700_000_000_000_u64);
    assert!(result["notes"][0].as_str().unwrap().contains("--spread"), "{result}");
}

#[test]
fn limits_disagree() {
    let log: String = (0..5).map(|n| format!("1700000000.{n}00 a\n")).collect();
    let run = Run::replay(&["-", "--log-format", MSEC])
        .limits(&["leaky rate=10r/s", "leaky rate=1r/s burst=1 nodelay"])
        .fed(&log);
    let result = run.json();
    // The first limit takes one each 100 ms, the second two.
    assert_eq!(counts(&result), [5, 0, 0]);
    assert_eq!(result["limits"][1]["refused"], 3);
    let pairs = result["disagreements"].as_array().unwrap();
    assert_eq!(pairs.len(), 1);
    assert_eq!(pairs[0]["admits"], "leaky rate=10r/s");
    assert_eq!(pairs[0]["refuses"], "leaky rate=1r/s burst=1 nodelay");
    assert_eq!(
        (&pairs[0]["requests"], &pairs[0]["first"]),
        (&3.into(), &"standard input:3".into())
    );
}

#[test]
fn every_algorithm_decides_in_its_own_way() {
    // Twice before a full minute and twice after it.
    let log = ["22:13:50", "22:13:55", "22:14:05", "22:14:10"]
        .map(|time| format!("2023-11-14T{time}+00:00 a\n"))
        .concat();
    let run = Run::replay(&["-", "--log-format", "$time_iso8601 $remote_addr"]).limits(&[
        // An interval of 30 s: the second is 25 s ahead, the others would be 45 s and 40 s.
        "gcra rate=2r/m burst=1",
        "token_bucket rate=2r/m burst=1 nodelay",
        // The same interval, but a place is free while less than 60 s are owed: 45 s are, not 70 s.
        "leaky_queue rate=2r/m burst=1",
        // Two each side of the edge.
        "fixed_window rate=2r/m",
        // From the first request on.
        "anchored_window rate=2r/m",
        // 55/60 of the two before the edge are less than two, 50/60 of them and one are not.
        "swc rate=2r/m",
        "sliding_log rate=2r/m",
    ]);
    let result = run.fed(&log).json();
    let limits = result["limits"].as_array().unwrap();
    let counts = |name: &str| {
        let count = |limit: &Value| limit[name].as_u64().unwrap();
        limits.iter().map(count).collect::<Vec<_>>()
    };
    assert_eq!(counts("refused"), [2, 2, 1, 0, 2, 1, 2]);
    assert_eq!(counts("delayed"), [1, 0, 2, 0, 0, 0, 0]);
    assert_eq!(counts("wait_max_ms"), [25_000, 0, 45_000, 0, 0, 0, 0]);
    assert_eq!(counts("peak_admitted"), [2, 2, 3, 4, 2, 3, 2]);
    let worst = &result["disagreements"][0];
    assert_eq!(
        (&worst["admits"], &worst["requests"]),
        (&"fixed_window rate=2r/m".into(), &2.into())
    );
}

#[test]
fn spread_lines_are_even() {
    let log = combined("a", 20, "GET / HTTP/1.1").repeat(4);
    let limit = ["-", "--limit", "leaky rate=4r/s"];
    assert_eq!(counts(&Run::replay(&limit).fed(&log).json()), [1, 0, 3]);
    let spread = Run::replay(&limit).with(&["--spread"]).fed(&log).json();
    assert_eq!(counts(&spread), [4, 0, 0]);
}

#[test]
fn lines_out_of_order() {
    let log = "1700000002.000 a\n1700000001.000 a\n1700000009.000 a\n1700000001.500 a\n";
    let limit = ["-", "--log-format", MSEC, "--limit", "leaky rate=1r/s"];
    // The last line comes at 9 s, when 1 s and 2 s have been taken and 9 s is still held.
    let result = Run::replay(&limit).fed(log).json();
    assert_eq!((counts(&result), &result["input"]["late"]), ([3, 0, 1], &1.into()));
    // Without the window the second and the last line are late.
    let result = Run::replay(&limit).with(&["--reorder", "0"]).fed(log).json();
    assert_eq!((counts(&result), &result["input"]["late"]), ([2, 0, 2], &2.into()));
    let result = Run::replay(&limit).with(&["--reorder", "10s"]).fed(log).json();
    assert_eq!((counts(&result), &result["input"]["late"]), ([3, 0, 1], &0.into()));
}

#[test]
fn gzip_by_content_and_rotated_files_in_any_order() {
    let folder = Folder::new("rotated");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"1700000000.000 a\n1700000000.000 a\n").unwrap();
    let old = folder.write("access.log.2.gz", &gzip.finish().unwrap());
    let new = folder.write("access.log", b"1700000001.000 a\nno line\n1700000001.000 a\n");
    let renamed = folder.copy(&old, "renamed");
    for first in [old, renamed] {
        let run = Run::replay(&[&new, &first, "--log-format", MSEC]);
        let result = run.limits(&["leaky rate=1r/s"]).json();
        assert_eq!(counts(&result), [2, 0, 2]);
        assert_eq!(result["input"]["files"], serde_json::json!([first, new]));
        assert_eq!(result["input"]["bad_lines"][0]["place"], format!("{new}:2"));
    }
}

#[test]
fn json_lines() {
    let log = [
        r#"{"msec": "1700000000.000", "remote_addr": "a", "request": "GET /x?1 HTTP/1.1"}"#,
        r#"{"request": "GET /x?2 HTTP/1.1", "msec": 1700000000.5, "remote_addr": "a", "z": [{}]}"#,
        r#"{"time_iso8601": "2023-11-14T22:13:21+00:00", "remote_addr": "a", "request": "POST /y"}"#,
        r#"{"msec": 1}"#,
        "not json",
    ]
    .join("\n");
    let run = Run::replay(&["-", "--json", "--key", "$remote_addr$uri"]);
    let result = run.limits(&["leaky rate=1r/s"]).fed(&log).json();
    assert_eq!(counts(&result), [2, 0, 1]);
    assert_eq!((&result["keys"], &result["input"]["bad"]), (&2.into(), &2.into()));
    assert_eq!(result["limits"][0]["worst"][0]["key"], "a/x");
    let log = "{\"at\": \"14/Nov/2023:22:13:20 +0000\", \"remote_addr\": \"a\"}\n";
    let run = Run::replay(&["-", "--json", "--time-field", "at"]).limits(&["leaky rate=1r/s"]);
    assert_eq!(run.fed(log).json()["input"]["first_ms"], 1_700_000_000_000_u64);
}

#[test]
fn keys_from_the_request() {
    let log = [
        combined("a", 20, "GET /x?1 HTTP/1.1"),
        combined("b", 20, "GET /x?2 HTTP/1.1"),
        combined("a", 20, "POST /x HTTP/1.1"),
        combined("a", 20, ""),
    ]
    .concat();
    for (key, keys, worst) in [
        ("$remote_addr", 2, "a"),
        ("$uri", 1, "/x"),
        ("$request_method $uri", 3, "GET /x"),
        ("${uri}?$args", 4, "/x?"),
        ("$remote_user", 0, ""),
        ("all", 1, "all"),
    ] {
        let run = Run::replay(&["-", "--key", key]).limits(&["leaky rate=1r/s"]);
        let result = run.fed(&log).json();
        assert_eq!(result["keys"], keys, "{key}");
        let first = result["limits"][0]["worst"].get(0).map_or("", |w| w["key"].as_str().unwrap());
        assert_eq!(first, worst, "{key}");
    }
}

#[test]
fn bad_lines_are_shown_and_do_not_move_the_cursor() {
    let log = "\x1b[2Jbad\n1700000000.000 a\n\nx y\n";
    let run = Run::replay(&["-", "--log-format", MSEC]).limits(&["leaky rate=1r/s"]).fed(log);
    let text = run.text();
    assert!(text.contains("2 lines could not be read"), "{text}");
    let shown = "standard input:1: $msec is not followed by \" \": \\u{1b}[2Jbad";
    assert!(text.contains(shown), "{text}");
    assert!(text.contains("standard input:4: the time is not one: x y"), "{text}");
    assert!(text.contains("1 requests of 4 lines"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn the_page_is_escaped_and_complete_in_itself() {
    let folder = Folder::new("page");
    let page = folder.path("report.html");
    let evil = "<script>alert('&')</script>";
    let log = format!("1700000000.000 {evil}\n").repeat(3);
    let run = Run::replay(&["-", "--log-format", MSEC, "--html", &page]);
    run.limits(&["leaky rate=1r/s", "leaky rate=2r/m burst=1"]).fed(&log).text();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("&lt;script&gt;"), "{page}");
    for never in ["<script", "http://www.w3.org/1999/xlink", "src=", "<link", "@import"] {
        assert!(!page.contains(never), "{never}");
    }
    assert_eq!(page.matches("<svg").count(), 1 + 2 + 2);
    assert!(page.trim_end().ends_with("</html>"));
}

#[test]
fn suggestions_hold_what_they_promise() {
    let log = combined("a", 20, "GET / HTTP/1.1").repeat(10);
    let ask = |at_most| {
        Run::new(&["suggest", "-", "--rate", "10r/s", "--refuse-at-most", at_most]).fed(&log)
    };
    let leaky = |result: &Value| {
        let all = result["suggestions"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["algorithm"] == "leaky").unwrap()
    };
    let none = leaky(&ask("0%").json());
    assert_eq!((&none["smallest"], &none["refused"]), (&9.into(), &0.into()));
    let some = leaky(&ask("20%").json());
    assert_eq!((&some["smallest"], &some["refused"]), (&7.into(), &2.into()));
    let limit = some["limit"].as_str().unwrap();
    assert_eq!(counts(&Run::replay(&["-"]).limits(&[limit]).fed(&log).json()), [8, 0, 2]);
    let text = ask("0%").text();
    assert!(text.contains("rl_zone $binary_remote_addr zone=leaky:1m rate=10r/s;\n"), "{text}");
    assert!(text.contains("rl_req  zone=leaky burst=9 nodelay;\n"), "{text}");
}

#[test]
fn completions_and_the_manual_name_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Run::new(&["completions", shell]).text();
        assert!(script.contains("rl-lab") && script.contains("suggest"), "{shell}");
    }
    let manual = Run::new(&["man"]).text();
    assert!(manual.contains(".TH rl-lab") && manual.contains("rl\\-lab\\-replay"), "{manual}");
}
