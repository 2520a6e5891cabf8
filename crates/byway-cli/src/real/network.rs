//! Two network namespaces with two cables between them, one of which can be unplugged.

use crate::failure::{Failure, Kind};
use crate::namespace::Namespace;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Drops what arrives on a card, at both ends: no card goes down, and no send fails.
const RULES: &str = "table inet byway {
    chain arrival { type filter hook prerouting priority -300; iifname \"path1\" drop; }
}
";

/// The namespaces of the two hosts.
pub(super) struct Network {
    sender: Namespace,
    receiver: Namespace,
}

/// An end of the cables.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum End {
    Sender,
    Receiver,
}

impl Network {
    /// Makes both namespaces and the cables.
    pub(super) fn make() -> Result<Network, Failure> {
        let base = format!("byway-real-{}", std::process::id());
        let network = Network {
            sender: Namespace::make(format!("{base}-a"))?,
            receiver: Namespace::make(format!("{base}-b"))?,
        };
        for path in 1..=2 {
            let card = format!("path{path}");
            let peer = network.receiver.name();
            let veth = ["type", "veth", "peer", "name", &card, "netns", peer];
            network
                .sender
                .ip(&[&["link", "add", card.as_str()], &veth[..]].concat())?;
            for end in [End::Sender, End::Receiver] {
                let address = format!("{}/24", end.address(path));
                let host = network.host(end);
                host.ip(&["addr", "add", &address, "dev", &card])?;
                host.ip(&["link", "set", &card, "up"])?;
            }
        }
        Ok(network)
    }

    fn host(&self, end: End) -> &Namespace {
        match end {
            End::Sender => &self.sender,
            End::Receiver => &self.receiver,
        }
    }

    /// A program at an end.
    pub(super) fn program(&self, end: End, program: &Path) -> Command {
        self.host(end).program(program)
    }

    /// Nothing arrives over the first path any more, at either end.
    pub(super) fn unplug(&self) -> Result<(), Failure> {
        for host in [&self.sender, &self.receiver] {
            let mut nft = host
                .program(Path::new("nft"))
                .args(["-f", "-"])
                .stdin(Stdio::piped())
                .spawn()
                .map_err(failed)?;
            if let Some(mut stdin) = nft.stdin.take() {
                stdin.write_all(RULES.as_bytes()).map_err(failed)?;
            }
            let status = nft.wait().map_err(failed)?;
            if !status.success() {
                return Err(failed(status));
            }
        }
        Ok(())
    }
}

impl End {
    /// The address of its card of a path, which are counted from 1.
    pub(super) fn address(self, path: u8) -> String {
        let host = match self {
            End::Sender => 1,
            End::Receiver => 2,
        };
        format!("10.84.{path}.{host}")
    }
}

fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::new(
        Kind::Failed,
        format!("cannot unplug the path with nft: {why}"),
    )
}
