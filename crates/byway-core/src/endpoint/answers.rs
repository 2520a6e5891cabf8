//! How many answers leave to those who have no association (RFC 9260 section 8.4 and,
//! against floods, RFC 5062).
//!
//! An INIT and a packet out of the blue cost their sender one small packet, and may carry
//! a forged source. Each answer takes a token from a bucket of its source and from one of
//! the endpoint; without a token there is no answer, and a peer that needs one repeats its
//! request. A genuine cookie gives the tokens of its INIT ACK back, because it proves
//! that the answer reached somebody who wanted it. So peers that complete their set-up
//! are never slowed down, however many they are.

use crate::time::{Duration, Instant};
use core::hash::{BuildHasher, BuildHasherDefault};
use core::net::IpAddr;
use std::collections::hash_map::DefaultHasher;

/// Answers a second, and at once after a pause, that the endpoint gives.
const OF_ALL: Rate = Rate {
    a_second: 5000,
    at_once: 5000,
};

/// The same for one source.
const OF_ONE: Rate = Rate {
    a_second: 500,
    at_once: 1000,
};

/// Sources that are counted apart. Two of them may share a bucket.
const SOURCES: usize = 1024;

/// The two kinds of answers. A flood of one does not use up the other.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// INIT ACK.
    Init,
    /// The answer to a packet out of the blue, or a refusal.
    OutOfTheBlue,
}

#[derive(Copy, Clone, Debug)]
struct Rate {
    a_second: u32,
    at_once: u32,
}

/// A token bucket.
#[derive(Copy, Clone, Debug)]
struct Bucket {
    tokens: u32,
    /// Until when tokens were added.
    filled: Instant,
}

impl Bucket {
    fn full(rate: Rate) -> Bucket {
        Bucket {
            tokens: rate.at_once,
            filled: Instant::ZERO,
        }
    }

    /// Adds the tokens of the time that has passed.
    fn fill(&mut self, rate: Rate, now: Instant) {
        let us = (now - self.filled).as_micros() as u64;
        let new = us * u64::from(rate.a_second) / 1_000_000;
        let room = u64::from(rate.at_once.saturating_sub(self.tokens));
        if new > room {
            self.tokens = rate.at_once;
            self.filled = now;
        } else {
            self.tokens += new as u32;
            // The time of a part of a token is kept.
            self.filled += Duration::from_micros(new * 1_000_000 / u64::from(rate.a_second));
        }
    }

    fn give_back(&mut self, rate: Rate) {
        self.tokens = (self.tokens + 1).min(rate.at_once);
    }
}

/// The buckets of one kind of answers.
#[derive(Debug)]
struct Buckets {
    all: Bucket,
    /// By a hash of the address. Empty until the first answer.
    sources: Vec<Bucket>,
}

impl Buckets {
    fn new() -> Buckets {
        Buckets {
            all: Bucket::full(OF_ALL),
            sources: Vec::new(),
        }
    }

    fn of(&mut self, source: IpAddr) -> &mut Bucket {
        if self.sources.is_empty() {
            self.sources = vec![Bucket::full(OF_ONE); SOURCES];
        }
        // Who collides on purpose shares his own bucket with a forged source.
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let at = hasher.hash_one(source) as usize % SOURCES;
        &mut self.sources[at]
    }

    /// Takes a token from both buckets, if both have one.
    fn take(&mut self, source: IpAddr, now: Instant) -> bool {
        self.all.fill(OF_ALL, now);
        let all = self.all.tokens;
        let one = self.of(source);
        one.fill(OF_ONE, now);
        let both = all > 0 && one.tokens > 0;
        if both {
            one.tokens -= 1;
            self.all.tokens -= 1;
        }
        both
    }
}

/// The answers that may still leave.
#[derive(Debug)]
pub(super) struct Answers {
    init: Buckets,
    out_of_the_blue: Buckets,
}

impl Answers {
    pub(super) fn new() -> Answers {
        Answers {
            init: Buckets::new(),
            out_of_the_blue: Buckets::new(),
        }
    }

    /// Whether an answer to this source may leave now; it counts.
    pub(super) fn take(&mut self, kind: Answer, source: IpAddr, now: Instant) -> bool {
        match kind {
            Answer::Init => self.init.take(source, now),
            Answer::OutOfTheBlue => self.out_of_the_blue.take(source, now),
        }
    }

    /// A genuine cookie came back from this source.
    pub(super) fn proved(&mut self, source: IpAddr) {
        self.init.all.give_back(OF_ALL);
        self.init.of(source).give_back(OF_ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    fn source(n: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n))
    }

    /// How many of `asked` requests at one time are answered.
    fn answered(a: &mut Answers, ip: IpAddr, now: Instant, asked: u32) -> u32 {
        (0..asked).filter(|_| a.take(Answer::Init, ip, now)).count() as u32
    }

    #[test]
    fn one_source_gets_its_rate_and_leaves_the_rest_to_others() {
        let (mut a, t) = (Answers::new(), Instant::ZERO);
        assert_eq!(answered(&mut a, source(1), t, 9000), OF_ONE.at_once);
        assert_eq!(answered(&mut a, source(2), t, 10), 10);
        let later = t + Duration::from_secs(1);
        assert_eq!(answered(&mut a, source(1), later, 9000), OF_ONE.a_second);
        // Tokens do not pile up beyond what may leave at once.
        let much_later = t + Duration::from_secs(3600);
        assert_eq!(
            answered(&mut a, source(1), much_later, 9000),
            OF_ONE.at_once
        );
    }

    #[test]
    fn all_sources_together_get_the_rate_of_the_endpoint() {
        let (mut a, t) = (Answers::new(), Instant::ZERO);
        let got: u32 = (0..20_000).map(|n| answered(&mut a, source(n), t, 1)).sum();
        assert_eq!(got, OF_ALL.at_once);
        // Many requests in small steps of time: no fraction is lost for good.
        let mut got = 0;
        for ms in 1..=1000 {
            let now = t + Duration::from_millis(ms);
            got += (0..20)
                .map(|n| answered(&mut a, source(n * 7), now, 1))
                .sum::<u32>();
        }
        assert!((4900..=5000).contains(&got), "{got}");
    }

    #[test]
    fn who_completes_the_set_up_is_never_slowed_down() {
        let (mut a, t) = (Answers::new(), Instant::ZERO);
        for _ in 0..100_000 {
            assert!(a.take(Answer::Init, source(1), t));
            a.proved(source(1));
        }
    }

    #[test]
    fn packets_out_of_the_blue_do_not_use_up_the_answers_to_init() {
        let (mut a, t) = (Answers::new(), Instant::ZERO);
        while a.take(Answer::OutOfTheBlue, source(1), t) {}
        assert!(a.take(Answer::Init, source(1), t));
    }
}
