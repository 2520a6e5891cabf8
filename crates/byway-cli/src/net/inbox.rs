//! The folder of a receiver.

use std::path::PathBuf;
use std::sync::Mutex;

/// Where the files of one receiver are.
pub(super) struct Folder {
    pub(super) dir: PathBuf,
    /// Whether files that exist are replaced.
    pub(super) force: bool,
    /// Held while a file gets its name, so that of two of one name the second is refused.
    pub(super) naming: Mutex<()>,
}
