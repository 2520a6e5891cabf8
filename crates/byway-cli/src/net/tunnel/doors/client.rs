//! A client of a proxy, until its connection is carried, or of the metrics.

use super::super::clients::Place;
use bytes::{BufMut, Bytes, BytesMut};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Most bytes of a request, and of what comes with it.
pub(in crate::net) const MOST: usize = 8 * 1024;
/// How long a client that is sent away may take to read why.
const LINGER: Duration = Duration::from_secs(5);
/// Longest name of a host in DNS, and in SOCKS5.
const LONGEST_HOST: usize = 255;

/// A client that is sent away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::net) struct Refusal {
    /// What it is told in its protocol.
    pub(in crate::net) reply: Vec<u8>,
    /// For people at this side.
    pub(in crate::net) why: String,
}

/// What a reader of requests finds in the bytes that are there: so many of them are something whole. None:
/// more must come.
pub(in crate::net) type Found<T> = Result<Option<(T, usize)>, Refusal>;

/// A TCP connection of which a request is read.
pub(in crate::net) struct Client {
    tcp: TcpStream,
    /// What has come and is not used yet, at most [`MOST`] bytes.
    buffer: BytesMut,
}

impl Client {
    pub(in crate::net) fn new(tcp: TcpStream) -> Client {
        Client {
            tcp,
            buffer: BytesMut::new(),
        }
    }

    /// Reads until `parse` has found something whole, and takes that away. `parse` must have an answer
    /// for [`MOST`] bytes.
    ///
    /// # Errors
    /// What `parse` refuses, or how the client has ended.
    pub(in crate::net) async fn read<T>(
        &mut self,
        parse: impl Fn(&[u8]) -> Found<T>,
    ) -> Result<T, Refusal> {
        loop {
            if let Some((found, used)) = parse(&self.buffer)? {
                let _ = self.buffer.split_to(used);
                return Ok(found);
            }
            let room = MOST.saturating_sub(self.buffer.len());
            let read = self.tcp.read_buf(&mut (&mut self.buffer).limit(room)).await;
            let gone = |why: String| Refusal {
                reply: Vec::new(),
                why,
            };
            match read {
                Ok(0) => return Err(gone("the client has ended in its request".to_owned())),
                Ok(_) => {}
                Err(e) => return Err(gone(format!("TCP: {e}"))),
            }
        }
    }

    /// # Errors
    /// What TCP says.
    pub(in crate::net) async fn say(&mut self, bytes: &[u8]) -> Result<(), String> {
        let written = self.tcp.write_all(bytes).await;
        written.map_err(|e| format!("TCP: {e}"))
    }

    /// Sends the client away with this reply; without one, with a reset. Not waited for: it keeps its place until then.
    pub(super) fn dismiss(mut self, reply: Vec<u8>, place: Place) {
        if reply.is_empty() {
            let _ = self.tcp.set_zero_linger();
            return;
        }
        let dismissed = async move {
            self.say(&reply).await?;
            self.goodbye().await
        };
        // It is sent away, whether it listens or not.
        tokio::spawn(async move {
            tokio::select! {
                _ = tokio::time::timeout(LINGER, dismissed) => {}
                () = place.seat().gives_way() => {}
            }
        });
    }

    /// Says nothing more, and waits until the client has ended.
    ///
    /// # Errors
    /// What TCP says.
    pub(in crate::net) async fn goodbye(mut self) -> Result<(), String> {
        let ended = async {
            self.tcp.shutdown().await?;
            // A close with bytes that nobody has read is a reset, which takes the reply away.
            let mut rest = vec![0; 4096];
            while self.tcp.read(&mut rest).await? > 0 {}
            std::io::Result::Ok(())
        };
        ended.await.map_err(|e| format!("TCP: {e}"))
    }

    /// The connection, and what has come beyond the request.
    pub(super) fn into_parts(self) -> (TcpStream, Bytes) {
        (self.tcp, self.buffer.freeze())
    }
}

/// HOST:PORT for the other side, of what a client asks for: a name, or an address with or without brackets.
/// None: no host has such a name, or no port this number.
pub(super) fn target(host: &str, port: u16) -> Option<String> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Ok(address) = bare.unwrap_or(host).parse::<std::net::Ipv6Addr>() {
        return (port > 0).then(|| format!("[{address}]:{port}"));
    }
    let strange = |c: char| c.is_whitespace() || c.is_control() || "[]:/\\?#@%*".contains(c);
    let sound = !host.is_empty() && host.len() <= LONGEST_HOST && !host.contains(strange);
    (sound && port > 0).then(|| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn targets_are_names_and_addresses() {
        for (host, port, found) in [
            ("db.example", 5432, Some("db.example:5432")),
            ("10.0.0.1", 80, Some("10.0.0.1:80")),
            ("[2001:db8::1]", 80, Some("[2001:db8::1]:80")),
            ("2001:db8:0::1", 80, Some("[2001:db8::1]:80")),
            ("bücher.example", 443, Some("bücher.example:443")),
            ("db.example", 0, None),
            ("::1", 0, None),
            ("", 80, None),
            ("a b", 80, None),
            ("a\r\nb", 80, None),
            ("a:80", 80, None),
            ("http://a", 80, None),
            ("user@a", 80, None),
            ("[a]", 80, None),
            ("[::1", 80, None),
            ("*", 80, None),
            (&"a".repeat(256), 80, None),
        ] {
            assert_eq!(target(host, port).as_deref(), found, "{host}");
        }
    }
}
