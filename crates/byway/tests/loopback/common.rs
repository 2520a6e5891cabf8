//! Endpoints on loopback addresses for the tests.

use byway::{Association, Config, Endpoint, EndpointOptions};
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

/// The SCTP port of every server here.
pub(crate) const PORT: u16 = 5001;

/// These addresses, with any port.
pub(crate) fn any(ips: &[&str]) -> Vec<SocketAddr> {
    ips.iter()
        .map(|ip| SocketAddr::new(ip.parse().unwrap(), 0))
        .collect()
}

/// Timers short enough for tests of what times out.
pub(crate) fn quick() -> Config {
    let mut config = Config::default();
    config.rto.initial = Duration::from_millis(50);
    config.rto.min = Duration::from_millis(20);
    config.rto.max = Duration::from_millis(100);
    config.setup.max_init_retransmits = 3;
    config.sack.delay = Duration::from_millis(10);
    config
}

pub(crate) fn server(ips: &[&str], config: Config) -> Endpoint {
    Endpoint::bind(
        EndpointOptions::new(any(ips))
            .sctp_port(PORT)
            .config(config),
    )
    .unwrap()
}

pub(crate) fn client(ips: &[&str], config: Config) -> Endpoint {
    Endpoint::bind(EndpointOptions::new(any(ips)).config(config)).unwrap()
}

/// Two endpoints with an association between them.
pub(crate) struct Pair {
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    /// The client's side.
    pub(crate) a: Association,
    /// The server's side.
    pub(crate) z: Association,
}

/// Connects a client to a server, each on these addresses.
pub(crate) async fn pair(ips: &[&str], config: Config) -> Pair {
    let (client, server) = (client(ips, config.clone()), server(ips, config));
    let remote = server.local_addresses();
    let (a, z) = tokio::join!(client.connect(&remote, PORT), server.accept());
    Pair {
        client,
        server,
        a: a.unwrap(),
        z: z.unwrap(),
    }
}

/// Fails a test that hangs instead of letting it hang.
pub(crate) async fn bounded<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(120), work)
        .await
        .expect("the test hangs")
}
