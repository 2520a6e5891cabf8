//! The proxies of `byway forward`, SOCKS5 and HTTP's CONNECT, with curl and with clients by hand.

use crate::peers::{Server, contents, wait_until};
use crate::skipped;
use crate::tunnel::{
    Forward, all_comes_back, echo, echo_at_the_end, end, is_reset, serve, tcp_server,
};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;

/// Doors of [`Forward`].
const SOCKS: usize = 0;
const HTTP: usize = 1;
const BOTH: [&str; 2] = ["--socks", "--http"];

/// The SOCKS5 reply to a request: its code.
fn socks(tcp: &mut TcpStream, host: &str, port: u16) -> u8 {
    let head = [5, 1, 0, 5, 1, 0, 3, host.len() as u8];
    let request = [&head[..], host.as_bytes(), &port.to_be_bytes()].concat();
    tcp.write_all(&request).unwrap();
    let mut method = [9; 2];
    tcp.read_exact(&mut method).unwrap();
    assert_eq!(method, [5, 0]);
    let mut reply = [9; 10];
    tcp.read_exact(&mut reply).unwrap();
    assert_eq!((reply[0], reply[2]), (5, 0));
    reply[1]
}

/// The response to what is said on a new connection, to its end.
fn http(forward: &Forward, request: &str) -> String {
    let mut tcp = forward.connect(HTTP);
    tcp.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    tcp.read_to_string(&mut response).unwrap();
    response
}

fn connect(host: &str, port: u16) -> String {
    format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")
}

fn port_of(address: &str) -> u16 {
    address.rsplit_once(':').unwrap().1.parse().unwrap()
}

/// A web server that has one page.
fn page(mut tcp: TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if tcp.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        request.push(byte[0]);
    }
    let page = contents(3_000_000);
    let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
    tcp.write_all(head.as_bytes()).unwrap();
    tcp.write_all(&page).unwrap();
}

#[test]
fn curl_gets_a_page_by_way_of_each_proxy() {
    if Command::new("curl").arg("--version").output().is_err() {
        skipped::skipped("there is no curl (Debian's package curl)");
        return;
    }
    let port = port_of(&tcp_server(page));
    // The name is resolved and allowed there: no rule allows its address.
    let mut serve = serve(&[&format!("localhost:{port}")]);
    let forward = Forward::start(&BOTH, &serve.addresses);
    let (socks, http) = (&forward.doors[SOCKS], &forward.doors[HTTP]);
    let tunnel = format!("http://{http}");
    let curl = |proxy: &[&str], host: &str| {
        let url = format!("http://{host}:{port}/");
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail", "--noproxy", ""]);
        command.args(proxy).arg(url).output().unwrap()
    };
    for proxy in [
        &["--socks5-hostname", socks.as_str()][..],
        &["--proxytunnel", "-x", &tunnel],
    ] {
        let got = curl(proxy, "localhost");
        assert!(got.status.success(), "{proxy:?}: {got:?}");
        assert!(got.stdout == contents(3_000_000), "{proxy:?}");
        let refused = curl(proxy, "127.0.0.1");
        assert!(!refused.status.success(), "{proxy:?}");
        serve.says("is not allowed");
    }
    end(serve);
}

#[test]
fn early_bytes_and_ends_pass_by_way_of_each_proxy() {
    let (early, ending) = (tcp_server(echo), tcp_server(echo_at_the_end));
    let serve = serve(&[&early, &ending]);
    let forward = Forward::start(&BOTH, &serve.addresses);
    // A client that does not wait for the answer.
    let mut tcp = forward.connect(HTTP);
    let request = connect("127.0.0.1", port_of(&early));
    tcp.write_all(format!("{request}early").as_bytes()).unwrap();
    let mut came = [0; 44];
    tcp.read_exact(&mut came).unwrap();
    assert_eq!(&came, b"HTTP/1.1 200 Connection established\r\n\r\nearly");
    let mut tcp = forward.connect(SOCKS);
    assert_eq!(socks(&mut tcp, "127.0.0.1", port_of(&ending)), 0);
    all_comes_back(tcp, 1);
    end(serve);
}

/// Waits until both ends have said it.
fn both_say(forward: &mut Forward, serve: &mut Server, why: &str) {
    forward.server.says(why);
    serve.says(why);
}

#[test]
fn why_there_is_no_connection_is_said_in_the_words_of_each_protocol() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = listener.local_addr().unwrap();
    // Nobody listens there any more.
    drop(listener);
    // TCP has no route to a broadcast address, and a name has no parts of 64 bytes: nobody is asked for it.
    let (nowhere, unknown) = ("255.255.255.255", "a".repeat(64));
    let rules = [
        &gone.to_string(),
        "255.255.255.255:80",
        &format!("{unknown}:80"),
    ];
    let mut serve = serve(&rules);
    let mut forward = Forward::start(&BOTH, &serve.addresses);
    for (host, port, code, status, why) in [
        ("127.0.0.1", gone.port(), 5, "502", "Connection refused"),
        ("127.0.0.1", 22, 2, "403", "127.0.0.1:22 is not allowed"),
        (nowhere, 80, 3, "502", "unreachable"),
        (&unknown, 80, 4, "502", &unknown),
    ] {
        let mut tcp = forward.connect(SOCKS);
        assert_eq!(socks(&mut tcp, host, port), code, "{host}:{port}");
        assert_eq!(tcp.read(&mut [0]).unwrap(), 0);
        both_say(&mut forward, &mut serve, why);
        let response = http(&forward, &connect(host, port));
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status}")),
            "{response}"
        );
        assert!(response.contains(why), "{response}");
        both_say(&mut forward, &mut serve, why);
    }
    end(serve);
}

#[test]
fn clients_that_speak_nonsense_or_nothing_are_sent_away() {
    let target = tcp_server(echo);
    let serve = serve(&[&target]);
    let mut forward = Forward::start(&BOTH, &serve.addresses);
    let silent = [SOCKS, HTTP].map(|door| forward.connect(door));
    for (said, why) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "--http"),
        (&[4, 1, 0, 80, 127, 0, 0, 1, 0], "SOCKS version 4"),
        (&[0x16, 3, 1, 2, 0], "begins with 0x16"),
    ] {
        let mut tcp = forward.connect(SOCKS);
        tcp.write_all(said).unwrap();
        assert!(is_reset(tcp), "{why}");
        forward.server.says(why);
    }
    let mut tcp = forward.connect(SOCKS);
    tcp.write_all(&[5, 1, 2]).unwrap();
    let mut all = Vec::new();
    tcp.read_to_end(&mut all).unwrap();
    assert_eq!(all, [5, 0xff]);
    forward.server.says("authentication");
    let mut tcp = forward.connect(SOCKS);
    // BIND.
    tcp.write_all(&[5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0, 80])
        .unwrap();
    let mut all = Vec::new();
    tcp.read_to_end(&mut all).unwrap();
    assert_eq!(all, [5, 0, 5, 7, 0, 1, 0, 0, 0, 0, 0, 0]);
    let mut tcp = forward.connect(HTTP);
    tcp.write_all(b"CONNECT a").unwrap();
    tcp.shutdown(Shutdown::Write).unwrap();
    forward.server.says("ended in its request");
    for (said, status) in [
        (
            "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "405 Method Not Allowed",
        ),
        ("\u{5}\u{1}\0", "400 Bad Request"),
        ("CONNECT a HTTP/1.0\r\n\r\n", "400 Bad Request"),
        (&"A".repeat(100_000), "431 Request Header"),
    ] {
        let response = http(&forward, said);
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status}")),
            "{response}"
        );
        assert!(response.contains("byway: "), "{response}");
    }
    // Others are served meanwhile, and who says nothing is sent away.
    let mut tcp = forward.connect(SOCKS);
    assert_eq!(socks(&mut tcp, "127.0.0.1", port_of(&target)), 0);
    forward.server.says("no request within 10 s");
    let [socks, mut http] = silent;
    assert!(is_reset(socks));
    let mut response = String::new();
    http.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    tcp.write_all(b"on").unwrap();
    wait_until(|| tcp.peek(&mut [0; 2]).is_ok_and(|n| n == 2));
    end(serve);
}
