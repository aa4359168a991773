//! labs
use super::error::LabError;
use std::io::Write;
/// x
#[derive(Debug, clap::Args)]
pub struct Args {}
/// x
pub fn run(_args: &Args, _out: &mut impl Write) -> Result<(), LabError> {
    Ok(())
}
