//! Real sockets: files and pipes between processes.

mod address;
mod claims;
mod descriptors;
mod doctor;
mod ending;
mod exchange;
mod identity;
mod joiner;
mod log;
mod open;
mod parts;
mod patience;
mod pipe;
mod progress;
mod protect;
mod protocol;
mod recv;
mod retries;
mod send;
mod slots;
mod stall;
mod store;
mod traffic;
mod tunnel;
mod watch;
mod workers;

pub(crate) use doctor::{DOCTOR_EXAMPLES, DoctorArgs, doctor, measured};
pub(crate) use ending::Ending;
pub(crate) use pipe::{cat, listen};
pub(crate) use protect::{ClientArgs, GateArgs, KeyArgs, To, Uses, key};
pub(crate) use recv::recv;
pub(crate) use send::send;
pub(crate) use tunnel::{FORWARD_EXAMPLES, ForwardArgs, SERVE_EXAMPLES, ServeArgs, forward, serve};
