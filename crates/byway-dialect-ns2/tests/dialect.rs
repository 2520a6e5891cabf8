//! What ns-2's module does otherwise, packet by packet. The module's own traces are
//! `cargo xtask measure ns2-suite`.

#[allow(dead_code)]
#[path = "../../byway-core/tests/common/mod.rs"]
mod common;

use byway_core::Message;
use byway_core::config::{CongestionAlgorithm, Cubic, FastRecovery, InitialCwnd};
use byway_dialect_ns2::Settings;
use common::{A, Pair, Z, address, assert_drawn, packet};

/// An established association whose ends read the standard as ns-2 does.
fn up(paths: usize, settings: &Settings) -> Pair {
    Pair::up_with(paths, &settings.core, settings.dialect())
}

#[test]
fn what_a_sack_released_leaves_though_the_user_sends_before_it_has() {
    // By ns-2's rules a SACK that reports losses releases one packet. The user
    // may answer that SACK (it made room) before the packet has left; that took
    // the packet back once, and data waited for T3-rtx.
    let mut c = Settings::ns2();
    c.congestion.initial_cwnd = InitialCwnd::Pmdcs(10);
    let mut p = up(1, &c);
    p.lose(|q| q.text == "DATA 1" || q.from == Z);
    p.send_many(A, 1452, 5);
    p.run(60);
    p.heal();
    p.take_drawings();
    let cumulative = p.reader.tsn(A, 0);
    for last in [2, 3] {
        p.inject(A, 0, |b| b.sack(cumulative, 1 << 16, &[(2, last)], &[]));
    }
    assert_drawn(&p.take_drawings(), &[]);
    let third = packet(Z, p.reader.tags[A], |b| {
        b.sack(cumulative, 1 << 16, &[(2, 4)], &[]);
    });
    p.with(A, |now, e, id| {
        e.handle_datagram(now, address(0, Z), address(0, A), &third);
        e.send(now, id, Message::new(0, vec![0; 100])).unwrap();
    });
    p.run(15);
    assert_drawn(
        &p.take_drawings(),
        &["A -> DATA 1 -> Z", "A -> DATA 6 -> Z", "Z -> SACK 5 -> A"],
    );
}

#[test]
fn without_a_recovery_each_loss_of_a_window_halves_it() {
    // RFC 2960's text, and ns-2's module up to release 3.4; byway's kept an exit
    // point though the configuration had none.
    for (recovery, ssthresh) in [(FastRecovery::PerAssociation, 8), (FastRecovery::Off, 4)] {
        let mut c = Settings::ns2();
        c.congestion.initial_cwnd = InitialCwnd::Pmdcs(16);
        c.congestion.max_burst = None;
        c.congestion.idle_decay = false;
        c.congestion.fast_recovery = recovery;
        let mut p = up(1, &c);
        p.lose_once(&["DATA 1", "DATA 6"]);
        p.send_many(A, 1452, 12);
        p.run(100);
        assert_eq!(p.path(A, 0).ssthresh, ssthresh * 1468, "{recovery:?}");
    }
}

#[test]
fn late_partial_bytes_count_what_gap_blocks_acknowledged_before() {
    // An error of ns-2's module up to release 3.2: 1468 bytes more, as the cumulative TSN
    // passes gap blocks of which slow start had counted nothing.
    for (late, cwnd) in [(false, 9175), (true, 9175 + 1468)] {
        let mut c = Settings::ns2();
        c.congestion.idle_decay = false;
        c.congestion.fast_recovery = FastRecovery::Off;
        c.ns2.partial_bytes_late = late;
        let mut p = up(1, &c);
        p.lose_once(&[
            "DATA 12", "DATA 18", "DATA 19", "DATA 30", "DATA 31", "DATA 32",
        ]);
        p.send_many(A, 1452, 150);
        p.run(300);
        assert_eq!(p.path(A, 0).cwnd, cwnd, "late: {late}");
    }
}

#[test]
fn data_that_need_not_wait_for_heartbeats_leaves_when_the_association_is_up() {
    // The module sends new data when an event lets it. With verification the last
    // HEARTBEAT ACK does; without, the set-up itself.
    let mut c = Settings::ns2();
    c.setup.confirm_all_before_data = false;
    c.setup.verify_addresses = false;
    let mut p = up(2, &c);
    p.take_drawings();
    p.send_many(A, 1452, 1);
    p.run(60);
    let drawn = p.take_drawings();
    assert_eq!(
        drawn.first().map(String::as_str),
        Some("A -> DATA 1 -> Z"),
        "{drawn:?}"
    );
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    type Row = (fn(&mut Settings), &'static str);
    let rows: [Row; 2] = [
        (
            |c| {
                *c = Settings::ns2();
                c.congestion.algorithm = CongestionAlgorithm::Cubic(Cubic::default());
            },
            "ns2.partial_bytes_when_full = true",
        ),
        (
            |c| c.ns2.partial_bytes_late = true,
            "ns2.partial_bytes_late = true",
        ),
    ];
    for (change, expected) in rows {
        let mut settings = Settings::default();
        change(&mut settings);
        let error = settings.check().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn settings_survive_their_text() {
    for name in ["rfc9260", "rfc2960", "ns2", "caro2006", "caro2006-proposed"] {
        let settings = Settings::preset(name).unwrap();
        settings.check().unwrap();
        let text = serde_json::to_string(&settings).unwrap();
        let read: Settings = serde_json::from_str(&text).unwrap();
        assert_eq!(read, settings, "{text}");
    }
    let error = Settings::preset("ns3").unwrap_err().to_string();
    assert!(
        error.contains("rfc9260, rfc2960, ns2, caro2006 and caro2006-proposed"),
        "{error}"
    );
}

#[test]
fn without_ns2_settings_there_is_no_dialect() {
    assert!(Settings::preset("rfc2960").unwrap().dialect().is_none());
    assert!(Settings::ns2().dialect().is_some());
}
