//! The command line of `rl-lab`. Exit codes: 0 fine, 2 for what the user can put right.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::error::LabError;
use super::input::{self, InputOptions, LineFormat};
use super::log_format::LogFormat;
use super::replay::Replay;
use super::report;
use super::setting::Setting;
use super::suggest::{suggest, Question, Share, Stream};
use super::{labs, trace};
use crate::config::Rate;

/// Usage errors and inputs that cannot be read, as clap itself has it.
const EXIT_USAGE: u8 = 2;

/// Try rate limits of ngx-http-rl on real traffic, before nginx does.
#[derive(Debug, Parser)]
#[command(name = "rl-lab", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Trace(trace::Args),
    Labs(labs::Args),
    /// Replay access logs against limits and compare what they would have done
    Replay(ReplayArgs),
    /// Find the smallest burst or quota that would have refused little enough
    Suggest(SuggestArgs),
    /// Write a completion script for a shell to standard output
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual page to standard output
    Man,
}

/// What is read and how.
#[derive(Args, Debug)]
struct InputArgs {
    /// Access logs, plain or gzipped, in any order; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,

    /// nginx's log_format, or one of the names combined and common
    #[arg(long, value_name = "FORMAT", default_value = "combined", conflicts_with = "json")]
    log_format: String,

    /// Lines are JSON objects
    #[arg(long)]
    json: bool,

    /// Field of the time [default: the first of msec, time_iso8601, time_local]
    #[arg(long, value_name = "NAME", requires = "json")]
    time_field: Option<String>,

    /// The key: any text with variables of the format
    #[arg(long, value_name = "TEXT", default_value = "$remote_addr")]
    key: String,

    /// How far lines may be out of order
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration_ms)]
    reorder: u64,

    /// Spread the lines of one second evenly over it, for logs with whole seconds
    #[arg(long)]
    spread: bool,
}

impl InputArgs {
    fn options(&self) -> Result<InputOptions, LabError> {
        let format = if self.json {
            LineFormat::Json { time_field: self.time_field.clone() }
        } else {
            LineFormat::Text(LogFormat::parse(&self.log_format)?)
        };
        Ok(InputOptions {
            files: self.files.clone(),
            format,
            key: self.key.clone(),
            reorder_ms: self.reorder,
            spread: self.spread,
        })
    }
}

#[derive(Args, Debug)]
struct ReplayArgs {
    #[command(flatten)]
    input: InputArgs,

    /// A limit, such as 'leaky rate=10r/s burst=20 nodelay'; may be given up to 16 times
    #[arg(long = "limit", value_name = "LIMIT", required = true)]
    limits: Vec<String>,

    /// How many of the worst keys are shown for each limit
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// What is written to standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    output: OutputFormat,

    /// Also write a page with charts, complete in itself
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
}

#[derive(Args, Debug)]
struct SuggestArgs {
    #[command(flatten)]
    input: InputArgs,

    /// The rate, such as 10r/s
    #[arg(long, value_name = "RATE")]
    rate: String,

    /// The share of requests that may be refused
    #[arg(long, value_name = "SHARE", default_value = "0.1%", value_parser = Share::parse)]
    refuse_at_most: Share,

    /// What is written to standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    output: OutputFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OutputFormat {
    /// Tables for people
    Table,
    /// One JSON object
    Json,
}

/// Writes to standard output through a buffer.
fn to_stdout(
    write: impl FnOnce(&mut io::BufWriter<io::StdoutLock<'_>>) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out)?;
    out.flush().map_err(LabError::stdout)
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Trace(arguments) => to_stdout(|out| trace::run(&arguments, out)),
        Command::Labs(arguments) => to_stdout(|out| labs::run(&arguments, out)),
        Command::Replay(arguments) => replay(&arguments),
        Command::Suggest(arguments) => suggestions(&arguments),
        Command::Completions { shell } => completions(shell),
        Command::Man => manual(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be told if standard error is gone, too.
            let _ = writeln!(io::stderr(), "rl-lab: {error}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn replay(arguments: &ReplayArgs) -> Result<(), LabError> {
    let parse = |text: &String| {
        Setting::parse(text).map_err(|why| LabError::Usage(format!("--limit \"{text}\": {why}")))
    };
    let limits = arguments.limits.iter().map(parse);
    let mut replay = Replay::new(limits.collect::<Result<_, _>>()?)?;
    let input = input::run(&arguments.input.options()?, &mut replay)?;
    let summary = replay.finish(input, &arguments.input.key, arguments.top);
    if let Some(name) = &arguments.html {
        let page = report::page(&summary)?;
        fs::write(name, page).map_err(|why| LabError::Output { name: name.clone(), why })?;
    }
    match arguments.output {
        OutputFormat::Table => print(report::tables(&summary).as_bytes()),
        OutputFormat::Json => print(report::json(&summary)?.as_bytes()),
    }
}

fn suggestions(arguments: &SuggestArgs) -> Result<(), LabError> {
    // A bad rate is told before a long log is read.
    let rate = Rate::parse(arguments.rate.as_bytes())
        .map_err(|why| LabError::Usage(format!("--rate: {why}, expected one such as 10r/s")))?;
    let mut stream = Stream::default();
    let input = input::run(&arguments.input.options()?, &mut stream)?;
    let question =
        Question { rate, at_most: arguments.refuse_at_most, key: arguments.input.key.clone() };
    let answer = suggest(&stream, input, &question);
    match arguments.output {
        OutputFormat::Table => print(report::suggestions(&answer).as_bytes()),
        OutputFormat::Json => print(report::json(&answer)?.as_bytes()),
    }
}

fn completions(shell: Shell) -> Result<(), LabError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "rl-lab", &mut script);
    print(&script)
}

fn manual() -> Result<(), LabError> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(LabError::stdout)?;
    for subcommand in command.get_subcommands().filter(|command| command.get_name() != "help") {
        clap_mangen::Man::new(subcommand.clone()).render(&mut page).map_err(LabError::stdout)?;
    }
    print(&page)
}

fn print(text: &[u8]) -> Result<(), LabError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text).and_then(|()| stdout.flush()).map_err(LabError::stdout)
}

/// `5s`, `500ms`, `1m` or a bare number of seconds, to milliseconds.
fn duration_ms(text: &str) -> Result<u64, String> {
    let (digits, unit_ms) = if let Some(digits) = text.strip_suffix("ms") {
        (digits, 1)
    } else if let Some(digits) = text.strip_suffix('s') {
        (digits, 1000)
    } else if let Some(digits) = text.strip_suffix('m') {
        (digits, 60_000)
    } else {
        (text, 1000)
    };
    let number = Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    number
        .and_then(|digits| digits.parse::<u64>().ok()?.checked_mul(unit_ms))
        .ok_or_else(|| "expected a time such as 5s, 500ms or 1m".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations() {
        for (text, ms) in [("5s", 5000), ("500ms", 500), ("1m", 60_000), ("0", 0), ("3", 3000)] {
            assert_eq!(duration_ms(text), Ok(ms), "{text}");
        }
        for text in ["", "s", "-1s", "1.5s", "5h", "+5s", "99999999999999999999s"] {
            assert!(duration_ms(text).is_err(), "{text}");
        }
    }
}
