//! Real sockets: files and pipes between processes.

mod address;
mod exchange;
mod open;
mod pipe;
mod progress;
mod protocol;
mod recv;
mod send;
mod stall;
mod store;

pub(crate) use pipe::{cat, listen};
pub(crate) use recv::recv;
pub(crate) use send::send;
