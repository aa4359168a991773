//! The laboratory `rl-lab`: the algorithms of the module on a clock that is not the machine's.
//!
//! Everything around the algorithms comes from well-kept crates; everything of the algorithms
//! comes from [`crate::limit`], so that a replay decides as nginx would.
//!
//! | file | what |
//! |---|---|
//! | `cli` | the command line, exit codes |
//! | `error` | what ends a run early |
//! | `trace` | a few requests through an algorithm, step by step |
//! | `labs` | scenarios that tell the algorithms apart |
//! | `timeline` | one key on a virtual clock, for both |
//! | `estimate` | what the sliding window counter compares |
//! | `sheet`, `decimal` | their tables and numbers |
//! | `setting` | a limit, from the words of the directives |
//! | `limiter` | from a limit to something that decides |
//! | `log_format` | nginx's `log_format` as a splitter of lines |
//! | `json_line` | fields of a JSON line |
//! | `key` | the key expression |
//! | `stamp` | the times of a log |
//! | `parser` | a line to its time and key |
//! | `source` | files, gzip, standard input, one line after the other |
//! | `reorder` | lines that are a little out of order; spreading of whole seconds |
//! | `input` | all of that for a whole run, with progress and bad lines |
//! | `keys` | key texts to dense numbers |
//! | `replay` | statistics of a replay |
//! | `report` | statistics to tables, JSON and a page |
//! | `suggest` | the smallest burst or quota that would have refused little enough |
//! | `zone` | how large a zone has to be |

pub mod cli;
mod decimal;
pub mod error;
mod estimate;
pub mod input;
mod json_line;
mod key;
mod keys;
mod labs;
mod limiter;
pub mod log_format;
mod parser;
mod reorder;
pub mod replay;
pub mod report;
pub mod setting;
mod sheet;
mod source;
mod stamp;
mod suggest;
mod timeline;
mod trace;
pub mod zone;
