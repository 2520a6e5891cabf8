//! What the measurements mean, and what to do.

use super::super::address;
use super::host::Host;
use super::measure::{Answer, Pair, Silence};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// Losses above this are worth a word.
const MUCH_LOSS: f64 = 0.02;

/// Whether a translator stands between, as far as it can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Translator {
    /// The receiver sees the address and port that this side has.
    None,
    /// It sees another address with the same port.
    Address,
    /// It sees another port.
    Port,
    /// The receiver was not asked, or did not answer.
    Unknown,
}

impl Translator {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Translator::None => "none",
            Translator::Address => "address",
            Translator::Port => "address and port",
            Translator::Unknown => "unknown",
        }
    }
}

/// Whether a translator stands between.
pub(super) fn translator(pair: &Pair, answer: &Answer) -> Translator {
    let Some(seen) = &answer.seen else {
        return Translator::Unknown;
    };
    let own = SocketAddr::new(pair.local.ip(), answer.port);
    if seen.is_empty() {
        Translator::Unknown
    } else if seen.contains(&own) {
        Translator::None
    } else if seen.iter().any(|s| s.port() == answer.port) {
        Translator::Address
    } else {
        Translator::Port
    }
}

/// Whether SCTP without UDP (protocol 132) passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol132 {
    /// Something came back.
    Passes,
    /// A host that is up does not answer it. It is filtered, or the SCTP port is wrong: a byway
    /// without UDP does not see what is for other ports.
    Unanswered,
    /// Nothing came back of anything.
    Silent,
    /// No pair was tried without UDP.
    NotTested,
}

impl Protocol132 {
    /// Of the pairs without UDP, the best.
    pub(super) fn of(pairs: &[Pair]) -> Protocol132 {
        let without_udp = pairs.iter().filter(|p| p.remote.port() == 0);
        let all: Vec<Protocol132> = without_udp
            .filter_map(|p| match &p.answer {
                Ok(_) | Err(Silence::WrongPort(_) | Silence::NobodyListens) => {
                    Some(Protocol132::Passes)
                }
                Err(Silence::OnlySctp) => Some(Protocol132::Unanswered),
                Err(Silence::Nothing | Silence::Refused(_)) => Some(Protocol132::Silent),
                Err(Silence::Local(_)) => None,
            })
            .collect();
        [
            Protocol132::Passes,
            Protocol132::Unanswered,
            Protocol132::Silent,
        ]
        .into_iter()
        .find(|p| all.contains(p))
        .unwrap_or(Protocol132::NotTested)
    }

    /// For programs.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Protocol132::Passes => "passes",
            Protocol132::Unanswered => "filtered, or wrong SCTP port",
            Protocol132::Silent => "no answer",
            Protocol132::NotTested => "not tested",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Protocol132::Passes => "protocol 132 (SCTP without UDP) passes",
            Protocol132::Unanswered => {
                "protocol 132 (SCTP without UDP) gets no answer from a host that is up: it is \
                 filtered, or --port is wrong"
            }
            Protocol132::Silent => {
                "protocol 132 (SCTP without UDP) gets no answer; whether it is filtered or the host \
                 is down cannot be told"
            }
            Protocol132::NotTested => {
                "protocol 132 (SCTP without UDP) was not tested, and a filter on it does not matter to \
                 SCTP over UDP; --encapsulation none here and at the other side's `byway recv` tests it"
            }
        }
    }
}

/// Why a pair without UDP does not answer, and what to do. None if UDP has the same words.
fn words_without_udp(silence: &Silence, pair: &Pair) -> Option<String> {
    let remote = pair.remote.ip();
    match silence {
        Silence::NobodyListens => Some(format!(
            "protocol 132 passes and the host answers, but nothing there takes SCTP without UDP; \
             start `byway recv --unprotected --encapsulation none --bind {remote}` there"
        )),
        Silence::WrongPort(error) => Some(format!(
            "protocol 132 passes, but the SCTP port is refused ({error}): --port must be that of \
             the other side, or the kernel's SCTP of a host answers in place of byway (`lsmod | grep \
             sctp`, here and there)"
        )),
        Silence::OnlySctp => Some(
            "the host is up, but does not answer protocol 132: it is filtered on the way (there or \
             here), or --port is not that of the other side. Allow it both ways, such as `nft add \
             rule inet filter input meta l4proto sctp accept`, or use UDP: --encapsulation udp on \
             both sides"
                .to_owned(),
        ),
        Silence::Nothing => Some(
            "nothing comes back: the host is down, or protocol 132 is filtered on the way (there or \
             here); try --encapsulation udp on both sides"
                .to_owned(),
        ),
        Silence::Refused(_) | Silence::Local(_) => None,
    }
}

/// Why a pair does not answer, and what to do.
pub(super) fn words(silence: &Silence, pair: &Pair) -> String {
    let remote = pair.remote;
    if remote.port() == 0
        && let Some(words) = words_without_udp(silence, pair)
    {
        return words;
    }
    match silence {
        Silence::Refused(error) => format!(
            "the kernel or a router refuses packets ({error}); check routes and filters of this \
             host with `ip route get {}`",
            remote.ip()
        ),
        Silence::NobodyListens => format!(
            "the host answers, but nothing listens on UDP {}; start `byway recv --unprotected --bind {remote}` there, \
             or correct the port in --to",
            remote.port()
        ),
        Silence::WrongPort(error) => format!(
            "UDP passes, but the SCTP port is refused ({error}); --port must be that of the other \
             side"
        ),
        Silence::Nothing | Silence::OnlySctp => format!(
            "nothing comes back: the host is down, or UDP {} is filtered on the way (there or \
             here); allow it both ways, such as `nft add rule inet filter input udp dport {} accept`",
            remote.port(),
            remote.port()
        ),
        Silence::Local(error) => format!("this side cannot begin: {error}"),
    }
}

/// What to know and to do, the most important first.
pub(super) fn of(pairs: &[Pair], host: &Host, wanted: &[SocketAddr]) -> Vec<String> {
    let mut found = Vec::new();
    for (i, pair) in pairs.iter().enumerate() {
        if let Err(silence) = &pair.answer {
            found.push(format!("pair {}: {}", i + 1, words(silence, pair)));
        }
    }
    found.push(redundancy(pairs));
    for (i, pair) in pairs.iter().enumerate() {
        if let Ok(answer) = &pair.answer {
            found.extend(of_answer(i + 1, pair, answer));
        }
    }
    let listed: BTreeSet<SocketAddr> = pairs
        .iter()
        .filter_map(|p| p.answer.as_ref().ok())
        .flat_map(|a| a.listed.iter().copied())
        .filter(|a| !wanted.contains(a))
        .collect();
    if !listed.is_empty() {
        let shown: Vec<String> = listed.iter().map(|a| address::shown(*a)).collect();
        found.push(format!(
            "the other side names more addresses, which an association would try, too: {}; name them \
             in --to to test them",
            shown.join(", ")
        ));
    }
    let without_udp = pairs.iter().any(|p| p.remote.port() == 0);
    found.push(of_host(host, without_udp));
    found.push(Protocol132::of(pairs).words().to_owned());
    found
}

/// Whether one path could take over from another.
fn redundancy(pairs: &[Pair]) -> String {
    let answering: Vec<&Pair> = pairs.iter().filter(|p| p.answer.is_ok()).collect();
    let distinct = |ip: fn(&&Pair) -> IpAddr| answering.iter().map(ip).collect::<BTreeSet<_>>();
    let local = distinct(|p| p.local.ip()).len();
    let remote = distinct(|p| p.remote.ip()).len();
    match (local, remote) {
        (0, _) => "no redundancy: no pair answers".to_owned(),
        (_, 1) => "no redundancy: the other side has one address that answers; give it more with \
                   `byway recv --bind`, and name them in --to"
            .to_owned(),
        (1, _) => {
            "half redundancy: the other side has several addresses, this side one; a failure \
                   of this side's only link stops everything. Name more addresses with --bind"
                .to_owned()
        }
        _ => format!(
            "redundancy: {local} local and {remote} remote addresses answer. Whether they share a \
             router or a cable cannot be seen from here"
        ),
    }
}

fn of_answer(number: usize, pair: &Pair, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    if !answer.mtu_is_bound {
        found.push(format!(
            "pair {number}: packets of more than {} bytes do not pass; byway finds that out by \
             itself, other programs may stall",
            answer.mtu
        ));
    }
    let loss = f64::from(answer.lost()) / f64::from(answer.sent.max(1));
    if loss > MUCH_LOSS {
        found.push(format!(
            "pair {number}: {} of {} heartbeats were lost; `byway advise` says what to set for \
             that",
            answer.lost(),
            answer.sent
        ));
    }
    match translator(pair, answer) {
        Translator::Port => found.push(format!(
            "pair {number}: a translator (NAT) changes address and port; byway goes on when it does \
             so again, and a host behind it cannot be the one that waits"
        )),
        Translator::Address => found.push(format!(
            "pair {number}: a translator (NAT) changes the address and keeps the port"
        )),
        Translator::Unknown if answer.seen.is_none() => found.push(format!(
            "pair {number}: whether a translator (NAT) stands between, and the rate, are not known: \
             the other side was not asked, or is no `byway recv --unprotected` of this version"
        )),
        _ => {}
    }
    found
}

fn of_host(host: &Host, without_udp: bool) -> String {
    if without_udp && host.kernel_sctp {
        "the kernel's SCTP is loaded on this host: it gets the same packets of protocol 132 and \
         answers them with ABORT. `modprobe -r sctp` unloads it; docs/networks.md has a filter"
            .to_owned()
    } else if host.kernel_udp_port != 0 {
        format!(
            "the kernel's SCTP takes UDP port {} of this host: a `byway recv` here cannot have it. \
             `sysctl -w net.sctp.udp_port=0` frees it",
            host.kernel_udp_port
        )
    } else if host.kernel_sctp {
        "the kernel's SCTP is loaded on this host, and does not interfere: byway uses UDP, and the \
         kernel has no UDP port for SCTP (net.sctp.udp_port = 0)"
            .to_owned()
    } else {
        "the kernel's SCTP is not loaded on this host and cannot interfere".to_owned()
    }
}
