//! How much of what strangers send is read beside busy peers.
//!
//! A packet of a flood costs this process about a microsecond: the system call's part, a look at
//! the tag, and now and then an answer. Where processors are short, busy peers would lose that
//! time. So while one of them sends, datagrams of strangers are read at a rate; what comes beyond
//! it waits in the shared socket, and then the kernel drops it. Datagrams of known peers take
//! nothing from that rate, and who is known gets a socket of its own sooner. It is datagrams that
//! count, and each of them: a buffer has up to 64, if their sender cut them from one (UDP_SEGMENT).

use byway_core::time::Instant;
use std::time::Duration;

/// A token for a datagram comes in each of these times: 32,000 a second.
const PACE: Duration = Duration::from_nanos(31_250);
/// Most tokens that wait.
const AT_ONCE: i64 = 256;
/// So many are waited for: a call reads that many buffers.
const TOGETHER: i64 = 32;
/// For this time after the last token was used up, the socket counts as flooded.
const FLOODED: Duration = Duration::from_secs(1);

/// The tokens of one shared socket.
#[derive(Debug)]
pub(crate) struct Strangers {
    /// Less than none, if a call read more than there were.
    tokens: i64,
    /// Until when tokens were added.
    filled: Instant,
    /// Until when the socket counts as flooded.
    flooded: Instant,
}

impl Strangers {
    pub(crate) fn new() -> Strangers {
        Strangers {
            tokens: AT_ONCE,
            filled: Instant::ZERO,
            flooded: Instant::ZERO,
        }
    }

    /// Whether the shared socket may be read beside busy peers; if not, when it may.
    pub(crate) fn may_be_read(&mut self, now: Instant) -> Result<(), Instant> {
        let new = now.since(self.filled).as_nanos() / PACE.as_nanos();
        match u32::try_from(new) {
            Ok(new) if i64::from(new) <= AT_ONCE - self.tokens => {
                self.tokens += i64::from(new);
                self.filled += PACE * new;
            }
            _ => {
                self.tokens = AT_ONCE;
                self.filled = now;
            }
        }
        match u32::try_from(TOGETHER - self.tokens) {
            Err(_) | Ok(0) => Ok(()),
            Ok(missing) => {
                self.flooded = now + FLOODED;
                Err(self.filled + PACE * missing)
            }
        }
    }

    /// So many datagrams of strangers were read.
    pub(crate) fn were_read(&mut self, datagrams: usize) {
        self.tokens -= datagrams as i64;
    }

    /// Whether strangers send more than is read.
    pub(crate) fn flood(&self, now: Instant) -> bool {
        now < self.flooded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams, `at_most` a call, that are read from `from` to `to` (ms) if the socket never
    /// gets empty.
    fn read(strangers: &mut Strangers, from: u64, to: u64, at_most: usize) -> usize {
        let (mut now, end) = (Instant::from_millis(from), Instant::from_millis(to));
        let mut read = 0;
        while now < end {
            match strangers.may_be_read(now) {
                Ok(()) => {
                    strangers.were_read(at_most);
                    read += at_most;
                    now += Duration::from_micros(20);
                }
                Err(then) => {
                    assert!(then > now, "the wait ends");
                    now = then;
                }
            }
        }
        read
    }

    #[test]
    fn a_flood_is_read_at_a_rate_and_seen_as_one() {
        let mut strangers = Strangers::new();
        let got = read(&mut strangers, 0, 1000, 32);
        assert!((32_000..=32_000 + 320).contains(&got), "{got}");
        assert!(strangers.flood(Instant::from_millis(1000)));
        // After a pause a burst, and no more than that.
        assert!(!strangers.flood(Instant::from_millis(2001)));
        let got = read(&mut strangers, 5000, 5001, 32);
        assert!((256..=256 + 64).contains(&got), "{got}");
    }

    /// Each call reads 32 buffers of 64 datagrams, which a flood with UDP_SEGMENT fills.
    #[test]
    fn a_flood_in_segments_is_read_at_the_same_rate() {
        let mut strangers = Strangers::new();
        let got = read(&mut strangers, 0, 1000, 32 * 64);
        assert!((32_000..=32_000 + 32 * 64).contains(&got), "{got}");
    }

    #[test]
    fn known_peers_and_a_few_strangers_are_read_at_once() {
        let mut strangers = Strangers::new();
        // Known ones take no token; strangers below the rate find one.
        assert_eq!(read(&mut strangers, 0, 100, 0), 0);
        for ms in 100..1100 {
            assert_eq!(strangers.may_be_read(Instant::from_millis(ms)), Ok(()));
            strangers.were_read(30);
        }
        assert!(!strangers.flood(Instant::from_millis(1100)));
    }
}
