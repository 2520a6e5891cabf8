//! HTTP's CONNECT (RFC 9110 section 9.3.6) of HTTP/1.0 and HTTP/1.1 (RFC 9112).

use super::super::frame::Cause;
use super::client::{Client, Found, MOST, Refusal, target};
use byway::text::shown;
use httparse::{EMPTY_HEADER, Request, Status};

/// Most fields of a request; browsers send about six, Prometheus seven.
pub(in crate::net) const MOST_FIELDS: usize = 64;

pub(in crate::net) const PLAIN: &str = "text/plain; charset=utf-8";

pub(in crate::net) const BAD_REQUEST: &str = "400 Bad Request";
const FORBIDDEN: &str = "403 Forbidden";
pub(in crate::net) const METHOD_NOT_ALLOWED: &str = "405 Method Not Allowed";
const REQUEST_TIMEOUT: &str = "408 Request Timeout";
pub(in crate::net) const TOO_LARGE: &str = "431 Request Header Fields Too Large";
const BAD_GATEWAY: &str = "502 Bad Gateway";
const UNAVAILABLE: &str = "503 Service Unavailable";
const GATEWAY_TIMEOUT: &str = "504 Gateway Timeout";

/// Reads where a client wants to go, HOST:PORT.
///
/// # Errors
/// What it is told that does not speak this protocol, or asks for something else.
pub(super) async fn request(client: &mut Client) -> Result<String, Refusal> {
    client.read(connect).await
}

/// The response when the target has accepted the connection.
pub(super) fn opened() -> Vec<u8> {
    b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec()
}

/// The response when there is no connection to the target.
pub(super) fn failed(cause: Cause, why: &str) -> Vec<u8> {
    let status = match cause {
        Cause::NotAllowed => FORBIDDEN,
        Cause::TimedOut => GATEWAY_TIMEOUT,
        Cause::Busy => UNAVAILABLE,
        Cause::Failed
        | Cause::UnknownHost
        | Cause::NetworkUnreachable
        | Cause::HostUnreachable
        | Cause::Refused => BAD_GATEWAY,
    };
    response(status, why)
}

/// The response to a client that does not say what it wants.
pub(super) fn late() -> Vec<u8> {
    response(REQUEST_TIMEOUT, "the request did not come in time")
}

/// A response that ends the connection, with a sentence.
fn response(status: &str, why: &str) -> Vec<u8> {
    let text = format!("byway: {}\n", shown(why));
    (head(status, "CONNECT", PLAIN, text.len()) + &text).into_bytes()
}

/// The head of a response that ends the connection. Servers name the methods that they would take (RFC
/// 9110 section 15.5.6).
pub(in crate::net) fn head(status: &str, takes: &str, content_type: &str, length: usize) -> String {
    let allow = match status {
        METHOD_NOT_ALLOWED => format!("Allow: {takes}\r\n"),
        _ => String::new(),
    };
    format!(
        "HTTP/1.1 {status}\r\n{allow}Content-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    )
}

/// Whether a request of HTTP/1.1 has one Host field, which it must have (RFC 9112 section 3.2).
pub(in crate::net) fn has_its_host(request: &Request<'_, '_>) -> bool {
    let hosts = request.headers.iter();
    let hosts = hosts.filter(|field| field.name.eq_ignore_ascii_case("host"));
    request.version != Some(1) || hosts.count() == 1
}

/// Reads a request: its target. What follows its fields is of the connection already.
fn connect(bytes: &[u8]) -> Found<String> {
    let refused = |status: &str, why: String| {
        let reply = response(status, &why);
        Err(Refusal { reply, why })
    };
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut request = Request::new(&mut fields);
    let used = match request.parse(bytes) {
        Ok(Status::Complete(used)) => used,
        Ok(Status::Partial) if bytes.len() < MOST => return Ok(None),
        Ok(Status::Partial) => {
            return refused(TOO_LARGE, format!("a request of more than {MOST} bytes"));
        }
        Err(httparse::Error::TooManyHeaders) => {
            let why = format!("a request of more than {MOST_FIELDS} fields");
            return refused(TOO_LARGE, why);
        }
        Err(e) => return refused(BAD_REQUEST, format!("the request is no HTTP/1: {e}")),
    };
    let method = request.method.unwrap_or_default();
    if method != "CONNECT" {
        let why = format!(
            "{} is not known here: this proxy takes CONNECT only, as clients use it for https",
            shown(method)
        );
        return refused(METHOD_NOT_ALLOWED, why);
    }
    if !has_its_host(&request) {
        return refused(BAD_REQUEST, "a request needs one Host field".to_owned());
    }
    let asked = request.path.unwrap_or_default();
    match authority(asked) {
        Some(target) => Ok(Some((target, used))),
        None => {
            let why = format!(
                "CONNECT {}: is no HOST:PORT, such as www.example:443",
                shown(asked)
            );
            refused(BAD_REQUEST, why)
        }
    }
}

/// Reads a target in authority form (RFC 9112 section 3.2.3).
fn authority(text: &str) -> Option<String> {
    let (host, port) = text.rsplit_once(':')?;
    // An address without brackets: its last part is no port.
    if host.contains(':') && !host.starts_with('[')
        || !port.starts_with(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    target(host, port.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(found: Found<String>) -> String {
        let refusal = found.unwrap_err();
        let text = String::from_utf8(refusal.reply).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
        assert!(
            body.contains(&refusal.why) && body.lines().count() == 1,
            "{body}"
        );
        head.lines().next().unwrap().replacen("HTTP/1.1 ", "", 1)
    }

    #[test]
    fn requests_are_read_once_all_of_them_is_there() {
        for (request, target) in [
            (
                "CONNECT www.example:443 HTTP/1.1\r\nHost: www.example:443\r\n\r\n",
                "www.example:443",
            ),
            ("CONNECT 10.0.0.1:22 HTTP/1.0\r\n\r\n", "10.0.0.1:22"),
            (
                "CONNECT [::1]:22 HTTP/1.1\r\nHOST: [::1]:22\r\nUser-Agent: x\r\n\r\n",
                "[::1]:22",
            ),
            ("CONNECT a:1 HTTP/1.0\n\n", "a:1"),
        ] {
            for cut in 0..request.len() {
                let found = connect(&request.as_bytes()[..cut]);
                assert_eq!(found, Ok(None), "{request:?} cut at {cut}");
            }
            let more = format!("{request}early");
            let whole = Ok(Some((target.to_owned(), request.len())));
            assert_eq!(connect(more.as_bytes()), whole);
        }
    }

    #[test]
    fn what_is_wrong_has_its_status_and_a_sentence() {
        let many = format!("CONNECT a:1 HTTP/1.0\r\n{}\r\n", "A: b\r\n".repeat(65));
        let long = format!("CONNECT a:1 HTTP/1.0\r\nA: {}", "b".repeat(MOST));
        for (request, wrong) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", METHOD_NOT_ALLOWED),
            (
                "POST http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
                METHOD_NOT_ALLOWED,
            ),
            ("CONNECT a:1 HTTP/1.1\r\n\r\n", BAD_REQUEST),
            (
                "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nHost: b:1\r\n\r\n",
                BAD_REQUEST,
            ),
            ("CONNECT a:1 HTTP/2\r\n", BAD_REQUEST),
            ("CONNECT a HTTP/1.0\r\n\r\n", BAD_REQUEST),
            ("CONNECT a: HTTP/1.0\r\n\r\n", BAD_REQUEST),
            ("CONNECT a:0 HTTP/1.0\r\n\r\n", BAD_REQUEST),
            ("CONNECT a:+1 HTTP/1.0\r\n\r\n", BAD_REQUEST),
            ("CONNECT a:65536 HTTP/1.0\r\n\r\n", BAD_REQUEST),
            ("CONNECT ::1:22 HTTP/1.0\r\n\r\n", BAD_REQUEST),
            ("CONNECT u@a:1 HTTP/1.0\r\n\r\n", BAD_REQUEST),
            ("CONNECT https://a:1 HTTP/1.0\r\n\r\n", BAD_REQUEST),
            ("CONNECT  HTTP/1.0\r\n\r\n", BAD_REQUEST),
            ("\u{5}\u{1}\0", BAD_REQUEST),
            ("\u{16}\u{3}\u{1}", BAD_REQUEST),
            (&many, TOO_LARGE),
            (&long, TOO_LARGE),
        ] {
            assert_eq!(status(connect(request.as_bytes())), wrong, "{request:?}");
        }
        let refusal = connect(b"GET / HTTP/1.0\r\n\r\n").unwrap_err();
        assert!(
            String::from_utf8(refusal.reply)
                .unwrap()
                .contains("\r\nAllow: CONNECT\r\n")
        );
    }

    // Any byte at any place: read or refused, and never anything else than the target that is there.
    #[test]
    fn a_wrong_byte_is_refused_or_part_of_the_target() {
        let sound = b"CONNECT a.example:443 HTTP/1.0\r\nA: b\r\n\r\n";
        for at in 0..sound.len() {
            for byte in 0..=255 {
                let mut request = *sound;
                request[at] = byte;
                match connect(&request) {
                    Err(refusal) => assert!(refusal.reply.starts_with(b"HTTP/1.1 4")),
                    Ok(None) => {}
                    Ok(Some((target, _))) => {
                        // A number may begin with zeros.
                        let there = String::from_utf8_lossy(&request[8..21]).replace(":0", ":");
                        assert!(target == there || at >= 21, "{target:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn each_cause_has_its_status_and_the_reason_forges_nothing() {
        for (cause, status) in [
            (Cause::NotAllowed, "403"),
            (Cause::Refused, "502"),
            (Cause::UnknownHost, "502"),
            (Cause::NetworkUnreachable, "502"),
            (Cause::HostUnreachable, "502"),
            (Cause::Failed, "502"),
            (Cause::Busy, "503"),
            (Cause::TimedOut, "504"),
        ] {
            let text = String::from_utf8(failed(cause, "no\r\n\r\nHTTP/1.1 200 OK")).unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
            assert_eq!(text.matches("\r\n\r\n").count(), 1, "{text}");
        }
        assert_eq!(opened(), b"HTTP/1.1 200 Connection established\r\n\r\n");
        assert!(late().starts_with(b"HTTP/1.1 408 "));
    }
}
