//! Tasks of this workspace, as `cargo xtask`.
//!
//! `cargo xtask measure NAME` runs byway side by side with the best other program that does the
//! same work, and prints a table and one line of JSON. What each measurement compares is in
//! `bench/README.md`. `cargo xtask pgo` builds our programs with profile-guided optimisation.

mod measure;
mod peers;
mod pgo;
mod plan;
mod process;
mod report;
mod series;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Tasks of the byway workspace
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure byway against its peers on this machine
    Measure(measure::Arguments),
    /// Build the programs with profile-guided optimisation: count, train, build again
    Pgo(pgo::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Measure(arguments) => measure::run(&arguments),
        Task::Pgo(arguments) => pgo::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
