//! A peer whose process ends without a word and begins again on the same ports
//! (RFC 9260 section 5.2.4, A).

use crate::common::{PORT, bounded, quick, server};
use byway::{Association, Closed, Config, Endpoint, EndpointOptions, Event, LossReason, Message};
use std::net::SocketAddr;
use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, Runtime};

/// A process with these ports.
pub(crate) struct Process {
    runtime: Runtime,
    association: Association,
    /// Keeps the ports.
    _endpoint: Endpoint,
}

impl Process {
    async fn begin(local: SocketAddr, to: Vec<SocketAddr>, config: Config) -> Process {
        Process::with_port(4000, local, to, config).await
    }

    /// One with another SCTP port.
    pub(crate) async fn with_port(
        port: u16,
        local: SocketAddr,
        to: Vec<SocketAddr>,
        config: Config,
    ) -> Process {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let connect = async move {
            let options = EndpointOptions::new([local]).sctp_port(port).config(config);
            let endpoint = Endpoint::bind(options).unwrap();
            let association = endpoint.connect(&to, PORT).await.unwrap();
            (endpoint, association)
        };
        let (endpoint, association) = runtime.spawn(connect).await.unwrap();
        Process {
            runtime,
            association,
            _endpoint: endpoint,
        }
    }

    pub(crate) async fn say(&self, words: &'static str) {
        self.association.send(Message::new(0, words)).await.unwrap();
        self.association.drained().await.unwrap();
    }

    /// It ends, and sends nothing more.
    pub(crate) async fn die(self) {
        self.runtime.shutdown_background();
        assert_eq!(self.association.closed().await, Closed::DriverGone);
    }
}

pub(crate) fn free_port() -> SocketAddr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

#[tokio::test]
async fn a_byte_stream_never_joins_the_bytes_of_a_peer_that_restarted() {
    bounded(async {
        let (server, local) = (server(&["127.0.0.1"], quick()), free_port());
        let to = server.local_addresses();
        let first = Process::begin(local, to.clone(), quick()).await;
        let old = server.accept().await.unwrap();
        let mut bytes = old.stream(0).into_bytes();
        first.say("first ").await;
        let mut read = vec![0; 6];
        bytes.read_exact(&mut read).await.unwrap();
        first.say("unread ").await;
        first.die().await;
        let second = Process::begin(local, to, quick()).await;
        second.say("second").await;
        // The reader of the old bytes gets what had come of them, and then an error.
        let mut rest = Vec::new();
        let error = bytes.read_to_end(&mut rest).await.unwrap_err();
        assert!(error.to_string().contains("the peer restarted"), "{error}");
        assert!(b"unread ".starts_with(&rest), "{rest:?}");
        let Closed::Lost { reason, .. } = old.closed().await else {
            panic!("it goes on");
        };
        assert_eq!(reason, LossReason::PeerRestarted);
        assert!(old.send(Message::new(0, "to whom?")).await.is_err());
        // The new bytes are of another association, which is accepted as any other.
        let new = server.accept().await.unwrap();
        assert_eq!(new.recv().await.unwrap().payload, "second");
        second.die().await;
    })
    .await;
}

#[tokio::test]
async fn an_association_goes_on_after_a_restart_only_where_that_is_asked_for() {
    bounded(async {
        let mut config = quick();
        config.setup.keep_on_restart = true;
        let (server, local) = (server(&["127.0.0.1"], config), free_port());
        let to = server.local_addresses();
        let first = Process::begin(local, to.clone(), quick()).await;
        let association = server.accept().await.unwrap();
        let events = association.events();
        first.die().await;
        let second = Process::begin(local, to, quick()).await;
        second.say("second").await;
        assert_eq!(association.recv().await.unwrap().payload, "second");
        // And it is told.
        while !matches!(events.next().await, Some(Event::Restarted { .. })) {}
        second.die().await;
    })
    .await;
}
