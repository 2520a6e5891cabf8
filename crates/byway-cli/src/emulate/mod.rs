//! `byway emulate`: a scenario's network in real time, for any programs.
//!
//! Two network namespaces have a TUN device for each path; or, without rights, each path has a UDP
//! port ([`relay`]). What a program sends there goes through the simulator's links, which decide when
//! it arrives at the other end, and if.

mod clients;
mod cuts;
mod due;
mod hosts;
mod links;
mod relay;
mod shells;
mod told;

pub(crate) use cuts::Cuts;
pub(crate) use relay::{MTU, RelayArg, Relays};
pub(crate) use shells::HostArg;

use crate::args::EmulateArgs;
use crate::children::Owned;
use crate::failure::{Failure, Kind};
use crate::lab::scenario;
use crate::namespace::check;
use crate::signals;
use crate::terminal::{say, say_beside, say_json, say_part, speak_json};
use byway_lab::emulation::{Emulation, End};
use byway_lab::scenario::Scenario;
use cuts::Keys;
use hosts::Hosts;
use shells::{Panes, shell};
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use told::{tell_counts, told, told_json, told_of_relays};

/// Time for the receiver's command to end by itself after the sender's.
const GRACE: Duration = Duration::from_secs(2);
/// Time between two looks at a program and at the signals.
const TICK: Duration = Duration::from_millis(20);

pub(crate) fn emulate(args: &EmulateArgs) -> Result<(), Failure> {
    if let Some(host) = args.join {
        return shells::join(&args.name, host, &args.command);
    }
    if args.json {
        speak_json();
    }
    say_beside();
    let mut scenario = scenario(args.scenario.as_deref())?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let refused = |e| Failure::wrong(format!("the scenario's network cannot be built: {e}"));
    let emulation = Emulation::new(&scenario).map_err(refused)?;
    let cuts = Arc::new(Cuts::default());
    if args.receiver.is_some() && args.command.is_empty() && !args.relay.is_empty() {
        return Err(Failure::wrong(
            "--receiver needs a command of the sender here: with --relay there is no shell that would end it",
        ));
    }
    if args.relay.is_empty() {
        if args.keys && args.command.is_empty() {
            return Err(Failure::wrong(
                "--keys needs a command: a shell at the sender takes the keys itself",
            ));
        }
        in_namespaces(args, &scenario, emulation, &cuts)
    } else {
        relayed(args, &scenario, emulation, &cuts)
    }
}

/// Sets a flag at the first signal.
fn watched() -> Result<Arc<AtomicBool>, Failure> {
    let cancel = Arc::new(AtomicBool::new(false));
    Failure::watch_signals_and(&cancel, || {
        cuts::restore();
        Failure::last_signal()
    })?;
    Ok(cancel)
}

/// Between two namespaces.
fn in_namespaces(
    args: &EmulateArgs,
    scenario: &Scenario,
    emulation: Emulation,
    cuts: &Arc<Cuts>,
) -> Result<(), Failure> {
    // First of all: a signal must not leave a namespace there.
    let cancel = watched()?;
    check("byway emulate", &["ip"])?;
    let (hosts, devices) = Hosts::make(&args.name, emulation.paths())?;
    let keys = keys(args, scenario, cuts)?;
    let panes = match args.receiver.is_none() && args.command.is_empty() {
        true => Panes::begin(&args.name),
        false => None,
    };
    let told = told(scenario, &hosts, args, panes.is_some());
    // tmux has the screen for itself, and shows it in a pane.
    if args.json {
        say_json(&told_json(&scenario.paths, |i| {
            let [sender, receiver] = [End::Sender, End::Receiver].map(|end| end.address(i));
            serde_json::json!({"sender": sender, "receiver": receiver})
        }));
    } else if !args.quiet && panes.is_none() {
        say_part(&told);
        say_part(&keys.as_ref().map_or(String::new(), Keys::help));
    }
    let links = Thread::start({
        let cuts = Arc::clone(cuts);
        move |stop| links::carry(emulation, &devices, &cuts, stop)
    });
    let at = |end, program: &Path| hosts.program(end, program);
    let at_sender = match &panes {
        Some(panes) => panes.command(&told, &shell(), |end| hosts.name(end).to_owned()),
        None => sender(&at, args),
    };
    let ended = programs(at, at_sender, args, keys, &|| links.look(&cancel));
    drop(panes);
    let emulation = links.end()?;
    let counts = tell_counts(args, scenario, &emulation, scenario.paths.len());
    // A terminal that was closed takes no table, and its signal is the reason.
    let ended = ended?;
    counts?;
    status(ended)
}

/// Through UDP relays.
fn relayed(
    args: &EmulateArgs,
    scenario: &Scenario,
    emulation: Emulation,
    cuts: &Arc<Cuts>,
) -> Result<(), Failure> {
    let relays = Relays::open(&args.relay, scenario)?.mtu(args.mtu);
    let cancel = watched()?;
    let keys = keys(args, scenario, cuts)?;
    if args.json {
        let listens = relays.listens();
        let relayed = &scenario.paths[..args.relay.len()];
        say_json(&told_json(
            relayed,
            |i| serde_json::json!({"send_to": listens[i], "arrives_at": args.relay[i].target}),
        ));
    } else if !args.quiet {
        say_part(&told_of_relays(scenario, &relays, args));
        say_part(&keys.as_ref().map_or(String::new(), Keys::help));
    }
    let begun = Instant::now();
    let links = Thread::start({
        let cuts = Arc::clone(cuts);
        move |stop| relays.carry(emulation, &cuts, begun, stop)
    });
    let look = || links.look(&cancel);
    let ended = match args.command.is_empty() {
        true => idle(args, keys, begun, &look).map(|()| None),
        false => {
            let at = |_, program: &Path| Command::new(program);
            programs(at, sender(&at, args), args, keys, &look).map(Some)
        }
    };
    let (emulation, relays) = links.end()?;
    let counts = tell_counts(args, scenario, &emulation, args.relay.len());
    let oddities = relays.oddities(scenario);
    match args.json {
        true => oddities.lines().for_each(say),
        false if args.quiet => {}
        false => say_part(&oddities),
    }
    // As above.
    let ended = ended?;
    counts?;
    ended.map_or(Ok(()), status)
}

/// The keys, where they are asked for, or nobody else needs the terminal.
fn keys(
    args: &EmulateArgs,
    scenario: &Scenario,
    cuts: &Arc<Cuts>,
) -> Result<Option<Keys>, Failure> {
    let alone = !args.relay.is_empty() && args.command.is_empty();
    let taken = args.keys || (alone && std::io::stdin().is_terminal());
    taken
        .then(|| Keys::take(Arc::clone(cuts), scenario))
        .transpose()
}

/// The links, on a thread of their own.
pub(crate) struct Thread<T> {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<T, Failure>>,
}

/// Whether the emulation goes on.
enum Look {
    GoesOn,
    /// A signal has come.
    Told,
    /// The links have ended by themselves.
    Failed,
}

impl<T: Send + 'static> Thread<T> {
    pub(crate) fn start(
        carry: impl FnOnce(&AtomicBool) -> Result<T, Failure> + Send + 'static,
    ) -> Thread<T> {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || carry(&stop))
        };
        Thread { stop, thread }
    }

    fn look(&self, cancel: &AtomicBool) -> Look {
        if cancel.load(Ordering::Relaxed) {
            Look::Told
        } else if self.thread.is_finished() {
            Look::Failed
        } else {
            Look::GoesOn
        }
    }

    /// Stops them; what they give back.
    pub(crate) fn end(self) -> Result<T, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| failed_links())?
    }
}

fn failed_links() -> Failure {
    Failure::new(Kind::Failed, "the links have failed")
}

/// How the command ended.
fn status(ended: ExitStatus) -> Result<(), Failure> {
    if ended.success() {
        return Ok(());
    }
    Err(Failure::new(
        Kind::Failed,
        format!("the command ended with {ended}"),
    ))
}

/// Waits for a signal, the key that ends it, or the end of its time.
fn idle(
    args: &EmulateArgs,
    mut keys: Option<Keys>,
    begun: Instant,
    look: &dyn Fn() -> Look,
) -> Result<(), Failure> {
    loop {
        match look() {
            Look::GoesOn => {}
            Look::Told => return Err(Failure::signal()),
            Look::Failed => return Err(failed_links()),
        }
        if args.lasts.is_some_and(|time| begun.elapsed() >= time) || tick(&mut keys) {
            return Ok(());
        }
    }
}

/// Waits a moment; whether a key ends the emulation.
fn tick(keys: &mut Option<Keys>) -> bool {
    match keys {
        Some(keys) => keys.wait(TICK),
        None => {
            std::thread::sleep(TICK);
            false
        }
    }
}

/// Runs the receiver's command and the sender's, up to the end of the latter. `at` starts a program
/// at an end.
fn programs(
    at: impl Fn(End, &Path) -> Command,
    mut sender: Command,
    args: &EmulateArgs,
    mut keys: Option<Keys>,
    look: &dyn Fn() -> Look,
) -> Result<ExitStatus, Failure> {
    let mut receiver = match &args.receiver {
        Some(words) => {
            let mut command = at(End::Receiver, Path::new("sh"));
            Some(Owned::start(command.args(["-c", words]))?)
        }
        None => None,
    };
    if keys.is_some() {
        sender.stdin(Stdio::null());
    }
    let mut sender = Owned::start(&mut sender)?;
    loop {
        let ended = sender.0.try_wait();
        let ended = ended.map_err(|e| Failure::new(Kind::Failed, e.to_string()))?;
        if let Some(status) = ended {
            if let Some(receiver) = &mut receiver {
                wait_for(receiver);
            }
            return match ended_by_signal(status) && !args.command.is_empty() {
                true => Err(Failure::signal()),
                false => Ok(status),
            };
        }
        // A shell takes Ctrl-C for itself; it is left with exit.
        let leaves = signals::terminated() || !args.command.is_empty();
        match look() {
            Look::Told if leaves => return Err(Failure::signal()),
            Look::Failed => return Err(failed_links()),
            Look::GoesOn | Look::Told => {}
        }
        if tick(&mut keys) {
            return Err(Failure::interrupted());
        }
    }
}

/// Whether a signal has ended a command that ended this process, too: a terminal sends Ctrl-C to both.
fn ended_by_signal(ended: ExitStatus) -> bool {
    if ended.signal().is_some() {
        // It may be heard here a little later.
        std::thread::sleep(TICK);
    }
    !ended.success() && signals::told().is_some()
}

/// Waits for a command that is about to end. One that is not is ended with its owner.
fn wait_for(command: &mut Owned) {
    let begun = Instant::now();
    while begun.elapsed() < GRACE && matches!(command.0.try_wait(), Ok(None)) {
        std::thread::sleep(TICK);
    }
}

/// The sender's command: the one that was given, or a shell.
fn sender(at: &impl Fn(End, &Path) -> Command, args: &EmulateArgs) -> Command {
    match args.command.as_slice() {
        [program, rest @ ..] => {
            let mut command = at(End::Sender, Path::new(program));
            command.args(rest);
            command
        }
        [] => at(End::Sender, &shell()),
    }
}
