//! The application that sends a scenario's traffic.

use crate::clock::instant;
use crate::scenario::Traffic;
use byway_core::Config;
use byway_sim::host::Sender;
use std::net::SocketAddr;

/// Sends the traffic and keeps the association, so that nothing but the
/// traffic is measured.
pub(crate) fn sender(
    traffic: &Traffic,
    peer: Vec<SocketAddr>,
    port: u16,
    config: Config,
) -> Sender {
    let bytes = |size: u64| usize::try_from(size).unwrap_or(1);
    let (sender, streams, start) = match *traffic {
        Traffic::Bulk {
            size,
            message,
            streams,
            start,
        } => {
            let sender = Sender::bulk(peer, port, config, size.0, bytes(message.0));
            (sender, streams, start)
        }
        Traffic::Periodic {
            message,
            every,
            count,
            streams,
            start,
        } => {
            let message = bytes(message.0);
            let sender = Sender::periodic(peer, port, config, message, every, count);
            (sender, streams, start)
        }
    };
    let sender = sender.streams(streams).wait_for_up().keep_open();
    match start.is_zero() {
        true => sender,
        false => sender.begin_at(instant(start)),
    }
}
