//! `--metrics`: HTTP/1 (RFC 9112), of which Prometheus needs GET alone. Each connection carries one
//! request.

use super::connections::{Connections, PAUSE};
use super::look::Looker;
use super::metrics::CONTENT_TYPE;
use crate::net::tunnel::http::{
    self, BAD_REQUEST, METHOD_NOT_ALLOWED, MOST_FIELDS, PLAIN, TOO_LARGE,
};
use crate::net::tunnel::{Client, Found, MOST, Refusal};
use httparse::{EMPTY_HEADER, Request, Status};
use std::sync::Arc;
use tokio::net::TcpListener;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    /// Without the body (HEAD).
    head: bool,
}

pub(super) async fn serve(listener: TcpListener, looker: &Arc<Looker>) {
    let mut connections = Connections::default();
    loop {
        let Ok((tcp, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let looker = looker.clone();
        connections.add(async move {
            // It may have gone.
            let _ = answer(Client::new(tcp), &looker).await;
        });
    }
}

/// # Errors
/// How the client has gone.
async fn answer(mut client: Client, looker: &Looker) -> Result<(), String> {
    match client.read(request).await {
        Ok(Asked { head }) => {
            // All who ask at this time have the same text.
            let text = looker.metrics();
            client
                .say(http::head("200 OK", TAKES, CONTENT_TYPE, text.len()).as_bytes())
                .await?;
            if !head {
                client.say(text.as_bytes()).await?;
            }
        }
        Err(Refusal { reply, why }) if reply.is_empty() => return Err(why),
        Err(Refusal { reply, .. }) => client.say(&reply).await?,
    }
    client.goodbye().await
}

/// The methods that are taken here.
const TAKES: &str = "GET, HEAD";

/// Reads a request.
fn request(bytes: &[u8]) -> Found<Asked> {
    let refused = |status: &str, why: &str| {
        let why = format!("byway: {why}\n");
        let reply = (http::head(status, TAKES, PLAIN, why.len()) + &why).into_bytes();
        Err(Refusal { reply, why })
    };
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut request = Request::new(&mut fields);
    let used = match request.parse(bytes) {
        Ok(Status::Complete(used)) => used,
        Ok(Status::Partial) if bytes.len() < MOST => return Ok(None),
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return refused(TOO_LARGE, "the request is too long");
        }
        Err(_) => return refused(BAD_REQUEST, "the request is no HTTP/1"),
    };
    if !http::has_its_host(&request) {
        return refused(BAD_REQUEST, "a request needs one Host field");
    }
    let head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return refused(METHOD_NOT_ALLOWED, "metrics are read with GET"),
    };
    let path = request.path.unwrap_or_default();
    match path.split('?').next() {
        Some("/metrics") => Ok(Some((Asked { head }, used))),
        _ => refused("404 Not Found", "the metrics are at /metrics"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_once_all_of_it_is_there() {
        for (text, head) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", false),
            ("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n", true),
            ("GET /metrics?name=x HTTP/1.0\r\n\r\n", false),
        ] {
            for cut in 0..text.len() {
                assert_eq!(
                    request(&text.as_bytes()[..cut]),
                    Ok(None),
                    "{text:?}, {cut}"
                );
            }
            let whole = Ok(Some((Asked { head }, text.len())));
            assert_eq!(request(text.as_bytes()), whole);
        }
    }

    #[test]
    fn what_is_wrong_has_its_status() {
        let long = format!("GET /metrics HTTP/1.1\r\nA: {}", "a".repeat(MOST));
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65));
        for (text, status) in [
            ("GET / HTTP/1.0\r\n\r\n", "404"),
            ("GET /metrics/ HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.0\r\n\r\n", "405"),
            ("GET /metrics HTTP/1.1\r\n\r\n", "400"),
            ("\u{1}\u{2}\u{3}", "400"),
            ("GET /metrics HTTP/2.0\r\n\r\n", "400"),
            (&long[..MOST], "431"),
            (&many, "431"),
        ] {
            let reply = String::from_utf8(request(text.as_bytes()).unwrap_err().reply).unwrap();
            assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{reply}");
            let (head, body) = reply.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())));
            assert_eq!(head.contains("Allow: GET, HEAD"), status == "405");
        }
    }
}
