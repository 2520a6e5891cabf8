//! `--pcap-secrets`: the secrets of TLS, in the format of SSLKEYLOGFILE (draft-ietf-tls-keylogfile).
//!
//! They are written when a side was let in: strangers whose handshake leads nowhere cannot fill the disk.

use crate::failure::Failure;
use crate::terminal::say;
use byway_tls::KeyLog;
use std::fmt::{self, Write as _};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zeroize::Zeroizing;

/// A command has one file, as each process has one SSLKEYLOGFILE.
static FILE: OnceLock<SecretFile> = OnceLock::new();

struct SecretFile {
    path: PathBuf,
    file: Mutex<File>,
    /// Whether it was told that it cannot be written.
    told: AtomicBool,
}

/// From now on the secrets of each session go to this file, which only its owner reads.
pub(super) fn begin(path: &Path) -> Result<(), Failure> {
    let opened = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path);
    // The file may have been there, for all to read.
    let opened = opened.and_then(|file| {
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(file)
    });
    let file = opened.map_err(|e| Failure::file("write secrets to", path, &e))?;
    // A command begins once.
    let _ = FILE.set(SecretFile {
        path: path.to_owned(),
        file: Mutex::new(file),
        told: AtomicBool::new(false),
    });
    Ok(())
}

/// The secrets of one handshake.
#[derive(Default)]
pub(in crate::net) struct SessionSecrets(Mutex<Zeroizing<String>>);

/// For the next handshake, if its secrets are wanted.
pub(in crate::net) fn of_session() -> Option<Arc<SessionSecrets>> {
    FILE.get().map(|_| Arc::default())
}

/// As TLS takes it.
pub(in crate::net) fn logged(secrets: &Option<Arc<SessionSecrets>>) -> Option<Arc<dyn KeyLog>> {
    secrets.clone().map(|secrets| secrets as Arc<dyn KeyLog>)
}

/// The session is used: writes its secrets.
pub(in crate::net) fn keep(secrets: Option<Arc<SessionSecrets>>) {
    let (Some(secrets), Some(to)) = (secrets, FILE.get()) else {
        return;
    };
    let lines = std::mem::take(&mut *lock(&secrets.0));
    let written = lock(&to.file).write_all(lines.as_bytes());
    if let Err(error) = written
        && !to.told.swap(true, Ordering::Relaxed)
    {
        say(format_args!(
            "warning: --pcap-secrets {}: {error}; the command goes on",
            to.path.display()
        ));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for SessionSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionSecrets")
    }
}

impl KeyLog for SessionSecrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut lines = lock(&self.0);
        lines.push_str(label);
        for part in [client_random, secret] {
            lines.push(' ');
            for byte in part {
                // Writing to a string cannot fail.
                let _ = write!(lines, "{byte:02x}");
            }
        }
        lines.push('\n');
    }

    /// What encrypts, and nothing that proves.
    fn will_log(&self, label: &str) -> bool {
        label.contains("TRAFFIC_SECRET")
    }
}
