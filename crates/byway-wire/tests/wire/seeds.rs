//! The seeds of the fuzz target `packet`: small packets that together hold every
//! chunk, parameter and cause.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use byway_wire::{
    AddStreams, Auth, CauseWriter, Data, IData, InitFields, PacketBuilder, ParamWriter,
    ReconfigResponse, SkippedMessage, SsnTsnReset, Timestamp, Tsn,
};

use crate::exercise::exercise;
use crate::support::{build, packet_of};

const FIELDS: InitFields = InitFields {
    initiate_tag: 0x0A0B_0C0D,
    a_rwnd: 106_496,
    outbound_streams: 10,
    inbound_streams: 10,
    initial_tsn: Tsn(0xFFFF_FFFE),
};

const DATA: Data<'_> = Data {
    tsn: Tsn(0xFFFF_FFFF),
    stream_id: 1,
    ssn: 2,
    ppid: 46,
    unordered: false,
    begin: true,
    end: true,
    immediate: true,
    payload: b"hello",
};

fn stamped(packet: &mut PacketBuilder<'_>) {
    packet.timestamp(Timestamp {
        sent: Some(0x0102_0304),
        echo: Some(0xFFFF_FFFF),
    });
    packet.sack(Tsn(7), 4096, &[(2, 3)], &[]);
    packet.data(&DATA);
}

fn init_params(params: &mut ParamWriter<'_>) {
    params.ipv4_address(Ipv4Addr::new(192, 0, 2, 1));
    params.ipv6_address(Ipv6Addr::LOCALHOST);
    params.supported_address_types(&[5, 6]);
    params.cookie_preservative(1_000);
    params.ecn_capable();
    params.zero_checksum_acceptable(1);
    params.random(&[0xAA; 32]);
    params.chunk_list(&[128, 193]);
    params.hmac_algo(&[3, 1]);
    params.padding(&[0; 3]);
    params.supported_extensions(&[192, 130, 64, 194, 15]);
    params.forward_tsn_supported();
    params.adaptation_indication(7);
    params.raw(0xFFFE, b"unknown");
}

fn init_ack_params(params: &mut ParamWriter<'_>) {
    params.state_cookie(&[0xCC; 21]);
    params.unrecognized_parameter(&[0xFF, 0xFF, 0, 5, 1]);
    params.host_name(b"host.example");
}

fn abort_causes(causes: &mut CauseWriter<'_>) {
    causes.user_initiated_abort(b"bye");
    causes.protocol_violation(b"why");
    causes.raw(0x4000, b"unknown");
}

fn asconf_params(params: &mut ParamWriter<'_>) {
    params.add_ip(1, Ipv4Addr::new(192, 0, 2, 2).into());
    params.delete_ip(2, Ipv6Addr::LOCALHOST.into());
    params.set_primary(3, Ipv4Addr::UNSPECIFIED.into());
}

fn asconf_answers(params: &mut ParamWriter<'_>) {
    params.success_indication(1);
    params.error_cause_indication(2, |causes| {
        causes.delete_last_address(&[0xC0, 2, 0, 8, 0, 0, 0, 2]);
        causes.delete_source_address(&[0xC0, 2, 0, 8, 0, 0, 0, 2]);
        causes.resource_shortage(&[0xC0, 1, 0, 8, 0, 0, 0, 1]);
        causes.no_authorization(&[0xC0, 4, 0, 8, 0, 0, 0, 3]);
    });
}

fn causes(causes: &mut CauseWriter<'_>) {
    causes.invalid_stream_identifier(9);
    causes.missing_mandatory_parameter(&[7, 8, 9]);
    causes.stale_cookie(1_000);
    causes.out_of_resource();
    causes.unresolvable_address(&[0, 11, 0, 5, b'a', 0, 0, 0]);
    causes.unrecognized_chunk_type(&[0x7F, 0, 0, 4]);
    causes.invalid_mandatory_parameter();
    causes.unrecognized_parameters(&[0xFF, 0xFF, 0, 4]);
    causes.no_user_data(Tsn(3));
    causes.cookie_received_while_shutting_down();
    causes.restart_with_new_addresses(&[0, 5, 0, 8, 10, 0, 0, 1]);
    causes.illegal_asconf_ack();
    causes.unsupported_hmac(2);
}

fn reconfig_requests(params: &mut ParamWriter<'_>) {
    let add = AddStreams {
        request_sequence: 4,
        count: 5,
    };
    params.outgoing_ssn_reset(1, 2, Tsn(3), &[0, 1, 2]);
    params.incoming_ssn_reset(2, &[3]);
    params.ssn_tsn_reset(SsnTsnReset {
        request_sequence: 3,
    });
    params.add_outgoing_streams(add);
    params.add_incoming_streams(add);
}

fn reconfig_answers(params: &mut ParamWriter<'_>) {
    for next_tsns in [None, Some((Tsn(8), Tsn(9)))] {
        params.reconfig_response(ReconfigResponse {
            response_sequence: 3,
            result: ReconfigResponse::PERFORMED,
            next_tsns,
        });
    }
}

fn interleaved(packet: &mut PacketBuilder<'_>) {
    packet.i_data(&IData {
        tsn: Tsn(5),
        stream_id: 6,
        mid: 7,
        ppid_or_fsn: 8,
        unordered: true,
        begin: false,
        end: false,
        immediate: false,
        payload: b"part",
    });
    packet.i_forward_tsn(
        Tsn(5),
        &[SkippedMessage {
            stream_id: 6,
            unordered: false,
            mid: 7,
        }],
    );
}

/// Chunks of RFC 9260.
fn base_seeds() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("header_only", build(|_| {})),
        (
            "init",
            build(|packet| packet.init(false, &FIELDS, init_params)),
        ),
        (
            "init_ack",
            build(|packet| packet.init(true, &FIELDS, init_ack_params)),
        ),
        (
            "cookie_echo_data",
            build(|packet| {
                packet.cookie_echo(&[0xCC; 21]);
                packet.data(&DATA);
            }),
        ),
        (
            "cookie_ack_sack",
            build(|packet| {
                packet.cookie_ack();
                packet.sack(Tsn(0xFFFF_FFFF), 65_536, &[(2, 3), (5, 5)], &[Tsn(1)]);
            }),
        ),
        (
            "data_without_user_data",
            build(|packet| {
                packet.data(&Data {
                    payload: &[],
                    ..DATA
                })
            }),
        ),
        (
            "heartbeat",
            build(|packet| packet.heartbeat(b"nonce and path")),
        ),
        (
            "heartbeat_ack",
            build(|packet| packet.heartbeat_ack(b"nonce and path")),
        ),
        ("abort", build(|packet| packet.abort(true, abort_causes))),
        ("error", build(|packet| packet.error(causes))),
        ("shutdown", build(|packet| packet.shutdown(Tsn(6)))),
        ("shutdown_ack", build(|packet| packet.shutdown_ack())),
        (
            "shutdown_complete",
            build(|packet| packet.shutdown_complete(true)),
        ),
    ]
}

/// Chunks of the extensions, and broken ones.
fn other_seeds() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        (
            "forward_tsn",
            build(|packet| packet.forward_tsn(Tsn(7), &[(1, 2), (3, 4)])),
        ),
        ("interleaved", build(interleaved)),
        (
            "auth_asconf",
            build(|packet| {
                packet.auth(&Auth {
                    shared_key_id: 0,
                    hmac_id: 3,
                    hmac: &[0x55; 32],
                });
                packet.asconf(1, Ipv4Addr::new(192, 0, 2, 1).into(), asconf_params);
            }),
        ),
        (
            "asconf_ack",
            build(|packet| packet.asconf_ack(1, asconf_answers)),
        ),
        (
            "re_config",
            build(|packet| packet.re_config(reconfig_requests)),
        ),
        (
            "re_config_answers",
            build(|packet| packet.re_config(reconfig_answers)),
        ),
        ("pad", build(|packet| packet.pad(9))),
        ("timestamp_sack_data", build(stamped)),
        (
            "unknown_chunk",
            build(|packet| packet.raw(0xFF, 0xFF, b"unknown")),
        ),
        ("length_zero", packet_of(&[3, 0, 0, 0])),
        ("length_beyond", packet_of(&[3, 0, 0xFF, 0xFF, 1, 2, 3, 4])),
        (
            "counts_beyond",
            packet_of(&[3, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF]),
        ),
    ]
}

fn seeds() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    base_seeds().into_iter().chain(other_seeds())
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/packet")
}

/// Run with `BYWAY_WRITE_SEEDS=1` to write them again.
#[test]
fn seeds_in_the_tree_are_current() {
    let directory = directory();
    if !directory.is_dir() {
        return; // the crate was unpacked outside its repository
    }
    for (name, bytes) in seeds() {
        let path = directory.join(name).with_extension("bin");
        if std::env::var_os("BYWAY_WRITE_SEEDS").is_some() {
            std::fs::write(&path, &bytes).expect("the tree can be written");
        }
        assert!(
            std::fs::read(&path).is_ok_and(|seed| seed == bytes),
            "{name} differs: run with BYWAY_WRITE_SEEDS=1"
        );
    }
}

/// Seeds, and whatever a fuzz run has left beside them.
#[test]
fn seeds_pass_the_fuzz_target() {
    for (_, bytes) in seeds() {
        exercise(&bytes);
    }
    for entry in std::fs::read_dir(directory())
        .into_iter()
        .flatten()
        .flatten()
    {
        exercise(&std::fs::read(entry.path()).expect("a file of the corpus"));
    }
}
