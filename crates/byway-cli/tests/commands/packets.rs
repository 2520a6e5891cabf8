//! Attacks by single packets, against a running `byway recv`. `ATTACKS.md` of `byway-core`
//! numbers them; the same attacks on the core alone are in its tests.

use crate::open_metrics::scrape_anew;
use crate::peers::{Server, Victim, folder, signal, wait_until};
use crate::raw::{Raw, TAG, init_fields};
use byway_wire::{
    Chunk, Data, IData, InitFields, Packet, ParamWriter, SkippedMessage, Tsn, cause_code,
    chunk_type, param_type,
};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

fn one_byte(tsn: Tsn, begin: bool, end: bool) -> Data<'static> {
    Data {
        tsn,
        stream_id: 0,
        ssn: 0,
        ppid: 0,
        unordered: false,
        begin,
        end,
        immediate: false,
        payload: &[7],
    }
}

/// What an attacker sends.
type Attack = fn(&mut Raw);

/// Each with the answers that may come.
const WITHOUT_AN_ASSOCIATION: [(&str, Attack, &[u8]); 9] = [
    (
        "3, forged cookie",
        |r| r.send(r.tag, |b| b.cookie_echo(&[7; 200])),
        &[],
    ),
    (
        "4, malformed cookie",
        |r| {
            for len in 0..r.cookie.len() {
                let cut = r.cookie[..len].to_vec();
                r.send(r.tag, |b| b.cookie_echo(&cut));
            }
        },
        &[],
    ),
    (
        "6, changed ports",
        |r| {
            r.port += 1;
            let cookie = r.cookie.clone();
            r.send(r.tag, |b| b.cookie_echo(&cookie));
        },
        &[],
    ),
    (
        "9, short first chunk",
        |r| {
            for len in 0..4 {
                r.inject_bytes(7, &vec![1; len]);
            }
        },
        &[],
    ),
    (
        "10, chunk length below four",
        |r| {
            for len in 0..4 {
                r.inject_bytes(0, &[1, 0, 0, len]);
            }
        },
        &[],
    ),
    (
        "11, parameter overrun",
        |r| {
            let mut bytes = r.packet(0, |b| b.init(false, &init_fields(), |_| {}));
            bytes.extend([0, 5, 0, 200, 10, 0]);
            let len = bytes.len() as u16 - 12;
            bytes[14..16].copy_from_slice(&len.to_be_bytes());
            let chunks = bytes[12..].to_vec();
            r.inject_bytes(0, &chunks);
        },
        &[chunk_type::ABORT],
    ),
    (
        "28, bundled INIT",
        |r| {
            r.send(0, |b| {
                b.init(false, &init_fields(), |_| {});
                b.cookie_ack();
            })
        },
        &[],
    ),
    (
        "D15, SCTP port 0",
        |r| {
            r.port = 0;
            r.send(0, |b| b.init(false, &init_fields(), |_| {}));
        },
        &[],
    ),
    (
        "36, COOKIE ECHO, SHUTDOWN, SHUTDOWN ACK",
        |r| {
            let cookie = r.cookie.clone();
            r.send(r.tag, |b| {
                b.cookie_echo(&cookie);
                b.shutdown(Tsn(0));
                b.shutdown_ack();
            });
            r.hear_all();
        },
        &[],
    ),
];

/// Nothing is set up, and next to nothing is answered.
#[test]
fn packets_without_an_association_set_up_nothing() {
    let victim = Victim::new("packets-without");
    for (what, attack, answers) in WITHOUT_AN_ASSOCIATION {
        let mut raw = Raw::new(victim.to);
        raw.ask();
        attack(&mut raw);
        let (kinds, _) = raw.hear_all();
        assert!(
            kinds.iter().all(|k| answers.contains(k)),
            "{what}: {kinds:?}"
        );
    }
    victim.stays_well();
}

/// 3, H2: each bit of a cookie counts, those of its MAC too. The packets are right but for that bit: the unchanged cookie
/// sets the association up.
#[test]
fn a_cookie_with_any_changed_bit_is_refused_by_a_process() {
    let dir = folder("packets-cookie");
    let args = ["recv", "--metrics", "127.0.0.1:0", "--dir"];
    let server = Server::start(&[&args[..], &[dir.to_str().unwrap()]].concat());
    let to = server.addresses.split(',').next().unwrap().parse().unwrap();
    let forged = || {
        let told = scrape_anew(server.metrics.unwrap());
        told.values("byway_refused_total", &[("rule", "forged_cookies")])[0]
    };
    let mut raw = Raw::new(to);
    raw.ask();
    let (mut sent, bits) = (0, 8 * raw.cookie.len());
    let all: Vec<usize> = (0..bits).collect();
    // As many as the buffer of a socket takes on a busy machine.
    for some in all.chunks(64) {
        for bit in some {
            let mut cookie = raw.cookie.clone();
            cookie[bit / 8] ^= 1 << (bit % 8);
            raw.send(raw.tag, |b| b.cookie_echo(&cookie));
            sent += 1;
        }
        wait_until(|| forged() >= f64::from(sent));
    }
    let (kinds, _) = raw.hear_all();
    assert_eq!(kinds, [0; 0], "no answer");
    raw.echo();
    assert_eq!(forged(), f64::from(sent));
    signal(&server.child, "TERM");
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(143), "{said}");
    std::fs::remove_dir_all(&dir).unwrap();
}

/// The association of the attacker goes on, and nothing of it is used up.
#[test]
fn packets_that_an_association_must_survive() {
    let attacks: [(&str, Attack); 13] = [
        ("7, blind ABORT", |r| {
            r.send(r.tag ^ 1, |b| b.abort(false, |_| {}))
        }),
        ("7, blind SHUTDOWN", |r| {
            // Nothing of ours is outstanding: any other number would be a violation.
            let tsn = Tsn(r.tsn.wrapping_sub(1));
            r.send(r.tag ^ 1, |b| b.shutdown(tsn));
        }),
        ("7, ABORT with a T bit and another tag", |r| {
            r.send(9, |b| b.abort(true, |_| {}))
        }),
        ("10, chunk length 0", |r| {
            r.inject_bytes(r.tag, &[0, 3, 0, 0])
        }),
        ("13, malformed HEARTBEAT ACK", |r| {
            r.inject(|b| b.raw(5, 0, &[0, 1, 0, 200]))
        }),
        ("14, forged HEARTBEAT ACK", |r| {
            r.inject(|b| b.heartbeat_ack(&[0; 17]))
        }),
        ("22, duplicates without end", |r| {
            let twice: Vec<Tsn> = (0..16_000).map(Tsn).collect();
            let tsn = Tsn(r.tsn.wrapping_sub(1));
            r.inject(|b| b.sack(tsn, 1500, &[], &twice));
        }),
        ("25, FORWARD-TSN far ahead", |r| {
            r.inject(|b| b.forward_tsn(Tsn(0x7000_0000), &[(65_535, 9)]));
        }),
        ("26, I-DATA", |r| r.inject(|b| b.raw(64, 3, &[0; 20]))),
        ("29, ASCONF without AUTH", |r| {
            r.inject(|b| {
                b.asconf(1, [127, 0, 0, 9].into(), |w| {
                    w.delete_ip(1, [127, 0, 0, 1].into());
                })
            });
        }),
        ("32, a NULL AUTH", |r| {
            r.inject(|b| b.raw(15, 0, &[0, 0, 0, 3]))
        }),
        ("34, RE-CONFIG", |r| {
            r.inject(|b| b.raw(130, 0, &[0, 17, 0, 12, 0, 0, 0, 1, 255, 255, 0, 0]))
        }),
        ("R20, errors without end", |r| {
            r.inject(|b| {
                for _ in 0..300 {
                    b.error(|c| {
                        c.out_of_resource();
                    });
                }
            })
        }),
    ];
    let victim = Victim::new("packets-survived");
    for (what, attack) in attacks {
        let mut raw = Raw::up(victim.to);
        attack(&mut raw);
        assert!(raw.lives(), "{what}");
        raw.goes_on(what);
        raw.inject(|b| b.abort(false, |_| {}));
    }
    victim.stays_well();
}

/// S17: a thousand unknown chunks whose types ask for a report, each in a packet of its own, get eight reports a second.
#[test]
fn unknown_chunks_without_end_get_few_reports_of_a_process() {
    let victim = Victim::new("packets-unknown");
    let mut raw = Raw::up(victim.to);
    // Both kinds: what ends the packet, and what is skipped.
    let packets = [0x7e, 0xfe].map(|kind| raw.packet(raw.tag, |b| b.raw(kind, 0, b"unknown")));
    let begun = Instant::now();
    let mut reports = 0;
    for _ in 0..20 {
        for _ in 0..25 {
            packets.iter().for_each(|bytes| raw.send_bytes(bytes));
        }
        reports += raw.hear_until_answered(chunk_type::ERROR);
    }
    reports += raw.hear_of(chunk_type::ERROR);
    let most = 8 * (begun.elapsed().as_secs() as usize + 2);
    assert!((1..=most).contains(&reports), "{reports} of {most}");
    raw.goes_on("unknown chunks without end");
    victim.stays_well();
}

/// The association of the attacker is aborted, and nobody else's.
#[test]
fn packets_that_end_the_association_of_the_attacker() {
    let attacks: [(&str, Attack); 5] = [
        ("20, SACK of what was never sent", |r| {
            let tsn = Tsn(r.tsn.wrapping_add(1000));
            r.inject(|b| b.sack(tsn, 1500, &[], &[]));
        }),
        ("22, gap blocks of what was never sent", |r| {
            let gaps: Vec<(u16, u16)> = (0..16_000).map(|_| (2, 3)).collect();
            let tsn = Tsn(r.tsn.wrapping_sub(1));
            r.inject(|b| b.sack(tsn, 1500, &gaps, &[]));
        }),
        ("27, D3, fragments that never began", |r| {
            for _ in 0..3 {
                let tsn = r.next_tsn();
                r.inject(|b| b.data(&one_byte(tsn, false, true)));
            }
        }),
        ("27, a message within a message", |r| {
            for _ in 0..2 {
                let tsn = r.next_tsn();
                r.inject(|b| b.data(&one_byte(tsn, true, false)));
            }
        }),
        ("DATA without data", |r| {
            let tsn = r.next_tsn();
            r.inject(|b| {
                b.data(&Data {
                    payload: &[],
                    ..one_byte(tsn, true, true)
                })
            });
        }),
    ];
    let victim = Victim::new("packets-ending");
    for (what, attack) in attacks {
        let (mut raw, good) = (Raw::up(victim.to), Raw::up(victim.to));
        attack(&mut raw);
        assert!(raw.hear_some_of(chunk_type::ABORT) > 0, "{what}");
        assert!(good.lives(), "{what}");
        good.inject(|b| b.abort(false, |_| {}));
    }
    victim.stays_well();
}

/// A fragment of one byte in I-DATA. `number`: its FSN, if it does not begin the message.
fn fragment(tsn: Tsn, (stream_id, mid): (u16, u32), number: u32, end: bool) -> IData<'static> {
    IData {
        tsn,
        stream_id,
        mid,
        ppid_or_fsn: number,
        unordered: false,
        begin: number == 0,
        end,
        immediate: false,
        payload: &[7],
    }
}

/// Both chunks of RFC 8260.
const BOTH: &[u8] = &[chunk_type::I_DATA, chunk_type::I_FORWARD_TSN];

/// What an attacker sends, with the chunks that it lists in its INIT, and whether its association goes on.
const INTERLEAVED: [(&str, &[u8], Attack, bool); 9] = [
    (
        "25, I-FORWARD-TSN far ahead",
        BOTH,
        |r| r.inject(|b| b.i_forward_tsn(Tsn(0x7000_0000), &[])),
        true,
    ),
    (
        "25, I-FORWARD-TSN of streams that do not exist, and of far messages",
        BOTH,
        |r| {
            let skipped = [(65_535, false), (65_535, true), (0, true), (1, false)];
            let skipped = skipped.map(|(stream_id, unordered)| SkippedMessage {
                stream_id,
                unordered,
                mid: 0x7fff_ffff,
            });
            let tsn = r.next_tsn();
            r.inject(|b| b.i_forward_tsn(tsn, &skipped));
        },
        true,
    ),
    (
        "25, I-FORWARD-TSN that was not agreed on",
        &[chunk_type::I_DATA],
        |r| {
            let tsn = r.next_tsn();
            r.inject(|b| b.i_forward_tsn(tsn, &[]));
        },
        false,
    ),
    (
        "26, DATA in place of I-DATA",
        BOTH,
        |r| {
            let tsn = r.next_tsn();
            r.inject(|b| b.data(&one_byte(tsn, true, true)));
        },
        false,
    ),
    (
        "26, I-DATA in place of DATA",
        &[],
        |r| {
            let tsn = r.next_tsn();
            r.inject(|b| b.i_data(&fragment(tsn, (0, 0), 0, true)));
        },
        false,
    ),
    (
        "26, FORWARD-TSN in place of I-FORWARD-TSN",
        BOTH,
        |r| {
            let tsn = r.next_tsn();
            r.inject(|b| b.forward_tsn(tsn, &[]));
        },
        false,
    ),
    (
        "27, a message that begins twice",
        BOTH,
        |r| {
            for _ in 0..2 {
                let tsn = r.next_tsn();
                r.inject(|b| b.i_data(&fragment(tsn, (0, 0), 0, false)));
            }
        },
        false,
    ),
    (
        "27, a fragment behind the last one",
        BOTH,
        |r| {
            for (number, end) in [(4, true), (5, false)] {
                let tsn = r.next_tsn();
                r.inject(|b| b.i_data(&fragment(tsn, (0, 0), number, end)));
            }
        },
        false,
    ),
    (
        "27, beginnings without ends",
        BOTH,
        |r| {
            for mid in 0..20 {
                r.inject_many(40, |b, tsn, n| {
                    b.i_data(&fragment(tsn, (n as u16 % 10, mid * 4 + n / 10), 0, false));
                });
            }
        },
        true,
    ),
];

/// Those of RFC 8260 at a `serve`, which speaks it.
#[test]
fn packets_of_interleaved_messages_end_at_most_the_association_of_the_attacker() {
    let mut serve = Server::start(&["serve", "--allow", "127.0.0.1:9"]);
    let to = serve.addresses.split(',').next().unwrap().parse().unwrap();
    let good = Raw::up(to);
    for (what, chunks, attack, lives) in INTERLEAVED {
        let mut raw = Raw::up_with(to, |w| {
            w.supported_extensions(chunks);
        });
        raw.wait(Duration::from_millis(100));
        attack(&mut raw);
        match lives {
            true => {
                assert!(raw.lives(), "{what}");
                raw.goes_on_interleaved(what);
            }
            false => assert!(raw.hear_some_of(chunk_type::ABORT) > 0, "{what}"),
        }
        raw.inject(|b| b.abort(false, |_| {}));
    }
    assert!(good.lives());
    good.inject(|b| b.abort(false, |_| {}));
    assert!(serve.child.try_wait().unwrap().is_none(), "it has died");
    signal(&serve.child, "TERM");
    let (status, _, err) = serve.finish();
    assert_eq!(status, Some(143), "{err}");
    assert!(!err.contains("panicked"), "{err}");
}

/// 5 and R9: the cookie of an association that has ended sets up no ghost.
#[test]
fn a_cookie_echo_that_comes_again_sets_up_nothing() {
    let victim = Victim::new("packets-again");
    let raw = Raw::up(victim.to);
    raw.inject(|b| b.abort(false, |_| {}));
    raw.hear_all();
    let cookie = raw.cookie.clone();
    raw.inject(|b| b.cookie_echo(&cookie));
    assert_eq!(raw.hear_of(chunk_type::COOKIE_ACK), 0);
    assert!(!raw.lives());
    victim.stays_well();
}

/// 33: a restart that adds addresses, from the address and ports of an association.
#[test]
fn a_restart_that_adds_addresses_is_refused() {
    let victim = Victim::new("packets-restart");
    let mut raw = Raw::up(victim.to);
    // With the tag of the association it would be its own INIT, which came late.
    let other = InitFields {
        initiate_tag: TAG + 1,
        ..init_fields()
    };
    raw.send(0, |b| {
        b.init(false, &other, |w| {
            w.address([127, 0, 0, 1].into());
            w.address([127, 0, 0, 77].into());
        });
    });
    let cause = raw.hear_cause();
    assert_eq!(cause, cause_code::RESTART_WITH_NEW_ADDRESSES);
    let (kinds, _) = raw.hear_all();
    assert_eq!(kinds, [0; 0], "nothing else");
    assert!(raw.lives());
    raw.goes_on("a refused restart");
    victim.stays_well();
}

/// 12 and 19: what one packet asks for is answered by one packet, not much larger.
#[test]
fn bombs_get_small_answers() {
    let victim = Victim::new("packets-bombs");
    let raw = Raw::new(victim.to);
    let bomb = raw.packet(0, |b| {
        b.init(false, &init_fields(), |w| {
            for _ in 0..300 {
                w.raw(0xC0FF, &[]);
            }
        });
    });
    raw.send_bytes(&bomb);
    let (kinds, bytes) = raw.hear_all();
    assert_eq!(kinds, [chunk_type::INIT_ACK]);
    assert!(bytes <= 3 * bomb.len(), "{bytes} for {}", bomb.len());
    let raw = Raw::up(victim.to);
    let many = raw.packet(raw.tag, |b| (0..80).for_each(|_| b.heartbeat(&[7; 8])));
    raw.send_bytes(&many);
    assert_eq!(raw.hear_some_of(chunk_type::HEARTBEAT_ACK), 1);
    assert_ne!(raw.tag, TAG);
    victim.stays_well();
}

/// 18: an INIT ACK has at most three times the bytes of its INIT and fits a packet, whatever the INIT holds and however
/// many addresses the process has. It is the only answer.
#[test]
fn init_acks_are_short_whatever_the_init_holds() {
    type Params = fn(&mut ParamWriter<'_>);
    let rows: [(&str, Params); 6] = [
        ("nothing", |_| {}),
        ("padding", |w| {
            w.padding(&[0; 100]);
        }),
        ("unknown parameters", |w| {
            for n in 0..300 {
                w.raw(0xc200 + n, &[]);
            }
        }),
        ("a long unknown parameter", |w| {
            w.raw(0xc200, &[7; 1300]);
        }),
        ("addresses", |w| {
            for n in 0..32 {
                w.address([127, 77, 0, n].into());
            }
        }),
        ("AUTH", |w| {
            w.random(&[7; 32]);
            w.chunk_list(&[0xc1, 0x80]);
            w.hmac_algo(&[3, 1]);
        }),
    ];
    let bind: Vec<String> = (1..=8).map(|n| format!("127.0.0.{n}:0")).collect();
    let victim = Victim::at("packets-init-ack", &bind.join(","));
    let mut cut = false;
    for (what, params) in rows {
        let mut raw = Raw::new(victim.to);
        let [init, answer] = raw.ask_with(params);
        let (asked, got) = (init.len(), answer.len());
        assert!(got <= 3 * asked, "{what}: {got} bytes for {asked}");
        assert!(got <= 1500 - 28, "{what}: {got} bytes");
        for (kind, report) in params_of(&answer) {
            if kind == param_type::UNRECOGNIZED_PARAMETER {
                // Cut or not, it is a parameter, and says its length.
                let length = usize::from(u16::from_be_bytes([report[2], report[3]]));
                assert_eq!(length, report.len(), "{what}");
                cut |= (5..1304).contains(&length) && report[4..].iter().all(|b| *b == 7);
            }
        }
        assert_eq!(raw.hear(), None, "{what}");
    }
    assert!(cut, "the long unknown parameter is reported, in part");
    victim.stays_well();
}

/// 36: an association that one packet sets up and shuts down is gone with the answer, and its cookie is worth nothing.
#[test]
fn a_packet_that_sets_up_and_shuts_down_leaves_nothing() {
    let victim = Victim::new("packets-at-once");
    for _ in 0..5 {
        let mut raw = Raw::new(victim.to);
        raw.ask();
        let (cookie, tsn) = (raw.cookie.clone(), Tsn(raw.tsn.wrapping_sub(1)));
        let all = raw.packet(raw.tag, |b| {
            b.cookie_echo(&cookie);
            b.shutdown(tsn);
            b.shutdown_ack();
            b.heartbeat(b"dead");
            b.shutdown(tsn);
        });
        raw.send_bytes(&all);
        assert_eq!(raw.hear_some_of(chunk_type::SHUTDOWN_COMPLETE), 1);
        assert!(!raw.lives());
        raw.send_bytes(&all);
        let (kinds, _) = raw.hear_all();
        assert!(!kinds.contains(&chunk_type::COOKIE_ACK), "{kinds:?}");
        assert!(!raw.lives());
    }
    victim.stays_well();
}

/// The tags, the initial TSNs and the cookies of 200 INIT ACKs.
fn drawn(victim: &Victim) -> (Vec<[u32; 2]>, BTreeSet<Vec<u8>>) {
    let mut raw = Raw::new(victim.to);
    let (mut numbers, mut cookies) = (Vec::new(), BTreeSet::new());
    for _ in 0..200 {
        raw.ask();
        numbers.push([raw.tag, raw.tsn]);
        cookies.insert(raw.cookie.clone());
    }
    (numbers, cookies)
}

/// 8: nobody can count on a tag, a TSN or a cookie, also who has a process of his own: the same command, asked the same.
#[test]
fn tags_tsns_and_cookies_of_a_process_do_not_repeat() {
    let victims = ["packets-numbers", "packets-other-numbers"].map(Victim::new);
    let all = victims.each_ref().map(drawn);
    for (numbers, cookies) in &all {
        assert_eq!(cookies.len(), 200);
        for which in 0..2 {
            let each: BTreeSet<u32> = numbers.iter().map(|n| n[which]).collect();
            assert_eq!(each.len(), 200);
            // Steps between them do not repeat either, and each bit is set about as often as not.
            let steps = numbers
                .windows(2)
                .map(|n| n[1][which].wrapping_sub(n[0][which]));
            assert_eq!(steps.collect::<BTreeSet<_>>().len(), 199);
            for bit in 0..32 {
                let set = each.iter().filter(|n| *n >> bit & 1 == 1).count();
                assert!((50..=150).contains(&set), "bit {bit} in {set} of 200");
            }
        }
    }
    let [(first, cookies), (second, others)] = &all;
    assert!(cookies.is_disjoint(others));
    for which in 0..2 {
        let theirs: BTreeSet<u32> = second.iter().map(|n| n[which]).collect();
        // One may be in both by chance, once in a hundred thousand runs.
        let both = first.iter().filter(|n| theirs.contains(&n[which])).count();
        assert!(both <= 1, "{both} are in both");
    }
    victims.into_iter().for_each(Victim::stays_well);
}

/// The chunks of an INIT ACK, with its parameters.
fn params_of(init_ack: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let packet = Packet::parse(init_ack).unwrap();
    let Some(Ok(Ok(Chunk::InitAck(ack)))) = packet.chunks().next().map(|c| c.map(|c| c.parse()))
    else {
        panic!("no INIT ACK");
    };
    let raw = ack.params.iter().map(|p| p.unwrap());
    raw.map(|p| (p.kind, p.value.to_vec())).collect()
}

/// 39: what leaves is what the peer gave, what the standard lays out, or zero.
#[test]
fn padding_and_answers_of_a_process_hold_no_memory_of_its_own() {
    let victim = Victim::new("packets-memory");
    for len in 0..40_u8 {
        let mut raw = Raw::new(victim.to);
        // Reports and answers of each length, padded.
        let unknown: Vec<u8> = (0..len).collect();
        let [_, ack] = raw.ask_with(|w| {
            w.raw(0xc0ff, &unknown);
        });
        let reports: Vec<_> = params_of(&ack)
            .into_iter()
            .filter(|p| p.0 == param_type::UNRECOGNIZED_PARAMETER)
            .collect();
        assert_eq!(reports.len(), 1);
        let mut expected = vec![0xc0, 0xff, 0, len + 4];
        expected.extend(&unknown);
        let padded = expected.len().next_multiple_of(4);
        for (_, mut report) in reports {
            report.resize(padded, 0);
            expected.resize(padded, 0);
            assert_eq!(report, expected);
        }
        // Behind the last parameter there is zero, up to a multiple of four.
        assert!(ack.len().is_multiple_of(4));
        let cookie = raw.cookie.len();
        assert!(cookie < 100, "{cookie} bytes for one address");
        let echo = raw.cookie.clone();
        raw.send(raw.tag, |b| b.cookie_echo(&echo));
        raw.hear_next(chunk_type::COOKIE_ACK);
        raw.inject(|b| b.heartbeat(&unknown));
        let answer = raw.hear_next(chunk_type::HEARTBEAT_ACK);
        let mut expected = vec![5, 0, 0, len + 8, 0, 1, 0, len + 4];
        expected.extend(&unknown);
        expected.resize(expected.len().next_multiple_of(4), 0);
        assert_eq!(answer[12..], expected);
        raw.inject(|b| b.abort(false, |_| {}));
    }
    victim.stays_well();
}

/// R21: a HEARTBEAT comes back as it is, whatever is in it.
#[test]
fn a_process_returns_a_heartbeat_of_two_parameters_whole() {
    let victim = Victim::new("packets-heartbeat");
    let raw = Raw::up(victim.to);
    let two = [
        &[0, 1, 0, 8][..],
        b"here",
        &[0x80, 9, 0, 9],
        b"there",
        &[0; 3],
    ]
    .concat();
    raw.inject(|b| b.raw(chunk_type::HEARTBEAT, 0, &two));
    let answer = raw.hear_next(chunk_type::HEARTBEAT_ACK);
    assert!(answer.ends_with(&two), "{answer:?}");
    victim.stays_well();
}

/// R19: what is known and not supported is reported as unknown, and the rest is not.
#[test]
fn a_process_reports_what_it_does_not_speak() {
    let victim = Victim::new("packets-report");
    let mut raw = Raw::new(victim.to);
    let [_, ack] = raw.ask_with(|w| {
        w.supported_address_types(&[5]);
        w.ecn_capable();
        w.forward_tsn_supported();
        w.adaptation_indication(7);
        w.padding(&[0; 60]);
    });
    let reports = params_of(&ack);
    let reported = reports
        .iter()
        .filter(|p| p.0 == param_type::UNRECOGNIZED_PARAMETER)
        .map(|p| u16::from_be_bytes([p.1[0], p.1[1]]));
    assert_eq!(reported.collect::<Vec<_>>(), [0xc000, 0xc006]);
    victim.stays_well();
}

/// R8: a peer restarts twice, and the COOKIE ECHO of the first time comes late.
#[test]
fn a_late_cookie_of_an_earlier_restart_changes_nothing_at_a_process() {
    let victim = Victim::new("packets-late");
    let mut raw = Raw::up(victim.to);
    let mut late = Vec::new();
    for tag in [TAG + 1, TAG + 2] {
        raw.ask_as(tag, |_| {});
        let cookie = raw.cookie.clone();
        late.push(raw.packet(raw.tag, |b| b.cookie_echo(&cookie)));
        raw.echo();
        assert!(raw.lives());
    }
    raw.send_bytes(&late[0]);
    assert_eq!(raw.hear_of(chunk_type::COOKIE_ACK), 0);
    assert!(
        raw.lives(),
        "the newest association is the one that there is"
    );
    victim.stays_well();
}

/// Answers to INITs that one host gets in this time, and as many to packets out of the blue: 1000 at once, and then 500
/// a second.
fn most_answers(since: Instant) -> usize {
    1000 + 500 * (since.elapsed().as_secs() as usize + 1)
}

/// How often the tests of these rates ask. In the time that it takes a rate gives a part of it.
const ROUNDS: usize = 100;
const A_ROUND: usize = 50;

/// How many chunks of this type come for rounds of these packets. A round ends when this association is answered.
fn answers(raw: &Raw, kind: u8, packets: &[Vec<u8>]) -> usize {
    let mut answers = 0;
    for _ in 0..ROUNDS {
        for _ in 0..A_ROUND {
            packets.iter().for_each(|bytes| raw.send_bytes(bytes));
        }
        answers += raw.hear_until_answered(kind);
    }
    answers + raw.hear_of(kind)
}

/// S5: the cookie of an association gives the token of its INIT ACK back once. One that comes again and again does not
/// pay for INIT ACKs to others.
#[test]
fn a_cookie_that_comes_again_pays_for_no_answers_of_a_process() {
    let victim = Victim::new("packets-pays");
    let mut raw = Raw::up(victim.to);
    let cookie = raw.cookie.clone();
    let again = raw.packet(raw.tag, |b| b.cookie_echo(&cookie));
    raw.port += 1;
    let other = raw.packet(0, |b| b.init(false, &init_fields(), |_| {}));
    raw.port -= 1;
    let begun = Instant::now();
    let answered = answers(&raw, chunk_type::INIT_ACK, &[other, again]);
    let most = most_answers(begun);
    assert!(answered <= most, "{answered} of {most}");
    assert!(answered >= 1000, "{answered}");
    victim.stays_well();
}

/// S5: a cookie that has expired gets a Stale Cookie each time only within the rate of such answers.
#[test]
fn a_stale_cookie_that_comes_again_meets_the_rate_of_answers_of_a_process() {
    let dir = folder("packets-stale");
    let life = "setup.valid_cookie_life=2s";
    let args = ["recv", "--dir", dir.to_str().unwrap(), "--set", life];
    let mut server = Server::start(&args);
    let to = server.addresses.split(',').next().unwrap().parse().unwrap();
    let mut raw = Raw::up(to);
    let good = (raw.tag, raw.port);
    raw.port += 1;
    raw.ask();
    let cookie = raw.cookie.clone();
    let stale = raw.packet(raw.tag, |b| b.cookie_echo(&cookie));
    (raw.tag, raw.port) = good;
    std::thread::sleep(Duration::from_millis(2500));
    let begun = Instant::now();
    let answered = answers(&raw, chunk_type::ERROR, &[stale]);
    let most = most_answers(begun);
    assert!(answered <= most, "{answered} of {most}");
    assert!(answered >= 1000, "{answered}");
    assert!(raw.lives());
    assert!(server.child.try_wait().unwrap().is_none(), "it has died");
    signal(&server.child, "TERM");
    let (status, _, err) = server.finish();
    assert_eq!(status, Some(143), "{err}");
    std::fs::remove_dir_all(&dir).unwrap();
}
