//! How long messages take, from when they were due to when the reader has them. Both ends are on
//! one host and read the same clock.

use anyhow::{Context, Result, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use serde_json::{Value, json};
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// Bytes at the front of a message that say when it was due.
pub(crate) const STAMP: usize = 8;

/// Nanoseconds of the monotonic clock.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Says when the next message is due: so many a second, evenly spaced. Its timer is the kernel's;
/// that of tokio has steps of a millisecond.
pub(crate) struct Pace {
    timer: AsyncFd<OwnedFd>,
    begun: u64,
    /// Nanoseconds from one message to the next.
    gap: f64,
    count: u64,
}

impl Pace {
    pub(crate) fn new(rate: f64) -> Result<Pace> {
        ensure!(rate > 0.0 && rate <= 1e9, "--rate {rate}: more than 0");
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)?;
        #[expect(
            deprecated,
            reason = "what replaces it is unsafe, because of types that change their descriptor"
        )]
        let timer = AsyncFd::new(timer)?;
        Ok(Pace {
            timer,
            begun: now(),
            gap: 1e9 / rate,
            count: 0,
        })
    }

    /// Waits until the next message is due, and stamps it with that time.
    pub(crate) async fn next(&mut self, payload: &Bytes) -> Result<Bytes> {
        let due = self.begun + (self.count as f64 * self.gap) as u64;
        self.count += 1;
        while now() < due {
            let when = Timespec {
                tv_sec: (due / 1_000_000_000) as _,
                tv_nsec: (due % 1_000_000_000) as _,
            };
            let never = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            let once = Itimerspec {
                it_interval: never,
                it_value: when,
            };
            timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
            let mut ready = self.timer.readable().await?;
            let mut expirations = [0; 8];
            // An empty read means that it has not expired; the clock decides.
            let _ = rustix::io::read(self.timer.get_ref(), &mut expirations);
            ready.clear_ready();
        }
        let mut stamped = BytesMut::with_capacity(payload.len());
        stamped.put_u64(due);
        stamped.put_slice(&payload[STAMP..]);
        Ok(stamped.freeze())
    }
}

/// The delays of all messages.
#[derive(Default)]
pub(crate) struct Delays(Vec<u64>);

impl Delays {
    /// A message with a stamp has arrived.
    pub(crate) fn note(&mut self, payload: &[u8]) -> Result<()> {
        let stamp = payload.first_chunk::<STAMP>();
        let due = u64::from_be_bytes(*stamp.context("a message without a stamp")?);
        self.0.push(now().saturating_sub(due));
        Ok(())
    }

    /// Percentiles in microseconds.
    pub(crate) fn json(mut self) -> Value {
        self.0.sort_unstable();
        let at = |share: f64| {
            let rank = (share * self.0.len() as f64).ceil() as usize;
            let nanos = self.0.get(rank.saturating_sub(1));
            nanos.map(|n| *n as f64 / 1e3)
        };
        json!({
            "messages": self.0.len(),
            "p50_us": at(0.5),
            "p99_us": at(0.99),
            "p999_us": at(0.999),
            "max_us": at(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Delays;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let delays = Delays((1..=2000).rev().map(|n| n * 1000).collect());
        let line = delays.json();
        for (name, expected) in [
            ("p50_us", 1000.0),
            ("p99_us", 1980.0),
            ("p999_us", 1998.0),
            ("max_us", 2000.0),
        ] {
            assert_eq!(line[name].as_f64(), Some(expected), "{name}");
        }
        assert!(Delays::default().json()["p50_us"].is_null());
    }
}
