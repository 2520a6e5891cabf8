//! What a user wants of a path while a command runs.

/// A word of the [socket](super::socket) with an association and a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// It is the primary path.
    Prefer,
    /// It is a backup: it carries data only while no other path is active.
    Rest,
    /// It is no backup any more.
    Use,
}

impl Wish {
    const ALL: [Wish; 3] = [Wish::Prefer, Wish::Rest, Wish::Use];

    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Wish::Prefer => "prefer",
            Wish::Rest => "rest",
            Wish::Use => "use",
        }
    }

    /// The wish of this word.
    pub(crate) fn parse(word: &str) -> Option<Wish> {
        Wish::ALL.into_iter().find(|wish| wish.word() == word)
    }
}
