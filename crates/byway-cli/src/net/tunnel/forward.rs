//! `byway forward`.

use super::allow::split;
use super::args::ForwardArgs;
use super::carrier::Carrier;
use super::frame::Frame;
use super::window::Budget;
use super::{TUNNEL, carried, show_paths, with_streams};
use crate::failure::{Failure, Kind};
use crate::net::descriptors;
use crate::net::ending::Ending;
use crate::net::open;
use crate::net::progress::Progress;
use crate::net::protect::Destination;
use crate::net::retries;
use byway_lab::units::format_duration;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Pause after a connection that cannot be accepted.
const PAUSE: Duration = Duration::from_millis(500);

/// The association in use, if there is one.
type Current = watch::Receiver<Option<Arc<Carrier>>>;

pub(crate) async fn forward(args: ForwardArgs, ending: Ending) -> Result<(), Failure> {
    descriptors::raise_limit();
    let there = &args.there;
    let there = Destination::read(&there.to, there.port, &there.client, TUNNEL)?;
    let progress = Arc::new(Progress::new(args.here.quiet || args.here.talk.json));
    let mut doors = Vec::new();
    for text in &args.listen {
        doors.push(Door::open(text).await?);
    }
    let (current, follow) = watch::channel(None);
    for door in doors {
        let to = match door.target.as_str() {
            "" => "the only target that is allowed there",
            named => named,
        };
        progress.say(&format!("forwarding {} to {to}", door.shown));
        let (follow, progress) = (follow.clone(), progress.clone());
        tokio::spawn(door.serve(follow, progress, args.there.connect_timeout));
    }
    drop(follow);
    let work = stay_connected(&args, &there, &ending, &progress, &current);
    let failure = tokio::select! {
        failure = work => failure,
        failure = ending.told() => failure,
    };
    if let Some(carrier) = &*current.borrow() {
        progress.say(&carried(carrier));
    }
    progress.end();
    Err(failure)
}

/// Keeps an association with the other side; returns what no attempt can mend.
async fn stay_connected(
    args: &ForwardArgs,
    there: &Destination,
    ending: &Ending,
    progress: &Progress,
    current: &watch::Sender<Option<Arc<Carrier>>>,
) -> Failure {
    let budget = Budget::new();
    let mut in_vain = 0;
    let mut was_up = false;
    loop {
        let timeout = args.there.connect_timeout;
        let connected =
            open::connect_with(&args.here, there, timeout, ending, (TUNNEL, with_streams));
        let failure = match connected.await {
            Ok((endpoint, channel)) => {
                (in_vain, was_up) = (0, true);
                progress.say_association(&channel.association().paths());
                let carrier = Carrier::new(channel, budget.clone());
                current.send_replace(Some(carrier.clone()));
                // The other side opens nothing here.
                let failure = tokio::select! {
                    failure = carrier.read(|_, _| {}) => failure,
                    never = show_paths(carrier.association(), progress) => match never {},
                };
                current.send_replace(None);
                progress.say(&carried(&carrier));
                ending.abort(endpoint, failure.reason()).await;
                failure
            }
            Err(failure) => failure,
        };
        // A wrong argument stays wrong; while a network is down, names and routes may be missing.
        // Whom the other side has not let in, it will not the next time.
        if matches!(failure.kind, Kind::Wrong | Kind::Refused) && !was_up {
            return failure;
        }
        in_vain += 1;
        let pause = retries::pause(in_vain);
        progress.say(&format!(
            "{failure}; trying again in {}",
            format_duration(pause)
        ));
        tokio::time::sleep(pause).await;
    }
}

/// An address that is listened on.
struct Door {
    listener: TcpListener,
    shown: String,
    /// For the other side; empty for the only one that it allows.
    target: String,
}

impl Door {
    async fn open(text: &str) -> Result<Door, Failure> {
        let (address, target) = text.split_once('=').unwrap_or((text, ""));
        let wrong = |what: &str, text: &str| {
            Failure::wrong(format!(
                "--listen {text}: {what}, such as 127.0.0.1:5432 or 127.0.0.1:5432=db:5432"
            ))
        };
        let (host, port) = split(address).ok_or_else(|| wrong("is no ADDR:PORT", text))?;
        let port: u16 = port.parse().map_err(|_| wrong("is no ADDR:PORT", text))?;
        if target.is_empty() == text.contains('=') || !target.is_empty() && split(target).is_none()
        {
            return Err(wrong("its target is no HOST:PORT", text));
        }
        let listener = TcpListener::bind((host.as_str(), port))
            .await
            .map_err(|e| Failure::new(Kind::Failed, format!("--listen {address}: {e}")))?;
        let shown = listener
            .local_addr()
            .map_or(address.to_owned(), |a| a.to_string());
        Ok(Door {
            listener,
            shown,
            target: target.to_owned(),
        })
    }

    /// Accepts connections until the process ends.
    async fn serve(self, current: Current, progress: Arc<Progress>, patience: Duration) {
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
            let (door, current, progress) = (door.clone(), current.clone(), progress.clone());
            tokio::spawn(async move {
                if let Err(why) = door.carry(tcp, current, patience).await {
                    progress.say(&format!("a connection of {}: {why}", door.shown));
                }
            });
        }
    }

    async fn carry(
        &self,
        tcp: TcpStream,
        mut current: Current,
        patience: Duration,
    ) -> Result<(), String> {
        // While there is no association, connections wait for one.
        let found = async {
            let carrier = current.wait_for(Option::is_some).await.ok()?;
            (*carrier).clone()
        };
        let begun = match tokio::time::timeout(patience, found).await.ok().flatten() {
            Some(carrier) => carrier.begin(),
            None => Err(format!(
                "no association within {}",
                format_duration(patience)
            )),
        };
        let connection = begun.inspect_err(|_| {
            // TCP's peer sees a reset, not an end.
            let _ = tcp.set_zero_linger();
        })?;
        let open = Frame::Open(self.target.clone());
        connection
            .say(&open)
            .await
            .map_err(|broken| broken.to_string())?;
        connection
            .carry(tcp, true)
            .await
            .map_err(|broken| broken.to_string())
    }
}
