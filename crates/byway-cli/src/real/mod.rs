//! `byway reproduce cortes-2008 --real`: the paper's experiment with real sockets.
//!
//! Two network namespaces with two cables between them; `byway cat` sends and `byway listen`
//! receives, one pair of processes for each association. The kernel's SCTP sends from a guest
//! that the repository's `interop/linux-peer` boots. All associations run at the same time and
//! lose the path in use at the same moment; they differ in the time since their last message.

mod arms;

mod flow;
mod guest;
mod network;
mod schedule;

use crate::args::ReproduceArgs;
use crate::failure::{Failure, Kind};
use crate::namespace::check;
use crate::terminal::{PATIENCE, hidden_bar, print, print_json, terminal};
use byway_papers::reproduce::real::{Experiment, SCHEMA, html, render};
use indicatif::ProgressDrawTarget;
use schedule::Schedule;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The one paper that ran real hosts.
const PAPER: &str = "cortes-2008";
/// The page's name.
const PAGE: &str = "cortes-2008-real.html";
/// What it is drawn from.
const JSON: &str = "cortes-2008-real.json";
/// Time between two looks at the clock.
const TICK: Duration = Duration::from_millis(100);
const PROGRESS: &str = "{msg} [{bar:30}] {elapsed} of {len} s";

pub(crate) fn real(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.what != [PAPER] {
        return Err(Failure::wrong(format!(
            "--real is for the paper that ran real hosts: byway reproduce {PAPER} --real"
        )));
    }
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Failure::file("make the folder", &args.out, &e))?;
    // First of all: a signal must not leave a namespace there.
    let cancel = Arc::new(AtomicBool::new(false));
    Failure::watch_signals_and(&cancel, Failure::last_signal)?;
    check("--real", &["ip", "nft"])?;
    let experiment = run(args, &cancel)?;
    Failure::watched_to_the_end(&cancel)?;
    let page =
        html(&experiment, env!("CARGO_PKG_VERSION")).map_err(|e| Failure::new(Kind::Failed, e))?;
    let file = args.out.join(PAGE);
    std::fs::write(&file, page).map_err(|e| Failure::file("write", &file, &e))?;
    let json = serde_json::to_string_pretty(&experiment)
        .map_err(|e| Failure::new(Kind::Failed, e.to_string()))?;
    let kept = args.out.join(JSON);
    std::fs::write(&kept, json + "\n").map_err(|e| Failure::file("write", &kept, &e))?;
    if args.json {
        return print_json(&experiment);
    }
    print(&render(&experiment, terminal()))?;
    let written = (file.display(), kept.display());
    print(&format!("\nwritten: {}, {}\n", written.0, written.1))
}

fn run(args: &ReproduceArgs, cancel: &AtomicBool) -> Result<Experiment, Failure> {
    let origin = crate::reproduce::origin();
    let say = |text: &str| {
        if !args.json {
            crate::terminal::say(text);
        }
    };
    say("starting the guest with the Linux kernel (the first time it is built: a few minutes)");
    let guest = guest::Guest::boot(&args.linux_peer, cancel)?;
    let network = network::Network::make()?;
    let phases = usize::from(args.phases);
    let mut running = arms::Running::begin(&network, guest.as_ref(), phases)?;
    let schedule = Schedule::from(Instant::now());
    running.send(&schedule)?;
    let wait = |until: Instant, doing: &'static str| wait(until, doing, args.json, cancel);
    let late_before = wait(schedule.unplugged(), "sending")?;
    running.check()?;
    let begun = Instant::now();
    network.unplug()?;
    if let Ok(guest) = &guest {
        guest.unplug()?;
    }
    let unplugged = (begun, Instant::now());
    let late_after = wait(schedule.end(), "unplugged")?;
    Ok(Experiment {
        origin: Some(origin),
        schema: SCHEMA,
        late_s: late_before.max(late_after).as_secs_f64(),
        arms: running.end(unplugged)?,
    })
}

/// Waits until then, with a bar, or until a signal. How late this process was woken at most:
/// on a machine that is too busy the senders and receivers are late, too.
fn wait(
    until: Instant,
    doing: &str,
    quiet: bool,
    cancel: &AtomicBool,
) -> Result<Duration, Failure> {
    let mut late = Duration::ZERO;
    let all = until.saturating_duration_since(Instant::now());
    let bar = hidden_bar(Some(all.as_secs()), PROGRESS);
    bar.set_message(doing.to_owned());
    if !quiet && all > PATIENCE {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
    while Instant::now() < until {
        if cancel.load(Ordering::Relaxed) {
            bar.finish_and_clear();
            return Err(Failure::signal());
        }
        let left = until.saturating_duration_since(Instant::now());
        bar.set_position((all - left).as_secs());
        let (nap, before) = (left.min(TICK), Instant::now());
        std::thread::sleep(nap);
        late = late.max(before.elapsed().saturating_sub(nap));
    }
    bar.finish_and_clear();
    Ok(late)
}
