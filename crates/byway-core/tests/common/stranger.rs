//! Packets that a test writes by hand, and a set-up by somebody who is no endpoint.

use super::{A, Pair, Z, packet};
use byway_wire::{Chunk, Data, InitFields, Packet, Param, ParamWriter, Tsn};
use core::net::SocketAddr;

/// The fields of a good INIT or INIT ACK with this tag.
pub(crate) fn init(tag: u32) -> InitFields {
    InitFields {
        initiate_tag: tag,
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
    }
}

/// A message of one byte, for stream 0.
pub(crate) fn data(tsn: Tsn) -> Data<'static> {
    Data {
        tsn,
        stream_id: 0,
        ssn: 0,
        ppid: 0,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload: b"x",
    }
}

/// Sets up an association with Z from this source, with A's port, this tag and these parameters
/// of the INIT; returns the tag of Z.
pub(crate) fn set_up(
    p: &mut Pair,
    source: SocketAddr,
    tag: u32,
    params: impl FnOnce(&mut ParamWriter<'_>),
) -> u32 {
    let (z, echo) = cookie_echo(p, source, tag, params);
    p.inject_bytes(Z, source, &echo);
    z
}

/// The same without the last step: the tag of Z, and the COOKIE ECHO that would come.
pub(crate) fn cookie_echo(
    p: &mut Pair,
    source: SocketAddr,
    tag: u32,
    params: impl FnOnce(&mut ParamWriter<'_>),
) -> (u32, Vec<u8>) {
    let first = packet(A, 0, |b| b.init(false, &init(tag), params));
    p.inject_bytes(Z, source, &first);
    let ack = p.sent.last().unwrap().bytes.clone();
    echo_of(&ack, A)
}

/// The tag in an INIT ACK, and the COOKIE ECHO that answers it from the port of this end.
pub(crate) fn echo_of(ack: &[u8], from: usize) -> (u32, Vec<u8>) {
    let parsed = Packet::parse(ack).unwrap();
    let Chunk::InitAck(ack) = parsed.chunks().next().unwrap().unwrap().parse().unwrap() else {
        panic!("an INIT ACK was sent")
    };
    let cookie = ack.params.iter().find_map(|q| match q.unwrap().parse() {
        Ok(Param::StateCookie(c)) => Some(c.to_vec()),
        _ => None,
    });
    let echo = packet(from, ack.initiate_tag, |b| b.cookie_echo(&cookie.unwrap()));
    (ack.initiate_tag, echo)
}
