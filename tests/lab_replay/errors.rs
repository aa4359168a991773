//! What ends a run: exit code 2, and a message that names what is wrong and what would be right.

use std::process::{Command, Stdio};

use crate::program::{combined, Folder, Run};

/// Runs the program and tells what it complains of.
fn complaint(run: Run) -> String {
    let output = run.output();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn usage_errors_name_what_is_wrong() {
    let limit = ["--limit", "leaky rate=1r/s"];
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["--limit", "leeky rate=1r/s"],
            &["--limit \"leeky rate=1r/s\": invalid algorithm \"leeky\"", "leaky"],
        ),
        (&["--limit", "leaky rate=1r/y"], &["invalid rate \"rate=1r/y\""]),
        (&["--limit", "leaky rate=1 brust=2"], &["invalid parameter \"brust=2\""]),
        (&["--limit", "rate=1"], &["the name of an algorithm comes first"]),
        (&[], &["--limit"]),
        (&[limit[0], limit[1], "--key", "$host"], &["no variable $host", "$remote_addr"]),
        (&[limit[0], limit[1], "--key", "${uri"], &["invalid variable at \"${uri\""]),
        (&[limit[0], limit[1], "--log-format", "$status"], &["no time", "$msec"]),
        (&[limit[0], limit[1], "--log-format", "x"], &["no variable in it", "combined"]),
        (&[limit[0], limit[1], "--log-format", "$msec$remote_addr"], &["between $msec and"]),
        (&[limit[0], limit[1], "--log-format", "$msec $remote_addr", "--spread"], &["--spread"]),
        (&[limit[0], limit[1], "--reorder", "soon"], &["expected a time such as 5s"]),
        (&[limit[0], limit[1], "--json", "--log-format", "x"], &["cannot be used with"]),
        (&[limit[0], limit[1], "--time-field", "x"], &["--json"]),
    ];
    for (arguments, words) in cases {
        let complaint = complaint(Run::replay(&["-"]).with(arguments));
        for word in *words {
            assert!(complaint.contains(word), "{arguments:?}: {complaint}");
        }
    }
    let limits = ["leaky rate=1"; 17];
    assert!(complaint(Run::replay(&["-"]).limits(&limits)).contains("from 1 to 16"));
    for (option, value) in [("--rate", "x"), ("--refuse-at-most", "1")] {
        let run = Run::new(&["suggest", "-", option, value]);
        let run = if option == "--rate" { run } else { run.with(&["--rate", "1"]) };
        assert!(complaint(run).contains("expected"), "{option}");
    }
}

#[test]
fn inputs_that_cannot_be_read_are_named() {
    let folder = Folder::new("errors");
    let limit = ["--limit", "leaky rate=1r/s"];
    let missing = folder.path("missing.log");
    let named = folder.write("plain.gz", b"this is no gzip\n");
    let cut = folder.write("cut.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b]);
    for file in [missing, named, cut, folder.path("")] {
        let complaint = complaint(Run::replay(&[&file]).with(&limit));
        assert!(complaint.starts_with(&format!("rl-lab: cannot read {file}: ")), "{complaint}");
    }
    let page = folder.path("no/such/folder.html");
    let complaint = complaint(Run::replay(&["-", "--html", &page]).with(&limit));
    assert!(complaint.starts_with(&format!("rl-lab: cannot write {page}: ")), "{complaint}");
}

#[test]
fn an_empty_log_is_no_error() {
    let text = Run::replay(&["-", "--limit", "leaky rate=1r/s"]).text();
    assert!(text.contains("Note: no request could be replayed."), "{text}");
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let folder = Folder::new("pipe");
    let log: String = (0..500).map(|n| combined(&format!("key{n}"), 20, "GET /")).collect();
    let log = folder.write("access.log", log.as_bytes());
    let mut child = Command::new(env!("CARGO_BIN_EXE_rl-lab"))
        .args(["replay", &log, "--limit", "leaky rate=1r/s", "--top", "500"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
