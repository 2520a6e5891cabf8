//! Recommended settings for described or measured paths: advise.

use crate::failure::{Failure, Kind};
use crate::signals;
use crate::terminal::{PATIENCE, counted, hidden_bar, print, print_json};
use byway_lab::advise::{
    AdviseError, Effort, File, Fixed, Hooks, Request, Target, Within, advise as search, files,
};
use clap::Args;
use indicatif::ProgressDrawTarget;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub(crate) const EXAMPLES: &str = "\
A path is rtt=TIME,rate=RATE and, if you know them, loss=SHARE (each way), burst=N (packets \
lost together on average), jitter=TIME, queue=SIZE and name=TEXT. The first one is the \
primary.

Examples:
  byway advise --path rtt=20ms,rate=50M --path rtt=60ms,rate=5M,loss=1%

  byway advise --path rtt=20ms,rate=50M --path rtt=60ms,rate=5M \\
      --traffic 'paced 1kB/2ms' --hurts stall --at-most-moves 1/hour \\
      --for byway,linux,usrsctp --within 5min

  # what `byway doctor` measures (`byway recv --unprotected` there)
  byway advise --to 10.0.0.1,10.1.0.1

  # a file: traffic = \"bulk\", and for each path a table
  # [[path]] with rtt = \"20 ms\", rate = \"50 Mbit/s\"
  byway advise --paths paths.toml

  # the runs behind the table, again
  byway sweep out/advise/byway-death.toml";

const PROGRESS: &str = "{msg} [{bar:30}] {elapsed} of {prefix}";

#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// A path: rtt=20ms,rate=50M,loss=0.5%; once for each path, the primary first
    #[arg(long = "path", value_name = "KEY=VALUE,...")]
    pub(crate) path: Vec<String>,
    /// File with paths (TOML or JSON), or what `byway doctor --json` printed
    #[arg(long, value_name = "FILE")]
    pub(crate) paths: Option<PathBuf>,
    /// Measure the paths first, as `byway doctor --to` does: addresses of the other side, where
    /// `byway recv` waits, the primary first
    #[arg(long, value_name = "ADDR[,ADDR]", value_delimiter = ',', conflicts_with_all = ["paths", "path"])]
    pub(crate) to: Vec<String>,
    /// With --to: local addresses; each is tried with each of --to
    #[arg(
        long,
        value_name = "ADDR[,ADDR]",
        value_delimiter = ',',
        requires = "to",
        conflicts_with_all = ["paths", "path"]
    )]
    pub(crate) bind: Vec<String>,
    /// With --to: the other side's SCTP port
    #[arg(long, value_name = "PORT", default_value_t = 5001, requires = "to", conflicts_with_all = ["paths", "path"], value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// What is sent: bulk, 'paced SIZE/TIME' or 'requests SIZE/TIME' [default: bulk]
    #[arg(long, value_name = "TRAFFIC")]
    pub(crate) traffic: Option<String>,
    /// What hurts: stall, moves and cost (use of other paths than the first), each with a
    /// weight if it is not 1 [default: stall=1,moves=1,cost=0.1]
    #[arg(long, value_name = "WHAT[=N],...")]
    pub(crate) hurts: Option<String>,
    /// Limit: the longest stall that 95 % of deaths may cause
    #[arg(long, value_name = "TIME")]
    pub(crate) max_stall: Option<String>,
    /// Limit: needless moves, such as 3/hour or 1/day
    #[arg(long, value_name = "N/TIME")]
    pub(crate) at_most_moves: Option<String>,
    /// Limit: share of the payload on other paths than the first while nothing fails
    #[arg(long, value_name = "SHARE")]
    pub(crate) max_cost: Option<String>,
    /// For whom: byway, linux (sysctl) and usrsctp (socket options)
    #[arg(
        long = "for",
        value_name = "WHO,...",
        value_delimiter = ',',
        default_value = "byway"
    )]
    pub(crate) target: Vec<String>,
    /// How long it may take; more time gives narrower intervals
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = byway_lab::units::parse_duration)]
    pub(crate) within: Duration,
    /// Run so much, whatever the time: seeds of each candidate at first, and of each finalist
    /// in the check (1 to 1000, 2 to 2000). The same numbers give the same answer
    #[arg(long, value_name = "SEARCH,CHECK", value_parser = effort, conflicts_with = "within")]
    pub(crate) runs: Option<Effort>,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..1_000_000_000))]
    pub(crate) seed: u64,
    /// Folder for the files to check the answer with
    #[arg(long, value_name = "DIR", default_value = "out/advise")]
    pub(crate) out: PathBuf,
    /// Print the answer as JSON, and no progress
    #[arg(long)]
    pub(crate) json: bool,
}

/// `4,160`.
fn effort(text: &str) -> Result<Effort, String> {
    let wrong = || format!("\"{text}\" is not SEARCH,CHECK, such as 4,160");
    let (search, check) = text.split_once(',').ok_or_else(wrong)?;
    let search = search.trim().parse().map_err(|_| wrong())?;
    let check = check.trim().parse().map_err(|_| wrong())?;
    if !(1..=1000).contains(&search) || !(2..=2000).contains(&check) {
        return Err(
            "at least 1,2 (one run alone has no interval) and at most 1000,2000".to_owned(),
        );
    }
    Ok(Effort { search, check })
}

/// `measured` is what `byway doctor --json` prints of the addresses in --to.
pub(crate) fn advise(args: &AdviseArgs, measured: Option<&str>) -> Result<(), Failure> {
    let request = request(args, measured)?;
    // Known before the work begins.
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Failure::file("make the folder", &args.out, &e))?;
    let cancel = Arc::new(AtomicBool::new(false));
    Failure::watch_signals(&cancel)?;
    let bar = hidden_bar(Some(1), PROGRESS);
    let begun = Instant::now();
    let within = args.within;
    bar.set_prefix(byway_lab::units::format_duration(within));
    let progress = |stage: &str, done: usize| {
        if begun.elapsed() > PATIENCE && !args.json {
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.set_length(within.as_millis() as u64);
            }
            bar.set_message(format!("{stage}, {}", counted(done, "run", "runs")));
            bar.set_position(begun.elapsed().as_millis() as u64);
        }
    };
    let hooks = Hooks {
        cancel: Some(&cancel),
        progress: Some(&progress),
    };
    let advice = match args.runs {
        Some(Effort { search: s, check }) => search(&request, &Fixed { search: s, check }, &hooks),
        None => search(&request, &Within::begin(within), &hooks),
    };
    bar.finish_and_clear();
    let advice = advice?;
    // The answer says by itself whether a signal has ended the search.
    signals::end_at_once();
    if args.json {
        print_json(&advice)?;
    } else {
        print(&advice.table())?;
    }
    let files = files(&request, &advice).map_err(|e| Failure::new(Kind::Failed, e))?;
    write(&args.out, &files)?;
    if !args.json {
        print(&format!(
            "\nwritten: {} in {}; open advice.html there for the picture\n",
            counted(files.len(), "file", "files"),
            args.out.display()
        ))?;
    }
    if advice.interrupted {
        return Err(ended(
            "; the answer rests on the runs that were done before",
        ));
    }
    Ok(())
}

impl From<AdviseError> for Failure {
    fn from(error: AdviseError) -> Failure {
        match error {
            AdviseError::Wrong(_) | AdviseError::TooShort(_) => Failure::wrong(error.to_string()),
            AdviseError::Interrupted => ended("; the search was not done, so there is no answer"),
            AdviseError::Engine(error) => error.into(),
        }
    }
}

/// By a signal; what that leaves.
fn ended(rest: &str) -> Failure {
    let mut failure = Failure::signal();
    failure.message += rest;
    failure
}

fn write(folder: &Path, files: &[File]) -> Result<(), Failure> {
    for file in files {
        let path = folder.join(&file.name);
        std::fs::write(&path, &file.text).map_err(|e| Failure::file("write", &path, &e))?;
    }
    Ok(())
}

fn request(args: &AdviseArgs, measured: Option<&str>) -> Result<Request, Failure> {
    let mut request = Request {
        seed: args.seed,
        ..Request::default()
    };
    let wrong = |what: &str| {
        let what = what.to_owned();
        move |e: String| Failure::wrong(format!("{what}: {e}"))
    };
    if let Some(measured) = measured {
        request
            .add_document("the measurement", measured)
            .map_err(Failure::wrong_in("the measurement"))?;
    }
    if let Some(file) = &args.paths {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|e| Failure::wrong(format!("cannot read {name}: {e}")))?;
        request
            .add_document(&name, &text)
            .map_err(Failure::wrong_in("the paths"))?;
    }
    for path in &args.path {
        request
            .add_path(path)
            .map_err(Failure::wrong_in("a path"))?;
    }
    if let Some(traffic) = &args.traffic {
        request
            .set_traffic(traffic)
            .map_err(Failure::wrong_in("the traffic"))?;
    }
    let wishes = &mut request.wishes;
    if let Some(text) = &args.hurts {
        wishes.set_hurts(text).map_err(wrong("--hurts"))?;
    }
    if let Some(text) = &args.max_stall {
        wishes.set_max_stall(text).map_err(wrong("--max-stall"))?;
    }
    if let Some(text) = &args.at_most_moves {
        wishes
            .set_max_moves(text)
            .map_err(wrong("--at-most-moves"))?;
    }
    if let Some(text) = &args.max_cost {
        wishes.set_max_cost(text).map_err(wrong("--max-cost"))?;
    }
    let mut targets: Vec<Target> = Vec::new();
    for name in &args.target {
        let target = Target::named(name.trim()).map_err(wrong("--for"))?;
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    request.targets = targets;
    Ok(request)
}

impl Failure {
    /// Something written has mistakes.
    fn wrong_in(what: &str) -> impl Fn(byway_lab::source::Problems) -> Failure {
        move |problems| {
            let count = counted(problems.0.len(), "problem", "problems");
            Failure::wrong(format!("{count} in {what}\n{problems}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressStyle;

    #[test]
    fn the_template_can_be_read() {
        assert!(ProgressStyle::with_template(PROGRESS).is_ok());
    }

    #[test]
    fn an_effort_is_two_numbers() {
        assert_eq!(
            effort("4,160"),
            Ok(Effort {
                search: 4,
                check: 160
            })
        );
        for text in ["4", "0,8", "a,b", "4,99999"] {
            assert!(effort(text).is_err(), "{text}");
        }
    }
}
