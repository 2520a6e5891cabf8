//! Packets in two parts: the bytes in the buffer, and the payload tail, which is the
//! last chunk's payload without a copy.

use crate::common::{A, Pair, Z, addresses, plain};
use byway_core::{ChecksumMode, Endpoint, EndpointConfig};

/// An endpoint without checksums, as a driver that takes two parts needs it.
fn offloaded(side: usize) -> Endpoint {
    let config = EndpointConfig {
        checksum: ChecksumMode::Offloaded,
        accepted: plain(),
        observe: true,
        ..EndpointConfig::new([5001, 5002][side], addresses(1, side), [7; 32])
    };
    Endpoint::new(config).expect("the settings are sound")
}

/// All packets of a transfer that loses two of its DATA packets, and the number of
/// packets with a second part. Messages of 600 bytes share packets; those of 1,000 do
/// not.
fn transfer(in_parts: bool) -> (Vec<Vec<u8>>, usize, Vec<String>) {
    let mut p = Pair::of([offloaded(A), offloaded(Z)], 1);
    p.in_parts = in_parts;
    p.connect(A, &plain());
    p.run(4000);
    p.take_drawings();
    p.lose_once(&["DATA 3", "DATA 8"]);
    p.send_many(A, 600, 6);
    p.send_many(A, 1000, 6);
    p.run(4000);
    assert_eq!(p.got[Z].len(), 12);
    let bytes = p.sent.iter().map(|s| s.bytes.clone()).collect();
    (bytes, p.parted, p.take_drawings())
}

#[test]
fn new_and_repeated_chunks_are_the_same_bytes_in_one_part_and_in_two() {
    let (whole, none, _) = transfer(false);
    let (joined, parted, drawings) = transfer(true);
    assert_eq!(none, 0);
    assert_eq!(whole, joined);
    let with_data = drawings.iter().filter(|d| d.contains("DATA")).count();
    let repeated = drawings.iter().filter(|d| d.contains("DATA 3")).count();
    assert!(repeated > 1, "nothing was sent again: {drawings:#?}");
    // Each packet with DATA leaves its last payload where it is.
    assert_eq!(parted, with_data, "{drawings:#?}");
}
