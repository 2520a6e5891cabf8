//! Simulated networks and settings: run, check, settings.

use crate::args::{RunArgs, SettingArgs};
use crate::failure::{Failure, Kind};
use crate::settings::simulated;
use crate::terminal::{PATIENCE, counted, hidden_bar, print, print_json, say, terminal};
use byway_lab::result::Comparison;
use byway_lab::run::{DriveError, RunError, RunOptions, capture_name};
use byway_lab::scenario::{BUILT_IN, BUILT_IN_NAME, Scenario, setting_lines, setting_list};
use byway_lab::{address, picture, report, table};
use indicatif::ProgressDrawTarget;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const PROGRESS: &str = "simulating [{bar:30}] {percent} % of the longest time, {elapsed}";
fn read(file: &Path) -> Result<Scenario, Failure> {
    let name = file.display().to_string();
    if address::is_address(&name) {
        let text = address::text(&name).map_err(|e| Failure::wrong(e.to_string()))?;
        return parse(None, "the address", &text);
    }
    let text = std::fs::read_to_string(file).map_err(|e| {
        Failure::wrong(format!(
            "cannot read {}: {e}; `byway scenario` prints one to start from",
            file.display()
        ))
    })?;
    parse(file.parent(), &name, &text)
}

fn parse(folder: Option<&Path>, name: &str, text: &str) -> Result<Scenario, Failure> {
    let parsed = Scenario::parse_in(folder, name, text);
    parsed.map_err(|problems| Failure::wrong(problems.of_scenario()))
}

pub(crate) fn check(file: &Path, json: bool) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|e| Failure::wrong(format!("cannot read {}: {e}", file.display())))?;
    let found = Scenario::parse_in(file.parent(), &file.display().to_string(), &text);
    if json {
        let problems: Vec<serde_json::Value> = found
            .as_ref()
            .err()
            .into_iter()
            .flat_map(|p| &p.0)
            .map(|p| serde_json::json!({ "file": p.file, "line": p.line, "message": p.message }))
            .collect();
        let warnings: Vec<serde_json::Value> = found
            .iter()
            .flat_map(Scenario::warnings)
            .map(|(name, w)| serde_json::json!({ "policy": name, "message": w.to_string() }))
            .collect();
        let result = serde_json::json!({
            "schema": "byway.check/1",
            "ok": found.is_ok(),
            "problems": problems,
            "warnings": warnings,
        });
        print(&format!("{result}\n"))?;
    }
    let scenario = match found {
        Ok(scenario) => scenario,
        Err(problems) if json => {
            return Err(Failure::wrong(counted(
                problems.0.len(),
                "problem",
                "problems",
            )));
        }
        Err(_) => read(file)?,
    };
    if json {
        return Ok(());
    }
    warn_of(&scenario);
    print(&format!(
        "{}: no mistakes; {}, {}, {}\n",
        file.display(),
        counted(scenario.paths.len(), "path", "paths"),
        counted(scenario.events.len(), "event", "events"),
        counted(scenario.policies.len(), "policy", "policies")
    ))
}

/// Settings that contradict each other, to standard error.
fn warn_of(scenario: &Scenario) {
    for (policy, w) in scenario.warnings() {
        say(format_args!("warning: policy \"{policy}\": {w}"));
    }
}

pub(crate) fn settings(args: &SettingArgs, json: bool) -> Result<(), Failure> {
    let config = simulated(args)?;
    if json {
        return print_json(&serde_json::json!({
            "schema": "byway.settings/1",
            "settings": setting_list(&config),
        }));
    }
    print(&setting_lines(&config))
}

/// A scenario's file or address, or the built-in one.
pub(crate) fn scenario(file: Option<&Path>) -> Result<Scenario, Failure> {
    match file {
        Some(file) => read(file),
        None => Scenario::parse(BUILT_IN_NAME, BUILT_IN).map_err(|e| Failure::wrong(e.to_string())),
    }
}

pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let mut scenario = scenario(args.scenario.as_deref())?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    keep_only(&mut scenario, &args.only)?;
    warn_of(&scenario);
    run_scenario(&scenario, args).map(drop)
}

/// Runs a scenario, writes its report and prints what came out.
pub(crate) fn run_scenario(scenario: &Scenario, args: &RunArgs) -> Result<Comparison, Failure> {
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Failure::file("make the folder", &args.out, &e))?;
    let comparison = match args.real {
        true => crate::run_real::run(scenario, args)?,
        false => run_with_progress(scenario, args)?,
    };
    let report_file = args.out.join("report.html");
    std::fs::write(&report_file, report::html(&comparison))
        .map_err(|e| Failure::file("write", &report_file, &e))?;
    if args.json {
        print_json(&comparison)?;
        return Ok(comparison);
    }
    print(&shown(&comparison))?;
    let mut written = vec![report_file.display().to_string()];
    if args.pcap {
        let names = comparison.results.iter().enumerate();
        written.extend(names.map(|(i, r)| {
            args.out
                .join(capture_name(i, &r.policy))
                .display()
                .to_string()
        }));
    }
    print(&format!("\nwritten: {}\n", written.join(", ")))?;
    Ok(comparison)
}

fn keep_only(scenario: &mut Scenario, only: &[String]) -> Result<(), Failure> {
    for name in only {
        if !scenario.policies.iter().any(|p| p.name == *name) {
            let names: Vec<String> = scenario
                .policies
                .iter()
                .map(|p| format!("\"{}\"", p.name))
                .collect();
            return Err(Failure::wrong(format!(
                "--only {name}: no such policy; there are {}",
                names.join(", ")
            )));
        }
    }
    if !only.is_empty() {
        scenario.policies.retain(|p| only.contains(&p.name));
    }
    Ok(())
}

fn run_with_progress(scenario: &Scenario, args: &RunArgs) -> Result<Comparison, Failure> {
    let bar = hidden_bar(Some(1000), PROGRESS);
    let shares: Vec<std::sync::atomic::AtomicU64> =
        scenario.policies.iter().map(|_| 0.into()).collect();
    let begun = Instant::now();
    let progress = |index: usize, share: f64| {
        use std::sync::atomic::Ordering::Relaxed;
        shares[index].store((share * 1000.0) as u64, Relaxed);
        if begun.elapsed() > PATIENCE && !args.json {
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            let sum: u64 = shares.iter().map(|s| s.load(Relaxed)).sum();
            bar.set_position(sum / shares.len().max(1) as u64);
        }
    };
    let cancel = Arc::new(AtomicBool::new(false));
    // The part of a capture goes.
    Failure::watch_signals_and(&cancel, Failure::last_signal)?;
    let options = RunOptions {
        captures: args.pcap.then_some(args.out.as_path()),
        progress: Some(&progress),
        cancel: Some(&cancel),
        ..RunOptions::default()
    };
    let result = byway_lab::run::run(scenario, options).map_err(|error| match error {
        RunError::Policy {
            error: DriveError::Cancelled,
            ..
        } => Failure::signal(),
        error => Failure::new(Kind::Failed, error.to_string()),
    });
    bar.finish_and_clear();
    let comparison = result?;
    Failure::watched_to_the_end(&cancel)?;
    Ok(comparison)
}

fn shown(comparison: &Comparison) -> String {
    let terminal = terminal();
    let s = &comparison.scenario;
    format!(
        "{}: {} (seed {})\n\n{}\n{}\n{}\n",
        s.name,
        s.description,
        s.seed,
        table::render(comparison, terminal),
        picture::render(comparison, terminal),
        table::summary(comparison)
    )
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
