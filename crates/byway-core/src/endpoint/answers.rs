//! How many answers leave to those who have no association (RFC 9260 section 8.4 and,
//! against floods, RFC 5062).
//!
//! An INIT and a packet out of the blue cost their sender one small packet, and may carry
//! a forged source. Each answer takes a token from a bucket of its source and from one of
//! the endpoint; without a token there is no answer, and a peer that needs one repeats its
//! request. Newcomers have a bucket of their own, from which each source gets few: so those who ask
//! without end leave it to others. An association that a cookie sets up gives the tokens of its INIT ACK back,
//! because it proves that the answer reached somebody who wanted it; a cookie does so once.
//! So peers that complete their set-up are never slowed down, however many they are.

use super::hosts::host_of;
use crate::time::{Duration, Instant};
use core::hash::{BuildHasher, BuildHasherDefault};
use core::net::IpAddr;
use std::collections::hash_map::DefaultHasher;

/// Answers a second, and at once after a pause, that the endpoint gives to whoever asks.
const OF_ALL: Rate = Rate {
    a_second: 4000,
    at_once: 4000,
};

/// What it gives beyond that, to sources that ask seldom: those who ask without end leave it to
/// newcomers, however many they are.
const OF_NEWCOMERS: Rate = Rate {
    a_second: 1000,
    at_once: 1000,
};

/// The same for one source.
const OF_ONE: Rate = Rate {
    a_second: 500,
    at_once: 1000,
};

/// Of these, what one source gets: an INIT and its repetitions.
const OF_ONE_NEWCOMER: Rate = Rate {
    a_second: 1,
    at_once: 8,
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
    newcomers: Bucket,
    /// By a hash of the host: its rate, and its rate as a newcomer. Empty until the first answer.
    sources: Vec<[Bucket; 2]>,
    /// Part of the hash, so that nobody can choose an address that shares another one's bucket.
    secret: [u8; 32],
}

impl Buckets {
    fn new(secret: [u8; 32]) -> Buckets {
        Buckets {
            all: Bucket::full(OF_ALL),
            newcomers: Bucket::full(OF_NEWCOMERS),
            sources: Vec::new(),
            secret,
        }
    }

    fn of(&mut self, source: IpAddr) -> &mut [Bucket; 2] {
        if self.sources.is_empty() {
            let full = [OF_ONE, OF_ONE_NEWCOMER].map(Bucket::full);
            self.sources = vec![full; SOURCES];
        }
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let at = hasher.hash_one((self.secret, host_of(source))) as usize % SOURCES;
        &mut self.sources[at]
    }

    /// Takes a token of the source, and one of all or, if there is none, of newcomers.
    fn take(&mut self, source: IpAddr, now: Instant) -> bool {
        self.all.fill(OF_ALL, now);
        self.newcomers.fill(OF_NEWCOMERS, now);
        let (all, newcomers) = (self.all.tokens, self.newcomers.tokens);
        let [one, newcomer] = self.of(source);
        one.fill(OF_ONE, now);
        newcomer.fill(OF_ONE_NEWCOMER, now);
        if one.tokens == 0 {
            return false;
        }
        if all > 0 {
            one.tokens -= 1;
            self.all.tokens -= 1;
            return true;
        }
        let both = newcomers > 0 && newcomer.tokens > 0;
        if both {
            one.tokens -= 1;
            newcomer.tokens -= 1;
            self.newcomers.tokens -= 1;
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
    /// `seed`: that of the endpoint, which nobody else knows.
    pub(super) fn new(seed: [u8; 32]) -> Answers {
        Answers {
            init: Buckets::new(seed),
            out_of_the_blue: Buckets::new(seed),
        }
    }

    /// Whether an answer to this source may leave now; it counts.
    pub(super) fn take(&mut self, kind: Answer, source: IpAddr, now: Instant) -> bool {
        match kind {
            Answer::Init => self.init.take(source, now),
            Answer::OutOfTheBlue => self.out_of_the_blue.take(source, now),
        }
    }

    /// A cookie that this source got has set up an association.
    pub(super) fn proved(&mut self, source: IpAddr) {
        self.init.all.give_back(OF_ALL);
        let [one, newcomer] = self.init.of(source);
        one.give_back(OF_ONE);
        newcomer.give_back(OF_ONE_NEWCOMER);
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
        let (mut a, t) = (Answers::new([7; 32]), Instant::ZERO);
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
        let (mut a, t) = (Answers::new([7; 32]), Instant::ZERO);
        let got: u32 = (0..20_000).map(|n| answered(&mut a, source(n), t, 1)).sum();
        assert_eq!(got, OF_ALL.at_once + OF_NEWCOMERS.at_once);
        // Many requests in small steps of time: no fraction is lost for good. Twenty sources that
        // ask without end leave the rate of newcomers alone, but for a few answers each.
        let mut got = 0;
        for ms in 1..=1000 {
            let now = t + Duration::from_millis(ms);
            got += (0..20)
                .map(|n| answered(&mut a, source(n * 7), now, 1))
                .sum::<u32>();
        }
        assert!((3900..=4200).contains(&got), "{got}");
    }

    /// As many sources as can use up the rate of all, and one more.
    #[test]
    fn a_newcomer_is_answered_beside_those_who_ask_without_end() {
        for flooders in [10, 100] {
            let mut a = Answers::new([7; 32]);
            let mut missed = 0;
            for ms in 0..5000_u64 {
                let now = Instant::ZERO + Duration::from_millis(ms);
                for n in 0..flooders {
                    answered(&mut a, source(n), now, 20);
                }
                // A newcomer with its repetitions, and each time another one.
                if ms % 500 == 499 {
                    let other = 10_000 + ms as u32;
                    missed += 2 - answered(&mut a, source(9999), now, 1);
                    missed -= answered(&mut a, source(other), now, 1);
                }
            }
            // One in ten shares a bucket with one of a hundred that ask without end.
            let most = if flooders < 100 { 0 } else { 3 };
            assert!(missed <= most, "{flooders}: {missed} of 20");
        }
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_are_one_source() {
        let (mut a, t) = (Answers::new([7; 32]), Instant::ZERO);
        let ip = |n: u128| IpAddr::from(core::net::Ipv6Addr::from_bits(0x2001_0db8 << 96 | n));
        let got: u32 = (0..5000).map(|n| answered(&mut a, ip(n), t, 1)).sum();
        assert_eq!(got, OF_ONE.at_once);
        assert_eq!(answered(&mut a, ip(1 << 64), t, 1), 1);
    }

    #[test]
    fn who_completes_the_set_up_is_never_slowed_down() {
        let (mut a, t) = (Answers::new([7; 32]), Instant::ZERO);
        for _ in 0..100_000 {
            assert!(a.take(Answer::Init, source(1), t));
            a.proved(source(1));
        }
    }

    #[test]
    fn packets_out_of_the_blue_do_not_use_up_the_answers_to_init() {
        let (mut a, t) = (Answers::new([7; 32]), Instant::ZERO);
        while a.take(Answer::OutOfTheBlue, source(1), t) {}
        assert!(a.take(Answer::Init, source(1), t));
    }
}
