//! Grids of scenarios: sweep, compare, and one row of them again.

use crate::args::{CompareArgs, RunArgs, SweepArgs};
use crate::cluster;
use crate::failure::{Failure, Kind};
use crate::lab::run_scenario;
use crate::program::{going_on, program};
use crate::signals;
use crate::terminal::{PATIENCE, counted, hidden_bar, print, print_json, say, terminal};
use byway_lab::engine::EngineError;
use byway_lab::metrics::Metrics;
use byway_lab::sweep::{
    Comparison, Found, Plan, Question, Results, Session, compare_files, compare_values,
    journal_path, read, schema,
};
use byway_lab::trouble::Trouble;
use indicatif::ProgressDrawTarget;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PROGRESS: &str = "[{bar:30}] {pos} of {len} runs, {elapsed} so far, {eta} left";

pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let Some(file) = &args.file else {
        return print(&schema(None));
    };
    let plan = read(file, &Metrics::standard()).map_err(|problems| {
        let count = counted(problems.0.len(), "problem", "problems");
        Failure::wrong(format!("{count} in the sweep\n{problems}"))
    })?;
    if args.schema {
        return print(&schema(Some(&plan)));
    }
    if args.cells {
        return print(&cells(&plan));
    }
    if let Some(scheduler) = &args.dask {
        return Err(cluster::become_dask(file, scheduler, args));
    }
    let out = match &args.out {
        Some(out) => out.clone(),
        None => {
            let name = file.file_stem().unwrap_or_default();
            Path::new("out").join(name).with_added_extension("parquet")
        }
    };
    let results = carry_out(&plan, args, &out)?;
    if args.json {
        return print_json(&results.summary());
    }
    print(&results.text(&out.display().to_string(), terminal()))
}

/// Runs the sweep with progress; an interruption says what is kept.
fn carry_out(plan: &Plan, args: &SweepArgs, out: &Path) -> Result<Results, Failure> {
    let cancel = Arc::new(AtomicBool::new(false));
    Failure::watch_signals(&cancel)?;
    let bar = hidden_bar(Some(0), PROGRESS);
    let begun = Instant::now();
    let (done_now, most_now) = (AtomicUsize::new(0), AtomicUsize::new(plan.runs()));
    let first = AtomicBool::new(true);
    let progress = |done: usize, most: usize| {
        done_now.store(done, Ordering::Relaxed);
        most_now.store(most, Ordering::Relaxed);
        if first.swap(false, Ordering::Relaxed) {
            // What was done earlier took no time now.
            bar.set_position(done as u64);
            bar.reset_eta();
        }
        bar.set_length(most as u64);
        bar.set_position(done as u64);
        if bar.is_hidden() && begun.elapsed() > PATIENCE && !args.json {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(500));
        }
    };
    let found = |found: Found| {
        if !args.json {
            say(found_words(&found, out));
        }
    };
    let session = Session {
        file: out,
        program: &program(),
        restart: args.restart,
        threads: args.threads.map_or(0, usize::from),
        cancel: Some(&cancel),
        progress: Some(&progress),
        found: Some(&found),
    };
    let results = byway_lab::sweep::sweep(plan, &session);
    signals::end_at_once();
    bar.finish_and_clear();
    results.map_err(|error| {
        let kept = matches!(
            error,
            EngineError::Interrupted | EngineError::File(Trouble::File { .. })
        ) && journal_path(out).exists();
        let mut failure = Failure::from(error);
        if kept {
            failure.message.push_str(&format!(
                "\n{} of {} runs are kept in {}; the same command resumes with them",
                done_now.load(Ordering::Relaxed),
                most_now.load(Ordering::Relaxed),
                journal_path(out).display()
            ));
        }
        failure
    })
}

fn found_words(found: &Found, out: &Path) -> String {
    match found {
        Found::Finished => format!(
            "{} has the results already; --restart runs the sweep again",
            out.display()
        ),
        Found::Partly(resumed) => going_on(*resumed),
    }
}

fn cells(plan: &Plan) -> String {
    let mut out = String::new();
    for (i, cell) in plan.cells.iter().enumerate() {
        let values: Vec<String> = plan
            .axes
            .iter()
            .zip(&cell.values)
            .map(|(axis, value)| format!("{} = {value}", axis.name))
            .collect();
        out.push_str(&format!("{:>5}  {}\n", i + 1, values.join(", ")));
    }
    let most = if plan.stop.is_some() { "at most " } else { "" };
    out.push_str(&format!(
        "{}, {most}{} each: {most}{}\n",
        counted(plan.cells.len(), "cell", "cells"),
        counted(plan.seeds.len(), "run", "runs"),
        counted(plan.runs(), "run", "runs")
    ));
    out
}

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let question = Question {
        metrics: args.metric.clone(),
        confidence: args.confidence,
    };
    let results = Results::read(&args.file)?;
    let comparisons = match &args.by {
        Some(axis) => by_values(&results, axis, args, &question)?,
        None => {
            let [other] = args.others.as_slice() else {
                return Err(Failure::wrong(
                    "two results files are compared: byway compare A B; or values of an axis of one: byway compare A --by policy",
                ));
            };
            let path = PathBuf::from(other);
            let b = Results::read(&path)?;
            let a_name = args.file.display().to_string();
            vec![
                compare_files((&a_name, &results), (other, &b), &question)
                    .map_err(Failure::wrong)?,
            ]
        }
    };
    if args.json {
        return print_json(&comparisons);
    }
    let tables: Vec<String> = comparisons.iter().map(|c| c.table(terminal())).collect();
    print(&tables.join("\n"))
}

fn by_values(
    results: &Results,
    axis: &str,
    args: &CompareArgs,
    question: &Question,
) -> Result<Vec<Comparison>, Failure> {
    let pairs: Vec<(&str, &str)> = match args.others.as_slice() {
        [a, b] => vec![(a, b)],
        [] => {
            let known = results.about.axes.iter().find(|x| x.name == axis);
            match known.map(|x| x.values.as_slice()) {
                Some([first, rest @ ..]) if !rest.is_empty() => {
                    rest.iter().map(|v| (first.as_str(), v.as_str())).collect()
                }
                // Whatever is wrong with it will be said.
                _ => vec![("", "")],
            }
        }
        _ => {
            return Err(Failure::wrong(format!(
                "--by {axis} takes two of its values, or none to hold all against the first"
            )));
        }
    };
    pairs
        .into_iter()
        .map(|pair| compare_values(results, axis, pair, question).map_err(Failure::wrong))
        .collect()
}

/// `byway run --row FILE:N`: the run of that row again, which must give the
/// same numbers.
pub(crate) fn run_row(row: &str, args: &RunArgs) -> Result<(), Failure> {
    let parsed = row
        .rsplit_once(':')
        .and_then(|(file, n)| Some((file, n.parse::<usize>().ok()?.checked_sub(1)?)));
    let Some((file, n)) = parsed else {
        return Err(Failure::wrong(format!(
            "--row {row}: write FILE:N, such as out/grid.parquet:17, with rows counted from 1"
        )));
    };
    let results = Results::read(Path::new(file))?;
    let scenario = results.scenario_of(n).map_err(Failure::wrong)?;
    let comparison = run_scenario(&scenario, args)?;
    let differences = results.differences(n, &comparison.results[0], &Metrics::standard());
    if !differences.is_empty() {
        return Err(Failure::new(
            Kind::Failed,
            format!(
                "other numbers than in the file, which another version of byway may have written: {}",
                differences.join(", ")
            ),
        ));
    }
    if args.json {
        return Ok(());
    }
    print(&format!("the same numbers as row {} of {file}\n", n + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressStyle;

    #[test]
    fn the_template_can_be_read() {
        assert!(ProgressStyle::with_template(PROGRESS).is_ok());
    }
}
