//! Access logs through `rl-lab`: formats, keys, limits and lines that may be anything.
//!
//! The first line of the input says how lines are written (`json`, `json FIELD`, or a
//! `log_format`), the second what the key is, the third is a limit; the rest is the log.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use ngx_http_rl::lab::input::{self, InputOptions, InputSummary, LineFormat, Sink};
use ngx_http_rl::lab::log_format::LogFormat;
use ngx_http_rl::lab::replay::Replay;
use ngx_http_rl::lab::report;
use ngx_http_rl::lab::setting::Setting;

/// How many requests were found in the log.
pub fn run(data: &[u8]) -> usize {
    let mut parts = data.splitn(4, |byte| *byte == b'\n');
    let mut text = || std::str::from_utf8(parts.next().unwrap_or_default());
    let (Ok(format), Ok(key), Ok(limit)) = (text(), text(), text()) else { return 0 };
    let Some(format) = line_format(format) else { return 0 };
    let log = parts.next().unwrap_or_default();
    let (log_bytes, log) = (log.len(), File::with(log));
    let options = InputOptions {
        files: vec![log.0.clone()],
        format,
        key: key.to_string(),
        reorder_ms: 5000,
        spread: key.len() % 2 == 1,
    };
    let mut seen = Seen::default();
    let Ok(summary) = input::run(&options, &mut seen) else { return 0 };
    check(&summary, &seen);
    if let Some(mut replay) = replay(limit) {
        let input = input::run(&options, &mut replay).expect("it has been read before");
        let summary = replay.finish(input, key, 3);
        // Slow beside the rest.
        if log_bytes.is_multiple_of(8) {
            assert!(!report::tables(&summary).is_empty());
            report::json(&summary).expect("can be written");
        }
    }
    seen.requests as usize
}

fn line_format(text: &str) -> Option<LineFormat> {
    match text.strip_prefix("json") {
        Some("") => Some(LineFormat::Json { time_field: None }),
        Some(field) => Some(LineFormat::Json { time_field: Some(field.trim_start().to_string()) }),
        None => LogFormat::parse(text).ok().map(LineFormat::Text),
    }
}

/// The limit, if it is one, and does not need a large ring for each key.
fn replay(text: &str) -> Option<Replay> {
    let setting = Setting::parse(text).ok()?;
    let again = Setting::parse(&setting.to_string()).expect("read as it is written");
    assert_eq!(again, setting);
    (setting.zone.rate().requests() <= 1000).then(|| Replay::new(vec![setting]).ok()).flatten()
}

/// What a sink has been told.
#[derive(Default)]
struct Seen {
    keys: u32,
    requests: u64,
    first_ms: u64,
    last_ms: u64,
}

impl Sink for Seen {
    fn key(&mut self, text: &[u8]) -> u32 {
        assert!(!text.is_empty(), "no limit applies to an empty key");
        self.keys += 1;
        self.keys - 1
    }

    fn request(&mut self, time_ms: u64, key: u32, _line: u64) {
        assert!(time_ms >= self.last_ms && key < self.keys);
        if self.requests == 0 {
            self.first_ms = time_ms;
        }
        self.requests += 1;
        self.last_ms = time_ms;
    }
}

fn check(summary: &InputSummary, seen: &Seen) {
    assert_eq!((summary.requests, u64::from(seen.keys)), (seen.requests, seen.requests));
    assert_eq!((summary.first_ms, summary.last_ms), (seen.first_ms, seen.last_ms));
    // Empty lines are neither.
    assert!(summary.requests + summary.bad + summary.without_key <= summary.lines);
    assert!(summary.late <= summary.requests);
    assert_eq!(summary.bad_lines.len() as u64, summary.bad.min(5));
    for bad in &summary.bad_lines {
        assert!(!bad.why.is_empty());
        assert!(!bad.text.chars().any(char::is_control), "{:?} moves the cursor", bad.text);
    }
    summary.notes();
}

/// A file of this process with a name of its own, gone at the end.
struct File(String);

impl File {
    fn with(text: &[u8]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("rl-fuzz-{}-{number}.log", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).expect("the temporary folder can be written to");
        Self(path.to_str().expect("a name of text").to_string())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = fs::remove_file(&self.0);
    }
}
