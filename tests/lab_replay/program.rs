//! Runs `rl-lab` and writes logs for it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A line of nginx's `combined` format in the 20th, 21st, … second of a minute.
pub fn combined(address: &str, second: u32, request: &str) -> String {
    format!(
        "{address} - - [14/Nov/2023:22:13:{second} +0000] \"{request}\" 200 5 \"-\" \"agent\"\n"
    )
}

/// One run of the program.
pub struct Run {
    arguments: Vec<String>,
    input: String,
}

impl Run {
    /// `rl-lab` with these arguments.
    pub fn new(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| argument.to_string()).collect();
        Self { arguments, input: String::new() }
    }

    /// `rl-lab replay` with these arguments.
    pub fn replay(arguments: &[&str]) -> Self {
        Self::new(&["replay"]).with(arguments)
    }

    /// With more arguments.
    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|argument| argument.to_string()));
        self
    }

    /// With these limits.
    pub fn limits(self, limits: &[&str]) -> Self {
        limits.iter().fold(self, |run, limit| run.with(&["--limit", limit]))
    }

    /// With this on standard input.
    pub fn fed(mut self, input: &str) -> Self {
        self.input = input.to_string();
        self
    }

    /// Runs it, whatever comes of it.
    pub fn output(self) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rl-lab"))
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that ends with a usage error does not read its input.
        let _ = child.stdin.take().unwrap().write_all(self.input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What it prints; fails unless it exits with 0 and complains of nothing.
    pub fn text(self) -> String {
        let output = self.output();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && complaint.is_empty(), "{complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it prints with `--output json`.
    pub fn json(self) -> Value {
        serde_json::from_str(&self.with(&["--output", "json"]).text()).unwrap()
    }
}

/// A folder of a test, removed with it.
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder; the name tells the tests of one process apart.
    pub fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let path = path.join(format!("lab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    /// Writes a file and tells its path.
    pub fn write(&self, name: &str, content: &[u8]) -> String {
        std::fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }

    /// Copies a file and tells the copy's path.
    pub fn copy(&self, from: &str, name: &str) -> String {
        std::fs::copy(from, self.0.join(name)).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
