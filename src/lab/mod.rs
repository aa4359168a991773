//! The laboratory `rl-lab`: the algorithms of the module on a clock that is not the machine's.
//!
//! | file | what |
//! |---|---|
//! | `cli` | the command line, exit codes |
//! | `decimal` | times and fractions as text |
//! | `error` | what ends a run early |
//! | `estimate` | what the sliding window counter compares |
//! | `labs` | scenarios that tell the algorithms apart |
//! | `setting` | a limit from the words of the directives |
//! | `sheet` | tables |
//! | `timeline` | one key on a virtual clock |
//! | `trace` | a few requests through an algorithm, step by step |

pub mod cli;
mod decimal;
pub mod error;
mod estimate;
pub mod labs;
mod setting;
mod sheet;
mod timeline;
pub mod trace;
