//! The receiving half of an association: the TSNs that arrived, reassembly,
//! acknowledgements, and the advertised window.

pub(crate) mod acker;
pub(crate) mod reassembly;
pub(crate) mod tsn_map;
mod tuning;

use crate::config::BufferConfig;
use crate::time::{Duration, Instant};
use acker::Acker;
use byway_wire::Tsn;
use reassembly::Reassembly;
use tsn_map::TsnMap;
use tuning::Tuning;

/// The receiving half of an association.
#[derive(Debug)]
pub(crate) struct RecvHalf {
    pub(crate) tsns: TsnMap,
    pub(crate) reassembly: Reassembly,
    pub(crate) acker: Acker,
    /// The last window that was advertised to the peer.
    advertised: u32,
    /// Readable was reported, and since then not all has been read.
    readable_told: bool,
    /// Inbound streams.
    streams: u16,
    buffer: u32,
    /// The largest window to advertise, below the buffer while memory is scarce.
    largest_window: u32,
    update_at: u32,
    /// Memory that the user keeps for the association outside of the endpoint, in bytes.
    kept_by_user: usize,
    /// What the buffer's growth is measured with, since the first DATA.
    tuning: Option<Box<Tuning>>,
}

impl RecvHalf {
    pub(crate) fn new(initial_tsn: Tsn, streams: u16, cfg: &BufferConfig) -> RecvHalf {
        // At most half the buffer. Otherwise a message could close the window before it
        // reaches the point, and would never be delivered.
        let half = cfg.receive / 2;
        let point = match cfg.partial_delivery_point {
            0 => half,
            n => n.min(half),
        };
        RecvHalf {
            tsns: TsnMap::new(initial_tsn),
            reassembly: Reassembly::new(cfg.receive_overhead, point as usize),
            acker: Acker::default(),
            advertised: cfg.receive,
            readable_told: false,
            streams,
            buffer: cfg.receive,
            largest_window: u32::MAX,
            kept_by_user: 0,
            update_at: cfg.receive / cfg.window_update_share,
            tuning: None,
        }
    }

    /// The peer restarted: what the old half has received whole can still be read.
    pub(crate) fn keep_unread(&mut self, mut old: RecvHalf) {
        old.reassembly.restart(&self.reassembly);
        self.reassembly = old.reassembly;
        self.readable_told = old.readable_told;
        self.kept_by_user = old.kept_by_user;
    }

    /// Memory of what has arrived, in bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.tsns.memory() + self.reassembly.memory() + self.kept_by_user
    }

    /// The user keeps so many bytes of what it has read.
    pub(crate) fn keep_by_user(&mut self, bytes: usize) {
        self.kept_by_user = bytes;
    }

    /// Whether data waits, here or where the user keeps it.
    pub(crate) fn is_holding(&self) -> bool {
        self.reassembly.held() > 0 || self.kept_by_user > 0
    }

    /// Drops all data that was not read. The user keeps none either.
    pub(crate) fn forget(&mut self) {
        self.kept_by_user = 0;
        self.reassembly.forget();
    }

    /// The association has ended: nothing is acknowledged any more.
    pub(crate) fn end(&mut self) {
        self.acker = Acker::default();
    }

    /// Inbound streams.
    #[inline]
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    /// Whether the user must be told that something can be read.
    #[inline]
    pub(crate) fn take_readable(&mut self) -> bool {
        let tell = !self.readable_told && self.reassembly.has_ready();
        if tell {
            self.readable_told = true;
        }
        tell
    }

    /// The user has read all that there is.
    pub(crate) fn all_read(&mut self) {
        self.readable_told = false;
    }

    /// A SACK advertises this window.
    #[inline]
    pub(crate) fn advertise(&mut self, a_rwnd: u32) {
        self.advertised = a_rwnd;
    }

    /// The size of the buffer, of the window and of what may be held.
    #[inline]
    pub(crate) fn buffer(&self) -> u32 {
        self.buffer
    }

    /// Whether it is time to look whether the buffer should grow (`buffer.tuning`).
    #[inline]
    pub(crate) fn is_tuning_due(&self, now: Instant) -> bool {
        self.tuning.as_ref().is_none_or(|t| t.is_due(now))
    }

    /// The user has read `read` bytes so far, and the longest round trip is this: the
    /// buffer may grow, to at most `most`.
    pub(crate) fn tune(
        &mut self,
        now: Instant,
        (read, longest): (u64, Option<Duration>),
        most: u32,
    ) {
        let next = Tuning::new(now, read, longest);
        let Some(last) = &mut self.tuning else {
            self.tuning = Some(Box::new(next));
            return;
        };
        let waiting = self.reassembly.held() - self.reassembly.held_ready();
        let wanted = last.wanted(now, read, waiting);
        **last = next;
        self.buffer = self.buffer.max(wanted.min(most));
    }

    /// The window to advertise: the free part of the buffer, and less while memory is scarce.
    pub(crate) fn a_rwnd(&self) -> u32 {
        let held = self.reassembly.held().max(self.reassembly.held_by_memory());
        let most = self.buffer.min(self.largest_window);
        u64::from(most).saturating_sub(held) as u32
    }

    /// Memory is scarce, or is not any more: no larger window than this is advertised.
    #[inline]
    pub(crate) fn limit_window(&mut self, largest: u32) {
        self.largest_window = largest;
    }

    /// The reader made room. Returns whether a window update leaves at once (section 6.2).
    /// It waits until the window has opened far enough, to avoid silly windows.
    pub(crate) fn window_opened(&self) -> bool {
        let step = self.update_at.min(self.largest_window / 2);
        self.a_rwnd() >= self.advertised.saturating_add(step)
    }
}
