//! How many answers leave to those who have no association (RFC 9260 section 8.4 and,
//! against floods, RFC 5062), how many handshakes of a layer above are begun for those who
//! have one and have not proved who they are, and how often a host may break the protocol of that
//! layer.
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

/// Rates of one kind.
#[derive(Copy, Clone, Debug)]
struct Rates {
    /// What the endpoint gives to whoever asks.
    all: Rate,
    /// What it gives beyond that, to sources that ask seldom: those who ask without end leave it
    /// to newcomers, however many they are.
    newcomers: Rate,
    /// What one source gets.
    one: Rate,
    /// What one source gets of what newcomers get: an INIT and its repetitions.
    one_newcomer: Rate,
}

impl Rates {
    /// The share of one of so many parts of a server. What a newcomer gets is too little to be
    /// shared: what all newcomers get bounds it.
    fn shared(self, of: u32) -> Rates {
        Rates {
            all: self.all.shared(of),
            newcomers: self.newcomers.shared(of),
            one: self.one.shared(of),
            one_newcomer: self.one_newcomer,
        }
    }
}

const ANSWERS: Rates = Rates {
    all: Rate::new(4000, 4000),
    newcomers: Rate::new(1000, 1000),
    one: Rate::new(500, 1000),
    one_newcomer: Rate::new(1, 8),
};

/// A signature and a key exchange take some hundred microseconds: all of them together a small part
/// of one processor.
const HANDSHAKES: Rates = Rates {
    all: Rate::new(200, 1024),
    newcomers: Rate::new(100, 256),
    one: Rate::new(20, 256),
    one_newcomer: Rate::new(1, 4),
};

/// How often a host may break the protocol of a layer above before its new associations are refused.
/// There is no rate of all hosts: those who break it would have others refused.
const VIOLATIONS: Rate = Rate::new(20, 64);

/// Answers to INITs that a refused handshake, or a refused association of a host that broke the protocol
/// of a layer above, costs its source. The set-up before it was paid back when
/// its cookie came, and took about as much time as so many answers; without this, set-ups that complete and
/// are refused have no rate.
const REFUSED: u32 = 20;

/// A source has a bucket in each row, each by a hash of its own, and is refused when all of them are empty. So one that shares a
/// bucket with a flood has another one.
const ROWS: usize = 3;
/// Buckets of a row.
const SOURCES: usize = 512;

/// What a peer can ask for without end. A flood of one kind does not use up another.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// INIT ACK.
    Init,
    /// The answer to a packet out of the blue, or a refusal.
    OutOfTheBlue,
    /// The answer of a layer above to a handshake.
    Handshake,
}

/// Tokens a second, and at once after a pause.
#[derive(Copy, Clone, Debug)]
struct Rate {
    a_second: u32,
    at_once: u32,
}

impl Rate {
    const fn new(a_second: u32, at_once: u32) -> Rate {
        Rate { a_second, at_once }
    }

    /// The share of one of so many parts of a server.
    fn shared(self, of: u32) -> Rate {
        let share = |tokens: u32| (tokens / of).max(1);
        Rate::new(share(self.a_second), share(self.at_once))
    }
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

    /// Takes tokens away. Those that are not there are taken from the next ones, at most of a second.
    fn owe(&mut self, tokens: u32, rate: Rate, now: Instant) {
        let debt = u64::from(tokens.saturating_sub(self.tokens));
        self.tokens = self.tokens.saturating_sub(tokens);
        let later =
            self.filled + Duration::from_micros(debt * 1_000_000 / u64::from(rate.a_second));
        self.filled = later.min(now + Duration::from_secs(1));
    }

    fn give_back(&mut self, rate: Rate) {
        self.tokens = (self.tokens + 1).min(rate.at_once);
    }
}

/// Buckets of sources, by hashes of their host, one for each of `N` rates.
#[derive(Debug)]
struct Sources<const N: usize> {
    rates: [Rate; N],
    /// Row by row. Empty until the first one is asked for.
    buckets: Vec<[Bucket; N]>,
    /// Part of the hash, so that nobody can choose an address that shares another one's bucket.
    secret: [u8; 32],
}

impl<const N: usize> Sources<N> {
    fn new(rates: [Rate; N], secret: [u8; 32]) -> Sources<N> {
        Sources {
            rates,
            buckets: Vec::new(),
            secret,
        }
    }

    /// The buckets of a source.
    fn of(&mut self, source: IpAddr) -> Source<'_, N> {
        if self.buckets.is_empty() {
            self.buckets = vec![self.rates.map(Bucket::full); ROWS * SOURCES];
        }
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let mut hash = hasher.hash_one((self.secret, host_of(source))) as usize;
        let at = [(); ROWS].map(|()| {
            let at = hash % SOURCES;
            hash /= SOURCES;
            at
        });
        Source {
            rates: &self.rates,
            rows: &mut self.buckets,
            at,
        }
    }
}

/// The buckets of one source: one in each row, for each rate.
struct Source<'a, const N: usize> {
    rates: &'a [Rate; N],
    rows: &'a mut [[Bucket; N]],
    /// Its place in each row.
    at: [usize; ROWS],
}

impl<const N: usize> Source<'_, N> {
    /// Its buckets of a rate.
    fn each(&mut self, rate: usize) -> impl Iterator<Item = &mut Bucket> {
        let rows = self.rows.chunks_exact_mut(SOURCES);
        rows.zip(&self.at).map(move |(row, at)| &mut row[*at][rate])
    }

    /// Adds the tokens of the time that has passed. Whether there is a token of this rate.
    fn has(&mut self, rate: usize, now: Instant) -> bool {
        self.fill(rate, now);
        self.each(rate).any(|bucket| bucket.tokens > 0)
    }

    fn fill(&mut self, rate: usize, now: Instant) {
        let per_second = self.rates[rate];
        self.each(rate).for_each(|b| b.fill(per_second, now));
    }

    fn take(&mut self, rate: usize) {
        (self.each(rate)).for_each(|b| b.tokens = b.tokens.saturating_sub(1));
    }

    /// A bucket that was empty gets the token, too: who shares it has as many more as this source proves.
    fn give_back(&mut self, rate: usize) {
        let per_second = self.rates[rate];
        self.each(rate).for_each(|b| b.give_back(per_second));
    }

    /// Takes tokens away, with debts.
    fn owe(&mut self, rate: usize, tokens: u32, now: Instant) {
        let per_second = self.rates[rate];
        self.fill(rate, now);
        (self.each(rate)).for_each(|b| b.owe(tokens, per_second, now));
    }
}

/// The rates of a source of [`Buckets`]: its own, and its own as a newcomer.
const ONE: usize = 0;
const NEWCOMER: usize = 1;

/// The buckets of one kind of answers.
#[derive(Debug)]
struct Buckets {
    rates: Rates,
    all: Bucket,
    newcomers: Bucket,
    /// [`ONE`] and [`NEWCOMER`].
    sources: Sources<2>,
}

impl Buckets {
    fn new(rates: Rates, secret: [u8; 32]) -> Buckets {
        Buckets {
            rates,
            all: Bucket::full(rates.all),
            newcomers: Bucket::full(rates.newcomers),
            sources: Sources::new([rates.one, rates.one_newcomer], secret),
        }
    }

    /// Takes a token of the source, and one of all or, if there is none, of newcomers.
    fn take(&mut self, source: IpAddr, now: Instant) -> bool {
        let rates = self.rates;
        self.all.fill(rates.all, now);
        self.newcomers.fill(rates.newcomers, now);
        let (all, newcomers) = (self.all.tokens, self.newcomers.tokens);
        let mut source = self.sources.of(source);
        if !source.has(ONE, now) {
            return false;
        }
        if all > 0 {
            source.take(ONE);
            self.all.tokens -= 1;
            return true;
        }
        let both = newcomers > 0 && source.has(NEWCOMER, now);
        if both {
            source.take(ONE);
            source.take(NEWCOMER);
            self.newcomers.tokens -= 1;
        }
        both
    }

    /// The source has proved that it is no flood.
    fn give_back(&mut self, source: IpAddr) {
        let rates = self.rates;
        self.all.give_back(rates.all);
        let mut source = self.sources.of(source);
        source.give_back(ONE);
        source.give_back(NEWCOMER);
    }
}

/// The answers that may still leave.
#[derive(Debug)]
pub(super) struct Answers {
    init: Buckets,
    out_of_the_blue: Buckets,
    handshake: Buckets,
    violations: Sources<1>,
}

impl Answers {
    /// `seed`: that of the endpoint, which nobody else knows. `of`: the parts of the server, each of
    /// which has an equal share of the rates.
    pub(super) fn new(seed: [u8; 32], of: u32) -> Answers {
        Answers {
            init: Buckets::new(ANSWERS.shared(of), seed),
            out_of_the_blue: Buckets::new(ANSWERS.shared(of), seed),
            handshake: Buckets::new(HANDSHAKES.shared(of), seed),
            violations: Sources::new([VIOLATIONS.shared(of)], seed),
        }
    }

    /// Whether an answer to this source may leave now; it counts.
    pub(super) fn take(&mut self, kind: Answer, source: IpAddr, now: Instant) -> bool {
        let may = self.of(kind).take(source, now);
        if kind == Answer::Handshake && !may {
            self.owe(source, now);
        }
        may
    }

    /// A host has broken the protocol of a layer above.
    pub(super) fn violated(&mut self, source: IpAddr, now: Instant) {
        let mut source = self.violations.of(source);
        source.fill(0, now);
        source.take(0);
    }

    /// Whether a host has broken the protocol of a layer above so often that its new association is
    /// refused now, which costs it answers to INITs. Asking does not use its rate up.
    pub(super) fn bars(&mut self, source: IpAddr, now: Instant) -> bool {
        let bars = !self.violations.of(source).has(0, now);
        if bars {
            self.owe(source, now);
        }
        bars
    }

    /// An association of this source was refused after its set-up.
    fn owe(&mut self, source: IpAddr, now: Instant) {
        self.init.sources.of(source).owe(ONE, REFUSED, now);
    }

    /// A cookie that this source got has set up an association; or a handshake has proved who it
    /// is.
    pub(super) fn proved(&mut self, kind: Answer, source: IpAddr) {
        self.of(kind).give_back(source);
    }

    fn of(&mut self, kind: Answer) -> &mut Buckets {
        match kind {
            Answer::Init => &mut self.init,
            Answer::OutOfTheBlue => &mut self.out_of_the_blue,
            Answer::Handshake => &mut self.handshake,
        }
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
        let (mut a, t) = (Answers::new([7; 32], 1), Instant::ZERO);
        assert_eq!(answered(&mut a, source(1), t, 9000), ANSWERS.one.at_once);
        assert_eq!(answered(&mut a, source(2), t, 10), 10);
        let later = t + Duration::from_secs(1);
        assert_eq!(
            answered(&mut a, source(1), later, 9000),
            ANSWERS.one.a_second
        );
        // Tokens do not pile up beyond what may leave at once.
        let much_later = t + Duration::from_secs(3600);
        assert_eq!(
            answered(&mut a, source(1), much_later, 9000),
            ANSWERS.one.at_once
        );
    }

    #[test]
    fn all_sources_together_get_the_rate_of_the_endpoint() {
        let (mut a, t) = (Answers::new([7; 32], 1), Instant::ZERO);
        let got: u32 = (0..20_000).map(|n| answered(&mut a, source(n), t, 1)).sum();
        assert_eq!(got, ANSWERS.all.at_once + ANSWERS.newcomers.at_once);
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
            let mut a = Answers::new([7; 32], 1);
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
            // One in 180 shares each of its buckets with one of a hundred that ask without end.
            let most = if flooders < 100 { 0 } else { 1 };
            assert!(missed <= most, "{flooders}: {missed} of 20");
        }
    }

    /// One in 2^27 shares all its buckets with it.
    #[test]
    fn no_host_shares_all_its_buckets_with_one_that_asks_without_end() {
        let (mut a, t) = (Answers::new([7; 32], 1), Instant::ZERO);
        assert_eq!(answered(&mut a, source(0), t, 9000), ANSWERS.one.at_once);
        for n in 1..3000 {
            assert_eq!(answered(&mut a, source(n), t, 1), 1, "{n}");
        }
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_are_one_source() {
        let (mut a, t) = (Answers::new([7; 32], 1), Instant::ZERO);
        let ip = |n: u128| IpAddr::from(core::net::Ipv6Addr::from_bits(0x2001_0db8 << 96 | n));
        let got: u32 = (0..5000).map(|n| answered(&mut a, ip(n), t, 1)).sum();
        assert_eq!(got, ANSWERS.one.at_once);
        assert_eq!(answered(&mut a, ip(1 << 64), t, 1), 1);
    }

    #[test]
    fn who_completes_the_set_up_is_never_slowed_down() {
        let (mut a, t) = (Answers::new([7; 32], 1), Instant::ZERO);
        for _ in 0..100_000 {
            assert!(a.take(Answer::Init, source(1), t));
            a.proved(Answer::Init, source(1));
        }
    }

    #[test]
    fn packets_out_of_the_blue_do_not_use_up_the_answers_to_init() {
        let (mut a, t) = (Answers::new([7; 32], 1), Instant::ZERO);
        while a.take(Answer::OutOfTheBlue, source(1), t) {}
        assert!(a.take(Answer::Init, source(1), t));
    }

    /// Whose secret is wrong gets few, and few associations; whose is right as many as it likes.
    #[test]
    fn handshakes_have_a_rate_of_their_own_that_who_is_let_in_does_not_meet() {
        let (mut a, t) = (Answers::new([7; 32], 1), Instant::ZERO);
        let asked = |a: &mut Answers, n, now, times| {
            let take = |_: &u32| a.take(Answer::Handshake, source(n), now);
            (0..times).filter(take).count() as u32
        };
        for _ in 0..10_000 {
            assert!(a.take(Answer::Handshake, source(1), t));
            a.proved(Answer::Handshake, source(1));
        }
        assert_eq!(asked(&mut a, 1, t, 9000), HANDSHAKES.one.at_once);
        let later = t + Duration::from_secs(1);
        assert_eq!(asked(&mut a, 1, later, 9000), HANDSHAKES.one.a_second);
        // Of set-ups whose handshakes are refused it gets no more than 25 a second.
        assert_eq!(answered(&mut a, source(1), later, 10), 0);
        assert_eq!(answered(&mut a, source(2), later, 10), 10);
        let mut set_up = 0;
        for ms in 0..2000 {
            let now = later + Duration::from_millis(ms);
            while a.take(Answer::Init, source(1), now) {
                a.proved(Answer::Init, source(1));
                set_up += 1;
                a.take(Answer::Handshake, source(1), now);
            }
        }
        // A second for what it owes, then 25, and those whose handshakes are begun.
        assert!((40..=80).contains(&set_up), "{set_up}");
        // Fifty hosts at once leave one that asks seldom its own.
        for ms in 0..5000 {
            for n in 100..150 {
                asked(&mut a, n, later + Duration::from_millis(ms), 1);
            }
        }
        let last = later + Duration::from_millis(5000);
        assert_eq!(asked(&mut a, 9999, last, 2), 2);
    }

    /// Whose associations are good is never refused, whatever other hosts do.
    #[test]
    fn who_breaks_the_protocol_above_again_and_again_is_refused_for_a_while() {
        let (mut a, t) = (Answers::new([7; 32], 1), Instant::ZERO);
        for n in 0..VIOLATIONS.at_once {
            assert!(!a.bars(source(1), t), "{n}");
            a.violated(source(1), t);
        }
        assert!(a.bars(source(1), t) && !a.bars(source(2), t));
        // A refused association costs answers to INITs, and a good one none.
        let left = |a: &mut Answers, n| answered(a, source(n), t, 9000);
        assert_eq!(left(&mut a, 1), ANSWERS.one.at_once - REFUSED);
        assert_eq!(left(&mut a, 2), ANSWERS.one.at_once);
        // The first turn after a pause is served again, and asking takes nothing.
        let later = t + Duration::from_millis(1000 / u64::from(VIOLATIONS.a_second));
        assert!((0..1000).all(|_| !a.bars(source(1), later)));
        a.violated(source(1), later);
        assert!(a.bars(source(1), later));
        // As fast as it goes for a minute: the rate is kept.
        let served = (0..60_000).filter(|ms| {
            let now = later + Duration::from_millis(*ms);
            let served = !a.bars(source(1), now);
            if served {
                a.violated(source(1), now);
            }
            served
        });
        let served = served.count() as u32;
        let rate = 60 * VIOLATIONS.a_second;
        assert!((rate - 20..=rate).contains(&served), "{served}");
    }

    /// However many parts a server has, their answers together stay within the rates.
    #[test]
    fn parts_of_a_server_share_the_rates() {
        for of in [1, 2, 3, 64] {
            let mut parts: Vec<_> = (0..of).map(|n| Answers::new([n as u8; 32], of)).collect();
            let of_one: u32 = parts
                .iter_mut()
                .map(|a| answered(a, source(1), Instant::ZERO, 9000))
                .sum();
            assert!(
                (900..=ANSWERS.one.at_once).contains(&of_one),
                "{of_one} of {of}"
            );
            let of_all: u32 = (2..12_000)
                .map(|n| {
                    answered(
                        &mut parts[n % of as usize],
                        source(n as u32),
                        Instant::ZERO,
                        1,
                    )
                })
                .sum();
            let most = ANSWERS.all.at_once + ANSWERS.newcomers.at_once;
            assert!(
                (most - 2000..=most).contains(&(of_all + of_one)),
                "{of_all} of {of}"
            );
        }
    }
}
