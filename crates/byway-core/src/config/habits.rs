//! Where ns-2's SCTP module reads the RFCs in its own way.

use serde::{Deserialize, Serialize};

/// Habits of the SCTP module of ns-2 (release 2.35, by the authors of the
/// caro and natarajan papers), each where it differs from RFC 9260. All are off
/// by default; [`HabitsConfig::ns2`] has them all on, so that runs can be
/// compared packet by packet with the module's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct HabitsConfig {
    /// The responder takes the addresses that the peer lists as confirmed;
    /// RFC 9260 section 5.4 asks for a heartbeat first.
    pub trusts_listed_addresses: bool,
    /// A destination that is not confirmed yet never fails, however many
    /// heartbeats it loses; RFC 9260 section 5.4 lets it become inactive.
    pub unconfirmed_never_fails: bool,
    /// New data stays with a destination until that fails and goes to the next
    /// one then, once; in the dormant state it moves no further, and only the
    /// primary's recovery brings it back. Retransmissions that leave a
    /// destination go to the next one after it. By `failover` every change of a
    /// path is judged anew.
    pub keeps_destination: bool,
    /// Whatever is acknowledged clears the errors of the destination that it
    /// was sent to last and makes that active, unless it waits to be repeated
    /// after a timeout. `failure.error_clear` and byway's own comparison of
    /// sending time and last error ask for more.
    pub clears_errors_freely: bool,
    /// Errors count for the association on active destinations alone; RFC 9260
    /// section 8.1 counts all retransmissions.
    pub counts_active_alone: bool,
    /// One timer for all heartbeats: when it expires, the destination that was
    /// idle longest is probed, if it was idle since the timer started. What
    /// keeps a destination from being idle is new data and heartbeats. RFC 9260
    /// section 8.3 gives each destination its own.
    pub one_heartbeat_timer: bool,
    /// A SACK and a timeout alone release data: a SACK that reports losses one
    /// packet of retransmissions, any other what cwnd allows, then new data if
    /// nothing is left to be retransmitted; a timeout one packet. All
    /// retransmissions of one event go where the first one goes. By RFC 9260
    /// any event may release what the windows allow.
    pub sack_clocked: bool,
    /// Chunks that wait to be retransmitted count as outstanding where windows
    /// grow and timers stop; by RFC 9260 section 7.2.4 they do not.
    pub marked_is_outstanding: bool,
    /// Max.Burst limits only what follows the acknowledgement of a fast
    /// retransmitted chunk, and until it has limited something once; RFC 9260
    /// section 6.1 applies it always.
    pub burst_after_fast_retransmit: bool,
    /// One chunk at a time is timed, told by a flag of the path that a loss
    /// resets; a chunk that was chosen before may then be measured in place of a
    /// later one. RFC 9260 section 6.3.1, C4 and C5, drops what was overtaken.
    pub rtt_flag: bool,
    /// The highest TSN newly acknowledged is remembered from one SACK to the
    /// next; RFC 9260 section 7.2.4 takes that of the SACK at hand.
    pub remembers_highest_new: bool,
    /// A loss beyond the exit point of fast recovery cuts the window again
    /// before that point is reached, and a timeout leaves the exit point; by
    /// RFC 9260 section 7.2.4 it ends with the exit point alone. Where
    /// `congestion.fast_recovery` is off there is no exit point, and each SACK that
    /// reports a loss cuts.
    pub cuts_beyond_exit: bool,
    /// Chunks that wait to be retransmitted collect missing reports, too, and
    /// keep them; a timeout takes them for its own. By RFC 9260 section 7.2.4
    /// only what is outstanding is counted.
    pub counts_marked: bool,
    /// In congestion avoidance bytes count only while the window is full, those
    /// of gap blocks only when the cumulative TSN advances, too.
    pub partial_bytes_when_full: bool,
    /// What gap blocks acknowledge in slow start, or while the cumulative TSN stands,
    /// is counted once that advances in congestion avoidance: an error of the
    /// module's releases up to 3.2, which 3.3 mended (its `sctp.CHANGES`), so not
    /// among those of [`HabitsConfig::ns2`]. Needs `partial_bytes_when_full`.
    pub partial_bytes_late: bool,
    /// An RTO after its last packet a path's window is halved, in flight or not;
    /// RFC 9260 section 7.2.1 means idle paths. The window must be above so many
    /// PMDCS (the module's `initialCwnd_`, 2); 0 is RFC 9260's rule.
    pub decays_above: u32,
    /// A timeout while cwnd is one PMDCS leaves ssthresh; RFC 9260 section 7.2.3
    /// sets it to the floor.
    pub spares_ssthresh: bool,
    /// The floor of ssthresh at a timeout, in PMDCS, where it is not that of fast
    /// retransmits: the module's Heartbeat After RTO classes take their
    /// `initialCwnd_`. 0 for `congestion.ssthresh_floor`.
    pub timeout_floor: u32,
    /// Any chunk that the cumulative TSN passes restarts T3-rtx of the path that
    /// it was sent to last, and so does the retransmission of that path's
    /// earliest chunk elsewhere; RFC 9260 section 6.3.2, R3, means the earliest
    /// outstanding one.
    pub restarts_t3_freely: bool,
    /// A SACK is not hurried by a gap that closes (RFC 9260 section 6.7).
    pub closes_gaps_quietly: bool,
    /// A SACK that a duplicate hurries leaves the count of packets and the timer
    /// of delayed SACKs alone; by RFC 9260 section 6.2 every SACK acknowledges
    /// what was counted.
    pub counts_packets_apart: bool,
    /// A delayed SACK goes to where the last packet came from, whatever it
    /// held; RFC 9260 section 6.4 means the DATA that it acknowledges.
    pub replies_to_last_packet: bool,
    /// A lost heartbeat is sent again at once; RFC 9260 section 8.3 waits for
    /// HB.interval and the RTO.
    pub repeats_heartbeats: bool,
    /// A window probe leaves at once when nothing is in flight, not an RTO later
    /// (RFC 9260 section 6.1, A).
    pub probes_window_at_once: bool,
    /// The floor of that halving, in PMDCS, where it is not
    /// `congestion.ssthresh_floor` (the CMT class of ns-2.35: 4, with 2 for losses
    /// and timeouts); 0 for that.
    pub decay_floor: u32,
    /// What the module's CMT class does otherwise than the CMT paper, and than the
    /// other classes: marked chunks take cwnd and the peer's window from new data;
    /// a SACK that reports losses lets each path that has some repeat one packet,
    /// any other what windows allow, and a timeout does so where the last report
    /// of losses allowed it; each path has an exit point, by TSN, and forgets it
    /// where less is outstanding than once was; what was repeated is never fast
    /// retransmitted; partial bytes count from where a pseudo cumulative TSN
    /// advances; T3-rtx restarts for what such a TSN has not passed; Max.Burst
    /// limits for good; a heartbeat that brings a path back repeats all that is
    /// outstanding there; of paths that are all suspect one becomes active; a SACK
    /// by its timer says that it answers no packet. Needs `concurrent` and the
    /// other habits.
    pub concurrent_class: bool,
    /// Among equal paths the CMT class tosses a coin for a retransmission, with
    /// ns-2's own generator after so many numbers drawn elsewhere; none takes the
    /// first path.
    pub concurrent_coin: Option<u32>,
    /// Bytes of chunks that may wait for their cumulative acknowledgement (the
    /// module's `initialSwnd_`), looked at before each packet; 0 for no limit.
    pub send_window: u32,
}

impl HabitsConfig {
    /// All habits, without a send window.
    #[must_use]
    pub fn ns2() -> HabitsConfig {
        HabitsConfig {
            trusts_listed_addresses: true,
            unconfirmed_never_fails: true,
            keeps_destination: true,
            clears_errors_freely: true,
            counts_active_alone: true,
            one_heartbeat_timer: true,
            sack_clocked: true,
            marked_is_outstanding: true,
            burst_after_fast_retransmit: true,
            rtt_flag: true,
            remembers_highest_new: true,
            cuts_beyond_exit: true,
            counts_marked: true,
            partial_bytes_when_full: true,
            partial_bytes_late: false,
            decays_above: 2,
            spares_ssthresh: true,
            timeout_floor: 0,
            restarts_t3_freely: true,
            closes_gaps_quietly: true,
            counts_packets_apart: true,
            replies_to_last_packet: true,
            repeats_heartbeats: true,
            probes_window_at_once: true,
            decay_floor: 0,
            concurrent_class: false,
            concurrent_coin: None,
            send_window: 0,
        }
    }
}
