//! What the measurements mean, and what to do.

use super::super::address;
use super::host::{Host, Strict};
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
    // A card has another number there.
    let own = |s: &SocketAddr| (s.ip(), s.port()) == (pair.local.ip(), answer.port);
    if seen.is_empty() {
        Translator::Unknown
    } else if seen.iter().any(own) {
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
    /// Of the pairs without UDP, and of what was tried `beside` them, the best.
    pub(super) fn of(pairs: &[Pair], beside: Option<&Result<(), Silence>>) -> Protocol132 {
        let without_udp = pairs.iter().filter(|p| p.remote.port() == 0);
        let answers = without_udp.map(|p| p.answer.as_ref().map(|_| ()));
        let answers = answers.chain(beside.map(|b| match b {
            Ok(()) => Ok(()),
            Err(silence) => Err(silence),
        }));
        let all: Vec<Protocol132> = answers
            .filter_map(|answer| match answer {
                Ok(())
                | Err(
                    Silence::WrongPort(_)
                    | Silence::NobodyListens
                    | Silence::Unsound(_)
                    | Silence::Incomplete(_),
                ) => Some(Protocol132::Passes),
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
                "protocol 132 (SCTP without UDP) was not tested, which needs CAP_NET_RAW here and no \
                 kernel SCTP; a filter on it does not matter to SCTP over UDP"
            }
        }
    }
}

/// Why a pair without UDP does not answer, and what to do. None if UDP has the same words.
fn words_without_udp(silence: &Silence, pair: &Pair) -> Option<String> {
    let remote = address::shown_host(pair.remote);
    match silence {
        Silence::NobodyListens => Some(format!(
            "protocol 132 passes and the host answers, but nothing there takes SCTP without UDP; \
             start `byway recv --encapsulation none --bind {remote}` there"
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
        Silence::Refused(_)
        | Silence::Local(_)
        | Silence::Unsound(_)
        | Silence::Incomplete(_) => None,
    }
}

fn came_back(packets: u64) -> String {
    match packets {
        1 => "1 packet came back".to_owned(),
        n => format!("{n} packets came back"),
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
            address::shown_host(remote)
        ),
        Silence::NobodyListens => format!(
            "the host answers, but nothing listens on UDP {}; start `byway recv --bind {}` there, \
             or correct the port in --to",
            remote.port(),
            address::shown(remote)
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
        Silence::Unsound(came) => format!(
            "{} that no SCTP peer sends: what answers there is not SCTP, or something on the way changes it; \
             start `byway recv` there",
            came_back(*came)
        ),
        Silence::Incomplete(came) => format!(
            "the other side answers ({}), but no association was set up in time: packets are lost on the way, or \
             do not pass at the size that the set-up needs, some hundred bytes. Try again with a longer --wait",
            came_back(*came)
        ),
        Silence::Local(error) => format!("this side cannot begin: {error}"),
    }
}

/// What to know and to do, the most important first.
pub(super) fn of(
    pairs: &[Pair],
    protocol_132: Protocol132,
    host: &Host,
    wanted: &[SocketAddr],
) -> Vec<String> {
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
    found.extend(host.strict.iter().map(of_filter));
    let without_udp = pairs.iter().any(|p| p.remote.port() == 0);
    found.push(of_host(host, without_udp));
    found.push(protocol_132.words().to_owned());
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
        (1, 1) => "no redundancy: the other side has one address that answers; give it more with \
                   `byway recv --bind`, and name them in --to"
            .to_owned(),
        (_, 1) => {
            "half redundancy: the other side has one address that answers; a failure of its only \
             link stops everything. Give it more with `byway recv --bind`, and name them in --to"
                .to_owned()
        }
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
        Translator::Unknown if answer.refused.is_some() => found.push(format!(
            "pair {number}: whether a translator (NAT) stands between, and the rate, are not known: \
             {}",
            answer.refused.as_deref().unwrap_or_default()
        )),
        Translator::Unknown if answer.seen.is_none() => found.push(format!(
            "pair {number}: whether a translator (NAT) stands between, and the rate, are not known: \
             the other side was not asked, or is no `byway recv` of this version that takes those \
             without a ticket (--to TICKET asks one that wants it)"
        )),
        _ => {}
    }
    found
}

/// What a strict reverse-path filter takes, and what to do.
fn of_filter(strict: &Strict) -> String {
    let Strict {
        card,
        local,
        remote,
    } = strict;
    // A dot in its name would end it.
    let key = card.replace('.', "/");
    format!(
        "card {card} drops what comes back to {local}: its reverse-path filter is strict (rp_filter = 1), and \
         this host's routes lead from {local} to {remote} by another card. `sysctl -w \
         net.ipv4.conf.{key}.rp_filter=2` makes it loose; or give {local} routes of its own, such as `ip route \
         add default via GATEWAY dev {card} table 100` and `ip rule add from {local} table 100`"
    )
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const UDP: u16 = 9899;

    fn answer(listed: &[SocketAddr]) -> Answer {
        Answer {
            setup: Duration::from_millis(1),
            round_trips: vec![Duration::from_millis(1); 50],
            sent: 50,
            mtu: 1500,
            mtu_is_bound: true,
            rate: Some(1e8),
            seen: None,
            refused: None,
            port: 4000,
            listed: listed.to_vec(),
        }
    }

    /// The pair between 10.LOCAL.0.1 and 10.REMOTE.0.2.
    fn pair(local: u8, remote: u8, port: u16, answer: Result<Answer, Silence>) -> Pair {
        Pair {
            local: SocketAddr::from(([10, local, 0, 1], 0)),
            remote: SocketAddr::from(([10, remote, 0, 2], port)),
            answer,
        }
    }

    fn answers(local: u8, remote: u8) -> Pair {
        let remote_at = SocketAddr::from(([10, remote, 0, 2], UDP));
        pair(local, remote, UDP, Ok(answer(&[remote_at])))
    }

    fn found(pairs: &[Pair], host: &Host) -> String {
        let wanted: Vec<SocketAddr> = pairs.iter().map(|p| p.remote).collect();
        of(pairs, Protocol132::of(pairs, None), host, &wanted).join("\n")
    }

    #[test]
    fn each_silence_has_its_cause_and_its_remedy() {
        for (silence, port, parts) in [
            (
                Silence::NobodyListens,
                UDP,
                ["nothing listens on UDP 9899", "--bind 10.1.0.2:9899"],
            ),
            (
                Silence::Nothing,
                UDP,
                ["UDP 9899 is filtered", "nft add rule"],
            ),
            (
                Silence::Unsound(3),
                UDP,
                ["3 packets came back", "start `byway recv` there"],
            ),
            (
                Silence::Incomplete(1),
                UDP,
                ["answers (1 packet came back)", "a longer --wait"],
            ),
            (
                Silence::WrongPort("x".into()),
                UDP,
                ["SCTP port is refused", "--port must be"],
            ),
            (
                Silence::Refused("no route".into()),
                UDP,
                ["no route", "ip route get 10.1.0.2"],
            ),
            (
                Silence::Local("in use".into()),
                UDP,
                ["this side cannot begin", "in use"],
            ),
            (
                Silence::NobodyListens,
                0,
                ["protocol 132 passes", "--encapsulation none"],
            ),
            (
                Silence::OnlySctp,
                0,
                ["does not answer protocol 132", "--encapsulation udp"],
            ),
            (Silence::Nothing, 0, ["host is down", "--encapsulation udp"]),
            (
                Silence::WrongPort("x".into()),
                0,
                ["SCTP port is refused", "lsmod"],
            ),
        ] {
            let pairs = [pair(1, 1, port, Err(silence.clone()))];
            let text = found(&pairs, &Host::default());
            for part in parts {
                assert!(text.contains(part), "{silence:?} {port}: {text}");
            }
            assert!(text.contains("no redundancy: no pair answers"), "{text}");
        }
    }

    #[test]
    fn redundancy_is_that_of_both_sides() {
        for (pairs, expected) in [
            (
                vec![answers(1, 1)],
                "no redundancy: the other side has one address",
            ),
            (
                vec![answers(1, 1), answers(2, 1)],
                "half redundancy: the other side has one",
            ),
            (vec![answers(1, 1), answers(1, 2)], "half redundancy"),
            (
                vec![answers(1, 1), answers(2, 2)],
                "redundancy: 2 local and 2 remote",
            ),
        ] {
            let text = found(&pairs, &Host::default());
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn the_kernels_sctp_is_told_where_it_interferes() {
        let host = |kernel_sctp, kernel_udp_port| Host {
            kernel_sctp,
            kernel_udp_port,
            strict: vec![],
        };
        let (udp, raw) = (answers(1, 1), pair(1, 1, 0, Err(Silence::Nothing)));
        for (host, pair, expected) in [
            (
                host(false, 0),
                &udp,
                "is not loaded on this host and cannot interfere",
            ),
            (host(true, 0), &udp, "does not interfere"),
            (host(true, 9899), &udp, "takes UDP port 9899 of this host"),
            (host(true, 0), &raw, "answers them with ABORT"),
            (host(true, 0), &raw, "modprobe -r sctp"),
        ] {
            let text = of_host(&host, pair.remote.port() == 0);
            assert!(text.contains(expected), "{host:?}: {text}");
        }
    }

    #[test]
    fn a_strict_filter_is_told_with_its_card_and_the_remedy() {
        let pairs = [answers(1, 1)];
        assert!(!found(&pairs, &Host::default()).contains("rp_filter"));
        let strict = |card: &str| Strict {
            card: card.to_owned(),
            local: "10.2.0.1".parse().unwrap(),
            remote: "10.1.0.2".parse().unwrap(),
        };
        let host = Host {
            strict: vec![strict("e1"), strict("eth0.100")],
            ..Host::default()
        };
        let text = found(&pairs, &host);
        for part in [
            "card e1 drops what comes back to 10.2.0.1: ",
            "lead from 10.2.0.1 to 10.1.0.2 by another card",
            "`sysctl -w net.ipv4.conf.e1.rp_filter=2`",
            "dev e1 table 100` and `ip rule add from 10.2.0.1 table 100`",
            "`sysctl -w net.ipv4.conf.eth0/100.rp_filter=2`",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn protocol_132_is_told_by_the_best_answer() {
        use Protocol132::{NotTested, Passes, Silent, Unanswered};
        let of = |answers: &[Result<Answer, Silence>], beside| {
            let pairs: Vec<Pair> = answers
                .iter()
                .map(|a| match a {
                    Ok(_) => pair(1, 1, 0, Ok(answer(&[]))),
                    Err(silence) => pair(1, 1, 0, Err(silence.clone())),
                })
                .collect();
            Protocol132::of(&pairs, beside)
        };
        assert_eq!(of(&[], None), NotTested);
        assert_eq!(
            Protocol132::of(&[answers(1, 1)], None),
            NotTested,
            "that is UDP"
        );
        assert_eq!(of(&[], Some(&Ok(()))), Passes);
        assert_eq!(of(&[], Some(&Err(Silence::NobodyListens))), Passes);
        assert_eq!(of(&[], Some(&Err(Silence::OnlySctp))), Unanswered);
        assert_eq!(of(&[Err(Silence::Local(String::new()))], None), NotTested);
        assert_eq!(of(&[Err(Silence::Nothing)], None), Silent);
        assert_eq!(of(&[Err(Silence::Incomplete(1))], None), Passes);
        assert_eq!(of(&[Err(Silence::Nothing), Ok(answer(&[]))], None), Passes);
    }

    #[test]
    fn what_an_answer_shows_is_told() {
        let own = SocketAddr::from(([10, 1, 0, 1], 4000));
        let other = SocketAddr::from(([192, 0, 2, 1], 4000));
        let elsewhere = SocketAddr::from(([192, 0, 2, 1], 5000));
        for (seen, expected) in [
            (None, Translator::Unknown),
            (Some(vec![]), Translator::Unknown),
            (Some(vec![own]), Translator::None),
            (Some(vec![other]), Translator::Address),
            (Some(vec![elsewhere]), Translator::Port),
        ] {
            let mut a = answer(&[]);
            a.seen = seen;
            let p = pair(1, 1, UDP, Ok(answer(&[])));
            assert_eq!(translator(&p, &a), expected);
        }
        let unlisted = SocketAddr::from(([10, 9, 0, 2], UDP));
        let mut a = answer(&[unlisted]);
        (a.mtu, a.mtu_is_bound) = (1392, false);
        a.round_trips.truncate(40);
        a.refused = Some("the ticket was used already".to_owned());
        let text = found(&[pair(1, 1, UDP, Ok(a))], &Host::default());
        for part in [
            "more than 1392 bytes do not pass",
            "10 of 50 heartbeats were lost",
            "the ticket was used already",
            "names more addresses, which an association would try, too: 10.9.0.2:9899",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
