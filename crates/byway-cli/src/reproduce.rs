//! The papers' claims and figures, run again.

use crate::args::ReproduceArgs;
use crate::failure::{Failure, Kind};
use crate::program::{going_on, program};
use crate::terminal::{PATIENCE, hidden_bar, print, print_json, say, terminal};
use byway_papers::reproduce::cells::{Place, Value};
use byway_papers::reproduce::{
    Ablation, Effort, Report, Request, Resumed, Vary, Watch, markdown, page, reproduce as run,
    text, varied,
};
use indicatif::ProgressDrawTarget;
use std::process::Command;
use std::time::{Duration, Instant};

const PROGRESS: &str = "simulating [{bar:30}] {pos} of {len} runs, {elapsed}, {eta} left";
/// Looks at the runs with `--until-decided`, as experiments/RULE.md says.
const LOOKS: u32 = 3;
/// Time between two pictures of the progress.
const PICTURE: Duration = Duration::from_millis(100);

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    let effort = if args.full {
        Effort::Full
    } else {
        Effort::Quick
    };
    let request = Request {
        what: args.what.clone(),
        effort,
        at: place(&args.at)?,
        experiments: args.experiments.clone(),
        runs: args.runs.clone(),
        raw: args.raw.clone(),
        ablations: other_settings(args),
        looks: if args.until_decided { LOOKS } else { 1 },
        program: program(),
    };
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Failure::file("make the folder", &args.out, &e))?;
    let report = run_with_progress(&request, args.json)?;
    let html = page::html(&report, env!("CARGO_PKG_VERSION"))
        .map_err(|e| Failure::new(Kind::Failed, e))?;
    let file = args.out.join("reproduce.html");
    std::fs::write(&file, html).map_err(|e| Failure::file("write", &file, &e))?;
    let summary = args.out.join("reproduce.md");
    std::fs::write(&summary, markdown::render(&report))
        .map_err(|e| Failure::file("write", &summary, &e))?;
    let controls = args.out.join("controls.md");
    if args.controls {
        std::fs::write(&controls, markdown::controls(&report))
            .map_err(|e| Failure::file("write", &controls, &e))?;
    }
    let origin = origin();
    let mut written = vec![file.clone(), summary.clone()];
    for (asked, name, text) in [
        (args.matrix, "matrix.md", varied::matrix(&report, &origin)),
        (
            args.sensitivity,
            "sensitivity.md",
            varied::sensitivity(&report, &origin),
        ),
    ] {
        if asked {
            let table = args.out.join(name);
            std::fs::write(&table, text).map_err(|e| Failure::file("write", &table, &e))?;
            written.push(table);
        }
    }
    if args.json {
        return print_json(&report);
    }
    if !args.at.is_empty() {
        print(&text::points(&report))?;
        return print(&format!("written: {}\n", file.display()));
    }
    print(&text::render(&report, terminal()))?;
    if args.controls {
        print(&format!(
            "\n{}written: {}\n",
            text::controls(&report),
            controls.display()
        ))?;
    }
    let written: Vec<String> = written.iter().map(|f| f.display().to_string()).collect();
    print(&format!("\nwritten: {}\n", written.join(", ")))
}

/// The settings that take the place of the papers'.
fn other_settings(args: &ReproduceArgs) -> Vec<Ablation> {
    let mut all = Vec::new();
    if args.ablation {
        all.extend(Ablation::PRESETS);
    }
    if args.matrix {
        all.extend(Vary::MATRIX.map(Ablation::But));
    }
    if args.sensitivity {
        all.extend(Vary::SENSITIVITY.map(Ablation::But));
    }
    all
}

/// The program and, in a work tree, its commit.
fn origin() -> String {
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(done.stdout).ok()?;
        done.status.success().then(|| text.trim().to_owned())
    };
    let version = env!("CARGO_PKG_VERSION");
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return format!("By byway {version}.");
    };
    let changes = match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(text) if text.is_empty() => "without changes",
        _ => "with changes",
    };
    format!("By byway {version}, in a work tree at commit {commit} {changes}.")
}

/// The place that `--at` names.
fn place(at: &[String]) -> Result<Place, Failure> {
    let one = |text: &String| {
        let (axis, value) = text.split_once('=').ok_or_else(|| {
            let why = format!("--at {text}: not AXIS=VALUE, such as loss1=8");
            Failure::new(Kind::Wrong, why)
        })?;
        let value = match value.parse() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::Text(value.to_owned()),
        };
        Ok((axis.to_owned(), value))
    };
    at.iter().map(one).collect()
}

fn run_with_progress(request: &Request, quiet: bool) -> Result<Report, Failure> {
    let bar = hidden_bar(None, PROGRESS);
    let begun = Instant::now();
    let progress = |done: usize, all: usize| {
        if quiet || begun.elapsed() < PATIENCE {
            return;
        }
        if bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.set_length(all as u64);
            bar.enable_steady_tick(PICTURE);
        }
        bar.set_position(done as u64);
    };
    let resumed = |found: Resumed| {
        if !quiet {
            say(going_on(found));
        }
    };
    let watch = Watch {
        progress: &progress,
        resumed: &resumed,
        cancel: None,
    };
    let result = run(request, &watch);
    bar.finish_and_clear();
    Ok(result?)
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
