//! What this host itself has to do with SCTP.

use byway::cards_beside_routes;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// The SCTP of the Linux kernel, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Host {
    /// Whether `sctp.ko` is loaded, or SCTP is built in.
    pub(super) kernel_sctp: bool,
    /// The UDP port on which the kernel takes encapsulated SCTP; 0 for none.
    pub(super) kernel_udp_port: u16,
    /// Cards with a strict reverse-path filter, though this side sends by them beside the routes.
    pub(super) strict: Vec<Strict>,
}

/// A card that drops the answers to what byway sends by it (`rp_filter` = 1; RFC 3704 section 2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Strict {
    pub(super) card: String,
    pub(super) local: IpAddr,
    pub(super) remote: IpAddr,
}

/// Reads `/proc`, and asks the kernel how these addresses are reached. `local` are those of `--bind`, or none.
pub(super) fn look(local: &[IpAddr], remote: &[SocketAddr]) -> Host {
    let mut beside: Vec<Strict> = Vec::new();
    for to in remote {
        for (from, card) in cards_beside_routes(*to) {
            // Once for each card: one remedy helps all.
            let new = beside.iter().all(|known| known.card != card);
            if new && (local.is_empty() || local.contains(&from)) {
                let (local, remote) = (from, to.ip());
                beside.push(Strict {
                    card,
                    local,
                    remote,
                });
            }
        }
    }
    look_below(Path::new("/proc"), beside)
}

fn look_below(proc: &Path, beside: Vec<Strict>) -> Host {
    let sctp = proc.join("sys/net/sctp");
    let port = std::fs::read_to_string(sctp.join("udp_port"));
    let strict = beside.into_iter().filter(|s| is_strict(proc, s)).collect();
    Host {
        kernel_sctp: sctp.exists(),
        kernel_udp_port: port.ok().and_then(|p| p.trim().parse().ok()).unwrap_or(0),
        strict,
    }
}

/// Whether the card drops what comes from where the routes do not lead by it. The larger of its own value and that of
/// `all` counts: 0 is no filter, 1 a strict one, 2 a loose one. IPv6 has none.
fn is_strict(proc: &Path, Strict { card, local, .. }: &Strict) -> bool {
    let of = |name: &str| -> Option<u8> {
        let file = proc.join("sys/net/ipv4/conf").join(name).join("rp_filter");
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    };
    local.is_ipv4() && of("all").max(of(card)) == Some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_says_of_the_kernels_sctp() {
        let name = format!("byway-doctor-proc-{}", std::process::id());
        let proc = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&proc);
        assert_eq!(
            look_below(&proc, vec![]),
            Host::default(),
            "it is not loaded"
        );
        let sctp = proc.join("sys/net/sctp");
        std::fs::create_dir_all(&sctp).unwrap();
        for (text, kernel_udp_port) in [(None, 0), (Some("0\n"), 0), (Some("9899\n"), 9899)] {
            if let Some(text) = text {
                std::fs::write(sctp.join("udp_port"), text).unwrap();
            }
            let expected = Host {
                kernel_sctp: true,
                kernel_udp_port,
                strict: vec![],
            };
            assert_eq!(look_below(&proc, vec![]), expected, "{text:?}");
        }
        std::fs::remove_dir_all(&proc).unwrap();
    }

    #[test]
    fn the_larger_value_of_all_and_of_the_card_says_whether_a_filter_is_strict() {
        let name = format!("byway-doctor-filters-{}", std::process::id());
        let proc = std::env::temp_dir().join(name);
        let of = |card: &str, local: &str| Strict {
            card: card.to_owned(),
            local: local.parse().unwrap(),
            remote: "10.0.0.2".parse().unwrap(),
        };
        for (all, card, strict) in [
            ("0", "0", false),
            ("0", "1", true),
            ("0", "2", false),
            ("1", "0", true),
            ("1", "1", true),
            ("1", "2", false),
            ("2", "0", false),
            ("2", "1", false),
            ("", "1", true),
            ("", "", false),
        ] {
            let _ = std::fs::remove_dir_all(&proc);
            for (name, value) in [("all", all), ("e1", card)] {
                let folder = proc.join("sys/net/ipv4/conf").join(name);
                std::fs::create_dir_all(&folder).unwrap();
                if !value.is_empty() {
                    std::fs::write(folder.join("rp_filter"), format!("{value}\n")).unwrap();
                }
            }
            let beside = vec![of("e1", "10.0.0.1"), of("e1", "fd00::1")];
            let found = look_below(&proc, beside.clone()).strict;
            let expected = if strict { &beside[..1] } else { &[] };
            assert_eq!(found, expected, "all {all:?}, card {card:?}");
        }
        std::fs::remove_dir_all(&proc).unwrap();
    }
}
