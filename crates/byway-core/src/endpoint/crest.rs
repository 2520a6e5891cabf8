//! Tables that grew with a crowd give their memory back when it has gone.

/// A table of so many entries keeps its memory.
const SMALL: usize = 256;

/// The most entries that a table has had since it last gave memory back.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Crest(usize);

impl Crest {
    /// The table has so many `entries` now. Returns whether it is to give memory back: three
    /// quarters of what it had are gone. So what went pays for moving what stays.
    pub(super) fn has_passed(&mut self, entries: usize) -> bool {
        self.0 = self.0.max(entries);
        let passed = self.0 > SMALL && entries <= self.0 / 4;
        if passed {
            self.0 = entries;
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_once_for_three_quarters_that_went() {
        let mut crest = Crest::default();
        let mut times = |from: usize, to: usize| {
            assert!(!crest.has_passed(from), "it has only grown");
            (to..from).rev().filter(|&n| crest.has_passed(n)).count()
        };
        assert_eq!(times(SMALL, 0), 0, "a small one keeps what it has");
        // 16384 -> 4096 -> 1024 -> 256, which is small.
        assert_eq!(times(16_384, 0), 3);
        // Coming and going around one size costs nothing.
        assert_eq!((0..1000).map(|_| times(5000, 1251)).sum::<usize>(), 0);
        assert_eq!(times(5000, 1250), 1);
    }
}
