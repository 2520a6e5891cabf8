//! A command that waits, in protected mode.

use crate::peers::{self, byway, text};
use byway_tls::Ticket;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A side that waits, with the ticket that it has printed.
pub(crate) struct Host {
    /// None once it has been waited for.
    pub(crate) child: Option<Child>,
    pub(crate) ticket: String,
    pub(crate) out: BufReader<ChildStdout>,
}

impl Host {
    pub(crate) fn start(args: &[&str]) -> Host {
        Host::start_by(byway(), args)
    }

    pub(crate) fn start_by(command: Command, args: &[&str]) -> Host {
        Host::start_at(command, args, "127.0.0.1:0")
    }

    pub(crate) fn start_at(mut command: Command, args: &[&str], bind: &str) -> Host {
        let mut child = command
            .args(args)
            .args(["--bind", bind])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut ticket = String::new();
        out.read_line(&mut ticket).unwrap();
        // With --json: {"schema":"byway.ticket/1","ticket":"byway1-..."}
        let json: Option<serde_json::Value> = serde_json::from_str(&ticket).ok();
        let named = json.as_ref().and_then(|v| v["ticket"].as_str());
        let ticket = named.unwrap_or(&ticket).trim().to_owned();
        if !ticket.starts_with("byway1-") {
            let said = child.wait_with_output().unwrap().stderr;
            panic!("no ticket: {ticket:?}; {}", text(&said));
        }
        Host {
            child: Some(child),
            ticket,
            out,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        Ticket::parse(&self.ticket).unwrap().addresses[0]
    }

    /// The same ticket with another address, as of a relay.
    pub(crate) fn by_way_of(&self, address: SocketAddr) -> String {
        let mut ticket = Ticket::parse(&self.ticket).unwrap();
        ticket.addresses = vec![address];
        ticket.to_text().to_string()
    }

    /// Ends it; what it has said.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<u8>, String) {
        let child = self.child.as_mut().unwrap();
        if child.try_wait().unwrap().is_none() {
            peers::signal(child, "TERM");
        }
        self.finish()
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> (Option<i32>, Vec<u8>, String) {
        let mut out = Vec::new();
        self.out.read_to_end(&mut out).unwrap();
        let rest = self.child.take().unwrap().wait_with_output().unwrap();
        let said = text(&rest.stderr);
        assert!(!said.contains("panicked"), "{said}");
        (rest.status.code(), out, said)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
