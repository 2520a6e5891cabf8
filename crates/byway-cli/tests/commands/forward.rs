//! `byway forward` and `byway serve` as processes: TCP connections over one association.

use crate::host::Host;
use crate::peers::{self, Server, byway, first_line, folder, text, wait_until};
use crate::tunnel::{
    Forward, all_comes_back, echo, echo_at_the_end, end, is_reset, serve, tcp_server,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Reads nothing.
fn stand_still(tcp: TcpStream) {
    thread::sleep(Duration::from_secs(120));
    drop(tcp);
}

#[test]
fn bytes_pass_both_ways_and_each_direction_ends_by_itself() {
    let target = tcp_server(echo_at_the_end);
    let serve = serve(&[&target]);
    let forward = Forward::start(&[""], &serve.addresses);
    all_comes_back(forward.connect(0), 5);
    end(serve);
}

#[test]
fn a_connection_that_stands_still_does_not_stop_another() {
    let (stuck, lively) = (tcp_server(stand_still), tcp_server(echo));
    let serve = serve(&[&stuck, &lively]);
    let forward = Forward::start(&[&stuck, &lively], &serve.addresses);
    let mut full = forward.connect(0);
    full.set_write_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    // Until windows and buffers are full.
    let block = vec![7; 1 << 20];
    while full.write(&block).is_ok() {}
    let mut tcp = forward.connect(1);
    for round in 0..50_u8 {
        let sent = vec![round; 10_000];
        tcp.write_all(&sent).unwrap();
        let mut came = vec![0; sent.len()];
        tcp.read_exact(&mut came).unwrap();
        assert_eq!(came, sent);
    }
    end(serve);
}

/// Bytes that came to [`count`].
static COUNTED: AtomicUsize = AtomicUsize::new(0);

/// Takes everything, and counts it.
fn count(mut tcp: TcpStream) {
    let mut room = vec![0; 1 << 16];
    while let Ok(n @ 1..) = tcp.read(&mut room) {
        COUNTED.fetch_add(n, Relaxed);
    }
}

/// A link of 4 Mbit/s and 10 ms, with a queue of 15 kB, before this target.
fn slow_link(name: &str, target: &str) -> (Child, String) {
    let file = folder(name).join("link.toml");
    let text = "name = \"slow\"\ndescription = \"A slow link.\"\nlimit = \"10 min\"\n\
        [traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n[[policy]]\nname = \"any\"\n\
        [[path]]\nrate = \"4 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"10 packets\"\n";
    std::fs::write(&file, text).unwrap();
    let mut child = byway()
        .args(["emulate", "--json", "--relay", &format!("0={target}")])
        .arg(&file)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (line, _) = first_line(&mut child);
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    let listens = told["paths"][0]["send_to"].as_str().unwrap().to_owned();
    (child, listens)
}

/// So many bytes of a download arrive while one byte of another connection goes there and back.
fn bytes_between(name: &str, settings: &[&str]) -> usize {
    let (bulk, lively) = (tcp_server(count), tcp_server(echo));
    let args = ["serve", "--allow", &bulk, "--allow", &lively];
    let serve = Server::start_at(&args, "127.0.0.1:0");
    let (mut link, to) = slow_link(name, &serve.addresses);
    let mut command = byway();
    command.arg("forward");
    for setting in settings {
        command.args(["--set", setting]);
    }
    let forward = Forward::start_as(command, &[&bulk, &lively], &to);
    let mut tcp = forward.connect(1);
    let mut ask = || {
        tcp.write_all(b"x").unwrap();
        tcp.read_exact(&mut [0]).unwrap();
    };
    ask();
    let begun = COUNTED.load(Relaxed);
    let mut full = forward.connect(0);
    thread::spawn(move || while full.write(&[7; 1 << 16]).is_ok() {});
    wait_until(|| COUNTED.load(Relaxed) - begun > 1_000_000);
    let before = COUNTED.load(Relaxed);
    ask();
    let between = COUNTED.load(Relaxed) - before;
    end(serve);
    link.kill().unwrap();
    link.wait().unwrap();
    between
}

/// The link holds 10 kB, its queue 15. What the first connection has queued is some hundred kilobytes.
#[test]
fn a_byte_of_one_connection_does_not_wait_for_what_another_has_queued() {
    let between = bytes_between("no-waiting", &[]);
    assert!(between < 100_000, "{between}");
    // Without its mechanisms the test must fail.
    let without = ["streams.interleaving=false", "streams.scheduler=FirstCome"];
    let waits = bytes_between("waiting", &without);
    assert!(waits > 200_000, "{waits}");
}

#[test]
fn what_is_not_allowed_or_refuses_is_reset_and_told_at_both_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = listener.local_addr().unwrap().to_string();
    // Nobody listens there any more.
    drop(listener);
    let mut serve = serve(&[&gone, "db.example:5432"]);
    let targets = [gone.as_str(), "127.0.0.1:22", ""];
    let mut forward = Forward::start(&targets, &serve.addresses);
    for (door, why) in [
        (0, "Connection refused"),
        (1, "127.0.0.1:22 is not allowed (--allow)"),
        (2, "more than one target is allowed"),
    ] {
        assert!(is_reset(forward.connect(door)), "{why}");
        forward.server.says(why);
        serve.says(why);
    }
    end(serve);
}

/// They were told of 20 seconds that had not passed.
#[test]
fn connections_that_wait_for_an_association_are_not_called_late_when_the_command_ends() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = silent.local_addr().unwrap().to_string();
    let mut command = byway();
    command.arg("forward");
    let mut forward = Forward::start_as(command, &["--socks"], &to);
    let mut waiting = Vec::new();
    for _ in 0..20 {
        let mut tcp = forward.connect(0);
        tcp.write_all(&[5, 1, 0]).unwrap();
        tcp.read_exact(&mut [0; 2]).unwrap();
        // To 127.0.0.1, port 22.
        tcp.write_all(&[5, 1, 0, 1, 127, 0, 0, 1, 0, 22]).unwrap();
        waiting.push(tcp);
    }
    peers::signal(&forward.server.child, "INT");
    let mut said = String::new();
    forward.server.rest.read_to_string(&mut said).unwrap();
    assert!(!said.contains("no association within"), "{said}");
    assert_eq!(forward.server.child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_thousand_connections_at_once_through_one_tunnel() {
    // Three for each connection are of this process: the program's, its target's, and others beside it.
    peers::raise_limit();
    let target = tcp_server(echo);
    // The commands raise their limit; and a quarter of what they may have, a stranger's share, were less.
    let limited = "ulimit -Sn 256; ulimit -Hn 2000";
    let mut serve = peers::byway_after(limited)
        .args(["serve", "--allow", &target, "--bind", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut ticket = String::new();
    let out = serve.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut ticket).unwrap();
    let forward = Forward::start_by(peers::byway_after(limited), &[""], ticket.trim());
    let mut all: Vec<TcpStream> = (0..1000).map(|_| forward.connect(0)).collect();
    for round in 0..2_u64 {
        for (n, tcp) in all.iter_mut().enumerate() {
            tcp.write_all(&(n as u64 + round).to_be_bytes()).unwrap();
        }
        for (n, tcp) in all.iter_mut().enumerate() {
            let mut came = [0; 8];
            tcp.read_exact(&mut came).unwrap();
            assert_eq!(u64::from_be_bytes(came), n as u64 + round);
        }
    }
    serve.kill().unwrap();
    serve.wait().unwrap();
}

#[test]
fn when_the_other_side_comes_back_new_connections_pass() {
    let target = tcp_server(echo);
    let mut first = serve(&[&target]);
    let bind = first.addresses.clone();
    let mut forward = Forward::start(&[""], &bind);
    let mut tcp = forward.connect(0);
    tcp.write_all(b"before").unwrap();
    tcp.read_exact(&mut [0; 6]).unwrap();
    // Killed without a word, and started again.
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let second = Server::start_at(&["serve", "--allow", &target], &bind);
    // The old connection is reset, as its association is gone, once that is noticed: by what is sent.
    wait_until(|| {
        let mut tcp = tcp.try_clone().unwrap();
        tcp.write_all(b"x").is_err()
    });
    forward.server.says("trying again");
    let mut tcp = forward.connect(0);
    tcp.write_all(b"after").unwrap();
    let mut came = [0; 5];
    tcp.read_exact(&mut came).unwrap();
    assert_eq!(&came, b"after");
    end(second);
}

/// What has been sent comes back, once the tunnel is up again.
fn passes_again(forward: &Forward) {
    wait_until(|| {
        let mut tcp = forward.connect(0);
        let mut came = [0; 5];
        tcp.write_all(b"again").is_ok() && tcp.read_exact(&mut came).is_ok() && &came == b"again"
    });
}

#[test]
fn a_tunnel_with_keys_outlives_each_of_its_ends() {
    let target = tcp_server(echo);
    let dir = folder("restarted-tunnel");
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (theirs, ours, friends) = (path("theirs"), path("ours"), path("friends"));
    let new = |key: &str| byway().args(["key", "new", "--key", key]).output().unwrap();
    assert!(new(&theirs).status.success());
    std::fs::write(&friends, new(&ours).stdout).unwrap();
    let words = [
        "serve",
        "--allow",
        &target,
        "--key",
        &theirs,
        "--authorized",
        &friends,
    ];
    let serve = |at: &str| Host::start_at(byway(), &words, at);
    let first = serve("127.0.0.1:0");
    let (address, ticket) = (first.address().to_string(), first.ticket.clone());
    let start = || {
        let mut command = byway();
        command.args(["forward", "--key", &ours]);
        Forward::start_as(command, &[""], &ticket)
    };
    let forward = start();
    passes_again(&forward);
    // Killed without a word, with a connection open and with none.
    let mut open = forward.connect(0);
    open.write_all(b"x").unwrap();
    open.read_exact(&mut [0]).unwrap();
    drop(first);
    let second = serve(&address);
    assert_eq!(second.ticket, ticket);
    // After a while without a word the first connection finds out, and is not reset for it.
    thread::sleep(Duration::from_millis(1200));
    let mut tcp = forward.connect(0);
    tcp.write_all(b"first").unwrap();
    tcp.read_exact(&mut [0; 5]).unwrap();
    wait_until(|| (&open).write_all(b"x").is_err());
    // So is the other side; its doors are new.
    drop(forward);
    passes_again(&start());
    second.end();
}

#[test]
fn a_ticket_with_a_secret_is_void_with_the_serve_that_made_it() {
    let target = tcp_server(echo);
    let words = ["serve", "--allow", &target];
    let first = Host::start(&words);
    let mut forward = Forward::start(&[""], &first.ticket);
    passes_again(&forward);
    let address = first.address().to_string();
    drop(first);
    let second = Host::start_at(byway(), &words, &address);
    // It may have been reset before.
    let _ = forward.connect(0).write_all(b"x");
    forward.server.says("the ticket is old or wrong");
    second.end();
}

#[test]
fn mistakes_are_told_with_what_would_be_right() {
    for (words, part) in [
        (
            &["serve", "--allow", "5432"][..],
            "such as 127.0.0.1:5432 or *:443",
        ),
        (
            &["forward", "--to", "127.0.0.1", "--listen", "5432"],
            "such as 127.0.0.1:5432",
        ),
        (
            &["forward", "--to", "127.0.0.1", "--listen", "127.0.0.1:0="],
            "its target is no HOST:PORT",
        ),
        (
            &["forward", "--to", "127.0.0.1", "--http", "8080"],
            "--http 8080: is no ADDR:PORT, such as 127.0.0.1:8080",
        ),
        (
            &["forward", "--to", "127.0.0.1"],
            "<--listen <ADDR:PORT[=HOST:PORT]>|--socks <ADDR:PORT>|--http <ADDR:PORT>>",
        ),
    ] {
        let out = byway().args(words).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{words:?}");
        assert!(text(&out.stderr).contains(part), "{}", text(&out.stderr));
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    for option in ["--listen", "--socks", "--http"] {
        let words = ["forward", "--to", "127.0.0.1", option, &listen];
        let out = byway().args(words).output().unwrap();
        assert_eq!(out.status.code(), Some(1));
        let said = text(&out.stderr);
        assert!(said.contains(&format!("{option} {listen}: ")), "{said}");
        assert!(said.contains("take another port"), "{said}");
    }
}
