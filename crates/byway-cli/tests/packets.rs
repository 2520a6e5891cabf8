//! Attacks by single packets, against a running `byway recv`. `ATTACKS.md` of `byway-core`
//! numbers them; the same attacks on the core alone are in its tests.

mod peers;
mod raw;

use byway_wire::{Data, Tsn, chunk_type};
use peers::Victim;
use raw::{Raw, TAG, init_fields};

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

/// The association of the attacker goes on, and nothing of it is used up.
#[test]
fn packets_that_an_association_must_survive() {
    let attacks: [(&str, Attack); 14] = [
        ("7, blind ABORT", |r| {
            r.send(r.tag ^ 1, |b| b.abort(false, |_| {}))
        }),
        ("7, blind SHUTDOWN", |r| {
            r.send(r.tag ^ 1, |b| b.shutdown(Tsn(0)))
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
        ("35, short Stale Cookie", |r| {
            r.inject(|b| {
                b.error(|c| {
                    c.raw(3, &[]);
                })
            })
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
        raw.inject(|b| b.abort(false, |_| {}));
    }
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
        assert!(raw.hear_of(chunk_type::ABORT) > 0, "{what}");
        assert!(good.lives(), "{what}");
        good.inject(|b| b.abort(false, |_| {}));
    }
    victim.stays_well();
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
    let raw = Raw::up(victim.to);
    raw.send(0, |b| {
        b.init(false, &init_fields(), |w| {
            w.address([127, 0, 0, 1].into());
            w.address([127, 0, 0, 77].into());
        });
    });
    let (kinds, _) = raw.hear_all();
    assert!(!kinds.contains(&chunk_type::INIT_ACK), "{kinds:?}");
    assert!(raw.lives());
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
    assert_eq!(raw.hear_of(chunk_type::HEARTBEAT_ACK), 1);
    assert_ne!(raw.tag, TAG);
    victim.stays_well();
}
