//! Peers that live, answer heartbeats and do next to nothing, by raw packets, beside a good
//! transfer: a receiver lets go of each.

use crate::peers::{Server, byway, contents, folder, text};
use crate::raw::Raw;
use byway_wire::{Chunk, Data, Packet, Tsn, cause_code, chunk_type};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const PPID: u32 = 0x6279_6601;

/// What a peer does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Does {
    Nothing,
    /// A message that begins and goes on, a byte at a time, and never ends.
    TrickleAMessage,
    /// An offer, whose answer it acknowledges never, with these windows.
    OfferAndWindows(&'static [u32]),
    /// The same, and then a SHUTDOWN, again and again.
    OfferAndShutdown,
    /// A question of `byway doctor`, and then a byte now and then, which is thrown away.
    AskAndTrickle,
    /// A file of which messages without a byte come.
    EmptyData,
    /// A file of a folder that is refused, and then a byte now and then, which is thrown away.
    RefusedData,
    /// Files of a folder with which it does not go on.
    EntriesAndQuits,
}

struct Peer {
    raw: Raw,
    does: Does,
    ssn: u16,
    turn: usize,
    /// The other side has answered.
    answered: bool,
    /// Each is a sender of its own: nobody takes another's file over.
    sender: u8,
}

impl Peer {
    fn say(&mut self, payload: &[u8], begin: bool, end: bool) {
        let data = Data {
            tsn: self.raw.next_tsn(),
            stream_id: 0,
            ssn: self.ssn,
            ppid: PPID,
            unordered: false,
            begin,
            end,
            immediate: false,
            payload,
        };
        self.ssn += u16::from(end);
        self.raw.inject(|b| b.data(&data));
    }

    fn offer(&mut self) {
        let size = 1_000_000_u64.to_be_bytes();
        let offer = [&[1, 1][..], &[self.sender; 16], &size, b"a.bin"].concat();
        self.say(&offer, true, true);
    }

    fn folder(&mut self) {
        self.say(
            &[&[1, 2][..], &[self.sender; 32], b"F"].concat(),
            true,
            true,
        );
    }

    /// The ENTRY of a file of a megabyte.
    fn entry(&mut self, path: &str) {
        let mut entry = vec![10, 1];
        entry.extend(0o644_u16.to_be_bytes());
        entry.extend(1_000_000_000_i64.to_be_bytes());
        entry.extend(0_u32.to_be_bytes());
        entry.extend(1_000_000_u64.to_be_bytes());
        entry.extend((path.len() as u16).to_be_bytes());
        entry.extend(path.as_bytes());
        self.say(&entry, true, true);
    }

    /// What it does of its own accord, ten times a second.
    fn act(&mut self) {
        let first = self.turn == 0;
        self.turn += 1;
        match self.does {
            Does::Nothing => {}
            Does::TrickleAMessage => self.say(&[1], first, false),
            Does::OfferAndWindows(_) if first => self.offer(),
            Does::OfferAndWindows(_) => {}
            Does::OfferAndShutdown if first => self.offer(),
            // A SHUTDOWN before the answer would be the end of a peer that has nothing more to say.
            Does::OfferAndShutdown if !self.answered => {}
            Does::OfferAndShutdown => {
                let none = Tsn(self.raw.tsn.wrapping_sub(1));
                self.raw.inject(|b| b.shutdown(none));
            }
            Does::AskAndTrickle if first => self.say(&[8], true, true),
            Does::AskAndTrickle => self.say(&[4, 0], true, true),
            Does::EmptyData if first => {
                self.offer();
                self.say(&[&[3][..], &[0; 8]].concat(), true, true);
            }
            Does::EmptyData => self.say(&[4], true, true),
            Does::RefusedData if first => {
                self.folder();
                // Names that begin with a dot are not taken.
                self.entry(".hidden");
            }
            Does::RefusedData => self.say(&[4, 0], true, true),
            Does::EntriesAndQuits => {
                if first {
                    self.folder();
                }
                self.entry("a");
                self.say(&[12], true, true);
            }
        }
    }

    /// The reason of the ABORT with which the other side ends it.
    fn lives(mut self) -> String {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", self.does);
            self.act();
            let next = Instant::now() + Duration::from_millis(100);
            while Instant::now() < next {
                let heard = self.raw.hear();
                if let Some(reason) = heard.and_then(|bytes| self.answer(&bytes)) {
                    return reason;
                }
            }
        }
    }

    fn answer(&mut self, bytes: &[u8]) -> Option<String> {
        let packet = Packet::parse(bytes).unwrap();
        for chunk in packet.chunks().map(Result::unwrap) {
            match chunk.parse() {
                Ok(Chunk::Heartbeat(_)) => {
                    let ack = chunk_type::HEARTBEAT_ACK;
                    self.raw.inject(|b| b.raw(ack, 0, chunk.value));
                }
                Ok(Chunk::Data(data)) => {
                    self.answered = true;
                    let none = Tsn(self.raw.tsn.wrapping_sub(1));
                    match self.does {
                        Does::OfferAndWindows(all) => {
                            let window = all[self.turn % all.len()];
                            self.raw.inject(|b| b.sack(none, window, &[], &[]));
                        }
                        Does::OfferAndShutdown => {}
                        _ => self.raw.inject(|b| b.sack(data.tsn, 65_536, &[], &[])),
                    }
                }
                Ok(Chunk::Abort(abort)) => {
                    let cause = abort.causes.iter().next()?.ok()?;
                    assert_eq!(cause.code, cause_code::USER_INITIATED_ABORT);
                    // An answer to what crossed the ABORT that ended it, and is sent before that one.
                    if cause.value != b"no such association" {
                        return Some(text(cause.value));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[test]
fn who_trickles_or_plays_with_its_window_is_let_go_beside_a_good_transfer() {
    let dir = folder("patience");
    let inbox = dir.join("inbox");
    let args = ["recv", "--give-up", "1s", "--dir", inbox.to_str().unwrap()];
    let mut server = Server::start(&args);
    let first = server.addresses.split(',').next().unwrap().to_owned();
    let to: SocketAddr = first.parse().unwrap();
    let all = [
        Does::Nothing,
        Does::TrickleAMessage,
        Does::OfferAndWindows(&[0]),
        Does::OfferAndWindows(&[1, 0]),
        Does::OfferAndWindows(&[65_536]),
        Does::OfferAndShutdown,
        Does::AskAndTrickle,
        Does::EmptyData,
        Does::RefusedData,
        Does::EntriesAndQuits,
    ];
    let mut sender = 0;
    let peers = all.map(|does| {
        sender += 1;
        let raw = Raw::up(to);
        raw.wait(Duration::from_millis(20));
        let (ssn, turn) = (0, 0);
        let peer = Peer {
            raw,
            does,
            ssn,
            turn,
            answered: false,
            sender,
        };
        (does, std::thread::spawn(move || peer.lives()))
    });
    let (file, whole) = (dir.join("good.bin"), contents(5_000_000));
    std::fs::write(&file, &whole).unwrap();
    let send = byway()
        .args(["send", file.to_str().unwrap(), "--to", &server.addresses])
        .output()
        .unwrap();
    assert!(send.status.success(), "{}", text(&send.stderr));
    assert_eq!(std::fs::read(inbox.join("good.bin")).unwrap(), whole);
    for (does, peer) in peers {
        let reason = peer.join().unwrap();
        let why = match does {
            // At once: nothing more can come.
            Does::OfferAndShutdown => "the other side ended before its START",
            _ => "the other side sent nothing more for 1 s",
        };
        assert!(reason.contains(why), "{does:?}: {reason}");
    }
    assert!(server.child.try_wait().unwrap().is_none());
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}
