//! The protocol over the public API, drawn packet by packet (RFC 9260).

#[path = "../common/mod.rs"]
mod common;

mod address_attacks;
mod address_changes;
mod address_room;
mod attacks;
mod auth;
mod bad_init;
mod choice;
mod concurrent;
mod congestion;
mod data;
mod dead_data;
mod default_dialect;
mod doubt;
mod errors;
mod failover;
mod icmp;
mod interleaving;
mod listed;
mod lost_answers;
mod mtu;
mod nat;
mod ootb;
mod other_source;
mod parts;
mod paths;
mod peer_moved;
mod presets;
mod probe_timeout;
mod rack;
mod recovery;
mod refused;
mod reneging;
mod restart;
mod revival;
mod server_parts;
mod setup;
mod teardown;
mod timestamps;
mod undelivered;
mod unknown_source;
mod windows;
mod words;
