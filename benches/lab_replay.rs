//! How many lines of `combined` a replay takes a second with eight limits at once, on one core.
//!
//! `cargo bench --no-default-features --features lab --bench lab_replay`
//!
//! Writes a log of five million lines (`RL_LINES` for another number) into the target folder and
//! replays it; the promise is 500 thousand lines a second. Nothing is asserted of the time, which
//! is the machine's; the counts are.
#![allow(clippy::expect_used, reason = "a benchmark")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ngx_http_rl::lab::input::{self, InputOptions, LineFormat};
use ngx_http_rl::lab::log_format::LogFormat;
use ngx_http_rl::lab::replay::Replay;
use ngx_http_rl::lab::setting::Setting;

/// Requests a second in the log, which is then seven hours of a busy site. `RL_LINES_A_SECOND` for
/// another number: what a replay costs grows with the keys that are live at once, since they are
/// what has to be fetched from memory.
const LINES_A_SECOND: u64 = 200;

/// Different keys. The busiest has a fifteenth of the requests, the busiest ten an eighth, as real
/// logs have it; half of the keys have a sixth between them.
const KEYS: u32 = 100_000;

const LIMITS: [&str; 8] = [
    "leaky rate=10r/s burst=20 nodelay",
    "gcra rate=10r/s burst=20 delay=10",
    "token_bucket rate=1r/s burst=20 nodelay",
    "leaky_queue rate=1r/s burst=5",
    "fixed_window rate=600r/m",
    "anchored_window rate=600r/m",
    "sliding_window rate=60r/m",
    "sliding_log rate=600r/m",
];

fn main() {
    let lines = setting("RL_LINES", 5_000_000);
    let log = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lab_replay.log");
    write_log(&log, lines, setting("RL_LINES_A_SECOND", LINES_A_SECOND));
    let options = InputOptions {
        files: vec![log.display().to_string()],
        format: LineFormat::Text(LogFormat::parse("combined").expect("a format")),
        key: "$remote_addr".to_string(),
        reorder_ms: 5000,
        spread: false,
    };
    let limits = LIMITS.map(|text| Setting::parse(text).expect("a limit"));
    let mut replay = Replay::new(limits.to_vec()).expect("limits");

    let begin = Instant::now();
    let summary = input::run(&options, &mut replay).expect("a log");
    let summary = replay.finish(summary, &options.key, 10);
    let seconds = begin.elapsed().as_secs_f64();

    assert_eq!((summary.input.requests, summary.input.bad), (lines, 0));
    for limit in &summary.limits {
        assert_eq!(limit.passed + limit.delayed + limit.refused, lines);
    }
    println!(
        "{lines} lines, {} keys, {} limits: {seconds:.2} s, {:.0} thousand lines a second",
        summary.keys,
        LIMITS.len(),
        lines as f64 / seconds / 1000.0
    );
    std::fs::remove_file(&log).expect("the log can be removed");
}

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Writes the log, the same each time.
fn write_log(path: &Path, lines: u64, lines_a_second: u64) {
    let mut random = fastrand::Rng::with_seed(7);
    let mut log = BufWriter::new(File::create(path).expect("a file"));
    for line in 0..lines {
        let second = line / lines_a_second.max(1);
        let key = (random.f64().powi(4) * f64::from(KEYS)) as u32;
        writeln!(
            log,
            "10.{}.{}.{} - - [14/Nov/2023:{:02}:{:02}:{:02} +0000] \"GET /page/{}?session={line} \
             HTTP/1.1\" 200 {} \"https://example.org/start\" \"Mozilla/5.0 (X11; Linux x86_64) \
             AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Safari/537.36\"",
            key >> 16,
            key >> 8 & 255,
            key & 255,
            second / 3600 % 24,
            second / 60 % 60,
            second % 60,
            line % 1000,
            line % 50_000,
        )
        .expect("a line");
    }
    log.flush().expect("the log");
}
