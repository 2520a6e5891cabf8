//! `byway top`: what the running commands of this user do.

mod ask;
mod rates;
mod screen;
mod table;

use crate::failure::Failure;
use crate::terminal::{print, print_json, say, terminal};
use ask::Found;
use clap::Args;
use rates::Rates;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use table::NOBODY;

pub(crate) const EXAMPLES: &str = "\
Keys: up and down choose a path, p makes it the primary path of its association, r lets it \
rest (data goes there only while no other path is active) or ends that, q ends. In the table * \
marks the path that carries new data, p the primary path, b a path that rests. Rates are in \
bit/s, losses in % of payload, both of the last second.

Examples:
  byway top

  # one table, rates of half a second
  byway top --once

  byway top --json |
      jq '.processes[].associations[].paths[] | {remote, state, srtt_s}'";

/// Time between the two looks of a table that is printed once.
const BETWEEN: Duration = Duration::from_millis(500);

/// Show running commands.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Print one table and end
    #[arg(long)]
    once: bool,
    /// Print what each process tells as JSON and end; counters begin with its endpoint, fields in
    /// _s are seconds
    #[arg(long)]
    json: bool,
}

pub(crate) fn top(args: &TopArgs) -> Result<(), Failure> {
    if args.json {
        return print_json(&Found::now()?);
    }
    let seen = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if seen && !args.once {
        return screen::live();
    }
    once()
}

fn once() -> Result<(), Failure> {
    let mut rates = Rates::default();
    let first = Found::now()?;
    if first.is_empty() {
        say(NOBODY);
        return Ok(());
    }
    rates.update(&first, Instant::now());
    std::thread::sleep(BETWEEN);
    let found = Found::now()?;
    rates.update(&found, Instant::now());
    let terminal = terminal();
    let lines = table::lines(&found, &rates, terminal.width);
    let text: String = lines
        .iter()
        .map(|line| line.painted(terminal, false) + "\n")
        .collect();
    print(&text)
}
