//! One TCP connection on its way through an association.

use super::carrier::{Connection, Inbound};
use super::clients::GIVES_WAY;
use super::frame::{BLOCK, Cause, FRAME_COST, Frame, HEADER, Reset, begin_data, cost};
use super::window::ReceiveWindow;
use bytes::{BufMut, Bytes, BytesMut};
use byway::text::shown;
use socket2::{SockRef, TcpKeepalive};
use std::convert::Infallible;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{Notify, mpsc};

/// How a connection ended before its time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The TCP connection of this side failed, or its target.
    Here(String),
    /// The peer has reset it.
    There(Reset),
    /// The association has ended.
    Lost,
}

/// The peer's answer to OPEN.
#[derive(Debug)]
pub(super) enum Answer {
    /// It is still to come; bytes of TCP go before it.
    Expected,
    /// It has come, or is this side's own. These bytes of TCP have been read already.
    Done(Bytes),
}

impl Broken {
    /// For programs.
    pub(super) fn cause(&self) -> Cause {
        match self {
            Broken::There(reset) => reset.cause,
            Broken::Here(_) | Broken::Lost => Cause::Failed,
        }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::Here(why) => f.write_str(why),
            // The peer's text.
            Broken::There(reset) => {
                write!(f, "reset by the other side: {}", shown(&reset.why))
            }
            Broken::Lost => f.write_str("the association has ended"),
        }
    }
}

impl Connection {
    /// Ends at once what the peer has opened, and says why if there is room for it.
    pub(super) fn refuse(self, why: Reset) {
        self.carrier.refuse(self.stream, self.number, why);
    }

    /// Says something of the connection to the peer.
    ///
    /// # Errors
    /// [`Broken::Lost`].
    pub(super) async fn say(&self, frame: &Frame) -> Result<(), Broken> {
        let message = frame.encode(self.number);
        self.carrier
            .send(self.stream, message)
            .await
            .map_err(|()| Broken::Lost)
    }

    /// Waits for the peer's answer to OPEN.
    ///
    /// # Errors
    /// Why the peer has not connected to the target.
    pub(super) async fn opened(&mut self) -> Result<(), Broken> {
        let first = self.inbound.recv().await;
        self.answer(first).await
    }

    /// Carries the bytes of a TCP connection in both directions until both have ended. Bytes that have
    /// been read already are at most a block. Of a connection that breaks, TCP's peer sees a reset.
    ///
    /// # Errors
    /// How it broke. The peer has been told.
    pub(super) async fn carry(mut self, mut tcp: TcpStream, answer: Answer) -> Result<(), Broken> {
        // Small messages are not held back; a socket that cannot do it works without.
        let _ = tcp.set_nodelay(true);
        let _ = SockRef::from(&tcp).set_tcp_keepalive(&keepalive());
        let result = self.both_ways(&mut tcp, answer).await;
        if let Err(broken) = &result {
            // Without it TCP's peer sees an end, which is not what happened.
            let _ = tcp.set_zero_linger();
            // At once: the association may have no room for a word.
            drop(tcp);
            if let Broken::Here(why) = broken {
                // An association that has ended needs no telling.
                let reset = Reset::new(Cause::Failed, why.as_str());
                let _ = self.say(&Frame::Reset(reset)).await;
            }
        }
        result
    }

    async fn both_ways(&mut self, tcp: &mut TcpStream, answer: Answer) -> Result<(), Broken> {
        // The queue is for one direction, all else for both.
        let mut inbound = std::mem::replace(&mut self.inbound, mpsc::unbounded_channel().1);
        let (from_tcp, to_tcp) = tcp.split();
        let ended = Notify::new();
        let (expects, early) = match answer {
            Answer::Expected => (true, Bytes::new()),
            Answer::Done(early) => (false, early),
        };
        let down = async {
            if expects {
                let first = inbound.recv().await;
                self.answer(first).await?;
            }
            self.down(to_tcp, &mut inbound, &ended).await
        };
        let up = async {
            self.early(early).await?;
            self.up(from_tcp).await?;
            ended.notified().await;
            Ok(())
        };
        // First what has come, as far as TCP takes it.
        tokio::select! {
            biased;
            Err(broken) = down => Err(broken),
            result = up => result,
            broken = self.over() => Err(broken),
            () = self.gives_way() => Err(Broken::Here(GIVES_WAY.to_owned())),
        }
    }

    /// Waits until its client must give way to another one.
    pub(super) async fn gives_way(&self) {
        match &self.client {
            Some(client) => client.gives_way().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until the peer has reset the connection, or the association has ended: also while TCP's
    /// peer takes nothing and says nothing, or is still asked.
    pub(super) async fn over(&self) -> Broken {
        let mut reset = self.reset.clone();
        match reset.wait_for(Option::is_some).await {
            Ok(reset) => reset.clone().map_or(Broken::Lost, Broken::There),
            Err(_) => Broken::Lost,
        }
    }

    /// What TCP's peer has said before it was carried.
    async fn early(&self, bytes: Bytes) -> Result<(), Broken> {
        if bytes.is_empty() {
            return Ok(());
        }
        let taken = self.credit.acquire_many(cost(bytes.len())).await;
        taken.map_err(|_| Broken::Lost)?.forget();
        let length = bytes.len() as u64;
        self.say(&Frame::Data(bytes)).await?;
        self.client_says();
        self.carrier.sent.fetch_add(length, Ordering::Relaxed);
        Ok(())
    }

    /// From TCP to the peer.
    async fn up(&self, mut tcp: ReadHalf<'_>) -> Result<(), Broken> {
        loop {
            let room = self.room().await?;
            let mut frame = BytesMut::with_capacity(HEADER + room);
            begin_data(&mut frame, self.number);
            let read = tcp.read_buf(&mut (&mut frame).limit(room)).await;
            let n = read.map_err(tcp_failed)?;
            let unused = if n == 0 {
                cost(room) as usize
            } else {
                room - n
            };
            self.credit.add_permits(unused);
            if n == 0 {
                return self.say(&Frame::End).await;
            }
            self.client_says();
            let sent = self.carrier.send(self.stream, frame.freeze()).await;
            sent.map_err(|()| Broken::Lost)?;
            self.carrier.sent.fetch_add(n as u64, Ordering::Relaxed);
        }
    }

    fn client_says(&self) {
        if let Some(client) = &self.client {
            client.says();
        }
    }

    /// Waits until a frame may be sent, and takes what it costs: how many bytes it may have.
    async fn room(&self) -> Result<usize, Broken> {
        let least = self.credit.acquire_many(FRAME_COST + 1).await;
        least.map_err(|_| Broken::Lost)?.forget();
        // Nobody else takes of it.
        let more = self.credit.available_permits().min(BLOCK - 1);
        self.credit.forget_permits(more);
        Ok(more + 1)
    }

    /// From the peer to TCP. Its end is notified; what comes afterwards can only be a failure.
    async fn down(
        &self,
        mut tcp: WriteHalf<'_>,
        inbound: &mut mpsc::UnboundedReceiver<Inbound>,
        ended: &Notify,
    ) -> Result<Infallible, Broken> {
        let mut window = ReceiveWindow::new(self.carrier.budget.clone());
        loop {
            let Some(next) = inbound.recv().await else {
                return Err(self.over().await);
            };
            match next {
                Inbound::Data(bytes, held) => {
                    tcp.write_all(&bytes).await.map_err(tcp_failed)?;
                    if let Some(client) = &self.client {
                        client.hears();
                    }
                    let received = &self.carrier.received;
                    received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    let cost = cost(bytes.len());
                    drop((bytes, held));
                    if let Some(more) = window.take(cost, inbound.is_empty()) {
                        self.window.fetch_add(more.into(), Ordering::Relaxed);
                        self.say(&Frame::WindowUpdate(more)).await?;
                    }
                }
                Inbound::End => {
                    tcp.shutdown().await.map_err(tcp_failed)?;
                    ended.notify_one();
                }
                Inbound::Opened => return Err(out_of_order()),
            }
        }
    }

    /// Takes the peer's answer to OPEN.
    async fn answer(&self, first: Option<Inbound>) -> Result<(), Broken> {
        match first {
            Some(Inbound::Opened) => {
                if let Some(client) = &self.client {
                    client.opens();
                }
                Ok(())
            }
            Some(Inbound::Data(..) | Inbound::End) => Err(out_of_order()),
            None => Err(self.over().await),
        }
    }
}

fn out_of_order() -> Broken {
    Broken::Here("the other side sends frames in the wrong order".to_owned())
}

fn tcp_failed(error: io::Error) -> Broken {
    Broken::Here(format!("TCP: {error}"))
}

/// A TCP peer that has vanished is given up after two minutes: it holds a place.
fn keepalive() -> TcpKeepalive {
    TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(15))
        .with_retries(4)
}
