//! What the user asks of an association: messages (RFC 9260 sections 11.1.5 and 11.1.6) and
//! heartbeats (sections 11.1.9 and 11.1.10).

use super::{Association, Ctx, State};
use crate::api::{CommandError, Message, Received};
use crate::path::{PathId, PathState};

impl Association {
    /// Accepts a message for sending.
    #[inline]
    pub(crate) fn send_message(&mut self, message: Message) -> Result<(), CommandError> {
        let len = message.payload.len();
        self.check_message(message.stream, len, message.path)?;
        self.stats.bytes_queued += len as u64;
        self.send.push(message);
        if let Some(d) = &mut self.optional.dialect {
            d.on_message();
        }
        self.new_burst();
        Ok(())
    }

    /// Whether a message of this length would be accepted now.
    #[inline(always)]
    pub(crate) fn check_message(
        &mut self,
        stream: u16,
        len: usize,
        path: Option<PathId>,
    ) -> Result<(), CommandError> {
        if !self.state.takes_messages() {
            return Err(match self.state {
                State::Closed => CommandError::Gone,
                _ => CommandError::ShuttingDown,
            });
        }
        if stream >= self.send.streams() {
            return Err(CommandError::NoSuchStream {
                stream,
                streams: self.send.streams(),
            });
        }
        if len == 0 {
            return Err(CommandError::EmptyMessage);
        }
        if len > self.cfg.buffer.max_message as usize {
            return Err(CommandError::MessageTooLong {
                len,
                limit: self.cfg.buffer.max_message,
            });
        }
        if let Some(path) = path {
            self.check_path(path)?;
            let p = self.paths.get(path);
            if p.state() == PathState::Unconfirmed {
                return Err(CommandError::Unconfirmed {
                    path,
                    remote: p.remote(),
                });
            }
        }
        let queued = self.send.buffered();
        // An empty buffer accepts a message of any length, so that no message is stuck.
        let limit = self.send_limit();
        let most = u64::from(limit);
        if queued > 0
            && queued + len as u64 > most
            && !(queued + len as u64 <= 2 * most && self.send.queue.has_place_beside(stream, len))
        {
            self.send.want_writable(stream);
            return Err(CommandError::WouldBlock { queued, limit });
        }
        Ok(())
    }

    pub(crate) fn check_path(&self, path: PathId) -> Result<(), CommandError> {
        if self.paths.contains(path) {
            Ok(())
        } else {
            Err(CommandError::NoSuchPath {
                path,
                last: self.paths.len().saturating_sub(1) as u8,
            })
        }
    }

    /// The user asks for a heartbeat now (section 11.1.10).
    pub(crate) fn request_heartbeat(&mut self, path: PathId) -> Result<(), CommandError> {
        self.check_path(path)?;
        self.owe_heartbeat(path);
        self.want_heartbeat(path);
        Ok(())
    }

    /// The user turns the heartbeats of a path on or off (section 11.1.9).
    pub(crate) fn enable_heartbeat(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        enabled: bool,
    ) -> Result<(), CommandError> {
        self.check_path(path)?;
        self.paths.get_mut(path).heartbeat.enable(enabled);
        self.schedule_heartbeat(ctx, path);
        Ok(())
    }

    /// Delivers the next message or part, and sends a window update to the peer if this
    /// opened its window.
    pub(crate) fn receive(&mut self) -> Option<Received> {
        let Some(r) = self.recv.reassembly.pop() else {
            self.recv.all_read();
            return None;
        };
        self.stats.bytes_delivered += r.payload.len() as u64;
        self.stats.messages_delivered += u64::from(r.last);
        if self.state.acks_data() && self.recv.window_opened() {
            self.recv.acker.want_now();
        }
        Some(r)
    }
}
