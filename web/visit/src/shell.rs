//! A shell for commands.

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A shell that runs commands. They are not children of this program: the end of a child interrupts the
/// connection with the browser, which `headless_chrome` then gives up.
pub struct Shell {
    _child: Child,
    lines: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Shell {
    /// Starts it.
    pub fn new() -> Result<Shell> {
        let mut child = Command::new("sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("there is no shell")?;
        let lines = child.stdin.take().context("its input")?;
        let answers = BufReader::new(child.stdout.take().context("its output")?);
        Ok(Shell {
            _child: child,
            lines,
            answers,
        })
    }

    /// Runs a line, and waits for its end.
    pub fn run(&mut self, line: &str) -> Result<()> {
        writeln!(self.lines, "{line}\necho done").context("the shell has ended")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(answer == "done\n", "the shell says {answer:?}");
        Ok(())
    }
}

/// An argument, as a shell reads it.
pub fn in_shell(argument: &OsStr) -> String {
    format!("'{}'", argument.to_string_lossy().replace('\'', "'\\''"))
}
