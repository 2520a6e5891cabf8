//! SHA-256 of what is in files.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};

/// Bytes that are hashed at a time where others wait for their turn: some ten milliseconds.
pub(super) const PIECE: u64 = 16 << 20;

/// The hasher of the first `have` bytes of a file.
pub(super) fn hash_front(file: File, have: u64) -> io::Result<Sha256> {
    let mut front = Front::of(file, have);
    while front.step()? {}
    Ok(front.hasher)
}

/// The front of a file that is being hashed, a piece at a time.
pub(super) struct Front {
    file: File,
    left: u64,
    pub(super) hasher: Sha256,
}

impl Front {
    /// The first `have` bytes of a file that has just been opened.
    pub(super) fn of(file: File, have: u64) -> Front {
        Front {
            file,
            left: have,
            hasher: Sha256::new(),
        }
    }

    /// Hashes the next piece; whether there is another one.
    pub(super) fn step(&mut self) -> io::Result<bool> {
        let mut piece = (&self.file).take(self.left.min(PIECE));
        let mut block = vec![0; 1 << 16];
        loop {
            match piece.read(&mut block)? {
                0 if piece.limit() > 0 => return Ok(false),
                0 => return Ok(self.left > 0),
                n => {
                    self.hasher.update(&block[..n]);
                    self.left -= n as u64;
                }
            }
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
