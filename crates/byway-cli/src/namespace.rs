//! Network namespaces, made with iproute2.

use crate::children::{apart, run};
use crate::failure::Failure;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What programs in a namespace have between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// Time between two looks at them.
const TICK: Duration = Duration::from_millis(10);
/// A network namespace; it is gone with this, and the programs in it, too.
pub(crate) struct Namespace {
    name: String,
}

/// Says what is missing for `what`: the tools, or the right to make namespaces.
pub(crate) fn check(what: &str, tools: &[&str]) -> Result<(), Failure> {
    for tool in tools {
        let ran = Command::new(tool)
            .arg("-V")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if ran.is_err() {
            return Err(Failure::wrong(format!(
                "{what} needs {tool}: apt-get install iproute2 nftables"
            )));
        }
    }
    let probe = format!("byway-probe-{}", std::process::id());
    Namespace::make(probe).map(drop).map_err(|e| {
        Failure::wrong(format!(
            "{what} needs network namespaces, which root can make: {e}"
        ))
    })
}

impl Namespace {
    /// Makes it, with its loopback up.
    pub(crate) fn make(name: String) -> Result<Namespace, Failure> {
        run(Command::new("ip").args(["netns", "add", &name])).map_err(|mut e| {
            if e.message.contains("File exists") {
                e.message += &format!(
                    ". Another run has it, or one that was killed left it: then `ip netns pids {name} | xargs -r kill; \
                     ip netns del {name}` removes it; do the same for the namespace of the other end"
                );
            }
            e
        })?;
        let namespace = Namespace { name };
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip` on it.
    pub(crate) fn ip(&self, args: &[&str]) -> Result<(), Failure> {
        run(Command::new("ip").args(["-n", &self.name]).args(args))
    }

    /// The programs in it; none if they cannot be listed.
    fn programs(&self) -> Option<Vec<Pid>> {
        let listed = apart(&mut Command::new("ip"))
            .args(["netns", "pids", &self.name])
            .stderr(Stdio::null())
            .output();
        let listed = listed.ok().filter(|l| l.status.success())?;
        let listed = String::from_utf8_lossy(&listed.stdout);
        let all = listed.lines().filter_map(|l| l.trim().parse().ok());
        Some(all.filter_map(Pid::from_raw).collect())
    }

    /// Sends a signal to each of them. Whether there is one, or may be.
    fn signal_programs(&self, signal: Signal) -> bool {
        let Some(all) = self.programs() else {
            return true;
        };
        for pid in &all {
            // It may have ended.
            let _ = kill_process(*pid, signal);
        }
        !all.is_empty()
    }

    /// A server that was started in the background would go on with no network and no name.
    fn end_programs(&self) {
        let begun = Instant::now();
        let mut some = self.signal_programs(Signal::TERM);
        while some && begun.elapsed() < GRACE {
            std::thread::sleep(TICK);
            some = self.programs().is_none_or(|all| !all.is_empty());
        }
        // Again and again, as one may have started another meanwhile.
        while some && begun.elapsed() < 2 * GRACE {
            some = self.signal_programs(Signal::KILL);
        }
    }

    /// A program in it.
    pub(crate) fn program(&self, program: &Path) -> Command {
        within(&self.name, program)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.end_programs();
        let _ = run(Command::new("ip").args(["netns", "del", &self.name]));
    }
}

/// A program in a namespace that someone else has made.
pub(crate) fn within(namespace: &str, program: &Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}
