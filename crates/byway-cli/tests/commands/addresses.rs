//! Attacks on changes of addresses (RFC 5061, RFC 4895), against a running `byway recv`. The
//! attacker has the keys of its own association, since there are no shared keys. `ATTACKS.md` of
//! `byway-core` numbers the attacks; the same ones on the core alone are in its tests.

use crate::open_metrics::scrape_anew;
use crate::peers::{Server, Victim, folder, signal, wait_until};
use crate::raw::{Raw, TAG, init_fields, kinds};
use byway_wire::{
    Auth, Checksum, Chunk, Data, InitFields, Packet, PacketBuilder, ParamWriter, Params,
    cause_code, chunk_type, param_type,
};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// An association with AUTH and ASCONF.
struct Keyed {
    raw: Raw,
    key: Vec<u8>,
    /// Of the next ASCONF.
    serial: u32,
}

/// The key vector of an INIT or INIT ACK (RFC 4895 section 6.1).
fn vector(params: Params<'_>) -> Vec<u8> {
    let of = |kind| params.find(kind).map_or(&[][..], |p| p.bytes);
    let kinds = [
        param_type::RANDOM,
        param_type::CHUNK_LIST,
        param_type::HMAC_ALGO,
    ];
    kinds.into_iter().flat_map(of).copied().collect()
}

fn offer(w: &mut ParamWriter<'_>) {
    w.random(&[7; 32]);
    w.chunk_list(&[chunk_type::ASCONF, chunk_type::ASCONF_ACK]);
    w.hmac_algo(&[3, 1]);
    w.supported_extensions(&[chunk_type::ASCONF, chunk_type::ASCONF_ACK, chunk_type::AUTH]);
}

impl Keyed {
    fn up(to: SocketAddr) -> Keyed {
        Keyed::up_with(to, offer).0
    }

    /// The same with these parameters of the INIT; the INIT, too.
    fn up_with(to: SocketAddr, params: impl FnOnce(&mut ParamWriter<'_>)) -> (Keyed, Vec<u8>) {
        let mut raw = Raw::new(to);
        let both = raw.ask_with(params);
        let mut vectors = both.each_ref().map(|bytes| {
            let packet = Packet::parse(bytes).unwrap();
            let chunk = packet.chunks().next().unwrap().unwrap();
            match chunk.parse().unwrap() {
                Chunk::Init(i) | Chunk::InitAck(i) => vector(i.params),
                other => panic!("{other:?}"),
            }
        });
        assert!(vectors.iter().all(|v| v.len() > 36), "AUTH was agreed");
        vectors.sort();
        raw.echo();
        let keyed = Keyed {
            raw,
            key: vectors.concat(),
            serial: init_fields().initial_tsn.0,
        };
        let [init, _] = both;
        (keyed, init)
    }

    /// A packet whose chunks stand behind an AUTH chunk.
    fn sealed(&self, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
        let mut bytes = self.raw.packet(self.raw.tag, write);
        let blank = Auth {
            shared_key_id: 0,
            hmac_id: 3,
            hmac: &[0; 32],
        };
        blank.seal(&mut bytes, 0, Checksum::Crc32c, |covered| {
            let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("keys of any length");
            mac.update(covered);
            mac.finalize().into_bytes()
        });
        bytes
    }

    /// The next ASCONF, behind AUTH.
    fn change(&mut self, write: impl FnOnce(&mut ParamWriter<'_>)) -> Vec<u8> {
        self.serial += 1;
        let (serial, own) = (self.serial - 1, self.raw.local().ip());
        self.sealed(|b| {
            b.asconf(serial, own, write);
        })
    }

    /// How many ASCONF-ACKs answer this packet, and whether one has this cause.
    fn answers(&self, bytes: &[u8], cause: u16) -> (usize, bool) {
        self.raw.send_bytes(bytes);
        let (mut answers, mut found) = (0, false);
        while let Some(heard) = self.raw.hear() {
            let packet = Packet::parse(&heard).unwrap();
            for chunk in packet.chunks().map(Result::unwrap) {
                if chunk.kind == chunk_type::ASCONF_ACK {
                    answers += 1;
                    let has = |w: &[u8]| w == cause.to_be_bytes();
                    found |= chunk.bytes.windows(2).any(has);
                }
            }
        }
        (answers, found)
    }
}

/// Probes of the MTU are longer than other packets.
const LONGEST: usize = 65_536;

/// Another host, with the UDP port of the attacker; what comes to it.
struct Bystander(UdpSocket);

impl Bystander {
    fn new(ip: [u8; 4], attacker: &Keyed) -> Bystander {
        let at = SocketAddr::new(ip.into(), attacker.raw.local().port());
        let socket = UdpSocket::bind(at).unwrap();
        let wait = Some(Duration::from_millis(300));
        socket.set_read_timeout(wait).unwrap();
        Bystander(socket)
    }

    fn ip(&self) -> IpAddr {
        self.0.local_addr().unwrap().ip()
    }

    /// Waits for a HEARTBEAT and answers it. Returns where it came from.
    fn answers_a_heartbeat(&self, attacker: &Keyed) -> SocketAddr {
        self.answers_a_heartbeat_by(attacker, |value| vec![value.to_vec()])
    }

    /// The same with these values of HEARTBEAT ACKs, made from that of the HEARTBEAT.
    fn answers_a_heartbeat_by(
        &self,
        attacker: &Keyed,
        answers: impl Fn(&[u8]) -> Vec<Vec<u8>>,
    ) -> SocketAddr {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(from) = self.answers_the_next(attacker, &answers) {
                return from;
            }
        }
        panic!("no HEARTBEAT comes");
    }

    /// Answers the next packet, if it is a HEARTBEAT and comes within 300 ms.
    fn answers_the_next(
        &self,
        attacker: &Keyed,
        answers: impl Fn(&[u8]) -> Vec<Vec<u8>>,
    ) -> Option<SocketAddr> {
        let mut bytes = [0; LONGEST];
        let (len, from) = self.0.recv_from(&mut bytes).ok()?;
        let packet = Packet::parse(&bytes[..len]).unwrap();
        let mut chunks = packet.chunks().map(Result::unwrap);
        let beat = chunks.find(|c| c.kind == chunk_type::HEARTBEAT)?;
        let raw = &attacker.raw;
        for value in answers(beat.value) {
            let answer = raw.packet(raw.tag, |b| b.raw(chunk_type::HEARTBEAT_ACK, 0, &value));
            self.0.send_to(&answer, from).unwrap();
        }
        Some(from)
    }

    /// The types of chunks of the next packet; none when nothing comes for 300 ms.
    fn hears_next(&self) -> Vec<u8> {
        let mut bytes = [0; LONGEST];
        match self.0.recv(&mut bytes) {
            Ok(len) => kinds(&bytes[..len]),
            Err(_) => Vec::new(),
        }
    }

    /// Throws away what has come.
    fn drain(&self) {
        self.0.set_nonblocking(true).unwrap();
        while self.0.recv(&mut [0]).is_ok() {}
        self.0.set_nonblocking(false).unwrap();
    }

    /// The types of chunks that come until nothing comes for 300 ms, and their bytes.
    fn hears(&self) -> (Vec<u8>, usize) {
        let (mut kinds, mut all, mut bytes) = (Vec::new(), 0, [0; LONGEST]);
        while let Ok(len) = self.0.recv(&mut bytes) {
            all += len;
            let packet = Packet::parse(&bytes[..len]).unwrap();
            kinds.extend(packet.chunks().map(|c| c.unwrap().kind));
        }
        (kinds, all)
    }
}

const ANY: [u8; 4] = [0; 4];

/// 29, 31, 32: an ASCONF that is not behind the right AUTH chunk adds nothing and gets no answer.
#[test]
fn an_asconf_without_the_right_auth_changes_nothing() {
    let victim = Victim::new("asconf-auth");
    let (mut keyed, other) = (Keyed::up(victim.to), Keyed::up(victim.to));
    let bystander = Bystander::new([127, 0, 0, 77], &keyed);
    let good = keyed.change(|w| {
        w.add_ip(1, bystander.ip());
    });
    let summed = |mut bytes: Vec<u8>| {
        let sum = byway_wire::crc32c::packet_checksum(&bytes);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    };
    let changed = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        summed(bytes)
    };
    let mut stripped = good.clone();
    stripped.drain(12..52);
    // Shared key, hash function, hash; serial, address.
    let mut all: Vec<Vec<u8>> = [17, 19, 20, 51, 59, 63, good.len() - 1].map(changed).into();
    all.push(summed(stripped));
    all.push(keyed.raw.packet(keyed.raw.tag, |b| {
        b.raw(chunk_type::AUTH, 0, &[0, 0, 0, 3]);
        b.asconf(keyed.serial - 1, [127, 0, 0, 1].into(), |w| {
            w.add_ip(1, bystander.ip());
        });
    }));
    // The key of another association of the same host.
    let stolen = std::mem::take(&mut keyed.key);
    keyed.key = other.key.clone();
    keyed.serial -= 1;
    all.push(keyed.change(|w| {
        w.add_ip(1, bystander.ip());
    }));
    keyed.key = stolen;
    for (n, bytes) in all.iter().enumerate() {
        assert_eq!(keyed.answers(bytes, 0).0, 0, "packet {n}");
        assert!(keyed.raw.lives(), "packet {n}");
    }
    assert_eq!(bystander.hears(), (vec![], 0));
    // The unchanged packet is taken.
    assert_eq!(keyed.answers(&good, 0).0, 1);
    let (heard, _) = bystander.hears();
    assert!(heard.contains(&chunk_type::HEARTBEAT), "{heard:?}");
    assert!(other.raw.lives());
    victim.stays_well();
}

/// 29: what was recorded comes again, when the address that it added is gone.
#[test]
fn a_replayed_asconf_changes_nothing() {
    let victim = Victim::new("asconf-replay");
    let mut keyed = Keyed::up(victim.to);
    let bystander = Bystander::new([127, 0, 0, 78], &keyed);
    let add = keyed.change(|w| {
        w.add_ip(1, bystander.ip());
    });
    let delete = keyed.change(|w| {
        w.delete_ip(1, bystander.ip());
    });
    assert_eq!(keyed.answers(&add, 0).0, 1);
    assert_eq!(keyed.answers(&delete, 0).0, 1);
    bystander.hears();
    for _ in 0..5 {
        // The last one is answered as it was (RFC 5061 section 5.2, E2), older ones are not.
        assert_eq!(keyed.answers(&add, 0).0, 0);
        assert!(keyed.answers(&delete, 0).0 <= 1);
    }
    assert_eq!(bystander.hears(), (vec![], 0));
    assert!(keyed.raw.lives());
    victim.stays_well();
}

/// 30: the last address cannot be deleted, by its name or by the wildcard.
#[test]
fn the_last_address_cannot_be_deleted() {
    let victim = Victim::new("asconf-last");
    let mut keyed = Keyed::up(victim.to);
    let own = keyed.raw.local().ip();
    for ip in [own, ANY.into()] {
        let delete = keyed.change(|w| {
            w.delete_ip(1, ip);
        });
        keyed.answers(&delete, 0);
        assert!(keyed.raw.lives(), "{ip}");
    }
    let delete = keyed.change(|w| {
        w.delete_ip(1, own);
    });
    let refused = cause_code::DELETE_LAST_ADDRESS;
    assert_eq!(keyed.answers(&delete, refused), (1, true));
    victim.stays_well();
}

/// 31: the addresses of others get a few heartbeats, in bytes at most three times what came, and
/// nothing else, whatever waits for the peer.
#[test]
fn added_victims_get_few_heartbeats() {
    let victim = Victim::new("asconf-victims");
    let mut keyed = Keyed::up(victim.to);
    let all: Vec<Bystander> = (80..95)
        .map(|n| Bystander::new([127, 0, 0, n], &keyed))
        .collect();
    let mut asked = 0;
    for (n, bystander) in all.iter().enumerate() {
        let add = keyed.change(|w| {
            w.add_ip(1, bystander.ip());
            if n > 0 {
                w.delete_ip(2, all[n - 1].ip());
            }
        });
        asked += add.len();
        assert_eq!(keyed.answers(&add, 0).0, 1, "{n}");
    }
    assert!(keyed.raw.lives());
    let heard: Vec<_> = all.iter().map(Bystander::hears).collect();
    let kinds = heard.iter().flat_map(|h| &h.0);
    let expected = [chunk_type::AUTH, chunk_type::HEARTBEAT];
    assert!(kinds.clone().all(|k| expected.contains(k)), "{heard:?}");
    assert!(heard.iter().all(|h| h.0.len() <= 5), "{heard:?}");
    let got: usize = heard.iter().map(|h| h.1).sum();
    assert!(got > 0 && got <= 3 * asked, "{got} bytes for {asked}");
    victim.stays_well();
}

/// The forgeries of an answer: another bit of the path's number or of the nonce, or another length.
fn forged(value: &[u8]) -> Vec<Vec<u8>> {
    // Behind type and length, and around the time at which the HEARTBEAT left.
    let bits = (4..5)
        .chain(13..21)
        .flat_map(|byte| (0..8).map(move |bit| (byte, 1 << bit)));
    let mut all: Vec<Vec<u8>> = bits
        .map(|(byte, bit)| {
            let mut value = value.to_vec();
            value[byte] ^= bit;
            value
        })
        .collect();
    for len in [20, 22] {
        let mut other = value.to_vec();
        other.resize(usize::from(len), 0);
        other[2..4].copy_from_slice(&u16::to_be_bytes(len));
        all.push(other);
    }
    all
}

/// 14: an answer that is forged in one bit confirms no address; the true one does.
#[test]
fn a_forged_answer_to_a_heartbeat_confirms_no_address_of_a_process() {
    let dir = folder("asconf-forged");
    let args = ["recv", "--metrics", "127.0.0.1:0", "--dir"];
    let server = Server::start(&[&args[..], &[dir.to_str().unwrap()]].concat());
    let to = server.addresses.split(',').next().unwrap().parse().unwrap();
    let mut keyed = Keyed::up(to);
    let other = Bystander::new([127, 0, 0, 98], &keyed);
    let add = keyed.change(|w| {
        w.add_ip(1, other.ip());
    });
    assert_eq!(keyed.answers(&add, 0).0, 1);
    let is = |state: &str| {
        let told = scrape_anew(server.metrics.unwrap());
        let at = other.0.local_addr().unwrap().to_string();
        let path = told.of("byway_path_info", &[("remote", &at)])[0];
        let labels = [("path", &*path.labels["path"]), ("state", state)];
        told.values("byway_path_state", &labels) == [1.0]
    };
    other.answers_a_heartbeat_by(&keyed, |value| {
        assert_eq!(value.len(), 21);
        forged(value)
    });
    assert!(keyed.raw.lives());
    assert!(is("unconfirmed"));
    // On a busy machine an answer may come when the next HEARTBEAT is under way.
    wait_until(|| {
        other.answers_the_next(&keyed, |value| vec![value.to_vec()]);
        is("active")
    });
    signal(&server.child, "TERM");
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(143), "{said}");
    std::fs::remove_dir_all(&dir).unwrap();
}

/// 37: what waits for an address that is deleted goes nowhere, and nothing follows it.
#[test]
fn what_waits_for_a_deleted_address_goes_nowhere() {
    let victim = Victim::new("asconf-queued");
    let mut keyed = Keyed::up(victim.to);
    let other = Bystander::new([127, 0, 0, 96], &keyed);
    for round in 0..5 {
        let add = keyed.change(|w| {
            w.add_ip(1, other.ip());
        });
        assert_eq!(keyed.answers(&add, 0).0, 1, "{round}");
        let back = other.answers_a_heartbeat(&keyed);
        let beat = keyed.raw.packet(keyed.raw.tag, |b| b.heartbeat(&[7; 64]));
        let delete = keyed.change(|w| {
            w.delete_ip(2, other.ip());
        });
        for _ in 0..8 {
            other.0.send_to(&beat, back).unwrap();
        }
        assert_eq!(keyed.answers(&delete, 0).0, 1, "{round}");
        // What left before it, probes of the MTU among it. A HEARTBEAT that comes behind it is from a new source, which
        // is asked.
        let (kinds, _) = other.hears();
        let heartbeats = [
            chunk_type::HEARTBEAT_ACK,
            chunk_type::HEARTBEAT,
            chunk_type::PAD,
        ];
        assert!(kinds.iter().all(|k| heartbeats.contains(k)), "{kinds:?}");
        assert_eq!(other.hears().0, [0; 0], "{round}");
        assert!(keyed.raw.lives(), "{round}");
    }
    victim.stays_well();
}

/// 37: the answer to an offer is outstanding at an address that is deleted. It leaves to the other one, again and again, and
/// nothing goes where it was.
#[test]
fn what_is_outstanding_at_a_deleted_address_leaves_to_the_other_one() {
    let victim = Victim::new("asconf-outstanding");
    let mut keyed = Keyed::up(victim.to);
    let other = Bystander::new([127, 0, 0, 99], &keyed);
    let add = keyed.change(|w| {
        w.add_ip(1, other.ip());
    });
    assert_eq!(keyed.answers(&add, 0).0, 1);
    other.answers_a_heartbeat(&keyed);
    let prefer = keyed.change(|w| {
        w.set_primary(2, other.ip());
    });
    assert_eq!(keyed.answers(&prefer, 0).0, 1);
    let delete = keyed.change(|w| {
        w.delete_ip(3, other.ip());
    });
    let tsn = keyed.raw.next_tsn();
    // An offer of a file.
    let offer = [
        &[1, 1][..],
        &[7; 16],
        &1_000_000_u64.to_be_bytes(),
        b"a.bin",
    ]
    .concat();
    keyed.raw.inject(|b| {
        b.data(&Data {
            tsn,
            stream_id: 0,
            ssn: 0,
            ppid: 0x6279_6601,
            unordered: false,
            begin: true,
            end: true,
            immediate: true,
            payload: &offer,
        });
    });
    let begun = Instant::now();
    while !other.hears_next().contains(&chunk_type::DATA) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no answer");
    }
    keyed.raw.send_bytes(&delete);
    keyed.raw.hear_next_with(chunk_type::ASCONF_ACK);
    // What left before it.
    other.drain();
    for _ in 0..3 {
        keyed.raw.hear_next_with(chunk_type::DATA);
    }
    assert_eq!(other.hears(), (vec![], 0));
    assert!(keyed.raw.lives());
    keyed.raw.inject(|b| b.abort(false, |_| {}));
    victim.stays_well();
}

/// 29: many ASCONFs in a packet, and malformed ones behind a good hash.
#[test]
fn floods_of_asconfs_and_malformed_ones_get_small_answers() {
    let victim = Victim::new("asconf-flood");
    let mut keyed = Keyed::up(victim.to);
    let (first, own) = (keyed.serial, keyed.raw.local().ip());
    let many = keyed.sealed(|b| {
        for n in 0..40 {
            b.asconf(first.wrapping_add(n), own, |w| {
                for id in 0..60 {
                    w.delete_ip(id, own);
                }
            });
        }
    });
    for _ in 0..10 {
        keyed.raw.send_bytes(&many);
    }
    let (kinds, bytes) = keyed.raw.hear_all();
    assert!(bytes <= many.len(), "{bytes} bytes, {kinds:?}");
    keyed.serial += 40;
    let bodies: [&[u8]; 5] = [
        &[0xC0, 1, 0, 3],
        &[0xC0, 2, 0, 200],
        &[0xC0, 1, 0, 12, 0, 0, 0, 1, 0, 11, 0, 4],
        &[0xC0, 4, 0, 8, 0, 0, 0, 1],
        &[0; 64],
    ];
    for body in bodies {
        let serial = keyed.serial;
        let bytes = keyed.sealed(|b| {
            b.asconf_raw(serial, own, body);
        });
        keyed.serial += 1;
        keyed.answers(&bytes, 0);
        assert!(keyed.raw.lives(), "{body:?}");
    }
    victim.stays_well();
}

/// S7: the INIT of an association comes again when its peer has deleted an address that it lists. The peer would obey
/// an ABORT with its tag; an INIT with another tag is a restart that adds the address.
#[test]
fn an_init_that_comes_again_after_a_deletion_gets_no_abort() {
    let victim = Victim::new("asconf-init");
    let gone = [127, 0, 0, 97].into();
    let listing = |w: &mut ParamWriter<'_>| {
        offer(w);
        w.address(gone);
    };
    let (mut keyed, late) = Keyed::up_with(victim.to, listing);
    let delete = keyed.change(|w| {
        w.delete_ip(1, gone);
    });
    assert_eq!(keyed.answers(&delete, 0).0, 1);
    keyed.raw.send_bytes(&late);
    let (kinds, _) = keyed.raw.hear_all();
    assert!(!kinds.contains(&chunk_type::ABORT), "{kinds:?}");
    assert!(keyed.raw.lives());
    let other = InitFields {
        initiate_tag: TAG + 1,
        ..init_fields()
    };
    keyed.raw.send(0, |b| b.init(false, &other, listing));
    let cause = keyed.raw.hear_cause();
    assert_eq!(cause, cause_code::RESTART_WITH_NEW_ADDRESSES);
    assert!(keyed.raw.lives());
    victim.stays_well();
}
