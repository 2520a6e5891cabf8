//! The first messages of a sender to `byway recv` (crates/byway-cli/src/net/protocol.rs).

use crate::peer::Peer;
use anyhow::Result;

/// Of the protocol of files.
const PPID: u32 = 0x6279_6601;
const OFFER: u8 = 1;
const START: u8 = 3;
const DATA: u8 = 4;
const VERSION: u8 = 1;
/// Of the file that never comes.
const SIZE: u64 = 1 << 30;

/// OFFER: version, sender, size, name. The sender is this association's own: nobody takes over what another one began.
pub(crate) fn offer(peer: &mut Peer) -> Result<()> {
    let mut offer = vec![OFFER, VERSION];
    offer.extend(peer.next.0.to_be_bytes().repeat(4));
    offer.extend(SIZE.to_be_bytes());
    offer.extend(b"never.bin");
    peer.say_as(PPID, &offer)
}

/// START at the beginning of the file, and its first byte.
pub(crate) fn begin(peer: &mut Peer) -> Result<()> {
    let start = [&[START][..], &0_u64.to_be_bytes()].concat();
    peer.say_as(PPID, &start)?;
    peer.say_as(PPID, &[DATA, b'x'])
}
