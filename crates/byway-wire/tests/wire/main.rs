//! Tests of the wire format through the public face of the crate.

mod attacks;
mod checksum;
mod exercise;
mod limits;
mod malformed;
mod parts;
mod round_trip;
mod seeds;
mod serial;
mod support;
mod vectors;
