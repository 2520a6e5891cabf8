//! The user sends and receives messages (RFC 9260 sections 11.1.5 and 11.1.7).

use super::{Association, State};
use crate::api::{CommandError, Message, Received};
use crate::path::{PathId, PathState};

impl Association {
    /// Accepts a message for sending.
    #[inline]
    pub(crate) fn send_message(&mut self, message: Message) -> Result<(), CommandError> {
        if !self.state.takes_messages() {
            return Err(match self.state {
                State::Closed => CommandError::Gone,
                _ => CommandError::ShuttingDown,
            });
        }
        if message.stream >= self.send.streams {
            return Err(CommandError::NoSuchStream {
                stream: message.stream,
                streams: self.send.streams,
            });
        }
        let len = message.payload.len();
        if len == 0 {
            return Err(CommandError::EmptyMessage);
        }
        if len > self.cfg.buffer.max_message as usize {
            return Err(CommandError::MessageTooLong {
                len,
                limit: self.cfg.buffer.max_message,
            });
        }
        if let Some(path) = message.path {
            self.check_path(path)?;
            let p = self.paths.get(path);
            if p.state == PathState::Unconfirmed {
                return Err(CommandError::Unconfirmed {
                    path,
                    remote: p.remote,
                });
            }
        }
        let queued = self.send.buffered();
        // An empty buffer accepts a message of any length, so that no message is stuck.
        if queued > 0 && queued + len as u64 > u64::from(self.cfg.buffer.send) {
            self.send.writable_wanted = true;
            return Err(CommandError::WouldBlock {
                queued,
                limit: self.cfg.buffer.send,
            });
        }
        self.stats.bytes_queued += len as u64;
        self.send.queue.push(message);
        self.send.drain_wanted = true;
        if let Some(d) = &mut self.optional.dialect {
            d.on_message();
        }
        self.new_burst();
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

    /// Delivers the next message or part, and sends a window update to the peer if this
    /// opened its window.
    pub(crate) fn receive(&mut self) -> Option<Received> {
        let Some(r) = self.recv.reassembly.pop() else {
            self.recv.readable_told = false;
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
