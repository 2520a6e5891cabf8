//! The papers' claims and figures, run again.

mod origin;

pub(crate) use origin::origin;

use crate::args::ReproduceArgs;
use crate::failure::{Failure, Kind};
use crate::program::{going_on, program};
use crate::terminal::{PATIENCE, hidden_bar, print, print_json, say, terminal};
use byway_papers::reproduce::against::{Agreement, Other};
use byway_papers::reproduce::cells::{Place, Value};
use byway_papers::reproduce::{
    Ablation, Effort, Origin, Report, Request, Resumed, Vary, Watch, markdown, page,
    reproduce as run, text, varied,
};
use indicatif::ProgressDrawTarget;
use std::path::Path;
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
        first_seed: args.seeds_from,
        program: program(),
    };
    // What cannot be read is told before hours of runs.
    let other = args.against.as_deref().map(read).transpose()?;
    for folder in [Some(&args.out), args.figures.as_ref()]
        .into_iter()
        .flatten()
    {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::file("make the folder", folder, &e))?;
    }
    // Before the runs: meanwhile the work tree may change.
    let origin = origin();
    let mut report = run_with_progress(&request, args.json)?;
    report.origin = Some(origin);
    let compared = other.map(|other| other.agreement(&report));
    let written = write(args, &report, compared.as_ref())?;
    if args.json {
        print_json(&report)?;
    } else if args.at.is_empty() {
        print(&text::render(&report, terminal()))?;
        if args.controls {
            print(&format!("\n{}", text::controls(&report)))?;
        }
        if let Some(compared) = &compared {
            print(&format!("\n{}", compared.markdown().replace("**", "")))?;
        }
    } else {
        print(&text::points(&report))?;
    }
    if !args.json {
        print(&format!("\nwritten: {}\n", written.join(", ")))?;
    }
    let vacuous = report.vacuous();
    if args.controls && !vacuous.is_empty() {
        let why = format!(
            "checks that are not shown to fail where they must not hold: {}",
            vacuous.join("; ")
        );
        return Err(Failure::new(Kind::Failed, why));
    }
    Ok(())
}

fn read(file: &Path) -> Result<Other, Failure> {
    let json = std::fs::read_to_string(file).map_err(|e| Failure::file("read", file, &e))?;
    Other::read(&json).map_err(|why| Failure::new(Kind::Wrong, format!("{} {why}", file.display())))
}

/// Writes the page, the texts and the tables that were asked for; their names.
fn write(
    args: &ReproduceArgs,
    report: &Report,
    compared: Option<&Agreement>,
) -> Result<Vec<String>, Failure> {
    let html = page::html(report, env!("CARGO_PKG_VERSION"), compared)
        .map_err(|e| Failure::new(Kind::Failed, e))?;
    let json = serde_json::to_string_pretty(report)
        .map_err(|e| Failure::new(Kind::Failed, e.to_string()))?;
    let mut texts = vec![
        ("reproduce.html", html),
        ("reproduce.md", markdown::render(report, compared)),
        ("reproduce.json", json + "\n"),
    ];
    if args.controls {
        texts.push(("controls.md", markdown::controls(report)));
    }
    let origin = report.origin.as_ref().map_or(String::new(), Origin::words);
    if args.matrix {
        texts.push(("matrix.md", varied::matrix(report, &origin)));
    }
    if args.sensitivity {
        texts.push(("sensitivity.md", varied::sensitivity(report, &origin)));
    }
    let mut written = Vec::new();
    for (name, text) in texts {
        let file = args.out.join(name);
        std::fs::write(&file, text).map_err(|e| Failure::file("write", &file, &e))?;
        written.push(file.display().to_string());
    }
    if let Some(folder) = &args.figures {
        let figures: Vec<_> = report.papers.iter().flat_map(|p| &p.figures).collect();
        for figure in &figures {
            let file = folder.join(figure.file_name());
            std::fs::write(&file, figure.csv()).map_err(|e| Failure::file("write", &file, &e))?;
        }
        written.push(format!("{} figures in {}", figures.len(), folder.display()));
    }
    Ok(written)
}

/// The settings that take the place of the papers'.
fn other_settings(args: &ReproduceArgs) -> Vec<Ablation> {
    let mut all = Vec::new();
    if args.ablation || (args.full && args.at.is_empty()) {
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
