//! Asks the running processes.

use crate::failure::{Failure, Kind};
use crate::net::inspect::{PathNow, Process, SCHEMA, Wish};
use crate::net::place;
use serde::Serialize;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;

/// How long a process may take for its answer: it has nothing to wait for.
const PATIENCE: Duration = Duration::from_millis(250);

/// Longest answer. That of 256 associations with eight paths each has two million bytes.
const LONGEST: u64 = 16 << 20;

/// A path of an association of a process.
pub(super) type Key = (u32, String, u8);

/// What was found.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    schema: &'static str,
    pub(super) processes: Vec<Process>,
    /// Those that did not answer, and why.
    pub(super) unanswered: Vec<Unanswered>,
}

#[derive(Debug, Serialize)]
pub(super) struct Unanswered {
    pub(super) pid: u32,
    pub(super) why: String,
}

impl Found {
    /// Asks all. Sockets of processes that were killed are removed.
    ///
    /// # Errors
    /// When the folder of the sockets is not this user's.
    pub(super) fn now() -> Result<Found, Failure> {
        let sockets = place::answering()
            .map_err(|e| Failure::file("look for processes in", &place::folder(), &e))?;
        let mut found = Found::of(Vec::new());
        for (pid, socket) in sockets {
            match ask(&socket, "look").and_then(|line| read(&line)) {
                Ok(process) => found.processes.push(process),
                Err(why) if is_over(&why) => place::forget(&socket),
                Err(why) => found.unanswered.push(Unanswered {
                    pid,
                    why: match why.kind() {
                        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                            "it does not answer; is it stopped?".to_owned()
                        }
                        _ => why.to_string(),
                    },
                }),
            }
        }
        Ok(found)
    }

    /// These processes.
    pub(super) fn of(processes: Vec<Process>) -> Found {
        Found {
            schema: "byway.top/1",
            processes,
            unanswered: Vec::new(),
        }
    }

    /// All paths, as they are listed.
    pub(super) fn paths(&self) -> impl Iterator<Item = (Key, &PathNow)> {
        self.processes.iter().flat_map(|process| {
            process.associations.iter().flat_map(|association| {
                let key = |path: &PathNow| (process.pid, association.id.clone(), path.path);
                association.paths.iter().map(move |path| (key(path), path))
            })
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.unanswered.is_empty()
    }
}

/// Asks a process for what the user wants of a path of an association.
///
/// # Errors
/// Why not.
pub(super) fn wish(wish: Wish, pid: u32, association: &str, path: u8) -> Result<(), Failure> {
    let failed = |why: String| Failure::new(Kind::Failed, why);
    let socket = place::folder().join(format!("{pid}.sock"));
    let line = ask(&socket, &format!("{} {association} {path}", wish.word()))
        .map_err(|e| failed(format!("process {pid} does not answer: {e}")))?;
    let answer: serde_json::Value =
        serde_json::from_str(&line).map_err(|e| failed(e.to_string()))?;
    match answer["ok"].as_bool() {
        Some(true) => Ok(()),
        _ => Err(failed(
            answer["error"].as_str().unwrap_or("refused").to_owned(),
        )),
    }
}

/// Whether the process has ended.
fn is_over(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::NotFound
    )
}

/// The line that answers this line.
fn ask(socket: &Path, line: &str) -> std::io::Result<String> {
    let mut unix = place::connect(socket)?;
    unix.set_read_timeout(Some(PATIENCE))?;
    unix.set_write_timeout(Some(PATIENCE))?;
    unix.write_all(format!("{line}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(unix.take(LONGEST)).read_line(&mut answer)?;
    match answer.ends_with('\n') {
        true => Ok(answer),
        false => Err(std::io::Error::new(
            ErrorKind::UnexpectedEof,
            "its answer was cut short",
        )),
    }
}

fn read(line: &str) -> std::io::Result<Process> {
    let process: Result<Process, _> = serde_json::from_str(line);
    process.ok().filter(|p| p.schema == SCHEMA).ok_or_else(|| {
        let why = "it is of another release of byway, whose `byway top` shows it";
        std::io::Error::new(ErrorKind::InvalidData, why)
    })
}
