//! What programs and people read of an association that was lost, of a path and of a change of addresses. The
//! names are for programs and do not change.

use crate::common::address;
use byway_core::{AddressChange, Event, LossReason, PathState, PathTrouble};

#[test]
fn each_loss_has_a_name_for_programs_and_words_for_people() {
    use LossReason::*;
    let rows: [(LossReason, &str, &str); 14] = [
        (
            SetupTimedOut,
            "setup timed out",
            "the peer did not answer the set-up",
        ),
        (
            PeerUnreachable,
            "peer unreachable",
            "the peer could not be reached on any path (Association.Max.Retrans exceeded)",
        ),
        (
            DataUnacknowledged,
            "data unacknowledged",
            "the peer answers heartbeats but acknowledges no data on any path (a black hole for \
             large packets, or a half-dead peer)",
        ),
        (
            AbortedByPeer(String::new()),
            "aborted by peer",
            "the peer aborted",
        ),
        (
            AbortedByPeer("bye".into()),
            "aborted by peer",
            "the peer aborted: bye",
        ),
        (
            ProtocolUnreachable,
            "protocol unreachable",
            "nothing at the peer's address takes SCTP without UDP (ICMP: protocol unreachable)",
        ),
        (
            PortUnreachable,
            "port unreachable",
            "nothing listens on the peer's UDP port (ICMP: port unreachable)",
        ),
        (AbortedLocally, "aborted locally", "aborted on this side"),
        (
            ProtocolViolation("DATA in no stream"),
            "protocol violation",
            "the peer broke the protocol: DATA in no stream",
        ),
        (PeerRestarted, "peer restarted", "the peer restarted"),
        (
            StaleCookie,
            "stale cookie",
            "the set-up took longer than the cookie lives",
        ),
        (
            OutOfMemory,
            "out of memory",
            "the memory of this endpoint is scarce (max_memory), and this association held most \
             of it",
        ),
        (
            AlreadyConnected,
            "already connected",
            "there is another association with this peer",
        ),
        (Refused("a reason".into()), "refused", "a reason"),
    ];
    for (reason, name, words) in rows {
        assert_eq!((reason.name(), &*reason.to_string()), (name, words));
    }
    // What a peer says is kept, and counts as memory.
    for (reason, least) in [
        (Refused("why".into()), 3),
        (AbortedByPeer("bye!".into()), 4),
    ] {
        let undelivered_messages = 0;
        assert!(reason.text_memory() >= least);
        let lost = Event::Lost {
            reason,
            undelivered_messages,
        };
        assert!(lost.text_memory() >= least);
    }
    assert_eq!(PeerRestarted.text_memory(), 0);
}

#[test]
fn each_state_and_trouble_of_a_path_has_a_name() {
    for (state, name) in [
        (PathState::Unconfirmed, "unconfirmed"),
        (PathState::Active, "active"),
        (PathState::PotentiallyFailed, "potentially failed"),
        (PathState::Inactive, "inactive"),
    ] {
        assert_eq!((state.name(), &*state.to_string()), (name, name));
    }
    for (trouble, name, words) in [
        (PathTrouble::T3Rtx, "t3_rtx", "T3-rtx expired"),
        (
            PathTrouble::Overdue,
            "overdue",
            "an acknowledgement is overdue",
        ),
        (
            PathTrouble::HeartbeatLost,
            "heartbeat_lost",
            "a heartbeat was not answered",
        ),
        (
            PathTrouble::ControlUnanswered,
            "control_unanswered",
            "SHUTDOWN or ASCONF was not answered",
        ),
        (
            PathTrouble::Unreachable,
            "unreachable",
            "there is no way to the address",
        ),
        (
            PathTrouble::DeadForData,
            "dead_for_data",
            "it answers but acknowledges no data",
        ),
        (
            PathTrouble::Detected,
            "detected",
            "the failure detector has judged so",
        ),
    ] {
        assert_eq!((trouble.name(), &*trouble.to_string()), (name, words));
    }
}

/// Behind "the peer refuses", for example.
#[test]
fn a_change_of_addresses_names_the_address_without_its_port() {
    let mut at = address(1, 0);
    at.set_port(9899);
    for (change, words) in [
        (AddressChange::Added(at), "the address 10.1.0.1 to be added"),
        (
            AddressChange::Removed(at),
            "the address 10.1.0.1 to be deleted",
        ),
        (
            AddressChange::PrimaryOfPeer(at.ip()),
            "the address 10.1.0.1 as its primary",
        ),
    ] {
        assert_eq!(change.to_string(), words);
    }
}
