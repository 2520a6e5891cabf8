//! Grids of scenarios: sweep, compare, and one row of them again.

use crate::args::{CompareArgs, RunArgs, SweepArgs};
use crate::failure::{Failure, Kind};
use crate::lab::{PATIENCE, counted, look, print, run_scenario};
use byway_lab::sweep::{
    Comparison, Plan, Question, Results, Resumed, Session, SweepError, compare_files,
    compare_values, journal_path, schema,
};
use byway_lab::trouble::Trouble;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PROGRESS: &str = "[{bar:30}] {pos} of {len} runs, {elapsed} so far, {eta} left";

pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let Some(file) = &args.file else {
        return print(&schema(None));
    };
    let plan = Plan::read(file).map_err(|problems| {
        let count = counted(problems.0.len(), "problem", "problems");
        Failure::wrong(format!("{count} in the sweep\n{problems}"))
    })?;
    if args.schema {
        return print(&schema(Some(&plan)));
    }
    if args.cells {
        return print(&cells(&plan));
    }
    let out = match &args.out {
        Some(out) => out.clone(),
        None => {
            let name = file.file_stem().unwrap_or_default();
            Path::new("out").join(name).with_added_extension("parquet")
        }
    };
    if let Some(folder) = out.parent().filter(|p| !p.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::file("make the folder", folder, &e))?;
    }
    let results = carry_out(&plan, args, &out)?;
    if args.json {
        let text = serde_json::to_string_pretty(&results.summary())
            .map_err(|e| Failure::new(Kind::Failed, format!("cannot write JSON: {e}")))?;
        return print(&format!("{text}\n"));
    }
    print(&format!(
        "{}: {}\n{}, {} in {}\n\n{}",
        plan.name,
        plan.description,
        counted(plan.cells.len(), "cell", "cells"),
        counted(results.rows.len(), "run", "runs"),
        out.display(),
        results.table(look())
    ))
}

/// Runs the sweep with progress; an interruption says what is kept.
fn carry_out(plan: &Plan, args: &SweepArgs, out: &Path) -> Result<Results, Failure> {
    let cancel = Arc::new(AtomicBool::new(false));
    watch_for_signals(&cancel)?;
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
    bar.set_style(ProgressStyle::with_template(PROGRESS).map_or_else(
        |_| ProgressStyle::default_bar(),
        |style| style.progress_chars("=> "),
    ));
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
    let resumed = |found: Resumed| {
        if !args.json {
            eprintln!("{}", resumed_words(&found, out));
        }
    };
    let session = Session {
        file: out,
        program: &program(),
        restart: args.restart,
        threads: args.threads.map_or(0, usize::from),
        cancel: Some(&cancel),
        progress: Some(&progress),
        resumed: Some(&resumed),
    };
    let results = byway_lab::sweep::sweep(plan, &session);
    bar.finish_and_clear();
    results.map_err(|error| {
        let kept = matches!(
            error,
            SweepError::Interrupted | SweepError::File(Trouble::File { .. })
        ) && journal_path(out).exists();
        let mut failure = Failure::from(error);
        if kept {
            failure.message.push_str(&format!(
                "\n{} of {} runs are kept in {}; the same command goes on with them",
                done_now.load(Ordering::Relaxed),
                most_now.load(Ordering::Relaxed),
                journal_path(out).display()
            ));
        }
        failure
    })
}

fn resumed_words(found: &Resumed, out: &Path) -> String {
    match found {
        Resumed::Finished => format!(
            "{} has the results already; --restart runs the sweep again",
            out.display()
        ),
        Resumed::Partly { runs, torn } => going_on(*runs, *torn),
    }
}

/// What a file of finished runs held: so many, and some bytes of one that was
/// being written.
pub(crate) fn going_on(runs: usize, torn: u64) -> String {
    let mut words = format!("going on after {}", counted(runs, "run", "runs"));
    if torn > 0 {
        words.push_str(&format!(
            "; {torn} bytes of one that was cut short are dropped"
        ));
    }
    words
}

/// Sets `cancel` at Ctrl-C or a wish to terminate; a second one ends at once.
fn watch_for_signals(cancel: &Arc<AtomicBool>) -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |e| Failure::new(Kind::Failed, format!("cannot watch for signals: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let cancel = Arc::clone(cancel);
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt()).map_err(failed)?,
            signal(SignalKind::terminate()).map_err(failed)?,
        )
    };
    // It lives as long as the command.
    std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if cancel.swap(true, Ordering::Relaxed) {
                    std::process::exit(Kind::Interrupted as i32);
                }
            }
        });
    });
    Ok(())
}

/// What tells this build from others: its version, size and time.
pub(crate) fn program() -> String {
    let made = std::env::current_exe()
        .and_then(std::fs::metadata)
        .and_then(|m| Ok((m.len(), m.modified()?)))
        .ok()
        .and_then(|(len, time)| {
            let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(format!("{len} {}", since.as_nanos()))
        });
    format!(
        "byway {} {}",
        env!("CARGO_PKG_VERSION"),
        made.unwrap_or_default()
    )
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
        let text = serde_json::to_string_pretty(&comparisons)
            .map_err(|e| Failure::new(Kind::Failed, format!("cannot write JSON: {e}")))?;
        return print(&format!("{text}\n"));
    }
    let tables: Vec<String> = comparisons.iter().map(|c| c.table(look())).collect();
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
    let differences = results.differences(n, &comparison.results[0]);
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

    #[test]
    fn the_template_can_be_read() {
        assert!(ProgressStyle::with_template(PROGRESS).is_ok());
    }
}
