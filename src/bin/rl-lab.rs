//! The command-line program `rl-lab`: what a limit would have done, without an nginx.

use std::process::ExitCode;

fn main() -> ExitCode {
    ngx_http_rl::lab::cli::main()
}
