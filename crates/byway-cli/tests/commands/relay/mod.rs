//! Somebody on the way: a UDP relay that sees every packet, and may change it.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Length of the common header of SCTP.
const COMMON: usize = 12;
/// Length of the header of a DATA chunk.
pub(crate) const DATA: usize = 16;

/// Which way a packet goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToServer,
    ToClient,
}

/// Packets that go on in place of one, each with its way.
pub(crate) type Onward = Vec<(Way, Vec<u8>)>;

/// A relay to one server, for one client at a time. It works until the test ends.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    /// All bytes of UDP that came, in both directions.
    pub(crate) seen: Arc<Mutex<Vec<u8>>>,
}

impl Relay {
    /// `tamper` gets each packet and says what goes on; checksums are put right afterwards.
    pub(crate) fn start(
        server: SocketAddr,
        tamper: impl FnMut(Way, Vec<u8>) -> Onward + Send + 'static,
    ) -> Relay {
        let outer = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let inner = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        inner.connect(server).unwrap();
        let address = outer.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let tamper = Arc::new(Mutex::new(tamper));
        let client = Arc::new(Mutex::new(None));
        for way in [Way::ToServer, Way::ToClient] {
            let (outer, inner, book) = (outer.clone(), inner.clone(), seen.clone());
            let (tamper, client) = (tamper.clone(), client.clone());
            std::thread::spawn(move || {
                let mut room = vec![0; 70_000];
                loop {
                    let came = match way {
                        Way::ToServer => outer.recv_from(&mut room).map(|(n, from)| {
                            *client.lock().unwrap() = Some(from);
                            n
                        }),
                        Way::ToClient => inner.recv(&mut room),
                    };
                    // Refused while nobody listens.
                    let Ok(n) = came else { continue };
                    book.lock().unwrap().extend_from_slice(&room[..n]);
                    let onward = tamper.lock().unwrap()(way, room[..n].to_vec());
                    for (way, mut packet) in onward {
                        sign(&mut packet);
                        let _ = match (way, *client.lock().unwrap()) {
                            (Way::ToServer, _) => inner.send(&packet),
                            (Way::ToClient, Some(client)) => outer.send_to(&packet, client),
                            (Way::ToClient, None) => Ok(0),
                        };
                    }
                }
            });
        }
        Relay { address, seen }
    }

    /// A relay that changes nothing.
    pub(crate) fn honest(server: SocketAddr) -> Relay {
        Relay::start(server, |way, packet| vec![(way, packet)])
    }

    /// A relay that drops packets with chunks of this type, and how many they were.
    pub(crate) fn without(kind: u8, server: SocketAddr) -> (Relay, Arc<AtomicUsize>) {
        let dropped = Arc::new(AtomicUsize::new(0));
        let count = dropped.clone();
        let relay = Relay::start(server, move |way, packet| {
            if chunks(&packet).iter().any(|(_, of, _)| *of == kind) {
                count.fetch_add(1, Ordering::Relaxed);
                return Vec::new();
            }
            vec![(way, packet)]
        });
        (relay, dropped)
    }

    /// Whether these bytes passed it.
    pub(crate) fn saw(&self, what: &[u8]) -> bool {
        let seen = self.seen.lock().unwrap();
        seen.windows(what.len()).any(|w| w == what)
    }
}

/// Puts the checksum right (RFC 9260 section 6.8), as somebody on the way can.
fn sign(packet: &mut [u8]) {
    packet[8..COMMON].fill(0);
    let sum = byway_wire::crc32c::packet_checksum(packet);
    packet[8..COMMON].copy_from_slice(&sum.to_le_bytes());
}

/// Where the chunks of a packet begin, with their types and lengths.
pub(crate) fn chunks(packet: &[u8]) -> Vec<(usize, u8, usize)> {
    let (mut at, mut all) = (COMMON, Vec::new());
    while let Some(head) = packet.get(at..at + 4) {
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        if length < 4 || at + length > packet.len() {
            break;
        }
        all.push((at, head[0], length));
        at += length.next_multiple_of(4);
    }
    all
}

/// A packet with one chunk and the header of another.
pub(crate) fn with_chunk(header_of: &[u8], kind: u8, flags: u8, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap().to_be_bytes();
    let mut packet = header_of[..COMMON].to_vec();
    packet.extend_from_slice(&[kind, flags, length[0], length[1]]);
    packet.extend_from_slice(value);
    packet
}
