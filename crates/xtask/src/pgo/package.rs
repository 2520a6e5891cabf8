//! What `pgo` builds.

use clap::ValueEnum;

/// A package with a program worth training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Package {
    /// The command `byway`
    BywayCli,
    /// The measuring programs
    BywayBench,
}

impl Package {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BywayCli => "byway-cli",
            Self::BywayBench => "byway-bench",
        }
    }

    pub(super) fn program(self) -> &'static str {
        crate::peers::program_of(self.name())
    }
}
