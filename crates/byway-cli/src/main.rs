//! The `byway` command.

#![forbid(unsafe_code)]

mod advise;
mod args;
mod children;
mod cluster;
mod emulate;
mod failure;
mod lab;
mod namespace;
mod net;
mod papers;
mod program;
mod real;
mod reproduce;
mod settings;
mod sweep;
mod terminal;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use failure::{Failure, Kind};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("byway: {failure}");
            ExitCode::from(failure.kind as u8)
        }
    }
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => match &args.row {
            Some(row) => sweep::run_row(row, &args),
            None => lab::run(&args),
        },
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Compare(args) => sweep::compare(&args),
        Command::Advise(args) => advise::advise(&args),
        Command::Scenario => terminal::print(byway_lab::scenario::BUILT_IN),
        Command::Check { file, json } => lab::check(&file, json),
        Command::Settings { settings } => lab::settings(&settings),
        Command::Machine(args) => papers::machine(&args),
        Command::FailoverTime(args) => papers::failover_time(&args),
        Command::Reproduce(args) if args.real => real::real(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Emulate(args) => emulate::emulate(&args),
        Command::Doctor(args) => network(|ending| net::doctor(args, ending)),
        Command::Recv(args) => network(|ending| net::recv(args, ending)),
        Command::Send(args) => network(|ending| net::send(args, ending)),
        Command::Listen(args) => network(|ending| net::listen(args, ending)),
        Command::Cat(args) => network(|ending| net::cat(args, ending)),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "byway", &mut out);
            terminal::print(&String::from_utf8_lossy(&out))
        }
    }
}

/// Runs what needs sockets.
fn network<W>(work: impl FnOnce(net::Ending) -> W) -> Result<(), Failure>
where
    W: Future<Output = Result<(), Failure>>,
{
    // Two threads: the driver works while this one reads and writes files.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot start the runtime: {e}")))?;
    let result = runtime.block_on(async {
        let ending = net::Ending::begin()?;
        let result = work(ending.clone()).await;
        ending.result(result).await
    });
    // The process ends now. A read of standard input cannot be cancelled, and
    // threads that still work need the runtime up to the end.
    std::mem::forget(runtime);
    result
}
