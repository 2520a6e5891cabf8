//! A sender that speaks the file protocol by hand (`src/net/protocol.rs` has its messages).

use crate::peers::Server;
use byway::{Association, Closed, Endpoint, EndpointOptions, Message};
use sha2::{Digest, Sha256};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

pub(crate) const PPID: u32 = 0x6279_6601;

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

pub(crate) async fn bounded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work)
        .await
        .expect("the test hangs")
}

/// A UDP port of 127.0.0.1 that is free.
pub(crate) fn udp_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

pub(crate) fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

pub(crate) fn empty_hash() -> [u8; 32] {
    hash(b"")
}

pub(crate) struct Speaker {
    endpoint: Endpoint,
    association: Association,
}

impl Speaker {
    /// Connects to the first address of a `byway recv`, from these addresses (UDP port 0:
    /// any) and this SCTP port (0: any).
    pub(crate) async fn connect(server: &Server, from: &str, port: u16) -> Speaker {
        let local: Vec<SocketAddr> = from.split(',').map(|a| a.parse().unwrap()).collect();
        let options = EndpointOptions::new(local).sctp_port(port);
        let endpoint = Endpoint::bind(options).unwrap();
        let to = server.addresses.split(',').next().unwrap();
        let association = endpoint.connect(&[to.parse().unwrap()], 5001).await;
        Speaker {
            association: association.unwrap(),
            endpoint,
        }
    }

    pub(crate) async fn say(&self, kind: u8, rest: &[u8]) {
        let mut message = Message::new(0, [&[kind], rest].concat());
        message.ppid = PPID;
        self.association.send(message).await.unwrap();
    }

    pub(crate) async fn hear(&self) -> Vec<u8> {
        let received = self.association.recv().await;
        received.expect("an answer").payload.to_vec()
    }

    pub(crate) async fn offer_only(&self, sender: u8, size: usize, name: &str) {
        let size = (size as u64).to_be_bytes();
        let offer = [&[1][..], &[sender; 16], &size, name.as_bytes()];
        self.say(1, &offer.concat()).await;
    }

    /// Offers a file; how many bytes of it are there, and their hash.
    pub(crate) async fn offer(&self, sender: u8, size: usize, name: &str) -> (u64, [u8; 32]) {
        self.offer_only(sender, size, name).await;
        let have = self.hear().await;
        assert_eq!((have[0], have.len()), (2, 41), "{}", text(&have));
        let offset = u64::from_be_bytes(have[1..9].try_into().unwrap());
        (offset, have[9..].try_into().unwrap())
    }

    pub(crate) async fn start(&self, offset: u64) {
        self.say(3, &offset.to_be_bytes()).await;
    }

    pub(crate) async fn data(&self, bytes: &[u8]) {
        self.say(4, bytes).await;
    }

    /// Says that all was sent.
    pub(crate) async fn end_only(&self, whole: &[u8]) {
        self.say(5, &hash(whole)).await;
    }

    /// The reason of a REFUSE.
    pub(crate) async fn refusal(&self) -> String {
        let refuse = self.hear().await;
        assert_eq!(refuse[0], 7, "{}", text(&refuse));
        text(&refuse[1..])
    }

    /// All bytes of `whole` were sent: the receiver confirms it.
    pub(crate) async fn end(&self, whole: &[u8]) {
        self.end_only(whole).await;
        let stored = self.hear().await;
        assert_eq!(stored, [6], "{}", text(&stored));
    }

    /// Waits until the receiver has all that was sent.
    pub(crate) async fn acknowledged(&self) {
        while self.association.stats().bytes_acked < self.association.stats().bytes_queued {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// The receiver ends the association.
    pub(crate) async fn refused(self) {
        let closed = self.association.closed().await;
        assert!(matches!(closed, Closed::Lost { .. }), "{closed}");
        self.endpoint.close().await;
    }

    /// Why the receiver has ended the association, if it has.
    pub(crate) async fn why_ended(&self) -> Option<String> {
        let closed = tokio::time::timeout(Duration::from_millis(1), self.association.closed());
        closed.await.ok().map(|closed| closed.to_string())
    }

    /// A byte of the file, if the association lives.
    pub(crate) async fn trickle(&self) {
        let mut message = Message::new(0, vec![4, 0]);
        message.ppid = PPID;
        let _ = self.association.send(message).await;
    }

    pub(crate) async fn abort(self) {
        self.abort_with("done").await;
    }

    pub(crate) async fn abort_with(self, reason: &str) {
        self.association.abort(reason.as_bytes()).unwrap();
        self.endpoint.close().await;
    }

    /// A message that no part of the file protocol is, if the association lives.
    pub(crate) async fn nonsense(&self, ppid: u32) {
        let mut message = Message::new(0, vec![99, 0]);
        message.ppid = ppid;
        let _ = self.association.send(message).await;
    }

    /// Waits until the receiver has ended the association, and why.
    pub(crate) async fn ended(&self) -> String {
        self.association.closed().await.to_string()
    }

    /// Aborts, unless the receiver was faster.
    pub(crate) async fn leave(self) {
        let _ = self.association.abort(b"done");
        self.endpoint.close().await;
    }

    /// Ends in good order.
    pub(crate) async fn close(self) {
        self.association.shutdown().await.unwrap();
        self.endpoint.close().await;
    }

    /// Ends without a word when its runtime is dropped, as a process that is killed.
    pub(crate) fn vanish(self) {
        std::mem::forget(self);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
