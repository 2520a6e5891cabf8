//! SCTP packets to and from bytes: placeholder head while the room is built.
pub mod tsn;
pub use tsn::Tsn;
