//! The programs, and processes that end with the measurement.

use crate::peers::Workspace;
use crate::process::{last_json, limited};
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The programs of a measurement.
pub(super) struct Tools {
    pub(super) byway: PathBuf,
    pub(super) bench: PathBuf,
    hostile: PathBuf,
    /// A folder for files.
    pub(super) folder: PathBuf,
    workspace: Workspace,
}

impl Tools {
    pub(super) fn build(workspace: &Workspace) -> Result<Tools> {
        workspace.build(&["byway-cli", "byway-bench", "byway-hostile"])?;
        // In memory where that is possible: a rate is not that of a disk.
        let memory = PathBuf::from("/dev/shm");
        let place = match memory.is_dir() {
            true => memory,
            false => std::env::temp_dir(),
        };
        let folder = place.join(format!("byway-hostile-{}", std::process::id()));
        std::fs::create_dir_all(&folder).context("a folder for files")?;
        Ok(Tools {
            byway: workspace.program("byway"),
            bench: workspace.program("byway-bench"),
            hostile: workspace.program("byway-hostile"),
            folder,
            workspace: workspace.clone(),
        })
    }

    /// The command as users have it: the release build, made when it is asked for.
    pub(super) fn released(&self) -> Result<PathBuf> {
        self.workspace.released("byway-cli")
    }

    /// An attack, with its words.
    pub(super) fn hostile(&self, words: &[&str]) -> Command {
        let mut command = limited(&self.hostile);
        command.args(words);
        command
    }

    /// Runs an attack to its end; its line of JSON.
    pub(super) fn attack(&self, words: &[&str]) -> Result<Value> {
        json_of(&mut self.hostile(words))
    }

    /// `byway recv` without protection on these addresses.
    pub(super) fn recv(&self, bind: &str, words: &[&str]) -> Result<Running> {
        self.receiver(bind, &[&["--unprotected"], words].concat())
    }

    /// `byway recv` by ticket on this address, and the ticket, which any number may use.
    pub(super) fn recv_by_ticket(&self, bind: &str, words: &[&str]) -> Result<(Running, String)> {
        let file = self.ticket_file(bind);
        let path = file.to_str().context("a folder whose name is text")?;
        let by_ticket = ["--uses", "any", "--ticket-to", path];
        let receiver = self.receiver(bind, &[&by_ticket, words].concat())?;
        let ticket = std::fs::read_to_string(&file).context("no ticket was written")?;
        Ok((receiver, ticket.trim().to_owned()))
    }

    /// Where the ticket of the receiver at this address is.
    pub(super) fn ticket_file(&self, bind: &str) -> PathBuf {
        self.folder.join(format!("ticket-{bind}"))
    }

    fn receiver(&self, bind: &str, words: &[&str]) -> Result<Running> {
        self.receiver_by(&self.byway, bind, words)
    }

    /// A receiver of this build of the command.
    pub(super) fn receiver_by(&self, byway: &Path, bind: &str, words: &[&str]) -> Result<Running> {
        let mut command = Command::new(byway);
        command
            .args(["recv", "--quiet", "--force", "--bind", bind, "--dir"])
            .arg(self.folder.join("inbox"))
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut receiver = Running::start(command)?;
        ensure!(
            receiver.is_alive()?,
            "byway recv --bind {bind} did not start"
        );
        Ok(receiver)
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        // What is left there is small.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Runs a program to its end; its last line of JSON.
pub(super) fn json_of(command: &mut Command) -> Result<Value> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    last_json(&String::from_utf8_lossy(&output.stdout)).context("no line of JSON")
}

/// A program that is ended with this value.
pub(super) struct Running(Option<Child>);

impl Running {
    pub(super) fn start(mut command: Command) -> Result<Running> {
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        std::thread::sleep(Duration::from_millis(500));
        Ok(Running(Some(child)))
    }

    /// A program that was started already.
    pub(super) fn of(child: Child) -> Running {
        Running(Some(child))
    }

    fn id(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }

    /// Resident memory in KiB, the touched pages of the program's file included.
    pub(super) fn resident(&self) -> Result<f64> {
        self.status("VmRSS:")
    }

    /// Resident memory in KiB that the program itself has filled.
    pub(super) fn anonymous(&self) -> Result<f64> {
        self.status("RssAnon:")
    }

    /// A line of the kernel's account of the process, in KiB.
    fn status(&self, name: &str) -> Result<f64> {
        let path = format!("/proc/{}/status", self.id());
        let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        let line = text.lines().find_map(|l| l.strip_prefix(name));
        let word = line.and_then(|l| l.split_ascii_whitespace().next());
        Ok(word
            .with_context(|| format!("no {name} in {path}"))?
            .parse()?)
    }

    /// Waits for its end; its last line of JSON.
    pub(super) fn finish(mut self) -> Result<Value> {
        let child = self.0.take().context("it was waited for")?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "it ended with {}", output.status);
        last_json(&String::from_utf8_lossy(&output.stdout)).context("no line of JSON")
    }

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> Result<bool> {
        let child = self.0.as_mut().context("it was waited for")?;
        Ok(child.try_wait()?.is_none())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            if let Ok(id) = i32::try_from(child.id()) {
                // It may have ended; `timeout` passes the signal on.
                let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
            }
            let until = Instant::now() + Duration::from_secs(3);
            while Instant::now() < until && child.try_wait().is_ok_and(|s| s.is_none()) {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A number of a line of JSON.
pub(super) fn number(line: &Value, field: &str) -> Result<f64> {
    crate::process::number(Some(line), field)
}

/// The middle one.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Three places are enough.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
