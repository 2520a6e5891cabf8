//! Signals that end a command: SIGINT (Ctrl-C), SIGTERM, and SIGHUP, which a terminal sends that is closed. Commands with
//! sockets have `net::Ending`; here is [`watch`] for the others. And SIGXFSZ for all.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What the user or the system wants.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Interrupt,
    Terminate,
    HangUp,
}

impl Told {
    const ALL: [Told; 3] = [Told::Interrupt, Told::Terminate, Told::HangUp];

    fn kind(self) -> SignalKind {
        match self {
            Told::Interrupt => SignalKind::interrupt(),
            Told::Terminate => SignalKind::terminate(),
            Told::HangUp => SignalKind::hangup(),
        }
    }
}

/// The signals that this process has taken over.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None under `nohup`, which ignores it on behalf of the command.
    hang_up: Option<Signal>,
}

impl Signals {
    /// Takes them over. Must be called inside a runtime.
    pub(crate) fn take() -> io::Result<Signals> {
        let hang_up = SignalKind::hangup();
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: match is_ignored(hang_up) {
                true => None,
                false => Some(signal(hang_up)?),
            },
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Told {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Told::Interrupt,
            _ = self.terminate.recv() => Told::Terminate,
            _ = hang_up => Told::HangUp,
        }
    }
}

/// Whether this process was started with the signal ignored. Where the system does not say, it counts as ignored.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (kind.as_raw_value() - 1) & 1 == 1)
}

/// Signals are the process's, and so is the first one that [`watch`] has seen: its number, or 0.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// The first signal that [`watch`] has seen: the status is of it.
pub(crate) fn told() -> Option<Told> {
    let first = FIRST.load(Ordering::Relaxed);
    let is_first = |t: &Told| t.kind().as_raw_value() == first;
    Told::ALL.into_iter().find(is_first)
}

/// Whether [`watch`] has seen more than one.
static AGAIN: AtomicBool = AtomicBool::new(false);

/// Whether nobody looks any more at what [`watch`] sets.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// From now on the first signal that [`watch`] sees ends the process.
pub(crate) fn end_at_once() {
    AT_ONCE.store(true, Ordering::SeqCst);
}

/// Whether there was a wish to terminate, or a second signal: not one by a key, which may be meant for another program.
pub(crate) fn terminated() -> bool {
    AGAIN.load(Ordering::Relaxed) || told().is_some_and(|told| told != Told::Interrupt)
}

/// A write beyond the largest file that the process may write (RLIMIT_FSIZE) fails like one to a full disk. By
/// itself the system sends SIGXFSZ, which ends the process, and strangers choose how large their files are. A handler
/// is better than to ignore it: what the process starts does not inherit it.
pub(crate) fn outlive_large_files() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let _inside = runtime.enter();
    // The handler stays when nobody listens any more.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

/// Sets `cancel` at a signal; a second one, or one after [`end_at_once`], ends the process with `status`, as soon as
/// that says it.
pub(crate) fn watch(cancel: &Arc<AtomicBool>, status: fn() -> i32) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let cancel = Arc::clone(cancel);
    let mut signals = {
        let _inside = runtime.enter();
        Signals::take()?
    };
    // It lives as long as the command.
    std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let told = signals.next().await;
                let number = told.kind().as_raw_value();
                let _ = FIRST.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
                let again = cancel.swap(true, Ordering::SeqCst);
                if again {
                    AGAIN.store(true, Ordering::Relaxed);
                }
                if again || AT_ONCE.load(Ordering::SeqCst) {
                    std::process::exit(status());
                }
            }
        });
    });
    Ok(())
}
