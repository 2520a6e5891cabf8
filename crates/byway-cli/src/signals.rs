//! Ctrl-C and SIGTERM for commands without sockets of their own; those with sockets have `net::Ending`. And
//! SIGXFSZ for all.

use rustix::process::Signal;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};

/// Signals are the process's, and so is what they have said.
static TERMINATED: AtomicBool = AtomicBool::new(false);

/// Whether there was a wish to terminate.
pub(crate) fn terminated() -> bool {
    TERMINATED.load(Ordering::Relaxed)
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
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

/// Sets `cancel` at Ctrl-C or a wish to terminate; a second one ends the process at once, with `status`.
pub(crate) fn watch(cancel: &Arc<AtomicBool>, status: fn() -> i32) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let cancel = Arc::clone(cancel);
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        )
    };
    // It lives as long as the command.
    std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => TERMINATED.store(true, Ordering::Relaxed),
                }
                if cancel.swap(true, Ordering::Relaxed) {
                    std::process::exit(status());
                }
            }
        });
    });
    Ok(())
}
