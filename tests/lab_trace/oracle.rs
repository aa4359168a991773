//! Traces and labs as the reference data have them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::program::Row;

/// A file of the reference data.
pub fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/oracles").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// The module's name of an algorithm.
pub fn name(value: &Value) -> &str {
    match value.as_str().unwrap() {
        "fixed_window_anchored" => "anchored_window",
        "sliding_window_counter" => "sliding_window",
        "limit_req" => "leaky",
        "token_bucket+gcra" => "token_bucket",
        name => name,
    }
}

/// What the command line has to say for a trace.
pub fn arguments(trace: &Value) -> Vec<String> {
    let params = &trace["params"];
    let algorithm = name(&trace["algorithm"]);
    let rate = params["rate"].as_str().map_or_else(
        || {
            let period = params.get("period_ms").unwrap_or(&params["window_ms"]);
            format!("{}r/{period}ms", params["limit"])
        },
        str::to_string,
    );
    let times: Vec<_> = times_ms(trace).into_iter().map(seconds).collect();
    let mut arguments: Vec<String> =
        ["trace", "--algorithm", algorithm, "--rate", &rate, "--times", &times.join(",")]
            .map(str::to_string)
            .to_vec();
    let at_once = params["burst"].as_u64().or(params["capacity"].as_u64());
    if let Some(at_once) = at_once {
        // nginx counts those above the first.
        let above = if algorithm == "leaky" { at_once } else { at_once - 1 };
        arguments.extend(["--burst".to_string(), above.to_string()]);
    }
    let is_undelayed = matches!(algorithm, "gcra" | "token_bucket");
    match &params["delay"] {
        Value::String(_) => arguments.push("--nodelay".to_string()),
        Value::Number(delay) if delay.as_u64() != Some(0) => {
            arguments.extend(["--delay".to_string(), delay.to_string()]);
        }
        _ if is_undelayed => arguments.push("--nodelay".to_string()),
        _ => (),
    }
    arguments
}

fn times_ms(trace: &Value) -> Vec<u64> {
    let of_rows = |rows: &Vec<Value>| rows.iter().map(|row| row[0].as_u64().unwrap()).collect();
    let times = trace["times"].as_array();
    times.map_or_else(
        || of_rows(trace["requests"].as_array().unwrap()),
        |times| times.iter().map(|time| time.as_u64().unwrap()).collect(),
    )
}

/// Milliseconds as the traces print them: all are multiples of 100.
pub fn seconds(ms: u64) -> String {
    assert_eq!(ms % 100, 0);
    format!("{}.{}", ms / 1000, ms / 100 % 10)
}

/// Thousandths of a request.
fn requests(thousandths: u64) -> String {
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

/// 1/10000, of which the last two digits are always 0.
fn hundredths(scaled: u64) -> String {
    assert_eq!(scaled % 100, 0);
    format!("{}.{:02}", scaled / 10_000, scaled / 100 % 100)
}

/// One row of a trace against what is printed.
pub struct Expected<'a> {
    columns: &'a [Value],
    row: &'a Value,
    is_first: bool,
}

impl<'a> Expected<'a> {
    pub fn new(trace: &'a Value, n: usize) -> Self {
        Self {
            columns: trace["columns"].as_array().unwrap(),
            row: &trace["requests"][n],
            is_first: n == 0,
        }
    }

    fn value(&self, column: &str) -> &Value {
        let is_it = |name: &&Value| name.as_str().unwrap().split('(').next() == Some(column);
        let place = self.columns.iter().position(|name| is_it(&name));
        &self.row[place.unwrap_or_else(|| panic!("no column {column}"))]
    }

    fn number(&self, column: &str) -> u64 {
        self.value(column).as_u64().unwrap()
    }

    fn seconds(&self, column: &str) -> String {
        self.value(column).as_u64().map_or_else(|| "-".to_string(), seconds)
    }

    /// What a new key has no state for.
    fn unless_new(&self, text: String) -> String {
        if self.is_first {
            "new".to_string()
        } else {
            text
        }
    }

    fn list(&self, column: &str) -> String {
        let times = self.value(column).as_array().unwrap();
        let times: Vec<_> = times.iter().map(|time| seconds(time.as_u64().unwrap())).collect();
        format!("[{}]", times.join(" "))
    }

    /// Titles and cells, for each algorithm.
    pub fn cells(&self, algorithm: &str) -> Vec<(&'static str, String)> {
        let mut cells = match algorithm {
            "fixed_window" => self.fixed(),
            "anchored_window" => self.anchored(),
            "sliding_log" => self.log(),
            "sliding_window" => self.sliding(),
            "token_bucket" => self.tokens(),
            "gcra" if self.columns.iter().any(|name| name == "wait") => self.wait(),
            "gcra" => self.gcra(),
            "leaky_queue" if self.columns.len() == 3 => self.wait(),
            "leaky_queue" => self.queue(),
            "leaky" => self.leaky(),
            _ => panic!("unknown algorithm {algorithm}"),
        };
        cells.push(("t (s)", self.seconds("t")));
        cells
    }

    fn fixed(&self) -> Vec<(&'static str, String)> {
        vec![
            ("window before", self.unless_new(self.value("win_before").to_string())),
            ("count before", self.number("count_before").to_string()),
            ("window", self.number("win_after").to_string()),
            ("count after", self.number("count_after").to_string()),
        ]
    }

    fn anchored(&self) -> Vec<(&'static str, String)> {
        vec![
            ("start before", self.unless_new(self.seconds("start_before"))),
            ("count before", self.number("count_before").to_string()),
            ("start", self.seconds("start_after")),
            ("count after", self.number("count_after").to_string()),
        ]
    }

    fn log(&self) -> Vec<(&'static str, String)> {
        let dropped = self.list("dropped");
        vec![
            ("dropped", if dropped == "[]" { "-".to_string() } else { dropped }),
            ("log before", self.list("log_before")),
            ("log after", self.list("log_after")),
        ]
    }

    fn sliding(&self) -> Vec<(&'static str, String)> {
        let share = 10_000 - self.number("t") % 10_000;
        let estimate = hundredths(self.number("estimate_x_window"));
        let (previous, current) = (self.number("prev"), self.number("curr_before"));
        let answer = if self.number("admit") == 1 { "yes" } else { "no" };
        let against = match self.value("vs_exact").as_i64() {
            Some(1) => "passes wrongly",
            Some(-1) => "refused wrongly",
            _ => "",
        };
        let sum = format!("{previous} x {} + {current} = {estimate}", hundredths(share));
        vec![
            ("previous x share + current", sum),
            ("estimate < quota ?", format!("{estimate} < 5 ? {answer}")),
            ("previous after", previous.to_string()),
            ("current after", self.number("curr_after").to_string()),
            ("exact count", self.number("exact_count_before").to_string()),
            ("against it", against.to_string()),
        ]
    }

    fn tokens(&self) -> Vec<(&'static str, String)> {
        let last = if self.is_first { "-".to_string() } else { self.seconds("last_before") };
        vec![
            ("tokens before", self.unless_new(hundredths(self.number("tokens_before_x10000")))),
            ("at", last),
            ("now (up to 5)", hundredths(self.number("tokens_refilled_x10000"))),
            ("tokens after", hundredths(self.number("tokens_after_x10000"))),
        ]
    }

    fn gcra(&self) -> Vec<(&'static str, String)> {
        let answer = if self.number("admit") == 1 { "yes" } else { "no" };
        let comparison = format!("{} <= 8.0 ? {answer}", self.seconds("ahead"));
        vec![
            ("TAT before", self.unless_new(self.seconds("tat_before"))),
            ("max(TAT, t)", self.seconds("max_tat_now")),
            ("ahead of schedule <= tolerance ?", comparison),
            ("TAT after", self.seconds("tat_after")),
            ("tokens at t", hundredths(self.number("equivalent_tokens_x10000"))),
        ]
    }

    fn queue(&self) -> Vec<(&'static str, String)> {
        vec![
            ("next out before", self.unless_new(self.seconds("next_out_before"))),
            ("out", self.seconds("out")),
            ("wait", self.seconds("wait")),
            ("next out after", self.seconds("next_out_after")),
            ("leaves at", self.seconds("leaves_at")),
        ]
    }

    fn leaky(&self) -> Vec<(&'static str, String)> {
        let burst = if self.columns.len() == 5 { 4 } else { 5 };
        let is_admitted = self.value("d").as_i64() != Some(-1);
        let answer = if is_admitted { "yes" } else { "no" };
        let excess = requests(self.number("excess"));
        let mut cells = vec![("excess <= burst ?", format!("{excess} <= {burst} ? {answer}"))];
        if self.columns.len() == 5 {
            cells.push(("excess after", requests(self.number("state_excess"))));
            cells.push(("last after", self.seconds("state_last")));
        } else {
            cells.push(("excess after", requests(self.number("excess_after"))));
        }
        match self.value("d").as_u64() {
            Some(0) => cells.push(("decision", "passes".to_string())),
            Some(wait) => cells.push(("decision", format!("waits {}", seconds(wait)))),
            None => (),
        }
        cells
    }

    fn wait(&self) -> Vec<(&'static str, String)> {
        let decision = match self.value("wait").as_u64() {
            Some(0) => "passes".to_string(),
            Some(wait) => format!("waits {}", seconds(wait)),
            None => return Vec::new(),
        };
        vec![("decision", decision)]
    }

    /// Whether the request is admitted.
    pub fn is_admitted(&self) -> bool {
        let has_d = self.columns.iter().any(|name| name == "d");
        if has_d {
            self.value("d").as_i64() != Some(-1)
        } else {
            self.number("admit") == 1
        }
    }
}

/// Whether a row says that its request has been admitted.
pub fn passes(row: &Row) -> bool {
    !row["decision"].starts_with("REFUSED")
}
