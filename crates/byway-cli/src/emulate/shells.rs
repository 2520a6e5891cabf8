//! Shells at the two hosts: side by side in one terminal if tmux is there, else in two terminals.

use crate::failure::{Failure, Kind};
use crate::namespace::within;
use byway_lab::emulation::End;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A host of an emulation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum HostArg {
    /// The end with the addresses 10.N.0.1
    Sender,
    /// The end with the addresses 10.N.0.2
    Receiver,
}

impl HostArg {
    /// The name of its namespace.
    pub(super) fn namespace(self, name: &str) -> String {
        match self {
            HostArg::Sender => format!("{name}-sender"),
            HostArg::Receiver => format!("{name}-receiver"),
        }
    }
}

/// The user's shell.
pub(super) fn shell() -> PathBuf {
    std::env::var_os("SHELL").map_or_else(|| "sh".into(), PathBuf::from)
}

/// Becomes a command, or a shell, at a host of an emulation that runs in another terminal.
pub(super) fn join(name: &str, host: HostArg, command: &[String]) -> Result<(), Failure> {
    let namespace = host.namespace(name);
    if !Path::new("/run/netns").join(&namespace).exists() {
        return Err(Failure::wrong(format!(
            "--join: no emulation of the name {name:?} runs here; begin one in another terminal with `byway emulate`"
        )));
    }
    let mut joined = match command {
        [program, rest @ ..] => {
            let mut joined = within(&namespace, Path::new(program));
            joined.args(rest);
            joined
        }
        [] => within(&namespace, &shell()),
    };
    let error = joined.exec();
    Err(Failure::new(
        Kind::Failed,
        format!("cannot run ip, of the package iproute2: {error}"),
    ))
}

/// Says what a pane is, and is then a shell in a namespace. The third one is that of tmux: what ends all with it.
const AT_SENDER: &str =
    "printf '%s\\n' \"$1\"; ip netns exec \"$2\" \"$3\"; tmux -L \"$4\" kill-session";
const AT_RECEIVER: &str = "printf '%s\\n' \"$1\"; exec ip netns exec \"$2\" \"$3\"";

/// Two panes of a tmux of its own, which ends with this.
pub(super) struct Panes {
    /// Names its server.
    socket: String,
}

impl Panes {
    /// If a person looks, and tmux is there.
    pub(super) fn begin(name: &str) -> Option<Panes> {
        let can_draw = std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb");
        let seen = can_draw && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let mut tmux = Command::new("tmux");
        tmux.arg("-V").stdout(Stdio::null()).stderr(Stdio::null());
        (seen && tmux.status().is_ok_and(|status| status.success())).then(|| Panes {
            socket: format!("byway-{name}-{}", std::process::id()),
        })
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        // Inside of another one it refuses to run.
        tmux.env_remove("TMUX").args(["-L", &self.socket]);
        tmux
    }

    /// The sender at the left, the receiver at the right. `told` is for the sender's.
    pub(super) fn command(
        &self,
        told: &str,
        shell: &Path,
        namespace: impl Fn(End) -> String,
    ) -> Command {
        let pane = |script: &str, words: &str, end| {
            let mut all: Vec<OsString> = ["sh", "-c", script, "sh"].map(OsString::from).into();
            // tmux takes a word that ends so as its own.
            let words = words.trim_end().trim_end_matches(';');
            all.extend([
                words.into(),
                namespace(end).into(),
                shell.into(),
                self.socket.clone().into(),
            ]);
            all
        };
        let at_receiver = "this is a shell at the receiver; Ctrl-B and an arrow change the pane";
        let mut tmux = self.tmux();
        tmux.arg("new-session");
        tmux.args(pane(AT_SENDER, told, End::Sender));
        tmux.args([";", "split-window", "-h", "-d"]);
        tmux.args(pane(AT_RECEIVER, at_receiver, End::Receiver));
        tmux
    }
}

impl Drop for Panes {
    fn drop(&mut self) {
        // It has ended already, unless a signal ends the emulation.
        let mut end = self.tmux();
        end.arg("kill-server").stdin(Stdio::null());
        let _ = end.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_panes_have_a_shell_at_each_host() {
        let panes = Panes {
            socket: "byway-x-1".to_owned(),
        };
        let namespace = |end| match end {
            End::Sender => "x-sender".to_owned(),
            End::Receiver => "x-receiver".to_owned(),
        };
        let command = panes.command("path 10.1.0.1;\n", Path::new("/bin/bash"), namespace);
        let words: Vec<&str> = command.get_args().filter_map(|w| w.to_str()).collect();
        let panes: Vec<&[&str]> = words.split(|word| *word == ";").collect();
        assert_eq!(panes.len(), 2, "{words:?}");
        let begin = [
            "-L",
            "byway-x-1",
            "new-session",
            "sh",
            "-c",
            AT_SENDER,
            "sh",
        ];
        assert_eq!(panes[0][..7], begin);
        assert_eq!(
            panes[0][7..],
            ["path 10.1.0.1", "x-sender", "/bin/bash", "byway-x-1"]
        );
        assert_eq!(panes[1][..4], ["split-window", "-h", "-d", "sh"]);
        assert_eq!(panes[1][8..10], ["x-receiver", "/bin/bash"]);
        assert!(
            command
                .get_envs()
                .any(|(name, value)| name == "TMUX" && value.is_none())
        );
    }

    #[test]
    fn who_joins_nothing_is_told_what_to_begin() {
        let failure = join("no-such-emulation", HostArg::Receiver, &[]).unwrap_err();
        assert!(
            failure.message.contains("begin one in another terminal"),
            "{failure}"
        );
        assert_eq!(HostArg::Sender.namespace("a"), "a-sender");
    }
}
