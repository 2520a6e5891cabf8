//! What the measurements mean, and what to do.

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

/// Why a pair does not answer, and what to do.
pub(super) fn words(silence: &Silence, pair: &Pair) -> String {
    let remote = pair.remote;
    match silence {
        Silence::Refused(error) => format!(
            "the kernel or a router refuses packets ({error}); check routes and filters of this \
             host with `ip route get {}`",
            remote.ip()
        ),
        Silence::NobodyListens => format!(
            "the host answers, but nothing listens on UDP {}; start `byway recv --bind {remote}` there, \
             or correct the port in --to",
            remote.port()
        ),
        Silence::WrongPort(error) => format!(
            "UDP passes, but the SCTP port is refused ({error}); --port must be that of the other \
             side"
        ),
        Silence::Nothing => format!(
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
        let shown: Vec<String> = listed.iter().map(SocketAddr::to_string).collect();
        found.push(format!(
            "the other side names more addresses, which an association would try, too: {}; name them \
             in --to to test them",
            shown.join(", ")
        ));
    }
    found.push(of_host(host));
    found.push(
        "protocol 132 (SCTP without UDP) is not used by byway and was not tested; a filter on it does \
         not matter"
            .to_owned(),
    );
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
             the other side was not asked, or is no `byway recv` of this version"
        )),
        _ => {}
    }
    found
}

fn of_host(host: &Host) -> String {
    if host.kernel_udp_port != 0 {
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
