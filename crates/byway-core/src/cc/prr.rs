//! Proportional rate reduction (RFC 6937, with the rules of its successor RFC 9937), for
//! each destination of SCTP.
//!
//! RFC 9260 section 7.2.4 reduces cwnd at once. Then nothing leaves until as much is
//! acknowledged as the window lost, and after a loss of many chunks the whole rest of the
//! window leaves in one burst. With this rule each SACK of the recovery releases a share
//! of what it reports as delivered: while more than ssthresh is in flight, ssthresh bytes
//! for each window that was in flight at the loss; below it, as much as was delivered
//! (conservative reduction bound), and one PMDCS more for a SACK that advances the
//! cumulative TSN without a further loss (slow start reduction bound). Off by default.
//!
//! For SCTP, SMSS is PMDCS, and the flight is that of the destination, without chunks
//! that count as lost. The variable cwnd keeps the value that it has after the recovery.
//! The recovery of a path ends when all is cumulatively acknowledged that was under way
//! at the loss (RFC 9260 section 7.2.4), at a timeout, or with nothing in flight.

/// The recovery of one path. All values are in bytes of DATA chunks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prr {
    /// In flight at the loss (RecoverFS).
    recover_fs: u64,
    /// Delivered since (`prr_delivered`).
    delivered: u64,
    /// Sent since (`prr_out`).
    out: u64,
    /// What may still leave.
    left: u32,
    /// The recovery ends when the data before this sequence is acknowledged.
    exit: u64,
}

/// What a SACK means for a recovery.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Delivery {
    /// Bytes that it newly acknowledged on the path (`DeliveredData`).
    pub(crate) bytes: u32,
    /// The cumulative TSN advanced, and no further chunk is lost (`SafeACK`).
    pub(crate) safe: bool,
    /// Bytes in flight after it.
    pub(crate) flight: u32,
    pub(crate) ssthresh: u32,
    pub(crate) pmdcs: u32,
}

impl Prr {
    /// A recovery begins with these bytes in flight, lost ones included.
    pub(crate) fn begin(recover_fs: u32, exit: u64) -> Prr {
        Prr {
            recover_fs: u64::from(recover_fs).max(1),
            delivered: 0,
            out: 0,
            left: 0,
            exit,
        }
    }

    /// Whether the recovery lasts, now that all before `base` is acknowledged.
    pub(crate) fn lasts(&self, base: u64) -> bool {
        base < self.exit
    }

    /// A SACK arrived.
    pub(crate) fn on_sack(&mut self, d: Delivery) {
        self.delivered += u64::from(d.bytes);
        let balance = self.delivered.saturating_sub(self.out);
        let ssthresh = u64::from(d.ssthresh);
        let mut sndcnt = if d.flight > d.ssthresh {
            let share = (self.delivered * ssthresh).div_ceil(self.recover_fs);
            share.saturating_sub(self.out)
        } else {
            let bound = balance.max(d.bytes.into()) + u64::from(if d.safe { d.pmdcs } else { 0 });
            bound.min(ssthresh - u64::from(d.flight))
        };
        if self.out == 0 && sndcnt == 0 {
            // The fast retransmission itself.
            sndcnt = d.pmdcs.into();
        }
        self.left = u32::try_from(sndcnt).unwrap_or(u32::MAX);
    }

    /// Bytes leave.
    #[inline]
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.out += u64::from(bytes);
        self.left = self.left.saturating_sub(bytes);
    }

    /// Whether another packet may begin. It may exceed the rest by less than one PMDCS,
    /// as rule B of section 6.1 allows it.
    #[inline]
    pub(crate) fn allows(&self) -> bool {
        self.left > 0
    }

    /// Bytes that may leave now.
    pub(crate) fn room(&self) -> u32 {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many packets of 1000 bytes leave after each of these SACKs; a SACK is a
    /// number of packets delivered, whether it is safe, and how many it adds to the lost.
    fn released(flight: u32, ssthresh: u32, sacks: &[(u32, bool, u32)]) -> Vec<u32> {
        let mut flight = flight * 1000;
        let mut prr = Prr::begin(flight, 1);
        let mut left = Vec::new();
        for &(delivered, safe, lost) in sacks {
            flight -= (delivered + lost) * 1000;
            prr.on_sack(Delivery {
                bytes: delivered * 1000,
                safe,
                flight,
                ssthresh: ssthresh * 1000,
                pmdcs: 1000,
            });
            let mut packets = 0;
            while prr.allows() {
                prr.sent(1000);
                flight += 1000;
                packets += 1;
            }
            left.push(packets);
        }
        left
    }

    #[test]
    fn a_single_loss_spreads_the_reduction_over_the_round_trip() {
        // RFC 6937 section 4: 20 in flight, half of it is left; every second SACK
        // releases a packet, and the flight ends at ssthresh.
        let sacks: Vec<_> = std::iter::once((1, false, 1))
            .chain((0..18).map(|_| (1, false, 0)))
            .collect();
        let got = released(20, 10, &sacks);
        assert_eq!(got[..6], [1, 0, 1, 0, 1, 0]);
        assert_eq!(got.iter().sum::<u32>(), 10);
    }

    #[test]
    fn a_burst_of_losses_releases_no_burst() {
        // 15 of 20 are lost at once: the flight is far below ssthresh.
        assert_eq!(
            released(20, 10, &[(1, false, 15), (1, false, 0), (1, true, 0)]),
            [1, 1, 2]
        );
    }

    #[test]
    fn it_never_exceeds_ssthresh_below_it() {
        assert_eq!(released(10, 7, &[(2, true, 3), (2, true, 0)]), [2, 2]);
    }

    #[test]
    fn it_ends_at_its_exit() {
        let prr = Prr::begin(1000, 5);
        assert!(prr.lasts(4));
        assert!(!prr.lasts(5));
    }
}
