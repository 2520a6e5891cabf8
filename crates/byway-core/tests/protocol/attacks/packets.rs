//! Malformed packets, and good ones where they do not belong.

use super::{summed, summed_or_short};
use crate::common::stranger::init;
use crate::common::{A, Pair, Z, address, assert_drawn, packet, plain};
use byway_core::PathState;
use byway_wire::Tsn;

#[test]
fn attack_blind_packets_without_the_tag_change_nothing() {
    let mut p = Pair::up(1, &plain());
    for tag in [0, 1, u32::MAX, p.reader.tags[Z] ^ 1] {
        p.inject_tagged(Z, 0, tag, |b| b.abort(false, |_| {}));
        p.inject_tagged(Z, 0, tag, |b| b.shutdown(Tsn(0)));
        p.inject_tagged(Z, 0, tag, |b| b.raw(6, 1, &[]));
        p.inject_tagged(Z, 0, tag, |b| b.raw(0xfe, 0, &[1, 2, 3]));
    }
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!(p.state(Z), "ESTABLISHED");
}

#[test]
fn attack_out_of_the_blue_with_a_short_first_chunk() {
    let mut p = Pair::new(1, &plain());
    let good = packet(A, 7, |b| b.init(false, &init(1), |_| {}));
    for len in 0..good.len() {
        p.inject_bytes(Z, address(0, A), &summed_or_short(&good[..len]));
    }
    assert_drawn(&p.take_drawings(), &[]);
}

#[test]
fn attack_chunk_length_below_four_ends_the_packet() {
    for length in 0..4u8 {
        for first in [true, false] {
            let mut p = Pair::up(1, &plain());
            let mut bytes = packet(A, p.reader.tags[Z], |b| {
                if !first {
                    b.cookie_ack();
                }
                b.heartbeat(b"never seen");
                b.abort(false, |_| {});
            });
            let at = if first { 12 } else { 16 };
            bytes[at + 3] = length;
            p.inject_bytes(Z, address(0, A), &summed(bytes));
            assert_drawn(&p.take_drawings(), &[]);
            assert_eq!(p.state(Z), "ESTABLISHED");
        }
    }
}

#[test]
fn attack_malformed_heartbeat_ack_is_ignored() {
    let mut p = Pair::up(1, &plain());
    for len in 0..64 {
        p.inject(Z, 0, |b| b.heartbeat_ack(&vec![0; len]));
    }
    p.inject(Z, 0, |b| b.raw(5, 0, &[]));
    p.inject(Z, 0, |b| b.raw(5, 0, &[0, 1]));
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!(p.state(Z), "ESTABLISHED");
}

#[test]
fn attack_heartbeat_ack_nonce_cannot_be_forged() {
    let mut p = Pair::new(2, &plain());
    p.lose(|q| q.text == "HEARTBEAT ACK");
    p.connect(A, &plain());
    p.run(100);
    for guess in 0..255u8 {
        let mut info = [guess; 17];
        info[0] = 1;
        p.inject(Z, 1, |b| b.heartbeat_ack(&info));
    }
    assert_eq!(p.path_state(Z, 1), PathState::Unconfirmed);
}
