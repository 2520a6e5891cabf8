//! Where `byway top` finds processes: each has a socket, `PID.sock`, in a folder that only its user can
//! enter.

use rustix::process::geteuid;
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs::{DirBuilder, Permissions, set_permissions, symlink_metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Most sockets of others that a process looks at when it starts.
const LOOKS: usize = 64;

/// The socket of this process.
static OURS: OnceLock<PathBuf> = OnceLock::new();

/// The folder: `byway` in `XDG_RUNTIME_DIR`, or `byway-UID` in the folder for temporary files.
pub(crate) fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(dir) if dir.is_absolute() => dir.join("byway"),
        _ => std::env::temp_dir().join(format!("byway-{}", geteuid().as_raw())),
    }
}

/// Whether the folder is this user's, and no other one can have put anything there.
fn is_ours(folder: &Path) -> io::Result<()> {
    let found = symlink_metadata(folder)?;
    let sound = found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0;
    sound.then_some(()).ok_or_else(|| {
        let why = format!("{} is no folder of this user's alone", folder.display());
        io::Error::new(ErrorKind::PermissionDenied, why)
    })
}

/// Binds the socket of this process.
pub(in crate::net) fn listen() -> io::Result<UnixListener> {
    let folder = folder();
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
        _ => is_ours(&folder)?,
    }
    // Those of processes that were killed.
    for (_, socket) in sockets(&folder).into_iter().take(LOOKS) {
        if is_dead(&socket) {
            forget(&socket);
        }
    }
    let socket = folder.join(format!("{}.sock", std::process::id()));
    if is_dead(&socket) {
        forget(&socket);
    }
    let listener = UnixListener::bind(&socket)?;
    set_permissions(&socket, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    // It is bound once in a process.
    let _ = OURS.set(socket);
    Ok(listener)
}

/// Removes the socket of this process.
pub(crate) fn end() {
    if let Some(socket) = OURS.get() {
        forget(socket);
    }
}

/// The processes that may answer, by number, and their sockets.
///
/// # Errors
/// When the folder is not this user's. None is no error: then no process has made it.
pub(crate) fn answering() -> io::Result<Vec<(u32, PathBuf)>> {
    let folder = folder();
    match is_ours(&folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
        Ok(()) => Ok(sockets(&folder)),
    }
}

/// Removes the socket of a process that has ended. Another `byway top` may have been faster.
pub(crate) fn forget(socket: &Path) {
    let _ = std::fs::remove_file(socket);
}

/// Connects to a process at once, or not at all: one that is stopped takes some connections, and the
/// next would wait until it goes on.
///
/// # Errors
/// `ConnectionRefused`: it has ended.
pub(crate) fn connect(socket: &Path) -> io::Result<UnixStream> {
    let unix = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    unix.set_nonblocking(true)?;
    unix.connect(&SockAddr::unix(socket)?)?;
    unix.set_nonblocking(false)?;
    Ok(unix.into())
}

/// Whether nobody listens any more.
fn is_dead(socket: &Path) -> bool {
    connect(socket).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
}

fn sockets(folder: &Path) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let named = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let is_socket = entry.file_type().ok()?.is_socket();
        let name = entry.file_name().into_string().ok()?;
        let pid = name.strip_suffix(".sock")?.parse().ok()?;
        is_socket.then(|| (pid, entry.path()))
    };
    let mut all: Vec<_> = entries.filter_map(named).collect();
    all.sort_unstable();
    all
}
