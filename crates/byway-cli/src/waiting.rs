//! Waiting for descriptors.

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::time::Duration;

/// Waits until one of these has something, at most so long.
pub(crate) fn wait(fds: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
    let time = Timespec {
        tv_sec: time.as_secs().cast_signed(),
        tv_nsec: time.subsec_nanos().into(),
    };
    match poll(fds, Some(&time)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
