//! `byway unseal`: a capture whose sealed messages are opened in place, for Wireshark.
//!
//! The file keeps its packets, times, TSNs and lengths. Of a message that could be opened the payload is the
//! plain text, with its two bytes of header before it and zeros for its tag; checksums are put right.

use crate::failure::Failure;
use crate::terminal::{counted, print};
use byway_sim::pcapng::{PROTOCOL_SCTP, PROTOCOL_UDP, udp_checksum};
use byway_tls::{HANDSHAKE_PPID, Reading, SEALED_PPID};
use byway_wire::crc32c::packet_checksum;
use clap::Args;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::net::IpAddr;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(crate) const EXAMPLES: &str = "\
Examples:
  byway send big.iso --to TICKET \\
      --pcap sealed.pcapng --pcap-secrets secrets
  byway unseal sealed.pcapng --secrets secrets --out open.pcapng
  wireshark open.pcapng";

#[derive(Debug, Args)]
pub(crate) struct UnsealArgs {
    /// What --pcap has written
    pub(crate) capture: PathBuf,
    /// What --pcap-secrets has written, of either side
    #[arg(long, value_name = "FILE")]
    pub(crate) secrets: PathBuf,
    /// The capture with open messages, mode 600; one that is there is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

pub(crate) fn unseal(args: &UnsealArgs) -> Result<(), Failure> {
    let read = |path: &Path| std::fs::read(path).map_err(|e| Failure::file("read", path, &e));
    let secrets = read(&args.secrets)?;
    let sessions = sessions(&String::from_utf8_lossy(&secrets));
    let wrong = |path: &Path, why: &str| Failure::wrong(format!("{}: {why}", path.display()));
    if sessions.is_empty() {
        let why = "no line CLIENT_TRAFFIC_SECRET_0 or SERVER_TRAFFIC_SECRET_0; it must be what --pcap-secrets writes";
        return Err(wrong(&args.secrets, why));
    }
    let mut capture = read(&args.capture)?;
    let packets = packets(&capture).map_err(|why| wrong(&args.capture, why))?;
    let done = open_all(&mut capture, &packets, &sessions);
    let mut options = std::fs::File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(&args.out);
    let written = written.and_then(|mut file| file.write_all(&capture));
    written.map_err(|e| Failure::file("write", &args.out, &e))?;
    let mut said = format!(
        "{} of {} opened",
        counted(done.opened, "message", "messages"),
        counted(done.associations, "association", "associations")
    );
    if done.closed > 0 {
        said += &format!(
            "; {} stay sealed: packets before them are missing, or the secrets of their session",
            done.closed
        );
    }
    print(&format!("{said}\n"))
}

/// The secrets of each session, by its client random: those of the client and of the server.
fn sessions(text: &str) -> HashMap<[u8; 32], [Option<Vec<u8>>; 2]> {
    let mut all: HashMap<[u8; 32], [Option<Vec<u8>>; 2]> = HashMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let side = match words.next() {
            Some("CLIENT_TRAFFIC_SECRET_0") => 0,
            Some("SERVER_TRAFFIC_SECRET_0") => 1,
            _ => continue,
        };
        let (Some(random), Some(secret)) = (words.next().and_then(hex), words.next().and_then(hex))
        else {
            continue;
        };
        if let Ok(random) = random.try_into() {
            all.entry(random).or_default()[side] = Some(secret);
        }
    }
    all
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits
        .len()
        .is_multiple_of(2)
        .then(|| digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>())
        .flatten()
}

/// A packet of the file, by places in it.
struct Packet {
    ends: (IpAddr, IpAddr),
    /// Where UDP begins, if it is there.
    udp: Option<usize>,
    /// All of SCTP.
    sctp: Range<usize>,
}

/// The SCTP packets of a file.
fn packets(file: &[u8]) -> Result<Vec<Packet>, &'static str> {
    const SECTION: u32 = 0x0A0D_0D0A;
    const INTERFACE: u32 = 1;
    const PACKET: u32 = 6;
    let word = |at: usize| {
        let bytes = file.get(at..at + 4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    if word(0) != Some(SECTION) || word(8) != Some(0x1A2B_3C4D) {
        return Err("it is no pcapng of --pcap");
    }
    let (mut at, mut all) = (0, Vec::new());
    while let (Some(kind), Some(length)) = (word(at), word(at + 4)) {
        let length = length as usize;
        if length < 12 || !length.is_multiple_of(4) {
            return Err("a block has a wrong length");
        }
        if at + length > file.len() {
            break; // it was cut off
        }
        match kind {
            INTERFACE if word(at + 8).map(|w| w & 0xFFFF) != Some(101) => {
                return Err("its packets do not begin with IP: it is no pcapng of --pcap");
            }
            PACKET => {
                let start = at + 28;
                let bytes = word(at + 20).unwrap_or(0) as usize;
                if start + bytes + 4 <= at + length {
                    all.extend(sctp(file, start..start + bytes));
                }
            }
            _ => {}
        }
        at += length;
    }
    Ok(all)
}

/// SCTP in an IP packet, alone or in UDP, if its checksum is right.
fn sctp(file: &[u8], packet: Range<usize>) -> Option<Packet> {
    let bytes = &file[packet.clone()];
    let octets = |at: usize| bytes.get(at..at + 4)?.first_chunk::<4>().copied();
    let long = |at: usize| bytes.get(at..at + 16)?.first_chunk::<16>().copied();
    let (ends, protocol, header) = match bytes.first()? >> 4 {
        4 => {
            let ends: (IpAddr, IpAddr) = (octets(12)?.into(), octets(16)?.into());
            (ends, *bytes.get(9)?, usize::from(bytes[0] & 0x0F) * 4)
        }
        6 => {
            let ends: (IpAddr, IpAddr) = (long(8)?.into(), long(24)?.into());
            (ends, *bytes.get(6)?, 40)
        }
        _ => return None,
    };
    let (udp, start) = match protocol {
        PROTOCOL_SCTP => (None, packet.start + header),
        PROTOCOL_UDP => (Some(packet.start + header), packet.start + header + 8),
        _ => return None,
    };
    let sctp = start..packet.end;
    let bytes = file.get(sctp.clone()).filter(|bytes| bytes.len() >= 12)?;
    let sum = packet_checksum(bytes).to_le_bytes();
    (bytes[8..12] == sum).then_some(Packet { ends, udp, sctp })
}

/// A piece of a message: all places of the file that have it, as it may have been sent again.
struct Piece {
    first: bool,
    last: bool,
    stream: u16,
    ppid: u32,
    places: Vec<(usize, Range<usize>)>,
}

/// What goes one way, by its TSNs counted from the first one.
type Flow = BTreeMap<u32, Piece>;

/// What a capture says of its associations, by the verification tag of each way.
#[derive(Default)]
struct Flows {
    /// The tag of the other way.
    back: HashMap<u32, u32>,
    /// The first TSN, by the tag that its sender chose.
    first: HashMap<u32, u32>,
    flows: HashMap<u32, Flow>,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

impl Flows {
    fn of(file: &[u8], packets: &[Packet]) -> Flows {
        let mut flows = Flows::default();
        for (index, packet) in packets.iter().enumerate() {
            // What is cut off is left out.
            let _ = flows.add(file, index, packet);
        }
        flows
    }

    fn add(&mut self, file: &[u8], index: usize, packet: &Packet) -> Option<()> {
        const INIT: u8 = 1;
        const INIT_ACK: u8 = 2;
        const DATA_HEADER: usize = 16;
        let tag = word(file, packet.sctp.start + 4)?;
        let mut at = packet.sctp.start + 12;
        while at + 4 <= packet.sctp.end {
            let length = usize::from(half(file, at + 2)?);
            let end = at + length;
            if length < 4 || end > packet.sctp.end {
                return None;
            }
            match file[at] {
                INIT | INIT_ACK if length >= 20 => {
                    let chosen = word(file, at + 4)?;
                    self.first.insert(chosen, word(file, at + 16)?);
                    if file[at] == INIT_ACK {
                        self.back.insert(tag, chosen);
                        self.back.insert(chosen, tag);
                    }
                }
                0 if length > DATA_HEADER => self.add_data(file, index, tag, at, end)?,
                _ => {}
            }
            at += length.next_multiple_of(4);
        }
        Some(())
    }

    fn add_data(
        &mut self,
        file: &[u8],
        index: usize,
        tag: u32,
        at: usize,
        end: usize,
    ) -> Option<()> {
        // Who sends chose the tag of the other way.
        let first = self.first.get(self.back.get(&tag)?)?;
        let place = word(file, at + 4)?.wrapping_sub(*first);
        let (stream, ppid) = (half(file, at + 8)?, word(file, at + 12)?);
        let flags = file[at + 1];
        let flow = self.flows.entry(tag).or_default();
        let piece = flow.entry(place).or_insert_with(|| Piece {
            first: flags & 2 != 0,
            last: flags & 1 != 0,
            stream,
            ppid,
            places: Vec::new(),
        });
        piece.places.push((index, at + 16..end));
        Some(())
    }
}

/// The messages of a flow that are whole, in order, up to the first gap.
fn messages(flow: &Flow) -> impl Iterator<Item = Vec<&Piece>> {
    let mut pieces = flow.iter().enumerate();
    std::iter::from_fn(move || {
        let mut message = Vec::new();
        loop {
            let (expected, (place, piece)) = pieces.next()?;
            if expected as u32 != *place || piece.first != message.is_empty() {
                return None;
            }
            message.push(piece);
            if piece.last {
                return Some(message);
            }
        }
    })
}

fn joined(file: &[u8], message: &[&Piece]) -> Vec<u8> {
    let pieces = message.iter().filter_map(|p| p.places.first());
    pieces
        .flat_map(|(_, at)| file[at.clone()].iter().copied())
        .collect()
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    opened: usize,
    closed: usize,
    associations: usize,
}

/// The client random of the ClientHello with which a flow begins (RFC 8446 section 4.1.2), behind byway's
/// header of two bytes.
fn client_random(file: &[u8], flow: &Flow) -> Option<[u8; 32]> {
    let first = messages(flow).next()?;
    let hello = joined(file, &first);
    let is_hello = first[0].ppid == HANDSHAKE_PPID && hello.get(1..3)? == [0, 1];
    let random = hello.get(8..40)?.first_chunk::<32>().copied();
    random.filter(|_| is_hello)
}

/// Opens what can be opened.
fn open_all(
    file: &mut [u8],
    packets: &[Packet],
    sessions: &HashMap<[u8; 32], [Option<Vec<u8>>; 2]>,
) -> Done {
    let flows = Flows::of(file, packets);
    let mut done = Done::default();
    let mut changed = vec![false; packets.len()];
    for (tag, flow) in &flows.flows {
        let Some(random) = client_random(file, flow) else {
            continue;
        };
        done.associations += 1;
        let secrets = sessions.get(&random);
        let back = flows.back.get(tag).and_then(|back| flows.flows.get(back));
        for (side, flow) in [Some(flow), back].into_iter().enumerate() {
            let Some(flow) = flow else { continue };
            let secret = secrets.and_then(|s| s[side].as_deref());
            let reading = secret.and_then(Reading::new);
            open_flow(file, flow, reading, &mut changed, &mut done);
        }
    }
    for (packet, _) in packets.iter().zip(changed).filter(|(_, changed)| *changed) {
        put_right(file, packet);
    }
    done
}

fn open_flow(
    file: &mut [u8],
    flow: &Flow,
    mut reading: Option<Reading>,
    changed: &mut [bool],
    done: &mut Done,
) {
    let sealed = flow.values().filter(|p| p.ppid == SEALED_PPID && p.first);
    let (all, before) = (sealed.count(), done.opened);
    for message in messages(flow) {
        if message[0].ppid != SEALED_PPID {
            continue;
        }
        let sealed = joined(file, &message);
        let opened = reading
            .as_mut()
            .and_then(|r| r.open(message[0].stream, &sealed));
        let Some(opened) = opened else { continue };
        let mut plain = sealed[..2].to_vec();
        plain.extend_from_slice(&opened);
        plain.resize(sealed.len(), 0);
        let mut rest = &plain[..];
        for piece in message {
            let length = piece.places.first().map_or(0, |(_, at)| at.len());
            let (here, more) = rest.split_at(length.min(rest.len()));
            for (index, at) in &piece.places {
                // One that claims the TSN and has another length is not the same chunk.
                if at.len() == here.len() {
                    file[at.clone()].copy_from_slice(here);
                    changed[*index] = true;
                }
            }
            rest = more;
        }
        done.opened += 1;
    }
    done.closed += all - (done.opened - before);
}

/// The checksums of a packet that was changed.
fn put_right(file: &mut [u8], packet: &Packet) {
    let sctp = &mut file[packet.sctp.clone()];
    sctp[8..12].fill(0);
    let sum = packet_checksum(sctp).to_le_bytes();
    sctp[8..12].copy_from_slice(&sum);
    if let Some(udp) = packet.udp {
        let datagram = &mut file[udp..packet.sctp.end];
        datagram[6..8].fill(0);
        let sum = udp_checksum(packet.ends, datagram).to_be_bytes();
        datagram[6..8].copy_from_slice(&sum);
    }
}
