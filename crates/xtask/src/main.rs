//! Chores of this workspace, as `cargo xtask`.
//!
//! `cargo xtask measure NAME` runs byway side by side with the best other program that does the
//! same work, and prints a table and one line of JSON. What each measurement compares is in
//! `bench/README.md`.

mod measure;
mod peers;
mod report;
mod runner;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Chores of the byway workspace
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Measure byway against its peers on this machine
    Measure(measure::Arguments),
}

fn main() -> ExitCode {
    let Chore::Measure(arguments) = Arguments::parse().chore;
    match measure::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
