//! Network namespaces, made with iproute2.

use crate::children::run;
use crate::failure::Failure;
use std::path::Path;
use std::process::{Command, Stdio};

/// A network namespace; it is gone with this.
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
        run(Command::new("ip").args(["netns", "add", &name]))?;
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

    /// A program in it.
    pub(crate) fn program(&self, program: &Path) -> Command {
        within(&self.name, program)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // It is empty or not: a program that still runs in it keeps what it has.
        let _ = run(Command::new("ip").args(["netns", "del", &self.name]));
    }
}

/// A program in a namespace that someone else has made.
pub(crate) fn within(namespace: &str, program: &Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}
