//! `byway forward` and `byway serve`: TCP connections over one association.

mod allow;
mod args;
mod busy;
mod carrier;
mod clients;
mod connection;
mod doors;
mod forward;
mod frame;
mod kept;
mod places;
mod serve;
mod window;

pub(crate) use args::{FORWARD_EXAMPLES, FORWARD_USAGE, ForwardArgs, SERVE_EXAMPLES, ServeArgs};
pub(crate) use forward::forward;
pub(crate) use serve::serve;

pub(super) use doors::client::{Client, Found, MOST, Refusal};
pub(super) use doors::http;

use super::progress::Progress;
use super::protect::Purpose;
use super::watch::Watch;
use crate::settings::Usage;
use byway::{Association, StreamScheduler};
use byway_lab::show;
use byway_tls::Service;
use carrier::{Carrier, STREAMS};
use std::convert::Infallible;
use std::sync::atomic::Ordering;

/// What these associations are for.
const TUNNEL: Purpose = Purpose {
    service: Service::Tunnel,
    ppid: frame::PPID,
};

/// The settings of an association that carries connections: a stream for each, of which none waits for
/// what another one carries (RFC 8260).
const STREAM_EACH: Usage = Usage {
    defaults: |mut config| {
        config.streams.interleaving = true;
        config.streams.scheduler = StreamScheduler::FairCapacity;
        config
    },
    needs: |mut config| {
        config.setup.outbound_streams = STREAMS;
        config.setup.max_inbound_streams = config.setup.max_inbound_streams.max(STREAMS);
        config
    },
};

/// Shows what happens to the paths, until it is dropped.
async fn show_paths(association: &Association, progress: &Progress) -> Infallible {
    let mut watch = Watch::new(association, None);
    let events = association.events();
    loop {
        watch.show_changes(progress);
        if events.next().await.is_none() {
            return std::future::pending().await;
        }
    }
}

/// What was carried, for people.
fn carried(carrier: &Carrier) -> String {
    format!(
        "carried: {} sent, {} received",
        show::bytes(carrier.sent.load(Ordering::Relaxed)),
        show::bytes(carrier.received.load(Ordering::Relaxed))
    )
}
