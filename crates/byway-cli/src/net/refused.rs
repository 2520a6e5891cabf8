//! What this command has refused, given up or removed of what others asked for, counted by rule. What the endpoint
//! refuses below it is counted by [`byway::Rule`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why something was refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// An association was not let in: no ticket or key, a wrong one, or nothing was said.
    NotLetIn,
    /// An association made no progress within `--give-up`.
    GivenUp,
    /// A file or a folder: its name, what is there already, or what came of it.
    File,
    /// An entry of a folder.
    Entry,
    /// A file, as too many are under way.
    NoSlot,
    /// A file under way gave its slot to another one.
    SlotTaken,
    /// A partial file was removed, as those that are kept were at a limit.
    PartialFile,
    /// A connection of a tunnel: its target is not allowed, refuses or does not answer, too many are open, or its client
    /// asked a proxy for nothing that it understands.
    Connection,
    /// A TCP client of a tunnel gave its place to one of another host.
    ClientLetGo,
}

impl Refused {
    const ALL: [Refused; 9] = [
        Refused::NotLetIn,
        Refused::GivenUp,
        Refused::File,
        Refused::Entry,
        Refused::NoSlot,
        Refused::SlotTaken,
        Refused::PartialFile,
        Refused::Connection,
        Refused::ClientLetGo,
    ];

    /// A name for programs. It does not change, and no [`byway::Rule`] has it.
    const fn name(self) -> &'static str {
        match self {
            Refused::NotLetIn => "associations_not_let_in",
            Refused::GivenUp => "associations_given_up",
            Refused::File => "files_refused",
            Refused::Entry => "entries_refused",
            Refused::NoSlot => "files_without_slot",
            Refused::SlotTaken => "slots_taken_back",
            Refused::PartialFile => "partial_files_removed",
            Refused::Connection => "connections_refused",
            Refused::ClientLetGo => "clients_let_go",
        }
    }

    /// One more.
    pub(super) fn count(self) {
        self.count_some(1);
    }

    /// So many more.
    pub(super) fn count_some(self, more: u64) {
        COUNTS[self as usize].fetch_add(more, Ordering::Relaxed);
    }
}

/// Of this process.
static COUNTS: [AtomicU64; Refused::ALL.len()] = [const { AtomicU64::new(0) }; Refused::ALL.len()];

/// A count for each rule, since the command began.
pub(super) fn counts() -> BTreeMap<String, u64> {
    let count = |rule: &Refused| COUNTS[*rule as usize].load(Ordering::Relaxed);
    let named = Refused::ALL
        .iter()
        .map(|rule| (rule.name().to_owned(), count(rule)));
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_a_count_and_a_name_of_its_own() {
        for (place, rule) in Refused::ALL.into_iter().enumerate() {
            assert_eq!(place, rule as usize);
        }
        let below = byway::Rule::ALL.map(|rule| rule.name().to_owned());
        let names: BTreeSet<String> = counts().into_keys().chain(below).collect();
        assert_eq!(names.len(), Refused::ALL.len() + byway::Rule::ALL.len());
    }
}
