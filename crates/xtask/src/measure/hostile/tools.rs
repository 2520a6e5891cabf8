//! The programs, and processes that end with the measurement.

use crate::peers::Workspace;
use crate::process::{last_json, limited};
use crate::series::Spread;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that takes longer to end is killed.
const LONGEST_END: Duration = Duration::from_secs(20);

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

    /// Where files arrive.
    pub(super) fn inbox(&self) -> PathBuf {
        self.folder.join("inbox")
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
        self.watched("recv", bind, &[&["--unprotected"], words].concat())
    }

    /// `byway listen` without protection on this address.
    pub(super) fn listen(&self, bind: &str, words: &[&str]) -> Result<Running> {
        self.watched("listen", bind, &[&["--unprotected"], words].concat())
    }

    /// `byway recv` by ticket on this address, and the ticket, which any number may use.
    pub(super) fn recv_by_ticket(&self, bind: &str, words: &[&str]) -> Result<(Running, String)> {
        let file = self.ticket_file(bind);
        let path = file.to_str().context("a folder whose name is text")?;
        let by_ticket = ["--uses", "any", "--ticket-to", path];
        let receiver = self.watched("recv", bind, &[&by_ticket, words].concat())?;
        Ok((receiver, self.ticket(bind)?))
    }

    /// The ticket of the receiver at this address.
    pub(super) fn ticket(&self, bind: &str) -> Result<String> {
        let file = self.ticket_file(bind);
        // It is written late where other work runs.
        let until = Instant::now() + Duration::from_secs(10);
        while !file.exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(100));
        }
        let ticket = std::fs::read_to_string(file);
        Ok(ticket.context("no ticket was written")?.trim().to_owned())
    }

    /// Where it is.
    pub(super) fn ticket_file(&self, bind: &str) -> PathBuf {
        self.folder.join(format!("ticket-{bind}"))
    }

    /// A command that waits, and tells what it has.
    fn watched(&self, command: &str, bind: &str, words: &[&str]) -> Result<Running> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let metrics = port.to_string();
        let words = [words, &["--metrics", &metrics]].concat();
        let mut receiver = self.waiting(&self.byway, command, bind, &words)?;
        receiver.metrics = Some(port);
        Ok(receiver)
    }

    /// A command of this build that waits for peers.
    pub(super) fn waiting(
        &self,
        byway: &Path,
        command: &str,
        bind: &str,
        words: &[&str],
    ) -> Result<Running> {
        let mut waiting = Command::new(byway);
        waiting
            .args([command, "--quiet", "--bind", bind])
            .args(words);
        if command == "recv" {
            waiting.args(["--force", "--dir"]);
            waiting.arg(self.inbox());
        }
        waiting
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut running = Running::start(waiting)?;
        ensure!(
            running.is_alive()?,
            "byway {command} --bind {bind} did not start"
        );
        Ok(running)
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
pub(super) struct Running {
    child: Option<Child>,
    /// The TCP port at which it tells its metrics.
    metrics: Option<u16>,
}

impl Running {
    pub(super) fn start(mut command: Command) -> Result<Running> {
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        std::thread::sleep(Duration::from_millis(500));
        Ok(Running::of(child))
    }

    /// A program that was started already.
    pub(super) fn of(child: Child) -> Running {
        Running {
            child: Some(child),
            metrics: None,
        }
    }

    fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// The associations that it has.
    pub(super) fn associations(&self) -> Result<u64> {
        let text = self.told()?;
        metric(&text, "byway_associations").context("no number of associations is told")
    }

    /// What it has refused by this rule so far; what is not told is none.
    pub(super) fn refused(&self, rule: &str) -> Result<u64> {
        let name = format!("byway_refused_total{{rule=\"{rule}\"}}");
        Ok(metric(&self.told()?, &name).unwrap_or(0))
    }

    /// Its metrics.
    fn told(&self) -> Result<String> {
        let port = self.metrics.context("it tells no metrics")?;
        let mut tcp = TcpStream::connect(("127.0.0.1", port)).context("it tells nothing")?;
        tcp.set_read_timeout(Some(Duration::from_secs(10)))?;
        tcp.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        tcp.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Sends it a signal; how long it took to end, at most [`LONGEST_END`], and whether a signal ended it.
    pub(super) fn end_by(mut self, signal: Signal) -> Result<(Duration, std::process::ExitStatus)> {
        let mut child = self.child.take().context("it was waited for")?;
        let begun = Instant::now();
        kill(Pid::from_raw(i32::try_from(child.id())?), signal)?;
        while begun.elapsed() < LONGEST_END {
            if let Some(status) = child.try_wait()? {
                return Ok((begun.elapsed(), status));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill();
        let _ = child.wait();
        anyhow::bail!("it had not ended {LONGEST_END:?} after {signal}")
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
        let child = self.child.take().context("it was waited for")?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "it ended with {}", output.status);
        last_json(&String::from_utf8_lossy(&output.stdout)).context("no line of JSON")
    }

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> Result<bool> {
        let child = self.child.as_mut().context("it was waited for")?;
        Ok(child.try_wait()?.is_none())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
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

/// The middle one, or the mean of the two in the middle.
pub(super) fn median(values: Vec<f64>) -> f64 {
    Spread::of(values).map_or(f64::NAN, |s| s.median)
}

/// The value of a metric with this name and these labels.
fn metric(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(value)
}

/// Three places are enough.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let text = "byway_associations_unlisted 3\nbyway_associations 7\n\
                    byway_refused_total{rule=\"malformed\"} 9\n";
        assert_eq!(metric(text, "byway_associations"), Some(7));
        assert_eq!(
            metric(text, "byway_refused_total{rule=\"malformed\"}"),
            Some(9)
        );
        assert_eq!(metric(text, "byway_refused_total"), None);
        assert_eq!(median(vec![1.0, 4.0, 2.0, 3.0]), 2.5);
    }
}
