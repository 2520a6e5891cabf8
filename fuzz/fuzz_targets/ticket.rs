//! Tickets: any text, and any contents with a right checksum.
#![no_main]

use byway_tls::Ticket;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};

/// The ticket of these bytes, with a length and a checksum that are right.
fn sealed(contents: &[u8]) -> String {
    let mut bytes = vec![(contents.len() + 5) as u8];
    bytes.extend_from_slice(contents);
    let sum = Sha256::new()
        .chain_update(b"byway ticket 1")
        .chain_update(&bytes);
    bytes.extend_from_slice(&sum.finalize()[..4]);
    let symbols = b"abcdefghijklmnopqrstuvwxyz234567";
    let bit = |n: usize| bytes.get(n / 8).map_or(0, |b| b >> (7 - n % 8) & 1);
    let characters = (bytes.len() * 8).div_ceil(5);
    let character = |n: usize| (0..5).fold(0, |c, i| c << 1 | bit(n * 5 + i));
    let text: String = (0..characters)
        .map(|n| char::from(symbols[usize::from(character(n))]))
        .collect();
    format!("byway1-{text}")
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, data)) = data.split_first() else {
        return;
    };
    let text = match how & 1 {
        0 => String::from_utf8_lossy(data).into_owned(),
        _ => sealed(&data[..data.len().min(250)]),
    };
    let Ok(ticket) = Ticket::parse(&text) else {
        return;
    };
    assert!(Ticket::is_meant(&text));
    let again = ticket.to_text();
    let read = Ticket::parse(&again).expect("what was written can be read");
    assert_eq!(read.to_text(), again);
    assert_eq!(format!("{read:?}"), format!("{ticket:?}"));
});
