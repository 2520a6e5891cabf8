//! Attacks of a peer that is connected to, by raw packets against a running `byway cat`. `ATTACKS.md` of `byway-core`
//! numbers them; the same attacks on the core alone are in its tests.

use crate::peers::{byway, contents, text};
use byway_wire::{
    Checksum, Chunk, CommonHeader, InitFields, Packet, PacketBuilder, Param, Tsn, cause_code,
    chunk_type,
};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long to wait for what must come, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// A peer that a command connects to, with a socket at each of its addresses.
struct Passive {
    sockets: Vec<UdpSocket>,
    /// Where the other side is, as each socket sees it; none until it has sent there.
    from: Vec<Option<SocketAddr>>,
    /// The SCTP port of the other side, its tag and its first TSN.
    port: u16,
    tag: u32,
    first: Tsn,
    /// The tag of this side.
    own: u32,
}

/// What a packet brought that the tests look at.
enum Heard {
    Init,
    InitAck(Vec<u8>),
    CookieEcho,
    CookieAck,
    Heartbeat(Vec<u8>),
    Data(Tsn),
    Shutdown,
    /// With the text of its first cause.
    Abort(String),
    Other,
}

impl Passive {
    /// At 127.0.0.`host` for each of these hosts, with one UDP port.
    fn new(hosts: &[u8]) -> Passive {
        let at = |host: u8, port: u16| UdpSocket::bind(SocketAddr::from(([127, 0, 0, host], port)));
        let first = at(hosts[0], 0).unwrap();
        let port = first.local_addr().unwrap().port();
        let others = hosts[1..].iter().map(|host| at(*host, port).unwrap());
        let sockets: Vec<UdpSocket> = std::iter::once(first).chain(others).collect();
        Passive {
            from: vec![None; sockets.len()],
            sockets,
            port: 0,
            tag: 0,
            first: Tsn(0),
            own: 0x0506_0708,
        }
    }

    /// For `--to`.
    fn addresses(&self) -> String {
        let each = self
            .sockets
            .iter()
            .map(|s| s.local_addr().unwrap().to_string());
        each.collect::<Vec<_>>().join(",")
    }

    fn send(&self, socket: usize, tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) {
        let mut bytes = Vec::new();
        let header = CommonHeader {
            source_port: 5001,
            destination_port: self.port,
            verification_tag: tag,
        };
        let mut b = PacketBuilder::new(&mut bytes, header);
        write(&mut b);
        b.finish(Checksum::Crc32c);
        let to = self.from[socket].expect("the other side has sent there");
        self.sockets[socket].send_to(&bytes, to).unwrap();
    }

    /// What has come to a socket within this time; nothing if nothing came.
    fn hear(&mut self, socket: usize, time: Duration) -> Vec<Heard> {
        let mut bytes = vec![0; 65_536];
        self.sockets[socket].set_read_timeout(Some(time)).unwrap();
        let Ok((len, from)) = self.sockets[socket].recv_from(&mut bytes) else {
            return Vec::new();
        };
        self.from[socket] = Some(from);
        let packet = Packet::parse(&bytes[..len]).unwrap();
        let source = packet.header().source_port;
        let chunks = packet.chunks().map(Result::unwrap);
        chunks
            .map(|chunk| match chunk.parse() {
                Ok(Chunk::Init(init)) => {
                    (self.port, self.tag) = (source, init.initiate_tag);
                    self.first = init.initial_tsn;
                    Heard::Init
                }
                Ok(Chunk::InitAck(ack)) => {
                    (self.tag, self.first) = (ack.initiate_tag, ack.initial_tsn);
                    let cookie = ack.params.iter().find_map(|p| match p.ok()?.parse().ok()? {
                        Param::StateCookie(c) => Some(c.to_vec()),
                        _ => None,
                    });
                    Heard::InitAck(cookie.expect("a State Cookie"))
                }
                Ok(Chunk::CookieEcho(_)) => Heard::CookieEcho,
                Ok(Chunk::CookieAck) => Heard::CookieAck,
                Ok(Chunk::Heartbeat(_)) => Heard::Heartbeat(chunk.value.to_vec()),
                Ok(Chunk::Data(data)) => Heard::Data(data.tsn),
                Ok(Chunk::Shutdown(_)) => Heard::Shutdown,
                Ok(Chunk::Abort(abort)) => {
                    let cause = abort.causes.iter().next().and_then(Result::ok);
                    Heard::Abort(text(cause.map_or(&[][..], |c| c.value)))
                }
                _ => Heard::Other,
            })
            .collect()
    }

    /// Throws away what has come.
    fn drain(&self) {
        for socket in &self.sockets {
            socket.set_nonblocking(true).unwrap();
            while socket.recv(&mut [0]).is_ok() {}
            socket.set_nonblocking(false).unwrap();
        }
    }

    fn fields(&self) -> InitFields {
        InitFields {
            initiate_tag: self.own,
            a_rwnd: 100_000,
            outbound_streams: 10,
            inbound_streams: 10,
            initial_tsn: Tsn(1000),
        }
    }

    /// The answer to the INIT that came.
    fn init_ack(&self) {
        let (fields, tag) = (self.fields(), self.tag);
        let ips: Vec<IpAddr> = self
            .sockets
            .iter()
            .map(|s| s.local_addr().unwrap().ip())
            .collect();
        self.send(0, tag, |b| {
            b.init(true, &fields, |w| {
                w.state_cookie(&[7; 16]);
                for ip in ips {
                    w.address(ip);
                }
            });
        });
    }

    /// The next INIT or COOKIE ECHO. It must come.
    fn hear_of_set_up(&mut self) -> Heard {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "no association");
            let heard = self.hear(0, Duration::from_millis(100));
            let of_set_up = |h: &Heard| matches!(h, Heard::Init | Heard::CookieEcho);
            if let Some(heard) = heard.into_iter().find(of_set_up) {
                return heard;
            }
        }
    }

    /// Answers until the association is up.
    fn accept(&mut self) {
        while matches!(self.hear_of_set_up(), Heard::Init) {
            self.init_ack();
        }
        self.send(0, self.tag, |b| b.cookie_ack());
    }

    fn sack(&self, cumulative: Tsn, window: u32, gaps: &[(u16, u16)]) {
        self.send(0, self.tag, |b| b.sack(cumulative, window, gaps, &[]));
    }

    /// The other end of an association that has lost its memory: a set-up with another tag.
    fn restart(&mut self) -> Result<(), String> {
        self.own += 1;
        let fields = self.fields();
        let begun = Instant::now();
        self.send(0, 0, |b| b.init(false, &fields, |_| {}));
        loop {
            assert!(begun.elapsed() < PATIENCE, "no restart");
            for heard in self.hear(0, PATIENCE) {
                match heard {
                    Heard::InitAck(cookie) => {
                        self.send(0, self.tag, |b| b.cookie_echo(&cookie));
                    }
                    Heard::CookieAck => return Ok(()),
                    Heard::Abort(why) => return Err(why),
                    _ => {}
                }
            }
        }
    }
}

/// A `cat` that ends when the test does.
struct Cat(Child);

impl Cat {
    fn start(to: &Passive, args: &[&str]) -> Cat {
        let child = byway()
            .args(["cat", "--to", &to.addresses()])
            .args(args)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Cat(child)
    }

    /// Gives it so many bytes and an end.
    fn reads(&mut self, bytes: usize) {
        let mut pipe = self.0.stdin.take().unwrap();
        pipe.write_all(&contents(bytes)).unwrap();
    }
}

impl Drop for Cat {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Short timers, and no number of timeouts that ends the association.
const BRIEF: [&str; 10] = [
    "--set",
    "rto.min=100ms",
    "--set",
    "rto.initial=100ms",
    "--set",
    "rto.max=100ms",
    "--set",
    "failure.association_max_retrans=100000",
    "--set",
    "failure.path_max_retrans=100000",
];

/// S18: a `cat` has read all that it has to send, and its peer takes a chunk now and then, each soon enough for all
/// other timers: after 50 times RTO.Max, which is five seconds here, it is aborted.
#[test]
fn a_peer_that_takes_chunk_by_chunk_does_not_hold_an_end_for_ever() {
    let mut peer = Passive::new(&[1]);
    let mut cat = Cat::start(&peer, &BRIEF);
    peer.accept();
    cat.reads(600_000);
    let (mut taken, mut next) = (0, peer.first);
    let why = 'all: loop {
        let heard = peer.hear(0, PATIENCE);
        assert!(!heard.is_empty(), "it is silent");
        for heard in heard {
            match heard {
                Heard::Data(tsn) if tsn == next => {
                    // It takes half a minute in all.
                    std::thread::sleep(Duration::from_millis(70));
                    peer.sack(next, 1500, &[]);
                    (taken, next) = (taken + 1, Tsn(next.0.wrapping_add(1)));
                }
                Heard::Abort(why) => break 'all why,
                Heard::Shutdown => panic!("it waited until all was taken"),
                _ => {}
            }
        }
    };
    assert!(why.contains("the shutdown took too long"), "{why}");
    assert!(taken > 0);
    assert_eq!(cat.0.wait().unwrap().code(), Some(3));
}

/// R10: a `cat` has read all that it has to send, and its peer lives, answers each probe of its window and keeps it
/// closed: SHUTDOWN-PENDING ends, too.
#[test]
fn a_window_that_stays_closed_does_not_hold_the_end_of_a_process_for_ever() {
    let mut peer = Passive::new(&[1]);
    let mut cat = Cat::start(&peer, &BRIEF);
    peer.accept();
    cat.reads(600_000);
    let none = Tsn(peer.first.0.wrapping_sub(1));
    let (begun, mut probes) = (Instant::now(), 0);
    let why = 'all: loop {
        assert!(begun.elapsed() < PATIENCE, "it waits for ever");
        for heard in peer.hear(0, PATIENCE) {
            match heard {
                Heard::Data(_) => {
                    peer.sack(none, 0, &[]);
                    probes += 1;
                }
                Heard::Abort(why) => break 'all why,
                Heard::Shutdown => panic!("nothing was taken"),
                _ => {}
            }
        }
    };
    assert!(why.contains("the shutdown took too long"), "{why}");
    assert!(probes > 0);
    assert_eq!(cat.0.wait().unwrap().code(), Some(3));
}

/// Who aborts after its INIT ACK listens on this port: to look for another one would lead away from what is wrong.
#[test]
fn only_an_abort_of_the_init_is_told_as_a_wrong_port() {
    let (none, unreadable) = (&[][..], &[0, 12, 0, 40][..]);
    for (answers_init, causes, why) in [
        (true, none, "SCTP port 5001 was refused: --port must be"),
        (false, none, "without a reason, though it had answered"),
        (false, unreadable, "a cause that cannot be read"),
    ] {
        let mut peer = Passive::new(&[1]);
        let mut cat = Cat::start(&peer, &[]);
        assert!(matches!(peer.hear_of_set_up(), Heard::Init));
        if !answers_init {
            peer.init_ack();
            while matches!(peer.hear_of_set_up(), Heard::Init) {
                peer.init_ack();
            }
        }
        peer.send(0, peer.tag, |b| b.raw(chunk_type::ABORT, 0, causes));
        let mut said = String::new();
        let mut err = cat.0.stderr.take().unwrap();
        err.read_to_string(&mut said).unwrap();
        assert!(said.contains(why), "{said}");
        assert_eq!(said.contains("--port"), answers_init, "{said}");
        assert_eq!(cat.0.wait().unwrap().code(), Some(3));
    }
}

/// 35: an ERROR with a Stale Cookie that says nothing of how stale it is leaves the set-up where it is: the COOKIE ECHO
/// comes again. One that does say it sends the set-up back to the INIT.
#[test]
fn a_short_stale_cookie_cause_does_not_bring_a_set_up_back_to_its_begin() {
    let mut peer = Passive::new(&[1]);
    let mut cat = Cat::start(&peer, &BRIEF);
    assert!(matches!(peer.hear_of_set_up(), Heard::Init));
    peer.init_ack();
    while matches!(peer.hear_of_set_up(), Heard::Init) {}
    for value in [&[][..], &[0], &[0, 1], &[0, 0, 1]] {
        let tag = peer.tag;
        peer.send(0, tag, |b| {
            b.error(|c| {
                c.raw(cause_code::STALE_COOKIE, value);
            });
        });
        let next = peer.hear_of_set_up();
        assert!(matches!(next, Heard::CookieEcho), "{value:?}: an INIT");
    }
    let tag = peer.tag;
    peer.send(0, tag, |b| {
        b.error(|c| {
            c.stale_cookie(1000);
        });
    });
    while matches!(peer.hear_of_set_up(), Heard::CookieEcho) {}
    peer.init_ack();
    peer.accept();
    cat.reads(1000);
    let begun = Instant::now();
    let mut takes = || peer.hear(0, PATIENCE).into_iter();
    while !takes().any(|h| matches!(h, Heard::Data(_))) {
        assert!(begun.elapsed() < PATIENCE, "it is not up");
    }
}

/// S18: the same of a peer that takes nothing and restarts, again and again.
#[test]
fn a_peer_that_restarts_does_not_hold_an_end_for_ever() {
    let mut peer = Passive::new(&[1]);
    let keeps = ["--set", "setup.keep_on_restart=true"];
    let mut cat = Cat::start(&peer, &[&BRIEF[..], &keeps].concat());
    peer.accept();
    cat.reads(100_000);
    let mut restarts = 0;
    let why = loop {
        // Before T5-shutdown-guard ends it, if each restart began the shutdown anew.
        std::thread::sleep(Duration::from_millis(200));
        if let Err(why) = peer.restart() {
            break why;
        }
        restarts += 1;
        // Six times as long as it may take.
        assert!(restarts < 150, "it goes on for ever");
    };
    assert!(why.contains("the shutdown took too long"), "{why}");
    assert!(restarts > 0);
    assert_eq!(cat.0.wait().unwrap().code(), Some(3));
}

/// R15: of data on two paths the peer acknowledges by a gap block what is the earliest on one of them, takes that back,
/// and acknowledges the rest of this path. What it has taken back leaves again.
#[test]
fn what_is_taken_back_on_one_of_two_paths_leaves_again() {
    let timers = [
        // Until the SACKs have been read, nothing leaves again of its own accord.
        "rto.min=2s",
        "rto.initial=2s",
        "hb.interval=1h",
        "concurrent=on",
        "setup.confirm_all_before_data=true",
    ];
    let timers = timers.map(|set| ["--set", set]).concat();
    let preset = ["--preset", "rfc9260", "--bind", "127.0.0.1:0,127.0.0.2:0"];
    let mut peer = Passive::new(&[3, 4]);
    let mut cat = Cat::start(&peer, &[&preset[..], &timers].concat());
    peer.accept();
    // Both paths are confirmed before there is anything to send.
    let mut confirmed = [true, false];
    let mut on: BTreeMap<u32, usize> = BTreeMap::new();
    let begun = Instant::now();
    while confirmed != [true, true] || on.len() < 6 {
        assert!(begun.elapsed() < PATIENCE, "{confirmed:?} {on:?}");
        for socket in [0, 1] {
            for heard in peer.hear(socket, Duration::from_millis(20)) {
                match heard {
                    Heard::Heartbeat(info) => {
                        let ack = chunk_type::HEARTBEAT_ACK;
                        peer.send(socket, peer.tag, |b| b.raw(ack, 0, &info));
                        if socket == 1 && !confirmed[1] {
                            confirmed[1] = true;
                            let pipe = cat.0.stdin.as_mut().unwrap();
                            pipe.write_all(&contents(8500)).unwrap();
                        }
                    }
                    Heard::CookieEcho => peer.send(0, peer.tag, |b| b.cookie_ack()),
                    Heard::Data(tsn) => {
                        on.entry(tsn.0.wrapping_sub(peer.first.0)).or_insert(socket);
                    }
                    _ => {}
                }
            }
        }
    }
    let last = *on.keys().last().unwrap();
    let path = on[&last];
    let earliest = *on.iter().find(|(_, at)| **at == path).unwrap().0;
    let rest = earliest + 1..=last;
    assert!(earliest > 0 && !rest.is_empty(), "{on:?}");
    assert!(rest.clone().all(|n| on[&n] == path), "{on:?}");
    let before = |n: u32| Tsn(peer.first.0.wrapping_add(n).wrapping_sub(1));
    // What waits here has left before the SACKs.
    peer.drain();
    // All but the last chunk of the other path, and the earliest one of this path.
    peer.sack(before(earliest - 1), 100_000, &[(2, 2)]);
    peer.sack(before(earliest - 1), 100_000, &[]);
    let count = u16::try_from(last - earliest).unwrap();
    peer.sack(before(earliest), 100_000, &[(2, count + 1)]);
    let back = Tsn(peer.first.0.wrapping_add(earliest));
    let begun = Instant::now();
    'all: loop {
        assert!(begun.elapsed() < PATIENCE, "it stays away");
        for socket in [0, 1] {
            for heard in peer.hear(socket, Duration::from_millis(20)) {
                match heard {
                    Heard::Data(tsn) if tsn == back => break 'all,
                    Heard::Abort(why) => panic!("{why}"),
                    _ => {}
                }
            }
        }
    }
}
