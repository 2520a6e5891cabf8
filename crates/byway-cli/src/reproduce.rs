//! The papers' claims and figures, run again.

use crate::args::ReproduceArgs;
use crate::failure::{Failure, Kind};
use crate::program::{going_on, program};
use crate::terminal::{PATIENCE, hidden_bar, print, print_json, terminal};
use byway_papers::reproduce::{
    Ablation, Effort, Report, Request, Resumed, Watch, markdown, page, reproduce as run, text,
};
use indicatif::ProgressDrawTarget;
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
        experiments: args.experiments.clone(),
        runs: args.runs.clone(),
        ablations: match args.ablation {
            true => Ablation::ALL.to_vec(),
            false => Vec::new(),
        },
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
    if args.json {
        return print_json(&report);
    }
    print(&text::render(&report, terminal()))?;
    if args.controls {
        print(&format!(
            "\n{}written: {}\n",
            text::controls(&report),
            controls.display()
        ))?;
    }
    print(&format!(
        "\nwritten: {}, {}\n",
        file.display(),
        summary.display()
    ))
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
            eprintln!("{}", going_on(found));
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
