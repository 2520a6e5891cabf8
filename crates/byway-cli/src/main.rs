//! The `byway` command.

#![deny(unsafe_code)]
// They panic where nobody reads, or the disk is full: `terminal` has what does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod advise;
mod args;
mod below;
mod children;
mod cluster;
mod emulate;
mod failure;
mod give_back;
mod help;
mod lab;
mod manual;
mod namespace;
mod net;
mod options;
mod papers;
mod program;
mod real;
mod reproduce;
mod run_real;
mod secrets;
mod settings;
mod signals;
mod sweep;
mod terminal;
mod top;
mod unseal;
mod waiting;

use args::{Cli, Command};
use clap::CommandFactory;
use failure::{Failure, Kind};
use net::{Recording, Talk};
use options::{Asked, Unread};
use std::process::ExitCode;
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    // Without it a command ends when a file grows too large; that is no reason not to begin.
    let _ = signals::outlive_large_files();
    let failed = |failure: &Failure| {
        terminal::say(format_args!("byway: {}", secrets::hidden(&failure.message)));
        ExitCode::from(failure.kind as u8)
    };
    let cli = match options::parse(std::env::args_os().collect()) {
        Ok(Asked::Command(cli)) => cli,
        Ok(Asked::Nothing) => return ExitCode::SUCCESS,
        Err(Unread::Clap(error))
            if error.use_stderr() && error.to_string().contains(byway_tls::TICKET_PREFIX) =>
        {
            terminal::say(format_args!(
                "{}",
                secrets::hidden(error.to_string().trim_end())
            ));
            return ExitCode::from(Kind::Wrong as u8);
        }
        Err(Unread::Clap(error)) => error.exit(),
        Err(Unread::Failure(failure)) => return failed(&failure),
    };
    let status = match dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failed(&failure),
    };
    terminal::finish_saying();
    status
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => match &args.row {
            Some(row) => sweep::run_row(row, &args),
            None => lab::run(&args),
        },
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Compare(args) => sweep::compare(&args),
        Command::Advise(args) if args.to.is_empty() => advise::advise(&args, None),
        Command::Advise(args) => {
            let (measured, runtime) =
                on_sockets(Talk::default(), net::Record::default(), 1, |ending| {
                    net::measured(
                        args.to.clone(),
                        args.bind.clone(),
                        args.port,
                        args.json,
                        ending,
                    )
                })?;
            // Signals are for the search from now on.
            runtime.shutdown_background();
            advise::advise(&args, Some(&measured?))
        }
        Command::Scenario => terminal::print(byway_lab::scenario::BUILT_IN),
        Command::Check { file, json } => lab::check(&file, json),
        Command::Settings { settings, json } => lab::settings(&settings, json),
        Command::Machine(args) => papers::machine(&args),
        Command::FailoverTime(args) => papers::failover_time(&args),
        Command::Reproduce(args) if args.real => real::real(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Emulate(args) => emulate::emulate(&args),
        Command::Doctor(args) => network(args.talk, net::Record::default(), 1, |ending| {
            net::doctor(args, ending)
        }),
        Command::Recv(args) => {
            let recording = args.here.recording().with(args.workers);
            recorded("recv", recording, |ending| net::recv(args, ending))
        }
        Command::Send(args) => recorded("send", args.here.recording(), |ending| {
            net::send(args, ending)
        }),
        Command::Listen(args) => recorded("listen", args.here.recording(), |ending| {
            net::listen(args, ending)
        }),
        Command::Cat(args) => recorded("cat", args.here.recording(), |ending| {
            net::cat(args, ending)
        }),
        Command::Forward(args) => recorded("forward", args.here.recording(), |ending| {
            net::forward(args, ending)
        }),
        Command::Key(args) => net::key(&args),
        Command::Top(args) => top::top(&args),
        Command::Unseal(args) => unseal::unseal(&args),
        Command::Serve(args) => {
            let recording = args.here.recording().with(args.workers);
            recorded("serve", recording, |ending| net::serve(args, ending))
        }
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "byway", &mut out);
            terminal::print(&String::from_utf8_lossy(&out))
        }
        Command::Man { folder } => manual::write(Cli::command(), &folder),
    }
}

/// Shows the log of the library on standard error. Without --verbose these are warnings: what was
/// refused or shed, by which rule and from whom, at most a line for each rule in a second.
/// With --log they are told there, too, and if that is standard error, nowhere else.
fn log_to_stderr(verbose: u8, record: &net::Record) {
    use tracing_subscriber::Layer;
    use tracing_subscriber::filter::LevelFilter;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::util::SubscriberInitExt;
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| terminal::LogLines)
        // It would panic where standard error cannot be written.
        .log_internal_errors(false)
        .with_ansi(false)
        .with_target(false);
    let shown = match record.logs_on_screen() {
        true => LevelFilter::OFF,
        false => level,
    };
    let (logged, of_these) = match record.logs() {
        true => (Some(net::FromLibrary), LevelFilter::INFO),
        false => (None, LevelFilter::OFF),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(shown))
        .with(logged.with_filter(of_these))
        .init();
}

/// Runs a command that needs sockets and may leave something behind.
fn recorded<W>(
    command: &str,
    recording: Recording,
    work: impl FnOnce(net::Ending) -> W,
) -> Result<(), Failure>
where
    W: Future<Output = Result<(), Failure>>,
{
    if recording.talk.json {
        terminal::speak_json();
    }
    give_back::prepare();
    let record = net::Record::begin(command, &recording.what, recording.quiet)?;
    let result = network(recording.talk, record.clone(), recording.workers, work);
    record.finish(result.as_ref().err());
    result
}

/// Runs a command that needs sockets.
fn network<W>(
    talk: Talk,
    record: net::Record,
    workers: usize,
    work: impl FnOnce(net::Ending) -> W,
) -> Result<(), Failure>
where
    W: Future<Output = Result<(), Failure>>,
{
    if talk.json {
        terminal::speak_json();
    }
    let (result, runtime) = on_sockets(talk, record, workers, work)?;
    // The process ends now. A read of standard input cannot be cancelled, and
    // threads that still work need the runtime up to the end.
    std::mem::forget(runtime);
    result
}

/// Runs what needs sockets, of an endpoint with so many workers.
fn on_sockets<T, W>(
    talk: Talk,
    record: net::Record,
    workers: usize,
    work: impl FnOnce(net::Ending) -> W,
) -> Result<(Result<T, Failure>, Runtime), Failure>
where
    W: Future<Output = Result<T, Failure>>,
{
    log_to_stderr(talk.verbose, &record);
    // Two threads at least: the driver works while this one reads and writes files.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers.max(2))
        // For what blocks: names that are looked up, files that end. A stranger decides how many.
        .max_blocking_threads(16)
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot start the runtime: {e}")))?;
    let result = runtime.block_on(async {
        let ending = net::Ending::begin(record)?;
        let work = async { ending.result(work(ending.clone()).await).await };
        tokio::select! {
            biased;
            result = work => result,
            never = give_back::on_this_thread() => match never {},
        }
    });
    net::place::end();
    Ok((result, runtime))
}
