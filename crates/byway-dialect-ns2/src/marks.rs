//! A mark for each of the chunks that are not cumulatively acknowledged.

use std::collections::VecDeque;

/// Sequences in a word.
const WORD: u64 = u64::BITS as u64;

/// Marks of sequences from a beginning on that only grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// The number of the first word.
    first: u64,
    words: VecDeque<u64>,
}

impl Marks {
    /// Forgets marks below `base`, a word of them at a time.
    pub(crate) fn advance(&mut self, base: u64) {
        while self.first < base / WORD {
            if self.words.pop_front().is_none() {
                self.first = base / WORD;
                return;
            }
            self.first += 1;
        }
    }

    /// Marks a sequence; whether it had no mark. Below the beginning there is no mark.
    pub(crate) fn set(&mut self, seq: u64) -> bool {
        let Some(place) = (seq / WORD).checked_sub(self.first) else {
            return true;
        };
        // As many words as chunks are under way, by 64.
        let place = place as usize;
        if self.words.len() <= place {
            self.words.resize(place + 1, 0);
        }
        let bit = 1 << (seq % WORD);
        let is_new = self.words[place] & bit == 0;
        self.words[place] |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_until_the_beginning_has_passed_them() {
        let mut marks = Marks::default();
        for (base, seq, is_new) in [
            (0, 3, true),
            (0, 3, false),
            (2, 200, true),
            (3, 3, false),
            (150, 200, false),
            (150, 3, true),
            (10_000, 10_001, true),
            (10_001, 10_001, false),
            (10_002, 9_000, true),
        ] {
            marks.advance(base);
            assert_eq!(marks.set(seq), is_new, "{seq} from {base} on");
        }
        assert!(marks.words.len() <= 2, "{marks:?}");
    }
}
