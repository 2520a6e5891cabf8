//! Why a file of runs cannot be used: a journal, a sweep's results, kept runs.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file of runs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The system says no.
    #[error("cannot {doing} {path}: {error}", path = path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It is not what it should be, or somebody else's at the moment.
    #[error("{path}: {problem}", path = path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it, and what would do.
        problem: String,
    },
}

impl Trouble {
    /// The system refused.
    #[must_use]
    pub fn file(doing: &'static str, path: &Path, error: io::Error) -> Trouble {
        Trouble::File {
            doing,
            path: path.to_owned(),
            error,
        }
    }

    /// The file is not what it should be.
    #[must_use]
    pub fn foreign(path: &Path, problem: impl Into<String>) -> Trouble {
        Trouble::Foreign {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }
}
