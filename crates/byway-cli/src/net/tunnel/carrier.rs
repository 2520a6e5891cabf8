//! One association that carries connections: hands each frame to its connection.

use super::clients::Seat;
use super::frame::{BLOCK, Cause, FIRST_WINDOW, Frame, HEADER, PPID, Reset, cost};
use super::kept::{Held, Kept};
use super::window::Budget;
use crate::failure::{Failure, Kind};
use crate::net::joiner::Joiner;
use crate::net::protect::Channel;
use crate::net::refused::Refused;
use crate::net::tally::{PROCESS, Tally};
use bytes::Bytes;
use byway::{Association, Message, Received};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc, watch};

/// Most connections of one association.
pub(super) const MOST_CONNECTIONS: usize = 2048;
/// Streams that both sides ask for. With more connections, some share a stream.
pub(super) const STREAMS: u16 = 1024;
/// Most that a peer may let this side send on a connection without taking it, in bytes.
const MOST_CREDIT: usize = 1 << 30;
/// Most refusals that wait for room.
const MOST_WAITING: u64 = 64;
/// A payload up to this length is copied: it may be a small part of a large datagram's memory.
const SMALL: usize = 1024;
/// While more than this waits, longer ones are copied, too: their buffers may be twice as large as what is in them.
const LAGS: usize = 1 << 20;
/// What a connection takes without what waits on it: its task and its entry.
const CONNECTION: usize = 4096;

/// What one association carries, shared by its connections.
pub(super) struct Carrier {
    channel: Channel,
    pub(super) budget: Arc<Budget>,
    kept: Arc<Kept>,
    table: Mutex<Table>,
    /// For those who look at the process.
    tally: Tally,
    /// Refusals that wait for room.
    waiting: AtomicU64,
    /// Bytes of TCP to the peer and from it.
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
    begun: Instant,
    /// When a message of the peer came last, in milliseconds since then.
    heard: AtomicU64,
}

#[derive(Default)]
struct Table {
    entries: HashMap<u32, Entry>,
    /// The last connection that this side opened.
    last: u32,
    /// The last connection that the peer opened on each stream.
    opened: HashMap<u16, u32>,
    /// Connections on each stream.
    loads: Vec<u16>,
    /// Whether the association has ended.
    ended: bool,
}

/// What the reader of the association knows of a connection.
struct Entry {
    stream: u16,
    /// What costs no window comes once, so the window bounds the queue. What is in it is charged (`kept`).
    inbound: mpsc::UnboundedSender<Inbound>,
    /// Whether the peer has answered; it does not answer what it has opened.
    answered: bool,
    /// Whether the peer's direction has ended.
    ended: bool,
    /// Says why the peer has reset it. When it is dropped, the connection is over, too.
    reset: watch::Sender<Option<Reset>>,
    /// What this side may send.
    credit: Arc<Semaphore>,
    /// What the peer may still send.
    window: Arc<AtomicU64>,
}

/// What the peer says of a connection.
#[derive(Debug)]
pub(super) enum Inbound {
    Opened,
    Data(Bytes, Held),
    End,
}

/// A connection of a [`Carrier`]. When it is dropped, frames of it are ignored.
pub(super) struct Connection {
    pub(super) carrier: Arc<Carrier>,
    pub(super) number: u32,
    pub(super) stream: u16,
    pub(super) inbound: mpsc::UnboundedReceiver<Inbound>,
    /// Whether the peer has reset it, or the association has ended.
    pub(super) reset: watch::Receiver<Option<Reset>>,
    /// What this side may send.
    pub(super) credit: Arc<Semaphore>,
    /// What the peer may still send.
    pub(super) window: Arc<AtomicU64>,
    /// The client that it is for, where it may have to give way to another one.
    pub(super) client: Option<Arc<Seat>>,
    _held: Held,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.carrier.forget(self.number);
        self.carrier.tally.closed();
    }
}

impl Carrier {
    pub(super) fn new(channel: Channel, budget: Arc<Budget>) -> Arc<Carrier> {
        let tally = PROCESS.begin(channel.association().id());
        Arc::new(Carrier {
            tally,
            kept: Kept::new(channel.association()),
            channel,
            budget,
            table: Mutex::default(),
            waiting: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            begun: Instant::now(),
            heard: AtomicU64::new(0),
        })
    }

    /// For how long the peer has said nothing.
    pub(super) fn quiet_for(&self) -> Duration {
        let heard = Duration::from_millis(self.heard.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(heard)
    }

    /// Whether the association has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.table().ended
    }

    /// For paths and how it ends.
    pub(super) fn association(&self) -> &Association {
        self.channel.association()
    }

    /// Begins a connection of this side, on the stream that has the fewest.
    ///
    /// # Errors
    /// When there are too many, or the association has ended.
    pub(super) fn begin(self: &Arc<Carrier>) -> Result<Connection, String> {
        let mut table = self.table();
        if table.loads.is_empty() {
            table.loads.resize(usize::from(STREAMS), 0);
        }
        let last = table
            .last
            .checked_add(1)
            .ok_or("this association has carried too many connections")?;
        let stream = (0..STREAMS)
            .min_by_key(|stream| table.loads[usize::from(*stream)])
            .unwrap_or(0);
        let connection = self.enter(&mut table, last, (stream, false))?;
        table.last = last;
        Ok(connection)
    }

    fn enter(
        self: &Arc<Carrier>,
        table: &mut Table,
        number: u32,
        (stream, answered): (u16, bool),
    ) -> Result<Connection, String> {
        if table.ended {
            return Err("the association has ended".to_owned());
        }
        if table.entries.len() >= MOST_CONNECTIONS {
            return Err(format!("{MOST_CONNECTIONS} connections are under way"));
        }
        let (sender, inbound) = mpsc::unbounded_channel();
        let (resets, reset) = watch::channel(None);
        let credit = Arc::new(Semaphore::new(FIRST_WINDOW as usize));
        let window = Arc::new(AtomicU64::new(FIRST_WINDOW.into()));
        table.entries.insert(
            number,
            Entry {
                stream,
                inbound: sender,
                answered,
                ended: false,
                reset: resets,
                credit: credit.clone(),
                window: window.clone(),
            },
        );
        if let Some(load) = table.loads.get_mut(usize::from(stream)) {
            *load += 1;
        }
        self.tally.opened();
        Ok(Connection {
            carrier: self.clone(),
            number,
            stream,
            inbound,
            reset,
            credit,
            window,
            client: None,
            _held: self.kept.hold(CONNECTION).0,
        })
    }

    /// Forgets a connection; frames of it that still come are ignored.
    pub(super) fn forget(&self, number: u32) {
        self.table().remove(number);
    }

    /// Sends a message of a connection. Waits for room in the send buffer.
    ///
    /// # Errors
    /// When the association has ended.
    pub(super) async fn send(&self, stream: u16, frame: Bytes) -> Result<(), ()> {
        let message = message(stream, frame);
        self.channel.send(message).await.map_err(|_| ())
    }

    /// Reads the association to its end. `open` gets what the peer opens, each with the target that it
    /// asks for.
    pub(super) async fn read(
        self: &Arc<Carrier>,
        mut open: impl FnMut(Connection, String),
    ) -> Failure {
        // Also when this is dropped before its end, as for a peer that is given up.
        let _over = Over(self);
        // A channel that is not sealed gives the parts of a message.
        let mut joiner = Joiner::new(self.association(), HEADER + BLOCK);
        loop {
            let received = match self.channel.recv().await {
                Ok(Some(received)) => received,
                Ok(None) => return Failure::new(Kind::Lost, "the other side has ended"),
                Err(failure) => return failure,
            };
            let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.heard.store(now, Ordering::Relaxed);
            if let Err(why) = self.take(received, &mut joiner, &mut open) {
                let failure = Failure::new(
                    Kind::Lost,
                    format!(
                        "the other side does not speak the protocol of forward and serve: {why}"
                    ),
                );
                self.association().count_violation();
                // Refused when it has ended already.
                let _ = self.association().abort(failure.reason());
                return failure;
            }
        }
    }

    fn take(
        self: &Arc<Carrier>,
        received: Received,
        joiner: &mut Joiner,
        open: &mut impl FnMut(Connection, String),
    ) -> Result<(), String> {
        if received.ppid != PPID {
            return Err(format!("payload protocol identifier {:#x}", received.ppid));
        }
        if received.unordered {
            return Err("a message that is no frame".to_owned());
        }
        let Some(whole) = joiner.whole(&received)? else {
            return Ok(());
        };
        let (number, frame) = Frame::decode(whole)?;
        if let Frame::Open(target) = frame {
            return self.opened(number, received.stream, target, open);
        }
        let mut table = self.table();
        let Some(entry) = table.entries.get_mut(&number) else {
            return Ok(());
        };
        let inbound = match frame {
            Frame::Open(_) => return Ok(()),
            Frame::Data(_) | Frame::End if entry.ended => {
                return Err(format!("connection {number} goes on after its END"));
            }
            Frame::Data(bytes) => {
                let cost = u64::from(cost(bytes.len()));
                let less = |left: u64| left.checked_sub(cost);
                entry
                    .window
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
                    .map_err(|left| format!("{} bytes in a window of {left}", bytes.len()))?;
                let (held, all) = self.kept.hold(cost as usize);
                let copied = bytes.len() <= SMALL || all > LAGS;
                let bytes = match copied {
                    true => Bytes::copy_from_slice(&bytes),
                    false => bytes,
                };
                Inbound::Data(bytes, held)
            }
            Frame::WindowUpdate(more) => {
                let more = more as usize;
                if entry.credit.available_permits().saturating_add(more) > MOST_CREDIT {
                    return Err(format!("a window of more than {MOST_CREDIT} bytes"));
                }
                entry.credit.add_permits(more);
                return Ok(());
            }
            Frame::Opened if entry.answered => {
                return Err(format!("connection {number}: OPENED unasked"));
            }
            Frame::Opened => {
                entry.answered = true;
                Inbound::Opened
            }
            Frame::End => {
                entry.ended = true;
                Inbound::End
            }
            Frame::Reset(reset) => {
                entry.reset.send_replace(Some(reset));
                table.remove(number);
                return Ok(());
            }
        };
        // Refused when the connection is just ending.
        let _ = entry.inbound.send(inbound);
        Ok(())
    }

    fn opened(
        self: &Arc<Carrier>,
        number: u32,
        stream: u16,
        target: String,
        open: &mut impl FnMut(Connection, String),
    ) -> Result<(), String> {
        let mut table = self.table();
        // Each stream keeps its order, and there is none between streams.
        let last = table.opened.entry(stream).or_default();
        if number <= *last {
            return Err(format!("connection {number} is opened after {last}"));
        }
        *last = number;
        if table.entries.contains_key(&number) {
            return Err(format!("connection {number} is opened twice"));
        }
        let entered = self.enter(&mut table, number, (stream, true));
        drop(table);
        match entered {
            Ok(connection) => open(connection, target),
            Err(why) => self.refuse(stream, number, Reset::new(Cause::Busy, why)),
        }
        Ok(())
    }

    /// Refuses what the peer has opened. Not waited for: a peer that opens without end and reads nothing must
    /// not stop what others send.
    pub(super) fn refuse(self: &Arc<Carrier>, stream: u16, number: u32, why: Reset) {
        Refused::Connection.count();
        let refusal = message(stream, Frame::Reset(why).encode(number));
        if !self.channel.try_send(refusal.clone()) {
            self.send_later(refusal);
        }
    }

    /// Sends a message when there is room, unless many wait for that already.
    fn send_later(self: &Arc<Carrier>, message: Message) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let carrier = self.clone();
        tokio::spawn(async move {
            // The association may have ended.
            let _ = carrier.channel.send(message).await;
            carrier.waiting.fetch_sub(1, Ordering::Relaxed);
        });
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing panics while it is held.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When it is dropped nobody reads the association any more.
struct Over<'a>(&'a Carrier);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let mut table = self.0.table();
        table.ended = true;
        // Each connection sees that its entry has gone.
        table.entries.clear();
    }
}

impl Table {
    fn remove(&mut self, number: u32) {
        if let Some(entry) = self.entries.remove(&number)
            && let Some(load) = self.loads.get_mut(usize::from(entry.stream))
        {
            *load -= 1;
        }
    }
}

/// A frame as a message.
fn message(stream: u16, frame: Bytes) -> Message {
    let mut message = Message::new(stream, frame);
    message.ppid = PPID;
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::tunnel::clients::Clients;
    use crate::net::tunnel::connection::{Answer, Broken};
    use byway::{Closed, Endpoint, EndpointOptions, LossReason};
    use std::net::SocketAddr;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    const CEILING: usize = 8 << 20;

    /// The side that carries, with a ceiling of memory, and a peer that speaks frames by hand.
    async fn pair() -> ((Endpoint, Association), (Endpoint, Association)) {
        let at = |from: &str| EndpointOptions::new(vec![from.parse::<SocketAddr>().unwrap()]);
        let mut options = at("127.0.0.1:0").sctp_port(5001);
        options.max_memory = CEILING;
        let serve = Endpoint::bind(options).unwrap();
        let to = [serve.local_addresses()[0]];
        let mut options = at("127.0.0.9:0");
        options.config.setup.outbound_streams = 64;
        let peer = Endpoint::bind(options).unwrap();
        let calls = peer.connect(&to, 5001);
        let (called, taken) = tokio::join!(calls, serve.accept());
        ((serve, taken.unwrap()), (peer, called.unwrap()))
    }

    async fn say(peer: &Association, connection: u32, frame: Frame) -> bool {
        let frame = frame.encode(connection);
        let stream = (connection % 64) as u16;
        peer.send(message(stream, frame)).await.is_ok()
    }

    /// The peer fills the window of this connection, with frames of this length.
    async fn fill(peer: &Association, connection: u32, len: usize) -> bool {
        say(peer, connection, Frame::Open(String::new())).await;
        for _ in 0..FIRST_WINDOW / cost(len) {
            if !say(peer, connection, Frame::Data(vec![7; len].into())).await {
                return false;
            }
        }
        true
    }

    /// Reads the association, and keeps the connections that its peer opens.
    fn keeps_what_is_opened(
        carrier: &Arc<Carrier>,
    ) -> (
        Arc<Mutex<Vec<Connection>>>,
        tokio::task::JoinHandle<Failure>,
    ) {
        let waiting = Arc::new(Mutex::new(Vec::new()));
        let (reader, opened) = (carrier.clone(), waiting.clone());
        let reads = tokio::spawn(async move {
            let open = |connection, _| opened.lock().unwrap().push(connection);
            reader.read(open).await
        });
        (waiting, reads)
    }

    async fn settles(what: impl Fn() -> bool) {
        let settled = async {
            while !what() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), settled)
            .await
            .expect("the test hangs");
    }

    // It was in no account: the endpoint held next to nothing, whatever waited for targets.
    #[tokio::test]
    async fn what_waits_for_targets_counts_until_they_take_it() {
        for len in [1, SMALL + 1, BLOCK] {
            let ((serve, taken), (peer, called)) = pair().await;
            let carrier = Carrier::new(Channel::plain(taken), Budget::new());
            let (waiting, reads) = keeps_what_is_opened(&carrier);
            let before = serve.memory();
            for connection in 1..=20 {
                assert!(fill(&called, connection, len).await);
            }
            let full = 20 * (FIRST_WINDOW - cost(BLOCK)) as usize;
            // What the association itself holds counts, too: all have been opened before they are dropped.
            let all = || waiting.lock().unwrap().len() == 20;
            settles(|| all() && serve.memory() > before + full).await;
            // Nothing waits inside the association any more, and the queues end.
            waiting.lock().unwrap().clear();
            settles(|| serve.memory() < before + full / 4).await;
            called.abort(b"done").unwrap();
            reads.await.unwrap();
            serve.close().await;
            peer.close().await;
        }
    }

    // They waited for a target that does not answer, and kept the association, until TCP gave up.
    #[tokio::test]
    async fn connections_are_over_when_nobody_reads_their_association_any_more() {
        let ((serve, taken), (peer, called)) = pair().await;
        let carrier = Carrier::new(Channel::plain(taken.clone()), Budget::new());
        let (waiting, reads) = keeps_what_is_opened(&carrier);
        assert!(say(&called, 1, Frame::Open(String::new())).await);
        settles(|| waiting.lock().unwrap().len() == 1).await;
        let connection = waiting.lock().unwrap().pop().unwrap();
        // As for a peer that is given up.
        reads.abort();
        let over = tokio::time::timeout(Duration::from_secs(60), connection.over()).await;
        assert_eq!(over, Ok(Broken::Lost));
        called.abort(b"done").unwrap();
        serve.close().await;
        peer.close().await;
    }

    // It kept its descriptor, and was told nothing, until there was room for a word to the peer.
    #[tokio::test]
    async fn who_is_let_go_while_the_association_stands_still_sees_it_at_once() {
        let ((serve, taken), (peer, called)) = pair().await;
        let carrier = Carrier::new(Channel::plain(taken), Budget::new());
        // The peer reads nothing, and the last messages are shorter than any word.
        for len in [BLOCK, 20] {
            let more = || {
                let sent = carrier.send(0, vec![7; len].into());
                tokio::time::timeout(Duration::from_millis(500), sent)
            };
            while more().await.is_ok() {}
        }
        let clients = Clients::of_process(2, 1);
        let take = |host: u8| clients.take([10, 0, 0, host].into()).unwrap();
        let (oldest, _other) = (take(1), take(1));
        let mut connection = carrier.begin().unwrap();
        connection.client = Some(oldest.seat().clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await;
        let mut client = client.unwrap();
        let (tcp, _) = listener.accept().await.unwrap();
        let carries = tokio::spawn(connection.carry(tcp, Answer::Expected));
        let _newcomer = take(2);
        let read = tokio::time::timeout(Duration::from_secs(60), client.read_u8()).await;
        let error = read.expect("it is told nothing").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        assert!(!carries.is_finished(), "there was room");
        called.abort(b"done").unwrap();
        assert!(carries.await.unwrap().is_err());
        serve.close().await;
        peer.close().await;
    }

    // Half of the ceiling is for one host.
    #[tokio::test]
    async fn a_peer_whose_connections_keep_too_much_is_let_go() {
        let ((serve, taken), (peer, called)) = pair().await;
        let carrier = Carrier::new(Channel::plain(taken.clone()), Budget::new());
        let (waiting, reads) = keeps_what_is_opened(&carrier);
        let fills = async {
            for connection in 1..=1000 {
                if !fill(&called, connection, 1000).await {
                    return;
                }
                assert!(serve.memory() <= CEILING);
            }
        };
        let within = tokio::time::timeout(Duration::from_secs(60), fills);
        let ended = async {
            let ended = taken.closed().await;
            assert!(
                matches!(
                    ended,
                    Closed::Lost {
                        reason: LossReason::OutOfMemory,
                        ..
                    }
                ),
                "{ended}"
            );
        };
        let _ = tokio::join!(within, ended);
        assert!(waiting.lock().unwrap().len() < 1000);
        reads.await.unwrap();
        serve.close().await;
        peer.close().await;
    }
}
