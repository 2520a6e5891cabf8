//! The losses of a running link, with a geometric skip for uniform loss.
//!
//! Uniform loss would draw one random number per packet. Instead the link draws
//! ahead until a number says loss, and so knows how many packets pass before
//! the next loss. The numbers and their order are those of one draw per packet.

use super::loss::LossState;
use crate::net::packet::Packet;
use chacha20::ChaCha8Rng;

/// Most packets for which the link draws ahead, so that a very low loss rate does not
/// draw endlessly.
const MAX_AHEAD: u64 = 256;

/// The losses of a link.
#[derive(Debug)]
pub(super) struct Losses {
    pub(super) model: LossState,
    /// Whether losses are drawn ahead: the loss is uniform and no later change
    /// replaces the model, whose numbers would be shifted.
    pub(super) ahead: bool,
    /// Packets that are known to pass.
    pub(super) passing: u64,
    /// The packet after those is known to be lost.
    loss_follows: bool,
    rng: ChaCha8Rng,
}

impl Losses {
    pub(super) fn new(model: LossState, rng: ChaCha8Rng) -> Losses {
        Losses {
            model,
            ahead: false,
            passing: 0,
            loss_follows: false,
            rng,
        }
    }

    /// Whether the next packet is lost.
    pub(super) fn loses(&mut self, packet: &Packet) -> bool {
        if !self.ahead {
            return self.model.loses(packet, &mut self.rng);
        }
        if self.passing > 0 {
            self.passing -= 1;
            return false;
        }
        self.draw_ahead()
    }

    /// Whether the next packet is lost, when none is known to pass. Draws until
    /// the next loss if that is not known.
    pub(super) fn draw_ahead(&mut self) -> bool {
        if core::mem::take(&mut self.loss_follows) {
            return true;
        }
        let LossState::Uniform(chance) = self.model else {
            // Only uniform losses are drawn ahead.
            return false;
        };
        for passing in 0..MAX_AHEAD {
            if chance.draw(&mut self.rng) {
                // The first of the passing packets is the next one.
                self.loss_follows = passing > 0;
                self.passing = passing.saturating_sub(1);
                return passing == 0;
            }
        }
        self.passing = MAX_AHEAD - 1;
        false
    }
}
