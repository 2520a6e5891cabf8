//! `byway serve`.

use super::allow::{Rule, Target};
use super::args::ServeArgs;
use super::busy::Busy;
use super::carrier::{Carrier, Connection};
use super::connection::{Answer, Broken};
use super::frame::{Cause, Frame, Reset};
use super::places::{Peer, Places};
use super::window::Budget;
use super::{STREAM_EACH, TUNNEL, carried, show_paths};
use crate::failure::{Failure, Kind};
use crate::net::descriptors;
use crate::net::ending::Ending;
use crate::net::inspect;
use crate::net::log::Log;
use crate::net::open;
use crate::net::progress::Progress;
use crate::net::protect::{Channel, Gate, NotAdmitted, Output, PLAIN, admit};
use crate::net::refused::{self, Refused};
use crate::terminal::print;
use bytes::Bytes;
use byway::text::shown;
use byway::{Association, Endpoint};
use byway_lab::units::format_duration;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// What a stranger is told whose host breaks the frames again and again. At most 100 bytes are sent.
const BREAKS_FRAMES: &str =
    "your host has broken the protocol of the tunnel too often; try again in a minute";

/// How long a target may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(20);

pub(crate) async fn serve(args: ServeArgs, ending: Ending) -> Result<(), Failure> {
    descriptors::raise_limit();
    inspect::begin("serve", &args.here, &ending)?;
    let served = (args.called, args.workers);
    let endpoint = open::serve_with(&args.here, served, &ending, STREAM_EACH)?;
    let output = Output {
        data: false,
        json: args.here.talk.json,
        quiet: args.here.quiet,
    };
    let gate = Gate::open(&args.gate, args.uses, TUNNEL, &endpoint, output)?;
    let log = Log::new();
    let progress = Progress::new(args.here.is_silent()).with_log(log.clone());
    let rules: Vec<String> = args.allow.iter().map(Rule::to_string).collect();
    if gate.is_none() {
        progress.say(PLAIN);
    }
    progress.say(&format!("connecting others to {}", rules.join(", ")));
    let shared = Arc::new(Shared {
        gate,
        rules: args.allow.clone(),
        budget: Budget::new(),
        places: Places::of_process(endpoint.local_addresses().len() * args.workers.count()),
        progress,
        log,
        give_up: args.give_up,
    });
    let ended = loop {
        let association = tokio::select! {
            accepted = endpoint.accept() => match accepted {
                Some(association) => association,
                None => break Failure::new(Kind::Failed, "the endpoint has ended"),
            },
            failure = ending.told() => break failure,
        };
        if let Err(failure) = open::prefer(&args.here, &association) {
            open::abort_for(&association, &failure);
            continue;
        }
        tokio::spawn(one(shared.clone(), association, ending.clone()));
    };
    let failure = match ending.has_begun() {
        // A signal aborts the endpoint first.
        true => ending.told().await,
        false => ended,
    };
    shared.log.flush();
    if output.json {
        report(&endpoint, &failure)?;
    }
    Err(failure)
}

/// For programs, when the command ends.
fn report(endpoint: &Endpoint, failure: &Failure) -> Result<(), Failure> {
    let line = serde_json::json!({
        "schema": "byway.serve/1",
        "error": failure.message,
        "refused_by_endpoint": open::refused(endpoint),
        "refused_by_command": refused::counts(),
    });
    print(&format!("{line}\n"))
}

/// What all associations share.
struct Shared {
    /// None without protection.
    gate: Option<Gate>,
    rules: Vec<Rule>,
    budget: Arc<Budget>,
    /// For connections.
    places: Arc<Places>,
    progress: Progress,
    log: Log,
    /// Of strangers.
    give_up: Duration,
}

impl Shared {
    fn say_broken(&self, from: &str, target: &str, broken: &Broken) {
        let to = match target {
            "" => "the target",
            named => named,
        };
        self.progress
            .say(&format!("{from} to {}: {broken}", shown(to)));
    }
}

/// Serves one association to its end.
async fn one(shared: Arc<Shared>, association: Association, ending: Ending) {
    let peer = association.paths().first().map(|p| p.remote);
    let from = peer.map_or("unknown".to_owned(), |p| p.to_string());
    let channel = match admitted(&shared, &association).await {
        Ok(channel) => channel,
        Err(failure) => {
            open::abort_for(&association, &failure);
            if !ending.has_begun() {
                shared.log.failed(&failure, peer);
            }
            return;
        }
    };
    drop(association);
    // Who has no path any more is no host.
    let host = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |p| p.ip());
    let known = match shared.gate {
        Some(_) => Peer::LetIn,
        None => Peer::Stranger,
    };
    let carrier = Carrier::new(channel, shared.budget.clone());
    let busy = Arc::new(Busy::new());
    shared.progress.say(&format!("association with {from}"));
    let read = carrier.read(|connection, target| {
        let (shared, busy, from) = (shared.clone(), busy.clone(), from.clone());
        let place = match shared.places.take(host, known) {
            Ok(place) => place,
            Err(why) => {
                connection.refuse(Reset::new(Cause::Busy, why.as_str()));
                return shared.say_broken(&from, &target, &Broken::Here(why));
            }
        };
        tokio::spawn(async move {
            let result = connect(&shared, &busy, connection, &target).await;
            drop(place);
            if let Err(broken) = result {
                shared.say_broken(&from, &target, &broken);
            }
        });
    });
    let failure = tokio::select! {
        failure = read => failure,
        failure = given_up(&busy, known, shared.give_up) => {
            open::abort_for(carrier.association(), &failure);
            failure
        }
        never = show_paths(carrier.association(), &shared.progress) => match never {},
    };
    shared
        .progress
        .say(&format!("{from}: {}", carried(&carrier)));
    if !ending.has_begun() {
        shared.log.failed(&failure, peer);
    }
}

/// Waits until a stranger has carried nothing for so long.
async fn given_up(busy: &Busy, peer: Peer, limit: Duration) -> Failure {
    if peer == Peer::LetIn {
        return std::future::pending().await;
    }
    busy.idle(limit).await;
    Refused::GivenUp.count();
    let limit = format_duration(limit);
    Failure::new(
        Kind::Lost,
        format!(
            "the association was given up: it carried no TCP connection for {limit} (--give-up)"
        ),
    )
}

/// Lets a peer in. It keeps its place as long as the command runs: it may come back.
async fn admitted(shared: &Shared, association: &Association) -> Result<Channel, Failure> {
    let Some(gate) = &shared.gate else {
        if association.bars_violator() {
            return Err(Failure::new(Kind::Refused, BREAKS_FRAMES));
        }
        return Ok(Channel::plain(association.clone()));
    };
    match admit(gate, association).await {
        Ok((channel, _)) => Ok(channel),
        Err(NotAdmitted { failure, .. }) => Err(failure),
    }
}

/// Connects what a peer has opened.
async fn connect(
    shared: &Shared,
    busy: &Busy,
    connection: Connection,
    asked: &str,
) -> Result<(), Broken> {
    let reached = tokio::select! {
        reached = target(&shared.rules, asked) => reached,
        // A peer that opens and resets would hold its places until TCP gives up.
        broken = connection.over() => return Err(broken),
    };
    match reached {
        Ok(tcp) => {
            let _carried = busy.carries();
            connection.say(&Frame::Opened).await?;
            connection.carry(tcp, Answer::Done(Bytes::new())).await
        }
        Err(refusal) => {
            connection.say(&Frame::Reset(refusal.clone())).await?;
            Err(Broken::Here(refusal.why))
        }
    }
}

/// A connection to the target.
async fn target(rules: &[Rule], asked: &str) -> Result<TcpStream, Reset> {
    let target =
        Target::permitted(asked, rules).map_err(|why| Reset::new(Cause::NotAllowed, why))?;
    let connect = async {
        let mut last = Reset::new(Cause::UnknownHost, "");
        for address in target.addresses().await? {
            match TcpStream::connect(address).await {
                Ok(tcp) => return Ok(tcp),
                Err(e) => last = Reset::new(cause(&e), format!("{target}: {e}")),
            }
        }
        Err(last)
    };
    let late = |_| {
        let why = format!("{target}: no answer within {} s", CONNECT.as_secs());
        Err(Reset::new(Cause::TimedOut, why))
    };
    tokio::time::timeout(CONNECT, connect)
        .await
        .unwrap_or_else(late)
}

/// Why a target is not reached.
fn cause(error: &io::Error) -> Cause {
    match error.kind() {
        ErrorKind::ConnectionRefused => Cause::Refused,
        ErrorKind::NetworkUnreachable => Cause::NetworkUnreachable,
        ErrorKind::HostUnreachable => Cause::HostUnreachable,
        ErrorKind::TimedOut => Cause::TimedOut,
        _ => Cause::Failed,
    }
}
