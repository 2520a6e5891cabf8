//! Where a `byway forward` lets TCP connections in: an address for one target, or a proxy whose clients say
//! where each connection goes.

pub(in crate::net) mod client;
pub(in crate::net) mod http;
mod opening;
mod socks;

pub(super) use opening::Current;

use super::allow::split;
use super::clients::{Clients, GIVES_WAY, Place};
use super::connection::{Answer, Broken};
use super::frame::{Cause, Frame, Reset};
use crate::failure::{Failure, Kind};
use crate::net::log::Log;
use crate::net::progress::Progress;
use crate::net::refused::Refused;
use crate::net::unbound::advice;
use bytes::Bytes;
use byway::text::shown;
use byway_lab::units::format_duration;
use client::{Client, Refusal};
use opening::{Begun, begin, opened};
use std::net::SocketAddr;
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
    pub(super) async fn serve(self, inside: Inside) {
        let door = Arc::new((self, inside));
        loop {
            let (
                Door {
                    listener, shown, ..
                },
                inside,
            ) = &*door;
            let (tcp, from) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(e) => {
                    // Such as too many open files: it passes.
                    inside.progress.say(&format!("{shown}: cannot accept: {e}"));
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let place = match inside.clients.take(from.ip()) {
                Ok(place) => place,
                Err(why) => {
                    let _ = tcp.set_zero_linger();
                    inside.say(shown, from, &Ended::refused(NO_PLACE, why));
                    continue;
                }
            };
            let door = door.clone();
            tokio::spawn(async move {
                let (Door { shown, way, .. }, inside) = &*door;
                let carried = match way {
                    Way::To(target) => carry(tcp, target, inside, place).await,
                    Way::Ask(proxy) => ask(tcp, *proxy, inside, place).await,
                };
                if let Err(ended) = carried {
                    inside.say(shown, from, &ended);
                }
            });
        }
    }
}

/// What all doors lead to.
#[derive(Clone)]
pub(super) struct Inside {
    pub(super) current: Current,
    pub(super) clients: Arc<Clients>,
    /// For connections that fail; none if nobody is to be told.
    pub(super) log: Option<Log>,
    pub(super) progress: Arc<Progress>,
    /// How long a connection waits for an association.
    pub(super) patience: Duration,
}

impl Inside {
    /// A client of this door was refused, or its connection has failed.
    fn say(&self, door: &str, from: SocketAddr, ended: &Ended) {
        if let Some(log) = &self.log {
            let words = format!("a connection of {door}: {}", ended.why);
            log.failed_by(ended.rule, &words, from);
        }
    }
}

/// How a client has ended before its time. Of each rule the log has a line a second.
struct Ended {
    rule: &'static str,
    why: String,
}

impl Ended {
    /// It is not carried.
    fn refused(rule: &'static str, why: String) -> Ended {
        Refused::Connection.count();
        Ended { rule, why }
    }

    /// It is not carried, or has given its place to another one.
    fn unopened(place: &Place, rule: &'static str, why: String) -> Ended {
        match place.seat().must_leave() {
            // It is counted where it was let go.
            true => Ended {
                rule: LET_GO,
                why: GIVES_WAY.to_owned(),
            },
            false => Ended::refused(rule, why),
        }
    }

    /// It was carried.
    fn broke(place: &Place, broken: &Broken, why: String) -> Ended {
        let rule = match broken {
            _ if place.seat().must_leave() => LET_GO,
            // Its bytes have gone before that was known.
            Broken::There(_) if !place.seat().is_opened() => {
                return Ended::refused(NO_TARGET, why);
            }
            Broken::There(_) | Broken::Here(_) | Broken::Lost => BROKEN,
        };
        Ended { rule, why }
    }
}

/// The rules.
const NO_PLACE: &str = "no place";
const LET_GO: &str = "let go";
const NO_REQUEST: &str = "no sound request";
const NO_TARGET: &str = "no target";
const BROKEN: &str = "broken";

/// Host and port of a TCP address to listen on.
fn address_of(text: &str) -> Option<(String, u16)> {
    let (host, port) = split(text)?;
    Some((host, port.parse().ok()?))
}

/// Carries a connection to a target that is known. Its bytes may go before the other side's answer.
async fn carry(tcp: TcpStream, target: &str, inside: &Inside, place: Place) -> Result<(), Ended> {
    let begun = begin(inside.current.clone(), target, inside.patience, &place).await;
    let begun = begun.map_err(|reset| {
        // TCP's peer sees a reset, not an end.
        let _ = tcp.set_zero_linger();
        Ended::unopened(&place, NO_TARGET, reset.why)
    })?;
    let carried = match begun {
        Begun::Asked(connection) => connection.carry(tcp, Answer::Expected).await,
        Begun::Opened(connection) => connection.carry(tcp, Answer::Done(Bytes::new())).await,
    };
    carried.map_err(|broken| {
        if let Broken::There(Reset {
            cause: Cause::Busy, ..
        }) = broken
            && !place.is_scarce()
        {
            // Its bytes have gone. The next one finds room, and waits until it is known.
            place.finds_no_room();
        }
        Ended::broke(&place, &broken, broken.to_string())
    })
}

/// Asks a client where it wants to go, and carries its connection there once the other side is connected.
async fn ask(tcp: TcpStream, proxy: Proxy, inside: &Inside, place: Place) -> Result<(), Ended> {
    let mut client = Client::new(tcp);
    let request = async {
        match proxy {
            Proxy::Socks => socks::request(&mut client).await,
            Proxy::Http => http::request(&mut client).await,
        }
    };
    let late = || Refusal {
        reply: match proxy {
            Proxy::Socks => Vec::new(),
            Proxy::Http => http::late(),
        },
        why: format!("no request within {}", format_duration(REQUEST)),
    };
    let asked = tokio::select! {
        asked = tokio::time::timeout(REQUEST, request) => asked.unwrap_or_else(|_| Err(late())),
        () = place.seat().gives_way() => Err(Refusal { reply: Vec::new(), why: GIVES_WAY.to_owned() }),
    };
    let target = match asked {
        Ok(target) => target,
        Err(Refusal { reply, why }) => {
            let ended = Ended::unopened(&place, NO_REQUEST, why);
            client.dismiss(reply, place);
            return Err(ended);
        }
    };
    let to = |why: &str| format!("to {}: {why}", shown(&target));
    let opened = opened(inside.current.clone(), &target, inside.patience, &place).await;
    let connection = match opened {
        Ok(connection) => connection,
        Err(Reset { cause, why }) => {
            let reply = match proxy {
                Proxy::Socks => socks::failed(cause),
                Proxy::Http => http::failed(cause, &to(&why)),
            };
            let ended = Ended::unopened(&place, NO_TARGET, to(&why));
            client.dismiss(reply, place);
            return Err(ended);
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
    carried.map_err(|broken| Ended::broke(&place, &broken, to(&broken.to_string())))
}
