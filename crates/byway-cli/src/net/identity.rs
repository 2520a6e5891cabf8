//! Who this sender is for a receiver: nobody else can go on with a file that it began.

use crate::failure::{Failure, Kind};
use byway_tls::{SecretKey, Ticket};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A secret of this user, kept in `byway/sender.key` in the folder for state
/// (`XDG_STATE_HOME`, else `~/.local/state`), so that a run that was killed and the next
/// one are the same sender.
pub(super) struct Identity(Zeroizing<[u8; 32]>);

impl Identity {
    /// The secret of this user, made when there is none. Where it cannot be kept, that
    /// of this run alone: what another run began then begins anew.
    ///
    /// # Errors
    /// When the system's random generator fails.
    pub(super) fn of_this_user() -> Result<Identity, Failure> {
        let mut fresh = [0; 32];
        getrandom::fill(&mut fresh).map_err(|e| {
            let what = format!("the system's random generator failed: {e}");
            Failure::new(Kind::Failed, what)
        })?;
        let kept = folder().and_then(|folder| kept(&folder, fresh).ok());
        Ok(Identity(Zeroizing::new(kept.unwrap_or(fresh))))
    }

    /// The key that this user shows with a ticket: the same in each run, so that a transfer that was cut
    /// off can go on, and another one for each ticket.
    pub(super) fn key_for(&self, ticket: &Ticket) -> Result<SecretKey, Failure> {
        let failed = |e: String| Failure::new(Kind::Failed, e);
        let mac = Hmac::<Sha256>::new_from_slice(&*self.0);
        let mut mac = mac.map_err(|e| failed(e.to_string()))?;
        mac.update(b"byway key for the ticket of");
        mac.update(&ticket.server);
        let seed = Zeroizing::new(mac.finalize().into_bytes().into());
        SecretKey::from_seed(&seed).map_err(|e| failed(e.to_string()))
    }

    /// The sender id for a file at a receiver. One receiver cannot use it at another.
    pub(super) fn sender(&self, to: &[String], file: &Path) -> [u8; 16] {
        let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let mut digest = Sha256::new().chain_update(*self.0);
        for part in [to.join(",").as_bytes(), file.as_os_str().as_encoded_bytes()] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let mut id = [0; 16];
        id.copy_from_slice(&digest.finalize()[..16]);
        id
    }
}

fn folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty());
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")));
    // A relative one is to be ignored, says the XDG Base Directory Specification.
    state.filter(|s| s.is_absolute()).map(|s| s.join("byway"))
}

/// The secret in this folder, which is `fresh` when there is none.
fn kept(folder: &Path, fresh: [u8; 32]) -> std::io::Result<[u8; 32]> {
    let file = folder.join("sender.key");
    std::fs::create_dir_all(folder)?;
    if !file.exists() {
        // Complete before it has its name: another run may read it at once.
        let draft = folder.join(format!("sender.key.{}", std::process::id()));
        let mut options = OpenOptions::new();
        let mut made = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        made.write_all(&fresh)?;
        let named = std::fs::hard_link(&draft, &file);
        std::fs::remove_file(&draft)?;
        // Another run was first.
        named.or_else(|e| match e.kind() {
            ErrorKind::AlreadyExists => Ok(()),
            _ => Err(e),
        })?;
    }
    let mut secret = [0; 32];
    std::fs::File::open(&file)?.read_exact(&mut secret)?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_secret_stays_and_only_its_user_can_read_it() {
        let folder = std::env::temp_dir().join(format!("byway-identity-{}", std::process::id()));
        let first = kept(&folder, [1; 32]).unwrap();
        assert_eq!((first, kept(&folder, [2; 32]).unwrap()), ([1; 32], [1; 32]));
        let mode = std::fs::metadata(folder.join("sender.key")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn each_receiver_and_file_sees_another_sender() {
        let (one, other) = (
            Identity(Zeroizing::new([1; 32])),
            Identity(Zeroizing::new([2; 32])),
        );
        let to = |to: &str| vec![to.to_owned()];
        let id = one.sender(&to("a"), Path::new("/x"));
        assert_eq!(id, one.sender(&to("a"), Path::new("/x")));
        assert_ne!(id, one.sender(&to("b"), Path::new("/x")));
        assert_ne!(id, one.sender(&to("a"), Path::new("/y")));
        assert_ne!(id, other.sender(&to("a"), Path::new("/x")));
    }
}
