//! `byway forward`.

use super::args::ForwardArgs;
use super::carrier::{Carrier, MOST_CONNECTIONS};
use super::clients::Clients;
use super::doors::{Door, Inside, Proxy};
use super::window::Budget;
use super::{STREAM_EACH, TUNNEL, carried, show_paths};
use crate::failure::{Failure, Kind};
use crate::net::descriptors;
use crate::net::ending::Ending;
use crate::net::inspect;
use crate::net::log::Log;
use crate::net::open;
use crate::net::progress::Progress;
use crate::net::protect::Destination;
use crate::net::retries;
use byway_lab::units::format_duration;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// An association that ends sooner lengthens the next pause, as one that was not set up does.
const LASTED: Duration = Duration::from_secs(10);

/// Attempts since the last association that has lasted.
#[derive(Default)]
struct InVain(u32);

impl InVain {
    /// The pause after an attempt whose association lasted so long, if there was one.
    fn pause(&mut self, lasted: Option<Duration>) -> Duration {
        if lasted.is_some_and(|lasted| lasted >= LASTED) {
            self.0 = 0;
        }
        self.0 += 1;
        retries::pause(self.0)
    }
}

pub(crate) async fn forward(args: ForwardArgs, ending: Ending) -> Result<(), Failure> {
    descriptors::raise_limit();
    let there = &args.there;
    let there = Destination::read(&there.to, there.port, &there.client, TUNNEL)?;
    inspect::begin("forward", &args.here, &ending)?;
    let progress = Arc::new(Progress::new(args.here.is_silent()));
    let mut doors = Vec::new();
    for text in &args.listen {
        doors.push(Door::open(text).await?);
    }
    for text in &args.socks {
        doors.push(Door::open_proxy(Proxy::Socks, text).await?);
    }
    for text in &args.http {
        doors.push(Door::open_proxy(Proxy::Http, text).await?);
    }
    let (current, follow) = watch::channel(None);
    let log = (!args.here.is_silent()).then(Log::new);
    let inside = Inside {
        current: follow,
        // A side without addresses of its own here has one, or two.
        clients: Clients::of_process(MOST_CONNECTIONS, args.here.bind.len().max(2)),
        log: log.clone(),
        progress: progress.clone(),
        patience: args.there.connect_timeout,
    };
    for door in doors {
        progress.say(&door.describe());
        tokio::spawn(door.serve(inside.clone()));
    }
    drop(inside);
    let work = stay_connected(&args, &there, &ending, &progress, &current);
    let failure = tokio::select! {
        failure = work => failure,
        failure = ending.told() => failure,
    };
    if let Some(carrier) = &*current.borrow() {
        progress.say(&carried(carrier));
    }
    if let Some(log) = log {
        log.flush();
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
    let mut in_vain = InVain::default();
    let mut was_up = false;
    loop {
        let timeout = args.there.connect_timeout;
        let connected =
            open::connect_with(&args.here, there, timeout, ending, (TUNNEL, STREAM_EACH));
        let (failure, lasted) = match connected.await {
            Ok((endpoint, channel)) => {
                was_up = true;
                let begun = Instant::now();
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
                (failure, Some(begun.elapsed()))
            }
            Err(failure) => (failure, None),
        };
        // A wrong argument stays wrong; while a network is down, names and routes may be missing.
        // Whom the other side has not let in, it will not the next time.
        if matches!(failure.kind, Kind::Wrong | Kind::Refused) && !was_up {
            return failure;
        }
        let pause = in_vain.pause(lasted);
        progress.say(&format!(
            "{failure}; trying again in {}",
            format_duration(pause)
        ));
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `serve` that ends each association at once was asked again and again after half a second.
    #[test]
    fn pauses_grow_until_an_association_has_lasted() {
        let mut in_vain = InVain::default();
        let second = Duration::from_secs(1);
        let rows = [
            (None, 500),
            (Some(second), 1000),
            (None, 1500),
            (Some(LASTED - second), 2000),
            (Some(LASTED), 500),
            (Some(Duration::ZERO), 1000),
        ];
        for (lasted, pause) in rows {
            let pause = Duration::from_millis(pause);
            assert_eq!(in_vain.pause(lasted), pause, "{lasted:?}");
        }
    }
}
