//! Files of reference decisions: cases, rows and the parameters of `limit_req`.

use std::fs;
use std::path::{Path, PathBuf};

use ngx_http_rl::config::Rate;
use ngx_http_rl::engine::Outcome;
use ngx_http_rl::limit::{Leaky, LeakyState, Now};
use serde_json::{json, Value};

/// One file.
pub struct File {
    pub name: String,
    data: Value,
}

/// One case of a file: requests from an empty zone on.
pub struct Case<'a> {
    /// File and id, for messages.
    place: String,
    case: &'a Value,
    /// For each column that the reader knows, where the file has it.
    order: Vec<usize>,
}

/// One request and what must come of it.
pub struct Row<'a> {
    place: String,
    fields: Vec<&'a Value>,
}

/// The JSON files of a folder, by name.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("RL_ORACLES={}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

impl File {
    pub fn read(path: &Path) -> Self {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let data = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name, data }
    }

    pub fn algorithm(&self) -> Option<&str> {
        self.data["algorithm"].as_str()
    }

    /// Timelines whose decisions depend on how times are rounded.
    pub fn rounding_sensitive(&self) -> &[Value] {
        self.data["rounding_sensitive"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Whether this is one of the files in another format.
    pub fn has_own_reader(&self) -> bool {
        !self.data["traces"].is_null() || !self.data["labs"].is_null()
    }

    /// All cases, for a reader of these columns.
    pub fn cases(&self, columns: &[&str]) -> Vec<Case<'_>> {
        let theirs = array(&self.data["columns"]);
        for column in theirs {
            assert!(columns.iter().any(|c| column == c), "{}: unknown column {column}", self.name);
        }
        let order: Vec<_> = columns
            .iter()
            .map(|column| {
                let place = theirs.iter().position(|c| c == column);
                place.unwrap_or_else(|| panic!("{}: no column {column:?}", self.name))
            })
            .collect();
        array(&self.data["cases"])
            .iter()
            .map(|case| {
                let place = format!("{} case {}", self.name, case["id"]);
                Case { place, case, order: order.clone() }
            })
            .collect()
    }
}

impl<'a> Case<'a> {
    /// A parameter of the case.
    pub fn parameter(&self, name: &str) -> &'a Value {
        &self.case[name]
    }

    /// The requests, each with its time.
    pub fn rows(&self) -> impl Iterator<Item = (Row<'a>, Now)> + use<'_, 'a> {
        array(&self.case["requests"]).iter().enumerate().map(|(n, row)| {
            let row = array(row);
            assert_eq!(row.len(), self.order.len(), "{} row {n}: fields", self.place);
            let fields: Vec<_> = self.order.iter().map(|place| &row[*place]).collect();
            let now = self.t0() + fields[0].as_i64().unwrap();
            (Row { place: format!("{} row {n}", self.place), fields }, millis(now))
        })
    }

    /// The instant that times of a row are relative to.
    pub fn t0(&self) -> i64 {
        self.case["t0"].as_i64().unwrap()
    }
}

impl<'a> Row<'a> {
    /// What stands in a column, by the order of the reader.
    pub fn field(&self, column: usize) -> &'a Value {
        self.fields[column]
    }

    /// Fails unless all fields are as expected; `what` decided.
    pub fn compare(&self, what: &str, expected: &Value, got: &Value) {
        assert!(expected == got, "{}, {what}: expected {expected}, got {got}", self.place);
    }
}

/// The rule of a limit on a zone, by the numbers that a configuration would give.
pub fn rule(zone: &Value, limit: &Value) -> Leaky {
    let argument = format!("rate={}", zone["rate"].as_str().unwrap());
    let rate = Rate::parse(argument.as_bytes()).unwrap().milli_per_second();
    assert_eq!(Some(rate), zone["rate_milli"].as_u64(), "{argument}");
    let delay = match &limit["delay"] {
        Value::String(word) if word == "nodelay" => u64::MAX,
        number => number.as_u64().unwrap() * 1000,
    };
    Leaky { rate, burst: limit["burst"].as_u64().unwrap() * 1000, delay }
}

/// A request's outcome as `d`, `excess` and `limit_index`.
pub fn columns_of(outcome: Outcome) -> (Value, Value, Value) {
    match outcome {
        Outcome::Unlimited => (json!(null), json!(null), json!(null)),
        Outcome::Pass => (json!(0), json!(null), json!(null)),
        Outcome::Delay { limit, wait_ms, excess } => (json!(wait_ms), json!(excess), json!(limit)),
        Outcome::Reject { limit, excess } => (json!(-1), json!(excess), json!(limit)),
    }
}

/// A key's record as excess and time.
pub fn columns_of_state(state: Option<LeakyState>, t0: i64) -> (Value, Value) {
    state.map_or((json!(null), json!(null)), |state| {
        (json!(state.excess), json!(state.last.cast_signed() - t0))
    })
}

pub fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no array: {value}"))
}

fn millis(ms: i64) -> Now {
    Now::at_ms(u64::try_from(ms).unwrap())
}
