//! Lets others see what a running command does: `--metrics` over HTTP, and a Unix socket for
//! `byway top`.
//!
//! Both are served by a thread of their own, which reads the endpoint a few associations at a time.
//! Whoever asks, and however often, the transfer does not wait for it.

mod connections;
mod http;
mod look;
mod metrics;
mod process;
mod socket;
mod wish;
mod words;

pub(crate) use process::{AssociationNow, ConnectionsNow, PathNow, Process, SCHEMA};
pub(crate) use wish::Wish;

use super::ending::Ending;
use super::place;
use super::unbound::advice;
use crate::failure::{Failure, Kind};
use crate::net::args::HereArgs;
use crate::terminal::{say, say_json};
use look::Looker;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::Arc;

/// Reads the address of `--metrics`: a port alone is one of this host.
pub(crate) fn metrics_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        "it is a port, or an address with one: 9464, 10.0.0.1:9464, [::1]:9464".to_owned()
    })
}

/// Lets a command be seen, as long as it runs.
///
/// # Errors
/// When the address of `--metrics` cannot be bound. Without the socket of `byway top` the command
/// goes on.
pub(super) fn begin(
    command: &'static str,
    here: &HereArgs,
    ending: &Ending,
) -> Result<(), Failure> {
    let metrics = here.metrics.map(|at| bind(at, here)).transpose()?;
    // Without it, `byway top` does not see this process, and all else goes on.
    let top = place::listen().ok();
    let looker = Arc::new(Looker::new(command, ending.clone()));
    // Not the runtime of the transfer. Its descriptors are open before those for strangers are counted.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            unseen(&error);
            return Ok(());
        }
    };
    let started = std::thread::Builder::new().name("inspect".to_owned());
    let started = started.spawn(move || runtime.block_on(serve(metrics, top, looker)));
    started
        .map(drop)
        .map_err(|e| Failure::new(Kind::Failed, format!("no thread to be seen by: {e}")))
}

fn unseen(error: &io::Error) {
    say(format_args!(
        "byway: nothing can be seen of this process: {error}"
    ));
}

async fn serve(metrics: Option<TcpListener>, top: Option<UnixListener>, looker: Arc<Looker>) {
    let metrics = async {
        match metrics.map(tokio::net::TcpListener::from_std) {
            Some(Ok(listener)) => http::serve(listener, &looker).await,
            Some(Err(error)) => unseen(&error),
            None => {}
        }
    };
    let top = async {
        match top.map(tokio::net::UnixListener::from_std) {
            Some(Ok(listener)) => socket::serve(listener, &looker).await,
            Some(Err(error)) => unseen(&error),
            None => {}
        }
    };
    tokio::join!(metrics, top);
}

/// Listens for scrapes.
fn bind(at: SocketAddr, here: &HereArgs) -> Result<TcpListener, Failure> {
    let listening = || {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    };
    let (listener, bound) = listening().map_err(|e| unbound(at, &e))?;
    let url = format!("http://{bound}/metrics");
    if here.talk.json {
        say_json(&serde_json::json!({"schema": "byway.metrics/1", "url": url}));
    } else if !here.quiet {
        say(format_args!("metrics at {url}"));
        if !bound.ip().is_loopback() {
            say(
                "warning: --metrics: whoever reaches this address reads who speaks with this process",
            );
        }
    }
    Ok(listener)
}

/// Why an address of `--metrics` cannot be had, and what would be right.
fn unbound(at: SocketAddr, error: &io::Error) -> Failure {
    let fix = advice(error);
    Failure::new(Kind::Failed, format!("--metrics {at}: {error}{fix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_loopback() {
        for (text, expected) in [
            ("9464", "127.0.0.1:9464"),
            (":9464", "127.0.0.1:9464"),
            ("0", "127.0.0.1:0"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("[::1]:1", "[::1]:1"),
        ] {
            let expected: SocketAddr = expected.parse().unwrap();
            assert_eq!(metrics_address(text), Ok(expected), "{text}");
        }
        for wrong in ["", "10.0.0.1", "::1", "70000", "host:1", "-1"] {
            let why = metrics_address(wrong).unwrap_err();
            assert!(why.contains("9464"), "{wrong}: {why}");
        }
    }
}
