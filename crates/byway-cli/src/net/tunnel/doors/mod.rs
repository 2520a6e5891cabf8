//! Where a `byway forward` lets TCP connections in: an address for one target, or a proxy whose clients say
//! where each connection goes.

pub(in crate::net) mod client;
pub(in crate::net) mod http;
mod opening;
mod socks;

pub(super) use opening::Current;

use super::allow::split;
use super::connection::{Answer, Broken};
use super::frame::{Cause, Frame, Reset};
use crate::failure::{Failure, Kind};
use crate::net::progress::Progress;
use crate::net::unbound::advice;
use bytes::Bytes;
use byway::text::shown;
use byway_lab::units::format_duration;
use client::{Client, Refusal};
use opening::{Begun, begin, opened};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Pause after a connection that cannot be accepted.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a client of a proxy may take to say what it wants.
const REQUEST: Duration = Duration::from_secs(10);

/// What those speak who connect.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Proxy {
    /// SOCKS version 5 (RFC 1928).
    Socks,
    /// HTTP's CONNECT (RFC 9110 section 9.3.6).
    Http,
}

/// What is done with the connections of a door.
enum Way {
    /// All go to this target; to the only one that the other side allows, if it is empty.
    To(String),
    /// Each says where it goes.
    Ask(Proxy),
}

/// An address that is listened on.
pub(super) struct Door {
    listener: TcpListener,
    shown: String,
    way: Way,
}

impl Door {
    /// Opens what `--listen` says.
    ///
    /// # Errors
    /// What is wrong with the text, or with the address.
    pub(super) async fn open(text: &str) -> Result<Door, Failure> {
        let (address, target) = text.split_once('=').unwrap_or((text, ""));
        let wrong = |what: &str| {
            Failure::wrong(format!(
                "--listen {text}: {what}, such as 127.0.0.1:5432 or 127.0.0.1:5432=db:5432"
            ))
        };
        let (host, port) = address_of(address).ok_or_else(|| wrong("is no ADDR:PORT"))?;
        if target.is_empty() == text.contains('=') || !target.is_empty() && split(target).is_none()
        {
            return Err(wrong("its target is no HOST:PORT"));
        }
        let way = Way::To(target.to_owned());
        Door::at("--listen", (address, &host, port), way).await
    }

    /// Opens what `--socks` or `--http` says.
    ///
    /// # Errors
    /// What is wrong with the text, or with the address.
    pub(super) async fn open_proxy(proxy: Proxy, text: &str) -> Result<Door, Failure> {
        let (option, usual) = match proxy {
            Proxy::Socks => ("--socks", 1080),
            Proxy::Http => ("--http", 8080),
        };
        let (host, port) = address_of(text).ok_or_else(|| {
            Failure::wrong(format!(
                "{option} {text}: is no ADDR:PORT, such as 127.0.0.1:{usual}"
            ))
        })?;
        Door::at(option, (text, &host, port), Way::Ask(proxy)).await
    }

    async fn at(
        option: &str,
        (text, host, port): (&str, &str, u16),
        way: Way,
    ) -> Result<Door, Failure> {
        let listener = TcpListener::bind((host, port)).await.map_err(|e| {
            let fix = advice(&e);
            Failure::new(Kind::Failed, format!("{option} {text}: {e}{fix}"))
        })?;
        let shown = listener
            .local_addr()
            .map_or(text.to_owned(), |a| a.to_string());
        Ok(Door {
            listener,
            shown,
            way,
        })
    }

    /// What it does, for people.
    pub(super) fn describe(&self) -> String {
        let to = match &self.way {
            Way::To(target) if target.is_empty() => "the only target that is allowed there",
            Way::To(target) => target,
            Way::Ask(Proxy::Socks) => "what SOCKS5 clients ask for",
            Way::Ask(Proxy::Http) => "what clients of HTTP's CONNECT ask for",
        };
        format!("forwarding {} to {to}", self.shown)
    }

    /// Accepts connections until the process ends. While there is no association, they wait for one.
    pub(super) async fn serve(self, current: Current, progress: Arc<Progress>, patience: Duration) {
        let door = Arc::new(self);
        loop {
            let tcp = match door.listener.accept().await {
                Ok((tcp, _)) => tcp,
                Err(e) => {
                    // Such as too many open files: it passes.
                    progress.say(&format!("{}: cannot accept: {e}", door.shown));
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let (door, progress) = (door.clone(), progress.clone());
            let current = current.clone();
            tokio::spawn(async move {
                let carried = match &door.way {
                    Way::To(target) => carry(tcp, target, current, patience).await,
                    Way::Ask(proxy) => ask(tcp, *proxy, current, patience).await,
                };
                if let Err(why) = carried {
                    progress.say(&format!("a connection of {}: {why}", door.shown));
                }
            });
        }
    }
}

/// Host and port of a TCP address to listen on.
fn address_of(text: &str) -> Option<(String, u16)> {
    let (host, port) = split(text)?;
    Some((host, port.parse().ok()?))
}

/// Carries a connection to a target that is known. Its bytes may go before the other side's answer.
async fn carry(
    tcp: TcpStream,
    target: &str,
    current: Current,
    patience: Duration,
) -> Result<(), String> {
    let begun = begin(current, target, patience).await.map_err(|reset| {
        // TCP's peer sees a reset, not an end.
        let _ = tcp.set_zero_linger();
        reset.why
    })?;
    let carried = match begun {
        Begun::Asked(connection) => connection.carry(tcp, Answer::Expected).await,
        Begun::Opened(connection) => connection.carry(tcp, Answer::Done(Bytes::new())).await,
    };
    carried.map_err(|broken| broken.to_string())
}

/// Asks a client where it wants to go, and carries its connection there once the other side is connected.
async fn ask(
    tcp: TcpStream,
    proxy: Proxy,
    current: Current,
    patience: Duration,
) -> Result<(), String> {
    let mut client = Client::new(tcp);
    let asked = match proxy {
        Proxy::Socks => tokio::time::timeout(REQUEST, socks::request(&mut client)).await,
        Proxy::Http => tokio::time::timeout(REQUEST, http::request(&mut client)).await,
    };
    let late = Refusal {
        reply: match proxy {
            Proxy::Socks => Vec::new(),
            Proxy::Http => http::late(),
        },
        why: format!("no request within {}", format_duration(REQUEST)),
    };
    let target = match asked.unwrap_or(Err(late)) {
        Ok(target) => target,
        Err(refusal) => {
            client.dismiss(refusal.reply);
            return Err(refusal.why);
        }
    };
    let to = |why: &str| format!("to {}: {why}", shown(&target));
    let connection = match opened(current, &target, patience).await {
        Ok(connection) => connection,
        Err(Reset { cause, why }) => {
            let reply = match proxy {
                Proxy::Socks => socks::failed(cause),
                Proxy::Http => http::failed(cause, &to(&why)),
            };
            client.dismiss(reply);
            return Err(to(&why));
        }
    };
    let reply = match proxy {
        Proxy::Socks => socks::opened(),
        Proxy::Http => http::opened(),
    };
    let said = client.say(&reply).await;
    let (tcp, early) = client.into_parts();
    let carried = match said {
        Ok(()) => connection.carry(tcp, Answer::Done(early)).await,
        Err(why) => {
            // Lost with the association if that is gone.
            let reset = Reset::new(Cause::Failed, why.as_str());
            let _ = connection.say(&Frame::Reset(reset)).await;
            Err(Broken::Here(why))
        }
    };
    carried.map_err(|broken| to(&broken.to_string()))
}
