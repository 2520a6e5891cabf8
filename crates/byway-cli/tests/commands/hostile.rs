//! What another host sends must not steer the terminal.

use crate::open_metrics::scrape_anew;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use crate::peers::filled;
use crate::peers::{self, Server, byway, folder, text};
use crate::raw::Raw;
use crate::spoken;
use byway::{Association, Endpoint, EndpointOptions};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use byway_wire::Data;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

const REASON: &[u8] = b"\x1b]0;owned\x07\nbyway: all is well \xe2\x80\xae";

fn check(shown: &str) {
    assert!(shown.contains("\\u{1b}]0;owned\\u{7}\\n"), "{shown}");
    assert!(shown.contains("all is well \\u{202e}"), "{shown}");
    assert!(!shown.contains('\x1b') && !shown.contains('\u{202e}'));
    assert!(!shown.lines().any(|l| l.starts_with("byway: all")));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

async fn bounded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work)
        .await
        .expect("the test hangs")
}

fn endpoint(port: u16) -> Endpoint {
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    Endpoint::bind(EndpointOptions::new([local]).sctp_port(port)).unwrap()
}

async fn connect(endpoint: &Endpoint, server: &Server) -> Association {
    let first = server.addresses.split(',').next().unwrap();
    let to = [first.parse().unwrap()];
    endpoint.connect(&to, 5001).await.unwrap()
}

#[test]
fn the_reason_of_an_abort_is_shown_escaped() {
    let dir = folder("hostile");
    for args in [&["recv", "--dir", dir.to_str().unwrap()][..], &["listen"]] {
        let mut server = Server::start(args);
        runtime().block_on(bounded(async {
            let endpoint = endpoint(0);
            let association = connect(&endpoint, &server).await;
            // Who aborts before he is accepted is not heard of.
            tokio::time::sleep(Duration::from_millis(500)).await;
            association.abort(REASON).unwrap();
            endpoint.close().await;
        }));
        check(&server.says("aborted"));
        // `listen` has ended.
        let _ = server.child.kill();
        server.child.wait().unwrap();
    }
    let file = dir.join("a.bin");
    std::fs::write(&file, b"a").unwrap();
    for args in [
        &["send", file.to_str().unwrap(), "--retries", "0"][..],
        &["send", file.to_str().unwrap(), "--retries", "1"],
        &["cat"],
    ] {
        let out = runtime().block_on(bounded(async {
            let endpoint = endpoint(5001);
            let to = endpoint.local_addresses()[0].to_string();
            let child = byway()
                .args(args)
                .args(["--to", &to])
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            for _ in 0..=usize::from(args.contains(&"1")) {
                let association = endpoint.accept().await.unwrap();
                association.abort(REASON).unwrap();
            }
            child.wait_with_output().unwrap()
        }));
        check(&text(&out.stderr));
        assert_eq!(out.status.code(), Some(3));
    }
}

#[test]
fn a_name_that_hides_is_refused_and_shown() {
    let dir = folder("hiding");
    for (name, part) in [
        ("fdp.\u{202e}exe", "\"fdp.\\u{202e}exe\""),
        ("\u{200b}", "\"\\u{200b}\""),
    ] {
        let file = dir.join(name);
        std::fs::write(&file, b"a").unwrap();
        let out = peers::run(&["send", file.to_str().unwrap(), "--to", "127.0.0.1"]);
        assert_eq!(out.status.code(), Some(2));
        let shown = text(&out.stderr);
        assert!(
            shown.contains(part) && shown.contains("invisible"),
            "{shown}"
        );
    }
}

/// A good sender that meets a receiver without room hears that, and nothing of wrong ports; one at
/// the wrong port hears of ports.
#[test]
fn a_sender_is_told_why_it_was_refused() {
    let dir = folder("told-why");
    let file = dir.join("a.bin");
    std::fs::write(&file, b"a").unwrap();
    for (port, most, why, not) in [
        ("5001", 0, "out of resources", "--port"),
        ("5002", 9, "SCTP port 5002 was refused: --port", "resources"),
    ] {
        let said = runtime().block_on(bounded(async {
            let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
            let mut options = EndpointOptions::new([local]).sctp_port(5001);
            options.max_associations = most;
            let endpoint = Endpoint::bind(options).unwrap();
            let to = endpoint.local_addresses()[0].to_string();
            let out = byway()
                .args(["send", file.to_str().unwrap(), "--retries", "0"])
                .args(["--to", &to, "--port", port])
                .output()
                .unwrap();
            assert_eq!(out.status.code(), Some(3));
            text(&out.stderr)
        }));
        assert!(said.contains(why) && !said.contains(not), "{said}");
    }
}

/// Heartbeats until the association has ended; how many packets came.
async fn heartbeats(association: &Association) -> u64 {
    loop {
        tokio::select! {
            _ = association.closed() => return association.stats().packets_received,
            () = tokio::time::sleep(Duration::from_millis(20)) => {
                // Refused only when it has ended.
                let _ = association.request_heartbeat(byway::PathId(0));
            }
        }
    }
}

#[test]
fn heartbeats_alone_do_not_hold_a_receiver() {
    let dir = folder("heartbeats");
    let recv = ["recv", "--dir", dir.to_str().unwrap()];
    for (args, byte, what) in [
        (&recv[..], None, "nothing more"),
        (&["listen"], None, "nothing"),
        (&["listen"], Some(b"x"), "nothing more"),
    ] {
        let mut server = Server::start(&[args, &["--give-up", "400ms"]].concat());
        let heard = runtime().block_on(bounded(async {
            let endpoint = endpoint(0);
            let association = connect(&endpoint, &server).await;
            if let Some(byte) = byte {
                let byte = byway::Message::new(0, byte.to_vec());
                association.send(byte).await.unwrap();
            }
            heartbeats(&association).await
        }));
        assert!(heard > 5, "no heartbeat was answered: {heard}");
        server.says(&format!("the other side sent {what} for 400 ms"));
        // `listen` has ended.
        let _ = server.child.kill();
        server.child.wait().unwrap();
    }
}

#[test]
fn what_a_receiver_refuses_and_gives_up_is_counted_by_rule() {
    let dir = folder("counted-by-rule");
    let (inbox, file) = (dir.join("inbox"), dir.join("a.bin"));
    std::fs::create_dir(&inbox).unwrap();
    std::fs::write(&file, b"new").unwrap();
    std::fs::write(inbox.join("a.bin"), b"old").unwrap();
    let args = ["recv", "--dir", inbox.to_str().unwrap()];
    let more = ["--give-up", "400ms", "--metrics", "127.0.0.1:0"];
    let mut server = Server::start(&[&args[..], &more].concat());
    let at = server.metrics.unwrap();
    let counted = |rule| scrape_anew(at).values("byway_refused_total", &[("rule", rule)]);
    for rule in ["files_refused", "associations_given_up"] {
        assert_eq!(counted(rule), [0.0], "{rule}");
    }
    let to = ["--to", &server.addresses];
    let out = peers::run(&[&["send", file.to_str().unwrap()], &to[..]].concat());
    assert_eq!(out.status.code(), Some(4), "{}", text(&out.stderr));
    assert_eq!(counted("files_refused"), [1.0]);
    runtime().block_on(bounded(async {
        let endpoint = endpoint(0);
        heartbeats(&connect(&endpoint, &server).await).await
    }));
    server.says("the association was given up");
    assert_eq!(counted("associations_given_up"), [1.0]);
    assert_eq!(counted("files_refused"), [1.0]);
}

/// The other side lives, and reads nothing: its window closes.
#[test]
fn heartbeats_alone_do_not_hold_a_sender() {
    let dir = folder("closed-window");
    let file = peers::endless(&dir);
    let file = file.to_str().unwrap();
    for args in [&["cat", file][..], &["send", "--retries", "0", file]] {
        let out = runtime().block_on(bounded(async {
            let endpoint = endpoint(5001);
            let to = endpoint.local_addresses()[0].to_string();
            let child = byway()
                .args(args)
                .args(["--give-up", "500ms", "--to", &to])
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let association = endpoint.accept().await.unwrap();
            if args[0] == "send" {
                let offer = association.recv().await.unwrap();
                let have = [&[2][..], &[0; 8], &spoken::empty_hash()].concat();
                let mut have = byway::Message::new(0, have);
                have.ppid = offer.ppid;
                association.send(have).await.unwrap();
            }
            let heard = heartbeats(&association).await;
            assert!(heard > 100, "nothing was sent: {heard}");
            child.wait_with_output().unwrap()
        }));
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(3), "{said}");
        let why = "took nothing of what waits for 500 ms (--give-up)";
        assert!(said.contains(why), "{said}");
    }
}

/// A receiver may have to read many gigabytes before it answers, so nothing ends this. But it is said.
#[test]
fn a_sender_says_that_its_receiver_does_not_answer() {
    let dir = folder("no-answer");
    let file = peers::endless(&dir);
    let said = runtime().block_on(bounded(async {
        let endpoint = endpoint(5001);
        let to = endpoint.local_addresses()[0].to_string();
        let mut child = byway()
            .args(["send", file.to_str().unwrap(), "--to", &to])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _association = endpoint.accept().await.unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let (tell, told) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut lines = said.lines().map(Result::unwrap);
            let _ = tell.send(lines.find(|line| line.contains("no answer")));
        });
        let line = told.recv_timeout(Duration::from_secs(40));
        let _ = child.kill();
        reader.join().unwrap();
        child.wait().unwrap();
        line.ok().flatten().unwrap_or_default()
    }));
    let why = "no answer to the offer for 10 s: the receiver has all that was sent";
    assert!(said.contains(why), "{said}");
}

/// Nobody writes for three times as long as the --give-up of `cat`: there is nothing that the other side has to
/// do, and its heartbeats say that it is there. `listen` has no --give-up, which asks for bytes.
#[test]
fn an_idle_pipe_lives_while_both_sides_do() {
    // A heartbeat follows after the interval and 0.5 to 1.5 times the RTO (RFC 9260 section 8.3).
    let timers = ["--set", "hb.interval=50ms", "--set", "rto.min=50ms"];
    let limit = [&["--give-up", "1s"], &timers[..]].concat();
    let server = Server::start(&[&["listen"], &timers[..]].concat());
    let mut cat = byway()
        .arg("cat")
        .args(limit)
        .args(["--to", &server.addresses])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = cat.stdin.take().unwrap();
    for part in ["one", "two"] {
        pipe.write_all(part.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_secs(3));
    }
    drop(pipe);
    let out = cat.wait_with_output().unwrap();
    let (status, received, said) = server.finish();
    let said = text(&out.stderr) + &said;
    assert_eq!((out.status.code(), status), (Some(0), Some(0)), "{said}");
    assert_eq!(text(&received), "onetwo");
}

fn threads_of(server: &Server) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id())).unwrap();
    tasks.count()
}

/// Messages of one byte, of 160 associations, that wait for a first one which never comes. glibc's
/// allocator keeps all that they took unless it is told to give it back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn what_a_crowd_took_goes_back_to_the_system() {
    let dir = folder("gives-back");
    let args = ["recv", "--quiet", "--give-up", "3s", "--dir"];
    let mut server = Server::start_quiet(&[&args[..], &[dir.to_str().unwrap()]].concat());
    let to = server.addresses.parse().unwrap();
    let wait_until = |right: &dyn Fn(u64) -> bool, what: &str| {
        let begun = Instant::now();
        while !right(filled(&server.child)) {
            let now = filled(&server.child);
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}: {now}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let fresh = filled(&server.child);
    for n in 0..160 {
        let mut raw = Raw::from_host(1 + n % 16, to);
        raw.join(4000);
        raw.next_tsn();
        for _ in 0..30 {
            raw.inject_many(60, |b, tsn, _| {
                b.data(&Data {
                    tsn,
                    stream_id: 0,
                    // Not the next one, which is 0.
                    ssn: (tsn.0 as u16).max(1),
                    ppid: 0,
                    unordered: false,
                    begin: true,
                    end: true,
                    immediate: false,
                    payload: b"x",
                });
            });
        }
    }
    wait_until(&|kib| kib > fresh + 15_000, "nothing was kept");
    wait_until(&|kib| kib < fresh + 2000, &format!("of {fresh} at first"));
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

/// Switches between threads of a process so far: each wakes somebody up.
fn switches(server: &Server) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id())).unwrap();
    tasks
        .filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("status")).ok())
        .flat_map(|text| {
            text.lines()
                .filter(|l| l.starts_with("voluntary_ctxt"))
                .filter_map(|l| l.split_whitespace().nth(1)?.parse().ok())
                .collect::<Vec<u64>>()
        })
        .sum()
}

#[test]
fn idle_associations_take_no_thread_and_no_tick() {
    idle("idle", |_| None);
}

/// An offer of an endless file, 44 bytes of it: it must not buy a look at it again and again.
fn offer(sender: u64) -> Vec<u8> {
    let (version, size) = (&[1], &(1_u64 << 40).to_be_bytes());
    let sender = [sender.to_be_bytes(); 2].concat();
    [&[1], &version[..], &sender, size, b"a.bin"].concat()
}

/// Each is of a sender of its own: offers of one sender take the file from each other, as below.
#[test]
fn offers_of_which_nothing_follows_take_no_tick() {
    idle("idle-offers", |n| Some(offer(n)));
}

/// Who lost its file to a later offer of its sender has five seconds to go, in which nobody looks at it.
#[test]
fn refused_offers_take_no_tick_until_they_are_let_go() {
    let dir = folder("refused-offers");
    let server = Server::start(&["recv", "--dir", dir.to_str().unwrap()]);
    runtime().block_on(bounded(async {
        let mut all = Vec::new();
        for _ in 0..COUNT {
            all.push(says(&server, Some(offer(7))).await);
        }
        let before = switches(&server);
        // Of offers that come at once any may be the last.
        let mut ends = tokio::task::JoinSet::new();
        for (association, _) in &all {
            let association = association.clone();
            ends.spawn(async move { association.closed().await.to_string() });
        }
        for _ in 1..COUNT {
            let why = ends.join_next().await.unwrap().unwrap();
            assert!(why.contains("has taken a.bin over"), "{why}");
        }
        // An end takes a few, and a tick of 20 ms in five seconds some thousands.
        let woken = switches(&server) - before;
        assert!(woken < 10 * COUNT as u64, "woken {woken} times");
    }));
    let mut server = server;
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

/// How many associations the tests of ticks have.
const COUNT: usize = 300;

/// Fewer times than this a server is woken up in two seconds of idle associations. Nearly always it is not woken at all:
/// their heartbeats begin after 30 s. One tick of 20 ms for all of them would be 100 times, one of 200 ms ten times. On a
/// busy machine set-up can take so long that heartbeats come, or that work of it is left, but not in each of five spans.
const WOKEN: u64 = 10;

/// An association that says this and no more, and its endpoint.
async fn says(server: &Server, first: Option<Vec<u8>>) -> (Association, Endpoint) {
    let endpoint = endpoint(0);
    let association = connect(&endpoint, server).await;
    if let Some(first) = first {
        let mut message = byway::Message::new(0, first);
        message.ppid = spoken::PPID;
        association.send(message).await.unwrap();
    }
    (association, endpoint)
}

/// Associations of which each says this and no more.
fn idle(name: &str, first: impl Fn(u64) -> Option<Vec<u8>>) {
    let dir = folder(name);
    let args = ["recv", "--dir", dir.to_str().unwrap()];
    let server = Server::start(&args);
    let threads = threads_of(&server);
    runtime().block_on(bounded(async {
        let mut all = Vec::new();
        for n in 0..COUNT as u64 {
            all.push(says(&server, first(n)).await);
        }
        let now = threads_of(&server);
        assert!(now <= threads + 2, "{threads} threads, then {now}");
        let mut woken = u64::MAX;
        for _ in 0..5 {
            // What set-up left to do is done within a second; then two quiet seconds.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let before = switches(&server);
            tokio::time::sleep(Duration::from_secs(2)).await;
            woken = woken.min(switches(&server) - before);
            if woken < WOKEN {
                break;
            }
        }
        assert!(woken < WOKEN, "woken {woken} times in two seconds");
        for (association, _) in &all {
            assert_eq!(association.paths().len(), 2);
        }
    }));
    let mut server = server;
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

/// Strangers who connect and abort decide how much there is to say, and not how much is said.
#[test]
fn lost_associations_are_logged_once_a_second_with_an_address_and_how_many() {
    const COUNT: usize = 300;
    let dir = folder("log-rate");
    let args = ["recv", "--quiet", "--dir", dir.to_str().unwrap()];
    let server = Server::start_quiet(&args);
    let to = server.addresses.parse().unwrap();
    let begun = Instant::now();
    let connected = |port: usize| {
        let mut raw = Raw::new(to);
        raw.port = 4000 + port as u16;
        raw.ask();
        let cookie = raw.cookie.clone();
        raw.send(raw.tag, |b| b.cookie_echo(&cookie));
        raw.hear().expect("COOKIE ACK");
        raw
    };
    let strangers: Vec<Raw> = (0..COUNT).map(connected).collect();
    // Who aborts before he is accepted is not heard of: `recv` has time to accept all.
    std::thread::sleep(Duration::from_millis(1500));
    for raw in strangers {
        raw.inject(|b| b.abort(false, |_| {}));
    }
    std::thread::sleep(Duration::from_millis(1500));
    let seconds = begun.elapsed().as_secs() as usize + 1;
    peers::signal(&server.child, "TERM");
    let (_, _, err) = server.finish();
    let lines: Vec<&str> = err.lines().filter(|l| l.contains("lost")).collect();
    assert!(lines.len() <= seconds + 1, "{seconds} s: {err}");
    let count = |l: &&str| {
        assert!(
            l.contains("the peer aborted") && l.contains("(from 127.0.0.1:"),
            "{l}"
        );
        let many = l
            .split("; ")
            .find_map(|p| p.strip_suffix(" such in a second)"));
        many.map_or(1, |n| n.parse().unwrap())
    };
    let all: usize = lines.iter().map(count).sum();
    assert!((COUNT / 2..=COUNT).contains(&all), "{all}: {err}");
}

/// R22: two addresses of a receiver are connected to at once. The receiver would take the second set-up for a restart
/// of the first association.
#[test]
fn two_addresses_of_a_receiver_that_are_connected_to_at_once_leave_one_association() {
    let dir = folder("two-addresses");
    let server = Server::start(&["recv", "--dir", dir.to_str().unwrap()]);
    let to: Vec<SocketAddr> = server
        .addresses
        .split(',')
        .map(|a| a.parse().unwrap())
        .collect();
    runtime().block_on(bounded(async {
        for n in 0..20 {
            let endpoint = endpoint(0);
            let both = tokio::join!(
                endpoint.connect(&to[..1], 5001),
                endpoint.connect(&to[1..], 5001)
            );
            let (up, refused) = match both {
                (Ok(up), Err(refused)) | (Err(refused), Ok(up)) => (up, refused.to_string()),
                both => panic!("{both:?}"),
            };
            assert!(refused.contains("association with"), "{refused}");
            let mut message = byway::Message::new(0, offer(n));
            message.ppid = spoken::PPID;
            up.send(message).await.unwrap();
            let answer = up.recv().await.expect("an answer to the offer");
            assert_eq!(answer.ppid, spoken::PPID);
            assert_eq!(up.paths().len(), 2);
            endpoint.close().await;
        }
    }));
    peers::signal(&server.child, "TERM");
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(143), "{said}");
    assert!(!said.contains("restart"), "{said}");
    std::fs::remove_dir_all(&dir).unwrap();
}
