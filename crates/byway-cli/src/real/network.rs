//! Two network namespaces with two cables between them, one of which can be unplugged.

use super::children::run;
use crate::failure::{Failure, Kind};
use std::io::Write;
use std::process::{Command, Stdio};

/// Drops what arrives on a card, at both ends: no card goes down, and no send fails.
const RULES: &str = "table inet byway {
    chain arrival { type filter hook prerouting priority -300; iifname \"path1\" drop; }
}
";

/// The namespaces; they are gone with this.
pub(super) struct Network {
    base: String,
}

/// An end of the cables.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum End {
    Sender,
    Receiver,
}

/// Says what is missing here.
pub(super) fn check() -> Result<(), Failure> {
    for tool in [["ip", "-V"], ["nft", "-v"]] {
        let ran = Command::new(tool[0])
            .arg(tool[1])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if ran.is_err() {
            return Err(Failure::wrong(format!(
                "--real needs {}: apt-get install iproute2 nftables",
                tool[0]
            )));
        }
    }
    // A namespace can be made by who may administer the network.
    let probe = format!("byway-real-{}-probe", std::process::id());
    run(Command::new("ip").args(["netns", "add", &probe])).map_err(|e| {
        Failure::wrong(format!(
            "--real needs network namespaces, which root can make: {e}"
        ))
    })?;
    run(Command::new("ip").args(["netns", "del", &probe]))
}

impl Network {
    /// Makes both namespaces and the cables.
    pub(super) fn make() -> Result<Network, Failure> {
        // Dropped with what there is already if a step fails.
        let network = Network {
            base: format!("byway-real-{}", std::process::id()),
        };
        for end in [End::Sender, End::Receiver] {
            ip(&["netns", "add", &network.name(end)])?;
            ip(&["-n", &network.name(end), "link", "set", "lo", "up"])?;
        }
        let (a, b) = (network.name(End::Sender), network.name(End::Receiver));
        for path in 1..=2 {
            let card = format!("path{path}");
            ip(&[
                "-n", &a, "link", "add", &card, "type", "veth", "peer", "name", &card, "netns", &b,
            ])?;
            for end in [End::Sender, End::Receiver] {
                let name = network.name(end);
                let address = format!("{}/24", end.address(path));
                ip(&["-n", &name, "addr", "add", &address, "dev", &card])?;
                ip(&["-n", &name, "link", "set", &card, "up"])?;
            }
        }
        Ok(network)
    }

    fn name(&self, end: End) -> String {
        let end = match end {
            End::Sender => "a",
            End::Receiver => "b",
        };
        format!("{}-{end}", self.base)
    }

    /// A program at an end.
    pub(super) fn program(&self, end: End, program: &std::path::Path) -> Command {
        within(&self.name(end), program)
    }

    /// Nothing arrives over the first path any more, at either end.
    pub(super) fn unplug(&self) -> Result<(), Failure> {
        for end in [End::Sender, End::Receiver] {
            let mut nft = within(&self.name(end), std::path::Path::new("nft"))
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

impl Drop for Network {
    fn drop(&mut self) {
        for end in [End::Sender, End::Receiver] {
            // One that was not made yet cannot be deleted.
            let _ = run(Command::new("ip").args(["netns", "del", &self.name(end)]));
        }
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

/// A program in a namespace.
pub(super) fn within(namespace: &str, program: &std::path::Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}

fn ip(args: &[&str]) -> Result<(), Failure> {
    run(Command::new("ip").args(args))
}

fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::new(
        Kind::Failed,
        format!("cannot unplug the path with nft: {why}"),
    )
}
