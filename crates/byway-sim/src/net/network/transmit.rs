//! Sends packets one after the other, with [`Simultaneous::AsScheduled`].
//!
//! [`Simultaneous::AsScheduled`]: crate::net::Simultaneous::AsScheduled

use super::Network;

impl Network {
    /// Offers a packet to a link, with [`Simultaneous::AsScheduled`] and without
    /// a log or captures.
    #[inline]
    pub(super) fn pass_as_scheduled(&mut self, link: u32, slot: u32) {
        let packet = self.pool.get_mut(slot);
        let fate = self.parts.links[link as usize].pass(self.now, packet);
        if fate.lost.is_some() {
            return self.pool.discard(slot);
        }
        self.transmit_or_wait(link, slot);
    }

    /// Transmits a packet now, or queues it after those that wait.
    pub(super) fn transmit_or_wait(&mut self, link: u32, slot: u32) {
        let transmitter = &mut self.transmitters[link as usize];
        if !transmitter.waiting.is_empty() {
            transmitter.waiting.push_back(slot);
        } else if self.events.has_passed(transmitter.free_at, self.now) {
            self.start_transmission(link, slot);
        } else {
            transmitter.waiting.push_back(slot);
            self.events.push_transmission_end(transmitter.free_at);
        }
    }

    /// Starts a transmission: the packet's arrival is scheduled.
    pub(super) fn start_transmission(&mut self, link: u32, slot: u32) {
        let size = self.pool.get(slot).wire_size;
        let times = self.parts.links[link as usize].seconds_for(size);
        self.transmitters[link as usize].free_at = self.events.push_transmission(link, slot, times);
    }

    /// A transmission has ended, and the next packet that waits starts.
    pub(super) fn end_transmission(&mut self, link: u32) {
        if let Some(slot) = self.transmitters[link as usize].waiting.pop_front() {
            self.start_transmission(link, slot);
        }
        let transmitter = &self.transmitters[link as usize];
        if !transmitter.waiting.is_empty() {
            self.events.push_transmission_end(transmitter.free_at);
        }
    }
}
