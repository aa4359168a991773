//! `rl-lab labs`: scenarios that tell the algorithms apart.
//!
//! Scenarios and printed figures are those of an article on six rate limit algorithms (fixed
//! windows, sliding log, sliding window counter, token bucket, leaky bucket, GCRA), whose labs ran
//! on floating-point copies of them; here the module's own code decides.

mod poisson;
mod scenario;

use std::io::Write;

use clap::ValueEnum;

use super::error::LabError;

/// The seed of the random arrivals where none is given: any number would do, and this is the one
/// that the article prints.
const SEED: u64 = 20_261_002;

/// Run scenarios that tell the algorithms apart, and print what each lets through.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which labs; all of them without any
    #[arg(value_name = "LAB", ignore_case = true)]
    pub labs: Vec<Lab>,
    /// Where the random arrivals of lab D begin
    #[arg(long, value_name = "NUMBER", default_value_t = SEED)]
    pub seed: u64,
}

/// A lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub enum Lab {
    /// The edge of a window
    A,
    /// Steady overload
    B,
    /// A page that sends twelve requests at once
    C,
    /// A sliding window counter against an exact count
    D,
    /// The worst case of each
    E,
}

/// Runs the labs that the command line asks for.
///
/// # Errors
///
/// An output that cannot be written.
pub fn run(args: &Args, out: &mut impl Write) -> Result<(), LabError> {
    let labs = if args.labs.is_empty() { Lab::value_variants() } else { &args.labs };
    for (n, lab) in labs.iter().enumerate() {
        let text = lab.tell(args.seed)?;
        let gap = if n == 0 { "" } else { "\n" };
        write!(out, "{gap}{text}").map_err(LabError::stdout)?;
    }
    Ok(())
}

impl Lab {
    fn tell(self, seed: u64) -> Result<String, LabError> {
        match self {
            Self::A => scenario::A.tell(),
            Self::B => scenario::B.tell(),
            Self::C => scenario::C.tell(),
            Self::D => poisson::tell(seed),
            Self::E => scenario::E.tell(),
        }
    }
}
