//! Strangers at a running `byway serve`, who speak its frames by hand (`src/net/tunnel/frame.rs`).

use crate::open_metrics;
use crate::peers::{Server, signal, text};
use crate::spoken::{bounded, runtime};
use byway::{Association, Endpoint, EndpointOptions, Message};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const PPID: u32 = 0x6279_7401;
const OPEN: u8 = 1;
const OPENED: u8 = 2;
const DATA: u8 = 3;
const END: u8 = 5;
const RESET: u8 = 6;

/// A peer of a `serve`.
struct Stranger {
    association: Association,
    // Dropped last: what is left of the association goes with it.
    endpoint: Endpoint,
}

impl Stranger {
    async fn connect(serve: &Server, from: &str) -> Stranger {
        let local: SocketAddr = from.parse().unwrap();
        let mut options = EndpointOptions::new(vec![local]);
        options.config.setup.outbound_streams = 64;
        let endpoint = Endpoint::bind(options).unwrap();
        let to = serve.addresses.split(',').next().unwrap();
        let association = endpoint.connect(&[to.parse().unwrap()], 5001).await;
        Stranger {
            association: association.unwrap(),
            endpoint,
        }
    }

    /// A frame of this connection, which has a stream of its own number.
    async fn say(&self, kind: u8, connection: u32, rest: &[u8]) {
        let frame = [&[kind][..], &connection.to_be_bytes(), rest].concat();
        let mut message = Message::new(connection as u16, frame);
        message.ppid = PPID;
        // Refused once the other side has ended the association.
        let _ = self.association.send(message).await;
    }

    /// The next answer: what it is, of which connection, and what it carries. None: the association
    /// has ended.
    async fn hear(&self) -> Option<(u8, u32, String)> {
        let frame = bounded(self.association.recv()).await?.payload;
        let number = u32::from_be_bytes(frame[1..5].try_into().unwrap());
        Some((
            frame[0],
            number,
            String::from_utf8_lossy(&frame[5..]).into(),
        ))
    }

    async fn leave(self) {
        let _ = self.association.abort(b"done");
        self.endpoint.close().await;
    }
}

/// A target that accepts connections and does nothing with them; each as it comes.
fn silent_target() -> (String, mpsc::Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (accepts, accepted) = mpsc::channel();
    std::thread::spawn(move || {
        for tcp in listener.incoming() {
            if accepts.send(tcp.unwrap()).is_err() {
                return;
            }
        }
    });
    (address, accepted)
}

/// A target that neither accepts nor refuses: its queue is full.
fn deaf_target() -> (String, Vec<TcpStream>, socket2::Socket) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    socket.bind(&any.into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
    let queue = std::iter::from_fn(connect).collect();
    (address.to_string(), queue, socket)
}

fn end(mut serve: Server) {
    assert!(serve.child.try_wait().unwrap().is_none(), "it has died");
    signal(&serve.child, "TERM");
    assert_eq!(serve.child.wait().unwrap().code(), Some(143));
}

// What costs no window would be queued without end behind a target that takes nothing.
#[test]
fn frames_that_cost_no_window_come_once() {
    let (target, _accepted) = silent_target();
    let mut serve = Server::start(&["serve", "--allow", &target]);
    runtime().block_on(async {
        for (bad, why) in [
            (&[(END, &b""[..]), (END, b"")][..], "goes on after its END"),
            (&[(END, b""), (DATA, b"x")], "goes on after its END"),
            (&[(OPENED, b"")], "OPENED unasked"),
        ] {
            let stranger = Stranger::connect(&serve, "127.0.0.1:0").await;
            stranger.say(OPEN, 1, b"").await;
            assert_eq!(stranger.hear().await, Some((OPENED, 1, String::new())));
            for (kind, rest) in bad {
                stranger.say(*kind, 1, rest).await;
            }
            let ended = bounded(stranger.association.closed()).await.to_string();
            assert!(ended.contains(why), "{ended}");
            serve.says(why);
            stranger.leave().await;
        }
        // After a RESET the rest is ignored, as nothing is kept for it.
        let stranger = Stranger::connect(&serve, "127.0.0.1:0").await;
        stranger.say(OPEN, 1, b"").await;
        for (kind, rest) in [(RESET, &b"\0no"[..]), (END, b""), (END, b""), (DATA, b"x")] {
            stranger.say(kind, 1, rest).await;
        }
        stranger.say(OPEN, 2, b"").await;
        let mut last = stranger.hear().await;
        while last.as_ref().is_some_and(|answer| answer.1 == 1) {
            last = stranger.hear().await;
        }
        assert_eq!(last, Some((OPENED, 2, String::new())));
        stranger.leave().await;
    });
    end(serve);
}

// The write to the target waits for good, and neither end of the connection is heard from.
#[test]
fn a_connection_to_a_target_that_takes_nothing_ends_with_its_association_and_with_a_reset() {
    let (target, accepted) = silent_target();
    let serve = Server::start(&["serve", "--allow", &target]);
    runtime().block_on(async {
        for reset in [false, true] {
            let stranger = Stranger::connect(&serve, "127.0.0.1:0").await;
            stranger.say(OPEN, 1, b"").await;
            assert_eq!(stranger.hear().await, Some((OPENED, 1, String::new())));
            let tcp = accepted.recv_timeout(Duration::from_secs(60)).unwrap();
            fill(&stranger).await;
            match reset {
                true => stranger.say(RESET, 1, b"\0enough").await,
                false => stranger.association.abort(b"enough").unwrap(),
            }
            // TCP's peer sees a reset.
            bounded(async {
                while tcp.take_error().unwrap().is_none() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
            .await;
            stranger.leave().await;
        }
    });
    end(serve);
}

/// Sends until the target's buffers are full: no more is granted.
async fn fill(stranger: &Stranger) {
    let (block, cost) = (vec![7; 16 * 1024], 16 * 1024 + 128);
    let mut window = 64 * 1024;
    loop {
        while window >= cost {
            stranger.say(DATA, 1, &block).await;
            window -= cost;
        }
        let more = stranger.association.recv();
        // What is not granted by then is not granted: the buffers take at once what they can take.
        let Ok(more) = tokio::time::timeout(Duration::from_secs(2), more).await else {
            return;
        };
        let frame = more.expect("the association lives").payload;
        window += u32::from_be_bytes(frame[5..9].try_into().unwrap()) as usize;
    }
}

#[test]
fn one_host_leaves_connections_of_a_serve_to_others() {
    let (target, _accepted) = silent_target();
    let serve = Server::start_with_descriptors(&["serve", "--allow", &target], 100);
    runtime().block_on(async {
        let greedy = Stranger::connect(&serve, "127.0.0.7:0").await;
        let mut opened = 0;
        for number in 1..60 {
            greedy.say(OPEN, number, b"").await;
            match greedy.hear().await.expect("the association lives") {
                (OPENED, ..) => opened += 1,
                (_, _, why) => {
                    assert!(why.contains("of this host are under way"), "{why}");
                    break;
                }
            }
        }
        assert!((2..20).contains(&opened), "{opened}");
        // Another association of the host does not help, and another host is served.
        let again = Stranger::connect(&serve, "127.0.0.7:0").await;
        again.say(OPEN, 1, b"").await;
        assert_eq!(again.hear().await.map(|a| a.0), Some(RESET));
        let other = Stranger::connect(&serve, "127.0.0.8:0").await;
        other.say(OPEN, 1, b"").await;
        assert_eq!(other.hear().await.map(|a| a.0), Some(OPENED));
        // What the host lets go of it may have again.
        greedy.say(RESET, 1, b"\0").await;
        let mut number = 2;
        loop {
            again.say(OPEN, number, b"").await;
            match again.hear().await.map(|a| a.0) {
                Some(OPENED) => break,
                _ => number += 1,
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for stranger in [greedy, again, other] {
            stranger.leave().await;
        }
    });
    end(serve);
}

// It held its place until TCP gave up: 20 s each.
#[test]
fn a_connection_that_is_reset_while_its_target_is_asked_frees_its_place() {
    let ((deaf, _queue, _socket), (target, _accepted)) = (deaf_target(), silent_target());
    let args = ["serve", "--allow", &deaf, "--allow", &target];
    let serve = Server::start_with_descriptors(&args, 100);
    runtime().block_on(async {
        let stranger = Stranger::connect(&serve, "127.0.0.1:0").await;
        for number in 1..60 {
            stranger.say(OPEN, number, deaf.as_bytes()).await;
        }
        let (kind, refused, why) = stranger.hear().await.unwrap();
        assert!(
            kind == RESET && why.contains("of this host"),
            "{kind} {why}"
        );
        for number in 1..refused {
            stranger.say(RESET, number, b"\0").await;
        }
        let again = async {
            for number in 60.. {
                stranger.say(OPEN, number, target.as_bytes()).await;
                while let Some((kind, of, _)) = stranger.hear().await {
                    match kind {
                        OPENED => return,
                        _ if of == number => break,
                        _ => {}
                    }
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(12), again).await;
        assert!(in_time.is_ok(), "places are still taken");
        stranger.leave().await;
    });
    end(serve);
}

// Its kernel or its library would answer heartbeats for good.
#[test]
fn who_opens_nothing_is_let_go_and_who_has_an_idle_connection_is_not() {
    let (target, _accepted) = silent_target();
    let args = ["serve", "--allow", &target, "--give-up", "2s"];
    let mut serve = Server::start(&args);
    let why = "it carried no TCP connection for 2 s";
    runtime().block_on(async {
        let silent = Stranger::connect(&serve, "127.0.0.1:0").await;
        let idle = Stranger::connect(&serve, "127.0.0.1:0").await;
        idle.say(OPEN, 1, b"").await;
        assert_eq!(idle.hear().await, Some((OPENED, 1, String::new())));
        // What is refused carries nothing.
        let refused = Stranger::connect(&serve, "127.0.0.1:0").await;
        let asks = async {
            for number in 1.. {
                refused.say(OPEN, number, b"example.org:1").await;
                if refused.hear().await.is_none() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        bounded(asks).await;
        for stranger in [silent, refused] {
            let ended = bounded(stranger.association.closed()).await.to_string();
            assert!(ended.contains(why), "{ended}");
            stranger.leave().await;
        }
        serve.says(why);
        // It is as good as ever, until its connection ends.
        idle.say(OPEN, 2, b"").await;
        assert_eq!(idle.hear().await, Some((OPENED, 2, String::new())));
        for number in [1, 2] {
            idle.say(RESET, number, b"\0").await;
        }
        let ended = bounded(idle.association.closed()).await.to_string();
        assert!(ended.contains(why), "{ended}");
        idle.leave().await;
    });
    end(serve);
}

/// Associations of one host that break the frames, as fast as they go: 64 at once and 20 a second were
/// served for nothing.
#[test]
fn who_breaks_the_frames_again_and_again_is_refused_and_others_are_served() {
    let (target, _accepted) = silent_target();
    let serve = Server::start(&["serve", "--json", "--allow", &target]);
    let begun = Instant::now();
    let (served, refused) = runtime().block_on(async {
        // An association of the same host that keeps to the rules.
        let good = Stranger::connect(&serve, "127.0.0.7:0").await;
        good.say(OPEN, 1, b"").await;
        assert_eq!(good.hear().await, Some((OPENED, 1, String::new())));
        let mut served = 0;
        let refused = loop {
            let stranger = Stranger::connect(&serve, "127.0.0.7:0").await;
            stranger.say(DATA, 1, b"").await;
            stranger.say(99, 1, b"no frame").await;
            let ended = bounded(stranger.association.closed()).await.to_string();
            stranger.leave().await;
            if ended.contains("too often") {
                break ended;
            }
            assert!(ended.contains("does not speak the protocol"), "{ended}");
            served += 1;
            let most = 64 + 20 * (begun.elapsed().as_secs() + 1);
            assert!(served <= most, "{served} of {most}");
        };
        // What is up stays, and another host is served.
        good.say(OPEN, 2, b"").await;
        assert_eq!(good.hear().await, Some((OPENED, 2, String::new())));
        let other = Stranger::connect(&serve, "127.0.0.8:0").await;
        other.say(OPEN, 1, b"").await;
        assert_eq!(other.hear().await, Some((OPENED, 1, String::new())));
        // After a pause the host is served again, if it keeps to the rules.
        let again = async {
            loop {
                let again = Stranger::connect(&serve, "127.0.0.7:0").await;
                again.say(OPEN, 1, b"").await;
                let answer = again.hear().await;
                again.leave().await;
                if answer.is_some() {
                    return answer;
                }
            }
        };
        assert_eq!(bounded(again).await, Some((OPENED, 1, String::new())));
        good.leave().await;
        other.leave().await;
        (served, refused)
    });
    assert!(
        refused.contains("your host has broken the protocol of the tunnel too often"),
        "{refused}"
    );
    assert!(served >= 64, "{served}");
    signal(&serve.child, "TERM");
    let (status, out, said) = serve.finish();
    assert_eq!(status, Some(143), "{said}");
    let last = text(&out);
    let last: serde_json::Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    let counted = |rule: &str| last["refused_by_endpoint"][rule].as_u64();
    assert_eq!(counted("violations_above"), Some(served), "{last}");
    assert!(counted("violators_refused") >= Some(1), "{last}");
    // A line for each rule in a second, however many there are.
    let lines = said.lines().filter(|l| l.contains("127.0.0.7")).count() as u64;
    assert!(lines <= 4 * (begun.elapsed().as_secs() + 2), "{said}");
    assert!(said.contains("too often"), "{said}");
}

// It was in no account: `serve` said that its peers made it keep next to nothing.
#[test]
fn what_waits_for_targets_is_in_the_account_of_a_serve() {
    let (deaf, _queue, _socket) = deaf_target();
    let serve = Server::start(&["serve", "--allow", &deaf, "--metrics", "127.0.0.1:0"]);
    let metrics = serve.metrics.unwrap();
    let kept = || {
        let scraped = open_metrics::scrape(metrics);
        scraped
            .values("byway_memory_bytes", &[])
            .iter()
            .sum::<f64>()
    };
    runtime().block_on(async {
        let stranger = Stranger::connect(&serve, "127.0.0.1:0").await;
        let (before, block) = (kept(), vec![7; 16 * 1024]);
        // DATA need not wait for OPENED, which never comes.
        for connection in 1..=40 {
            stranger.say(OPEN, connection, b"").await;
            for _ in 0..3 {
                stranger.say(DATA, connection, &block).await;
            }
        }
        let all = 40.0 * 3.0 * 16.0 * 1024.0;
        let begun = Instant::now();
        while kept() < before + all {
            assert!(
                begun.elapsed() < Duration::from_secs(15),
                "{}",
                kept() - before
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stranger.leave().await;
        while kept() > before + all / 4.0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", kept());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    end(serve);
}

#[test]
fn a_serve_at_its_ceiling_lets_go_who_makes_it_keep_most() {
    let ((deaf, _queue, _socket), (target, _accepted)) = (deaf_target(), silent_target());
    let args = ["serve", "--allow", &deaf, "--allow", &target];
    let mut serve = Server::start(&[&args[..], &["--max-memory", "4 MiB"]].concat());
    runtime().block_on(async {
        let good = Stranger::connect(&serve, "127.0.0.8:0").await;
        good.say(OPEN, 1, target.as_bytes()).await;
        assert_eq!(good.hear().await, Some((OPENED, 1, String::new())));
        // Of three hosts: the first two take all that the half of a host leaves them, and the third its share.
        let mut greedy = Vec::new();
        for host in 5..8 {
            let one = Stranger::connect(&serve, &format!("127.0.0.{host}:0")).await;
            // No window of a connection is used up.
            for connection in 1..=36 {
                one.say(OPEN, connection, deaf.as_bytes()).await;
                for _ in 0..3 {
                    one.say(DATA, connection, &[7; 16 * 1024]).await;
                }
            }
            greedy.push(one);
        }
        let [first, second, _] = &greedy[..] else {
            panic!("there are three");
        };
        let ended = bounded(async {
            tokio::select! {
                ended = first.association.closed() => ended,
                ended = second.association.closed() => ended,
            }
        });
        let ended = ended.await.to_string();
        assert!(ended.contains("out of resource"), "{ended}");
        good.say(OPEN, 2, target.as_bytes()).await;
        assert_eq!(good.hear().await, Some((OPENED, 2, String::new())));
        good.leave().await;
        for one in greedy {
            one.leave().await;
        }
    });
    serve.says("max_memory");
    end(serve);
}
