//! Where ns-2's SCTP module contradicts RFC 9260, as settings.

use serde::{Deserialize, Serialize};

/// What the SCTP module of ns-2 (release 2.35) does otherwise than RFC 9260. All
/// are off by default, which is RFC 9260; [`Ns2Config::module`] is the module as the
/// papers ran it, without its CMT class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Ns2Config {
    /// The responder takes the addresses that the peer lists as confirmed;
    /// RFC 9260 section 5.4 asks for a heartbeat first.
    pub trusts_listed_addresses: bool,
    /// A destination that is not confirmed yet never fails, however many
    /// heartbeats it loses; RFC 9260 section 5.4 lets it become inactive.
    pub unconfirmed_never_fails: bool,
    /// New data stays on a destination until it fails, then moves to the next one,
    /// once; in the dormant state it moves no further, and only the primary's
    /// recovery brings it back. Retransmissions that leave a destination go to the
    /// next one after it. RFC 9260 with `failover` decides again at each change of a
    /// path.
    pub keeps_destination: bool,
    /// Any acknowledged chunk clears the errors of the destination that it was sent
    /// to last and makes it active, unless the chunk awaits retransmission after a
    /// timeout. `failure.error_clear` asks for more, and byway compares the sending
    /// time with the last error.
    pub any_ack_clears_errors: bool,
    /// Only errors of active destinations count for the association; RFC 9260
    /// section 8.1 counts all retransmissions.
    pub counts_active_only: bool,
    /// One timer for all heartbeats: when it expires, the destination that was
    /// idle longest is probed, if it was idle since the timer started. What
    /// keeps a destination from being idle is new data and heartbeats. RFC 9260
    /// section 8.3 gives each destination its own.
    pub one_heartbeat_timer: bool,
    /// Only a SACK or a timeout releases data: a SACK that reports losses releases
    /// one packet of retransmissions, any other what cwnd allows, then new data if
    /// no retransmission waits; a timeout releases one packet. All retransmissions of
    /// one event go where the first one goes. By RFC 9260 any event may release what
    /// the windows allow.
    pub sack_clocked: bool,
    /// Chunks that await retransmission count as outstanding where windows grow and
    /// timers stop; by RFC 9260 section 7.2.4 they do not.
    pub lost_is_outstanding: bool,
    /// Max.Burst limits only what follows the acknowledgement of a fast
    /// retransmitted chunk, and only once; RFC 9260 section 6.1 always applies it.
    pub burst_after_fast_retransmit: bool,
    /// One chunk at a time is timed. A flag of the path says so, and a loss resets
    /// it; a chunk that was chosen before may then be measured instead of a later
    /// one. RFC 9260 section 6.3.1, C4 and C5, drops such a chunk.
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
    /// Chunks that await retransmission collect missing reports, too, and keep them;
    /// a timeout makes them its own. RFC 9260 section 7.2.4 counts for outstanding
    /// chunks only.
    pub counts_lost: bool,
    /// In congestion avoidance bytes count only while the window is full, those
    /// of gap blocks only when the cumulative TSN advances, too.
    pub partial_bytes_when_full: bool,
    /// What gap blocks acknowledge in slow start, or while the cumulative TSN stands,
    /// is counted once that advances in congestion avoidance: an error of the
    /// module's releases up to 3.2, which 3.3 mended (its `sctp.CHANGES`), so not
    /// among those of [`Ns2Config::module`]. Needs `partial_bytes_when_full`.
    pub partial_bytes_late: bool,
    /// An RTO after its last packet a path's window is halved, in flight or not;
    /// RFC 9260 section 7.2.1 means idle paths. The window must be above this many
    /// PMDCS (the module's `initialCwnd_`, 2); 0 is RFC 9260's rule.
    pub decays_above: u32,
    /// A timeout while cwnd is one PMDCS leaves ssthresh; RFC 9260 section 7.2.3
    /// sets it to the floor.
    pub keeps_ssthresh_at_one: bool,
    /// The floor of ssthresh at a timeout, in PMDCS, where it is not that of fast
    /// retransmits: the module's Heartbeat After RTO classes take their
    /// `initialCwnd_`. 0 for `congestion.ssthresh_floor`.
    pub timeout_floor: u32,
    /// Any chunk that the cumulative TSN passes restarts T3-rtx of the path that it
    /// was sent to last, and so does the retransmission of that path's earliest
    /// chunk elsewhere; RFC 9260 section 6.3.2, R3, restarts it for the earliest
    /// outstanding chunk.
    pub restarts_t3_at_any_chunk: bool,
    /// A gap that closes does not hurry the SACK (RFC 9260 section 6.7).
    pub closed_gap_waits: bool,
    /// A SACK that a duplicate hurries keeps the count of packets and the timer of
    /// delayed SACKs; by RFC 9260 section 6.2 every SACK acknowledges what was
    /// counted.
    pub duplicate_sack_keeps_count: bool,
    /// A delayed SACK goes to the source of the last packet of any kind; RFC 9260
    /// section 6.4 means the DATA that it acknowledges.
    pub sack_to_last_packet: bool,
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
    /// What the module's CMT class does otherwise than the CMT paper and than the
    /// other classes. Needs `concurrent` and the other settings here.
    ///
    /// - Lost chunks take cwnd and the peer's window from new data.
    /// - After a SACK that reports losses, each path that has some may repeat one
    ///   packet; after any other, what windows allow; after a timeout, one packet
    ///   where the last report of losses allowed it.
    /// - Each path has an exit point, by TSN, and forgets it where less is outstanding
    ///   than once was. A retransmitted chunk is never fast retransmitted.
    /// - Partial bytes count from where a pseudo cumulative TSN advances, and T3-rtx
    ///   restarts for what such a TSN has not passed.
    /// - Max.Burst stays in force once it applies.
    /// - A heartbeat that brings a path back repeats all that is outstanding there. If
    ///   all paths are potentially failed, one becomes active.
    /// - A SACK sent by its timer says that it answers no packet.
    pub cmt_class: bool,
    /// Among equal paths the CMT class tosses a coin for a retransmission, with ns-2's
    /// generator after this many numbers drawn elsewhere; "off" takes the first path.
    pub cmt_coin: Option<u32>,
    /// Bytes of chunks that may await their cumulative acknowledgement (the module's
    /// `initialSwnd_`), compared before each packet; 0 for no limit.
    pub send_window: u32,
}

impl Ns2Config {
    /// The module as the papers ran it: all of them, without those of releases
    /// before 3.3, of the CMT class, and without a send window.
    #[must_use]
    pub fn module() -> Ns2Config {
        Ns2Config {
            trusts_listed_addresses: true,
            unconfirmed_never_fails: true,
            keeps_destination: true,
            any_ack_clears_errors: true,
            counts_active_only: true,
            one_heartbeat_timer: true,
            sack_clocked: true,
            lost_is_outstanding: true,
            burst_after_fast_retransmit: true,
            rtt_flag: true,
            remembers_highest_new: true,
            cuts_beyond_exit: true,
            counts_lost: true,
            partial_bytes_when_full: true,
            partial_bytes_late: false,
            decays_above: 2,
            keeps_ssthresh_at_one: true,
            timeout_floor: 0,
            restarts_t3_at_any_chunk: true,
            closed_gap_waits: true,
            duplicate_sack_keeps_count: true,
            sack_to_last_packet: true,
            repeats_heartbeats: true,
            probes_window_at_once: true,
            decay_floor: 0,
            cmt_class: false,
            cmt_coin: None,
            send_window: 0,
        }
    }
}
