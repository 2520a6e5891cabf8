//! Work that may wait for a disk, or for who reads what is printed.

use crate::failure::{Failure, Kind};

/// Does elsewhere what may take long: others are served on this thread.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|e| Failure::new(Kind::Failed, format!("a thread of this process ended: {e}")))
}
