//! The rules in which ns-2's SCTP module differs from RFC 9260, as settings.

use serde::{Deserialize, Serialize};

/// The rules in which the SCTP module of ns-2 (release 2.35) differs from RFC 9260. All
/// are off by default, which is RFC 9260. [`Ns2Config::module`] is the module as the
/// papers used it, without its CMT class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Ns2Config {
    /// The responder trusts the addresses that the peer lists. RFC 9260 section 5.4
    /// requires a heartbeat first.
    pub trusts_listed_addresses: bool,
    /// An unconfirmed destination never fails, however many heartbeats are lost. In RFC
    /// 9260 section 5.4 it becomes inactive.
    pub unconfirmed_never_fails: bool,
    /// New data stays on a destination until it fails, and then moves once to the next
    /// one. In the dormant state it stays there, and it returns only when the primary
    /// recovers. Retransmissions that leave a destination go to the next one after it.
    /// RFC 9260 with `failover` decides again at each change of a path's state.
    pub keeps_destination: bool,
    /// Any acknowledged chunk clears the errors of the destination that it was last sent
    /// to and makes it active, unless the chunk awaits retransmission after a timeout.
    /// `failure.error_clear` is stricter, and byway also compares the sending time with
    /// the last error.
    pub any_ack_clears_errors: bool,
    /// Only errors of active destinations count for the association. RFC 9260 section
    /// 8.1 counts all retransmissions.
    pub counts_active_only: bool,
    /// One timer for all heartbeats. When it expires, the destination that has been idle
    /// longest is probed, if it has been idle since the timer started. New data and
    /// heartbeats end the idle time. In RFC 9260 section 8.3 each destination has its own
    /// timer.
    pub one_heartbeat_timer: bool,
    /// Only a SACK or a timeout releases data. A SACK that reports losses releases one
    /// packet of retransmissions. Any other SACK releases the retransmissions that cwnd
    /// allows, and then new data if no retransmission waits. A timeout releases one
    /// packet. All retransmissions of one event have the target of the first one. In RFC
    /// 9260 any event may release what the windows allow.
    pub sack_clocked: bool,
    /// Chunks that await retransmission count as outstanding when windows grow and timers
    /// stop. In RFC 9260 section 7.2.4 they do not.
    pub lost_is_outstanding: bool,
    /// Max.Burst limits only the burst after the acknowledgement of a fast retransmitted
    /// chunk, and only once. RFC 9260 section 6.1 always applies it.
    pub burst_after_fast_retransmit: bool,
    /// One chunk at a time is timed. A flag of the path records this, and a loss resets
    /// the flag. Then a chunk that was chosen earlier may be measured instead of a later
    /// one. RFC 9260 section 6.3.1, C4 and C5, does not measure such a chunk.
    pub rtt_flag: bool,
    /// The highest TSN newly acknowledged (HTNA) is kept from one SACK to the next. RFC
    /// 9260 section 7.2.4 uses only that of the current SACK.
    pub remembers_highest_new: bool,
    /// A loss beyond the exit point of fast recovery cuts the window again before that
    /// point is reached, and a timeout keeps the exit point. In RFC 9260 section 7.2.4
    /// only the exit point ends fast recovery. If `congestion.fast_recovery` is off, there
    /// is no exit point, and each SACK that reports a loss cuts the window.
    pub cuts_beyond_exit: bool,
    /// Missing reports also count for chunks that await retransmission, which may then
    /// become fast retransmissions; a timeout makes all of them its own. RFC 9260 section
    /// 7.2.4 counts them only for outstanding chunks.
    pub counts_lost: bool,
    /// In congestion avoidance, cumulatively acknowledged bytes count only if the window
    /// was full, and those of gap blocks only if the cumulative TSN advances; each chunk of a gap
    /// block counts once, though a late SACK takes it back in between.
    pub partial_bytes_when_full: bool,
    /// Bytes that gap blocks acknowledge in slow start, or while the cumulative TSN does
    /// not advance, count later, when it advances in congestion avoidance. This is a bug of
    /// the module's releases up to 3.2, fixed in 3.3 (its `sctp.CHANGES`), so
    /// [`Ns2Config::module`] does not have it. Needs `partial_bytes_when_full`.
    pub partial_bytes_late: bool,
    /// A path's window is halved an RTO after its last packet, even if data is in flight,
    /// but only if it is above this number of PMDCS (the module's `initialCwnd_`, 2). 0 is
    /// the rule of RFC 9260 section 7.2.1, for idle paths only.
    pub decays_above: u32,
    /// A timeout while cwnd is one PMDCS does not change ssthresh. RFC 9260 section 7.2.3
    /// sets it to the floor.
    pub keeps_ssthresh_at_one: bool,
    /// The floor of ssthresh at a timeout, in PMDCS, if it differs from that of fast
    /// retransmits. The module's Heartbeat After RTO classes use their `initialCwnd_`. 0
    /// means `congestion.ssthresh_floor`.
    pub timeout_floor: u32,
    /// Any chunk that the cumulative TSN passes restarts T3-rtx of the path that it was
    /// last sent to. The retransmission of that path's earliest chunk on another path does
    /// so as well. RFC 9260 section 6.3.2, R3, restarts it only for the earliest
    /// outstanding chunk.
    pub restarts_t3_at_any_chunk: bool,
    /// A packet that closes a gap does not make the SACK leave at once (RFC 9260 section
    /// 6.7).
    pub closed_gap_waits: bool,
    /// A SACK that leaves at once because of a duplicate keeps the count of packets and
    /// the timer of delayed SACKs. In RFC 9260 section 6.2 every SACK resets both.
    pub duplicate_sack_keeps_count: bool,
    /// A delayed SACK goes to the source of the last packet of any kind. In RFC 9260
    /// section 6.4 it goes to the source of the DATA that it acknowledges.
    pub sack_to_last_packet: bool,
    /// A lost heartbeat is sent again at once. RFC 9260 section 8.3 waits for HB.interval
    /// and the RTO.
    pub repeats_heartbeats: bool,
    /// A window probe leaves as soon as nothing is in flight, and not an RTO later (RFC
    /// 9260 section 6.1, A).
    pub probes_window_at_once: bool,
    /// The floor of the halving of `decays_above`, in PMDCS (4 in the CMT class of ns-2.35,
    /// which has 2 for losses and timeouts). 0 means `congestion.ssthresh_floor`.
    pub decay_floor: u32,
    /// The rules in which the module's CMT class differs from the CMT paper and from the
    /// other classes. Needs `concurrent` and the other settings here.
    ///
    /// - Lost chunks count against cwnd and the peer's window, so new data gets less.
    /// - After a SACK that reports losses, each path with losses may retransmit one
    ///   packet. After any other SACK it may retransmit what the windows allow. After a
    ///   timeout it may retransmit one packet if the last report of losses allowed it.
    /// - Each path has an exit point, which is a TSN. The path forgets it if its highest
    ///   outstanding TSN is lower than before. A retransmitted chunk is never fast
    ///   retransmitted.
    /// - partial_bytes_acked counts from the TSN from which a pseudo cumulative TSN
    ///   advances, and T3-rtx restarts for chunks that such a TSN has not passed.
    /// - Max.Burst stays in force once it applies.
    /// - When a heartbeat makes a path active again, all data outstanding there is
    ///   retransmitted. If all paths are potentially failed, one becomes active.
    /// - A SACK sent by its timer says that it answers no packet.
    pub cmt_class: bool,
    /// The CMT class tosses a coin between equal paths for a retransmission, with ns-2's
    /// generator after this number of draws elsewhere. `None` takes the first path, or the
    /// last one with RTX-ASAP.
    pub cmt_coin: Option<u32>,
    /// The most bytes of chunks that are not cumulatively acknowledged (the module's
    /// `initialSwnd_`), checked before each packet. 0 means no limit.
    pub send_window: u32,
}

impl Ns2Config {
    /// The module as the papers used it: all rules except those of releases before 3.3 and
    /// of the CMT class, and no send window.
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
