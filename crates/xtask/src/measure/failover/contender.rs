//! Who is compared, and how each one is started.

use super::flow::Load;
use super::network::{Emulated, End};
use crate::peers::Workspace;
use anyhow::{Result, ensure};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// First UDP or TCP port; one for each connection of a network.
const FIRST_PORT: u16 = 9900;
const BOTH: &str = "10.1.0.2,10.2.0.2";
const OURS: &str = "10.1.0.1,10.2.0.1";

/// The programs.
pub(super) struct Programs {
    pub(super) byway: PathBuf,
    usrsctp: PathBuf,
    stream: PathBuf,
}

impl Programs {
    /// Compiles those of the peers.
    pub(super) fn build(workspace: &Workspace, byway: PathBuf) -> Result<Programs> {
        let common = workspace.file("interop/common");
        let usrsctp = workspace.target().join("peers/usrsctp-peer");
        let stream = workspace.c_peer("tcp/stream.c", &[])?;
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-I"]).arg(common).arg("-o").arg(&usrsctp);
        gcc.arg(workspace.file("interop/usrsctp/peer.c"))
            .args(["-lusrsctp", "-lmd", "-lpthread"]);
        crate::process::run_quietly(&mut gcc)?;
        Ok(Programs {
            byway,
            usrsctp,
            stream,
        })
    }
}

/// Whose connections they are.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Who {
    /// `byway cat` and `byway listen`, nothing set.
    Byway,
    /// The peer of `interop/usrsctp` with these options.
    Usrsctp(&'static [&'static str]),
    /// The guest's kernel, which sends to `byway listen`.
    Linux,
    /// The kernel's MPTCP; the second subflow may be a backup.
    Mptcp { backup: bool },
    /// The kernel's TCP over the first path.
    Tcp,
}

/// One of those that are compared.
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) who: Who,
    /// For how long it is watched after the death, besides five round trips.
    pub(super) watched: Duration,
}

const fn contender(name: &'static str, who: Who, watched_ms: u64) -> Contender {
    Contender {
        name,
        who,
        watched: Duration::from_millis(watched_ms),
    }
}

/// Ours. Its stalls are shorter, but a later pause counts, too: T3-rtx of RFC 9260 expires a second after the death and,
/// doubled, two seconds later.
pub(super) const BYWAY: Contender = contender("byway", Who::Byway, 3_000);

/// What users have today.
pub(super) const PEERS: [Contender; 7] = [
    contender("usrsctp", Who::Usrsctp(&[]), 75_000),
    contender("usrsctp, PF", Who::Usrsctp(&["--pf", "0"]), 8_000),
    contender(
        "usrsctp, PF, RTO.min 100 ms",
        Who::Usrsctp(&["--pf", "0", "--rto-min", "100"]),
        4_000,
    ),
    contender("Linux SCTP", Who::Linux, 8_000),
    contender("MPTCP", Who::Mptcp { backup: false }, 4_000),
    contender(
        "MPTCP, second subflow backup",
        Who::Mptcp { backup: true },
        4_000,
    ),
    contender("TCP", Who::Tcp, 8_000),
];

impl Contender {
    /// What it needs besides its programs. Not for the guest.
    pub(super) fn prepare(&self, network: &Emulated) -> Result<()> {
        let Who::Mptcp { backup } = self.who else {
            return Ok(());
        };
        let ip = |end, words: &[&str]| -> Result<()> {
            let mut command = network.program(end, std::path::Path::new("ip"));
            let done = command.args(["mptcp"]).args(words).output()?;
            ensure!(
                done.status.success(),
                "ip mptcp {}: {}",
                words.join(" "),
                String::from_utf8_lossy(&done.stderr).trim()
            );
            Ok(())
        };
        for end in [End::Sender, End::Receiver] {
            ip(
                end,
                &["limits", "set", "subflow", "2", "add_addr_accepted", "2"],
            )?;
        }
        let mut here = vec!["endpoint", "add", "10.2.0.1", "dev", "path2", "subflow"];
        if backup {
            here.push("backup");
        }
        ip(End::Sender, &here)?;
        ip(
            End::Receiver,
            &["endpoint", "add", "10.2.0.2", "dev", "path2", "signal"],
        )
    }

    /// The receiver of connection `n`.
    pub(super) fn receiver(&self, programs: &Programs, network: &Emulated, n: u16) -> Command {
        let port = FIRST_PORT + n;
        match self.who {
            Who::Byway | Who::Linux => {
                let mut command = network.program(End::Receiver, &programs.byway);
                command.args([
                    "listen",
                    "--unprotected",
                    "--quiet",
                    "--bind",
                    &both(BOTH, port),
                ]);
                command
            }
            Who::Usrsctp(options) => {
                let mut command = network.program(End::Receiver, &programs.usrsctp);
                command.args(["recv", "--addr", BOTH, "--out", "/dev/stdout"]);
                usrsctp(command, options, port)
            }
            Who::Mptcp { .. } | Who::Tcp => {
                let mut command = network.program(End::Receiver, &programs.stream);
                command.args(["recv", "--port", &port.to_string()]);
                self.mptcp(command)
            }
        }
    }

    /// The sender of connection `n`.
    pub(super) fn sender(
        &self,
        programs: &Programs,
        network: &Emulated,
        n: u16,
        load: Load,
    ) -> Command {
        let port = FIRST_PORT + n;
        match self.who {
            Who::Byway | Who::Linux => {
                let mut command = network.program(End::Sender, &programs.byway);
                command.args(["cat", "--quiet", "--bind", OURS, "--to", &both(BOTH, port)]);
                command
            }
            Who::Usrsctp(options) => {
                let mut command = network.program(End::Sender, &programs.usrsctp);
                command.args(["send", "--addr", OURS, "--to", BOTH, "--in", "/dev/stdin"]);
                let message = match load {
                    Load::Paced => super::flow::MESSAGE.to_string(),
                    Load::Bulk => "16384".to_owned(),
                };
                command.args(["--message", &message]);
                usrsctp(command, options, port)
            }
            Who::Mptcp { .. } | Who::Tcp => {
                let mut command = network.program(End::Sender, &programs.stream);
                command.args(["send", "--to", "10.1.0.2", "--port", &port.to_string()]);
                self.mptcp(command)
            }
        }
    }

    fn mptcp(&self, mut command: Command) -> Command {
        if self.who != Who::Tcp {
            command.args(["--mptcp", "1"]);
        }
        command
    }
}

/// The addresses, each with the port.
pub(super) fn both(addresses: &str, port: u16) -> String {
    let with_port = |address| format!("{address}:{port}");
    addresses
        .split(',')
        .map(with_port)
        .collect::<Vec<_>>()
        .join(",")
}

fn usrsctp(mut command: Command, options: &[&str], port: u16) -> Command {
    let udp = port.to_string();
    command.args(["--port", "5001", "--udp-port", &udp, "--buffer", "0"]);
    command.args(["--deadline", "300"]).args(options);
    command
}
