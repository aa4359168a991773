//! The command line: subcommands and exit codes.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::{labs, trace};

#[derive(Parser)]
#[command(name = "rl-lab", version, about = "The algorithms of ngx-http-rl on a virtual clock")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Trace(trace::Args),
    Labs(labs::Args),
}

/// Runs what the command line asks for.
///
/// The exit code is 2 where nothing could be run as asked.
pub fn main() -> ExitCode {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let result = match Cli::parse().command {
        Command::Trace(args) => trace::run(&args, &mut out),
        Command::Labs(args) => labs::run(&args, &mut out),
    };
    let result = result.and_then(|()| out.flush().map_err(super::error::LabError::stdout));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) if why.is_closed_pipe() => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("rl-lab: {why}");
            ExitCode::from(2)
        }
    }
}
