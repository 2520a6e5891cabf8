//! `byway-ns2 DIR...`: runs folders of scenarios and compares their traces.
//! `byway-ns2 grid TABLE`: compares means over many random runs.
//! `byway-ns2 more TABLE`: has ns-2 run a table's cells with other seeds.

use anyhow::Result;
use byway_ns2::grid;
use byway_ns2::suite::{self, Binds, Outcome};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares byway with traces of ns-2's SCTP module
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Folders of scenarios (NAME.json), traces (NAME.csv or .csv.gz) and CLASSES.csv
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Only scenarios whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

#[derive(Subcommand)]
enum What {
    /// Compares means over many random runs with those of ns-2
    Grid(GridArguments),
    /// Has ns-2 run some of a table's cells with other seeds; prints such a table
    More(MoreArguments),
}

#[derive(Args)]
struct MoreArguments {
    /// Table of ns-2's means, .csv or .csv.gz
    table: PathBuf,
    /// The experiment
    #[arg(long)]
    experiment: String,
    /// What the variant begins with: `stock` for `ns` as it is installed
    #[arg(long, default_value = "stock")]
    variant: String,
    /// Every so many of the lines
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// The first seed
    #[arg(long, default_value_t = 101)]
    first_seed: u32,
    /// How many
    #[arg(long, default_value_t = 24)]
    seeds: u32,
    /// ns-2, of the build that the variant names
    #[arg(long, default_value = "ns")]
    ns: PathBuf,
    /// What it runs
    #[arg(long, default_value = "experiments/ns2-grid/cell.tcl")]
    script: PathBuf,
}

#[derive(Args)]
struct GridArguments {
    /// Table of ns-2's means, .csv or .csv.gz
    table: PathBuf,
    /// Runs of each cell
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(2..))]
    seeds: u32,
    /// Only a fixed choice of small cells
    #[arg(long)]
    light: bool,
    /// Only the experiment of this name
    #[arg(long, default_value = "")]
    experiment: String,
    /// Leave the cells that agree out of the table
    #[arg(long)]
    misses: bool,
}

#[derive(Default)]
struct Totals {
    scenarios: u32,
    matched: u32,
    excused: u32,
    failed: u32,
    not_binding: u32,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.what {
        Some(What::Grid(arguments)) => return compare_grid(&arguments),
        Some(What::More(arguments)) => return run_more(arguments),
        None => {}
    }
    let mut totals = Totals::default();
    for folder in &arguments.folders {
        println!("{}", folder.display());
        for entry in suite::list(folder)? {
            if !entry.name.contains(&arguments.only) {
                continue;
            }
            if entry.binds == Binds::No {
                totals.not_binding += 1;
                println!("  {:42} not binding", entry.name);
                continue;
            }
            totals.scenarios += 1;
            report(&entry.name, &entry.outcome(), &mut totals);
        }
    }
    println!(
        "{}",
        serde_json::json!({
            "measurement": "ns2-suite",
            "scenarios": totals.scenarios,
            "matched": totals.matched,
            "excused": totals.excused,
            "failed": totals.failed,
            "not_binding": totals.not_binding,
        })
    );
    // At most one scenario in ten may be excused.
    let good = totals.failed == 0 && totals.excused * 10 <= totals.scenarios;
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run_more(arguments: MoreArguments) -> Result<ExitCode> {
    let table = grid::cell::read_text(&arguments.table)?;
    let more = grid::more::More {
        ns: arguments.ns,
        script: arguments.script,
        experiment: arguments.experiment,
        variant: arguments.variant,
        every: arguments.every,
        first_seed: arguments.first_seed,
        seeds: arguments.seeds,
    };
    print!("{}", more.run(&table, |line| eprintln!("{line}"))?);
    Ok(ExitCode::SUCCESS)
}

fn compare_grid(arguments: &GridArguments) -> Result<ExitCode> {
    let choice = grid::Choice {
        seeds: arguments.seeds,
        light: arguments.light,
        experiment: arguments.experiment.clone(),
    };
    let (cells, not_built) = grid::choose(&arguments.table, &choice)?;
    let measured = grid::measure(cells, &choice)?;
    let report = grid::report::Report::new(measured, not_built, choice.seeds);
    print!("{}", report.table(arguments.misses));
    print!("{}", report.summary());
    println!("{}", report.json());
    Ok(if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn report(name: &str, outcome: &Outcome, totals: &mut Totals) {
    match outcome {
        Outcome::Matched(c) => {
            totals.matched += 1;
            println!("  {name:42} matched, {} rows", c.agreeing);
        }
        Outcome::Excused(c, why) => {
            totals.excused += 1;
            println!(
                "  {name:42} excused ({} of {} rows): {why}",
                c.agreeing, c.rows
            );
        }
        Outcome::Failed(c, missing) => {
            totals.failed += 1;
            println!(
                "  {name:42} differs, {} of {} rows agree",
                c.agreeing, c.rows
            );
            if let Some(policy) = missing {
                println!("    needs {policy}");
            }
            if let Some(d) = &c.first {
                println!("    {d}");
            }
        }
        Outcome::Broken(why) => {
            totals.failed += 1;
            println!("  {name:42} cannot be run: {why}");
        }
    }
}
