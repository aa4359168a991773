//! Reference decisions, row by row: every `*.json` of the folder that `RL_ORACLES` names, by
//! default the repository's own.
//!
//! The files' own README states the format and each rule. Their order of columns is not relied on,
//! but every column must be one that is compared: an unknown one would pass unseen.
//!
//! | file | what |
//! |---|---|
//! | `oracles/data` | files, cases, rows and parameters |
//! | `oracles/rules` | all algorithms but `limit_req`: one limit, one key |
//! | `oracles/single` | `limit_req`: one limit, one key |
//! | `oracles/multi` | `limit_req_multi`: several limits, zones and keys |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use data::{Case, File};
use ngx_http_rl::config::AlgorithmName;

#[path = "oracles/data.rs"]
mod data;
#[path = "oracles/multi.rs"]
mod multi;
#[path = "oracles/rules.rs"]
mod rules;
#[path = "oracles/single.rs"]
mod single;
mod support;

/// What answers a case: one row after the other, in the order of the columns.
type Reader = fn(&Case<'_>) -> usize;

/// Algorithms that are there, the columns of their files in the order of the format's README, and
/// what reads them.
const READERS: [(&str, &[&str], Reader); 8] = [
    ("fixed_window", &rules::WINDOW, rules::check_fixed),
    ("fixed_window_anchored", &rules::WINDOW, rules::check_anchored),
    ("sliding_log", &rules::LOG, rules::check_log),
    ("sliding_window_counter", &rules::SLIDING, rules::check_sliding),
    ("gcra", &rules::GCRA, rules::check_gcra),
    ("leaky_queue", &rules::QUEUE, rules::check_queue),
    ("limit_req", &single::COLUMNS, single::check),
    ("limit_req_multi", &multi::COLUMNS, multi::check),
];

/// Algorithms whose files have timelines on which rounding matters.
const ROUNDED: [(&str, AlgorithmName); 2] =
    [("gcra", AlgorithmName::Gcra), ("leaky_queue", AlgorithmName::LeakyQueue)];

/// What has been read of an algorithm.
#[derive(Default)]
struct Read {
    files: usize,
    cases: usize,
    rows: usize,
}

#[test]
fn every_row_is_decided_as_the_oracle_says() {
    let given = env::var_os("RL_ORACLES").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/oracles");
    let folder = given.as_ref().unwrap_or(&own);
    let mut read = BTreeMap::<_, Read>::new();
    for path in data::files(folder) {
        let file = File::read(&path);
        let Some((algorithm, cases, rows)) = check_file(&file) else { continue };
        println!("{}: {cases} cases, {rows} rows checked", file.name);
        let sum = read.entry(algorithm).or_default();
        *sum = Read { files: sum.files + 1, cases: sum.cases + cases, rows: sum.rows + rows };
    }
    for (algorithm, Read { files, cases, rows }) in &read {
        println!("{algorithm}: {files} files, {cases} cases, {rows} rows checked");
    }
    assert!(!read.is_empty(), "nothing to check in {}", folder.display());
    if given.is_none() {
        // Somebody else's folder may have less; ours must not lose a file.
        assert_eq!(read.len(), READERS.len(), "an algorithm has no file");
    }
}

/// Checks a file; its algorithm, cases and rows, or `None` if nothing here can read it yet.
fn check_file(file: &File) -> Option<(&'static str, usize, usize)> {
    let name = &file.name;
    let Some(algorithm) = file.algorithm() else {
        assert!(file.has_own_reader(), "{name}: neither algorithm nor traces nor labs");
        println!("{name}: traces and labs get readers of their own, later");
        return None;
    };
    let Some((algorithm, columns, check)) = READERS.iter().find(|reader| reader.0 == algorithm)
    else {
        panic!("{name}: unknown algorithm {algorithm:?}");
    };
    let cases = file.cases(columns);
    let rows: usize = cases.iter().map(check).sum();
    assert!(rows > 0, "{name}: no row");
    Some((algorithm, cases.len(), rows + check_rounding(file, algorithm)))
}

/// Checks the timelines of a file that are listed apart; how many requests they have.
fn check_rounding(file: &File, algorithm: &str) -> usize {
    let timelines = file.rounding_sensitive();
    let Some((_, algorithm)) = ROUNDED.iter().find(|(name, _)| *name == algorithm) else {
        assert!(timelines.is_empty(), "{}: timelines that nothing reads", file.name);
        return 0;
    };
    timelines.iter().map(|timeline| rules::check_rounding(*algorithm, timeline)).sum()
}
