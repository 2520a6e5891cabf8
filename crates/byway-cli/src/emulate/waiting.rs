//! Waiting for descriptors and for what is due.

use byway_lab::emulation::Emulation;
use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::time::{Duration, Instant};

/// Longest wait: signals and the keys are looked at in between.
const LONGEST: Duration = Duration::from_millis(50);

/// How long there is nothing to do for an emulation that began then, if nothing comes in.
pub(super) fn until_due(emulation: &Emulation, begun: Instant) -> Duration {
    emulation.next().map_or(LONGEST, |next| {
        next.saturating_sub(begun.elapsed()).min(LONGEST)
    })
}

/// Waits until one of these has something, at most so long.
pub(super) fn wait(fds: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
    let time = Timespec {
        tv_sec: time.as_secs().cast_signed(),
        tv_nsec: time.subsec_nanos().into(),
    };
    match poll(fds, Some(&time)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
