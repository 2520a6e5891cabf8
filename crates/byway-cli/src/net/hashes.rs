//! SHA-256 of what is in files.

use super::protocol::Hash;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};

/// The hash of the first `have` bytes of a file.
pub(super) fn hash_of(file: &File, have: u64) -> io::Result<Hash> {
    Ok(hash_front(file, have)?.finalize().into())
}

/// The hasher of the first `have` bytes of a file.
pub(super) fn hash_front(file: &File, have: u64) -> io::Result<Sha256> {
    let (mut front, mut hasher) = (file.take(have), Sha256::new());
    let mut block = vec![0; 1 << 16];
    loop {
        match front.read(&mut block)? {
            0 => return Ok(hasher),
            n => hasher.update(&block[..n]),
        }
    }
}

/// As if so many zeros had been there.
pub(super) fn hash_zeros(hasher: &mut Sha256, mut zeros: u64) {
    const BLOCK: [u8; 1 << 14] = [0; 1 << 14];
    while zeros > 0 {
        let n = zeros.min(BLOCK.len() as u64);
        // At most the length of a block.
        hasher.update(&BLOCK[..n as usize]);
        zeros -= n;
    }
}
