//! Real sockets: files and pipes between processes.

mod about;
mod address;
mod args;
mod by_host;
mod claims;
mod descriptors;
mod doctor;
mod drawing;
mod ending;
mod entry;
mod exchange;
mod hashes;
mod identity;
mod inbox;
pub(crate) mod inspect;
mod joiner;
mod log;
mod names;
mod open;
mod parts;
mod patience;
mod pipe;
pub(crate) mod place;
mod progress;
mod protect;
mod protocol;
mod rate;
mod record;
mod recv;
mod refused;
mod retries;
mod send;
mod slots;
mod stall;
mod standstill;
mod store;
mod tally;
mod traffic;
mod tree;
mod tunnel;
mod turns;
mod unbound;
mod watch;
mod workers;

pub(crate) use args::{
    CAT_EXAMPLES, CatArgs, LISTEN_EXAMPLES, ListenArgs, RECV_EXAMPLES, Recording, RecvArgs,
    SEND_EXAMPLES, SendArgs, Talk,
};
pub(crate) use doctor::{DOCTOR_EXAMPLES, DoctorArgs, doctor, measured};
pub(crate) use ending::Ending;
pub(crate) use inspect::metrics_address;
pub(crate) use pipe::{cat, listen};
pub(crate) use protect::{GateArgs, KEY_EXAMPLES, KeyArgs, Uses, key};
pub(crate) use record::{FromLibrary, Record, note};
pub(crate) use recv::recv;
pub(crate) use send::send;
pub(crate) use tunnel::{
    FORWARD_EXAMPLES, FORWARD_USAGE, ForwardArgs, SERVE_EXAMPLES, ServeArgs, forward, serve,
};
