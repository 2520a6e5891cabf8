//! Opens and makes what is below a folder, one name at a time: no link is followed, and nothing outside is
//! reached, whatever somebody else does to the folder meanwhile.

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Until its entry has come a folder is its owner's alone.
const NEW: u32 = 0o700;

/// The folder that the user has named; it may be a link.
pub(super) fn outermost(dir: &Path) -> io::Result<OwnedFd> {
    Ok(fs::open(
        dir,
        OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// A folder in another one. A link is no folder.
pub(super) fn enter(dir: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(dir, name, flags, Mode::empty())?)
}

/// Makes a folder; whether it was not there.
pub(super) fn make(dir: impl AsFd, name: &str) -> io::Result<bool> {
    match fs::mkdirat(dir, name, Mode::from_raw_mode(NEW)) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// What has a name in a folder.
pub(super) enum There {
    Nothing,
    /// A plain file, and its bytes.
    File(File, u64),
    Folder,
    /// A link, and where it leads.
    Link(Vec<u8>),
    /// A pipe, a device or a socket: it is not opened.
    Other,
}

/// Looks what has this name.
pub(super) fn look(dir: impl AsFd, name: &str) -> io::Result<There> {
    let found = match fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(There::Nothing),
        Err(e) => return Err(e.into()),
    };
    Ok(match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {
            // It may have been changed for a pipe, which would be waited for.
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = File::from(fs::openat(dir, name, flags, Mode::empty())?);
            let metadata = file.metadata()?;
            match metadata.is_file() {
                true => There::File(file, metadata.len()),
                false => There::Other,
            }
        }
        FileType::Directory => There::Folder,
        FileType::Symlink => There::Link(fs::readlinkat(dir, name, Vec::new())?.into_bytes()),
        _ => There::Other,
    })
}

/// Bytes and time of a plain file, in seconds and nanoseconds; none if there is none.
pub(super) fn measure(dir: impl AsFd, name: &str) -> Option<(u64, (i64, u32))> {
    let found = fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let changed = (found.st_mtime, u32::try_from(found.st_mtime_nsec).ok()?);
    let size = u64::try_from(found.st_size).ok()?;
    (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile).then_some((size, changed))
}

/// Gives a file or folder its permission bits and its time.
pub(super) fn set(of: impl AsFd, mode: u16, changed: (i64, u32)) -> io::Result<()> {
    fs::fchmod(&of, Mode::from_raw_mode(mode.into()))?;
    Ok(fs::futimens(&of, &times(changed))?)
}

/// Gives a link its time.
pub(super) fn set_link(dir: impl AsFd, name: &str, changed: (i64, u32)) -> io::Result<()> {
    let times = times(changed);
    Ok(fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn times((seconds, nanoseconds): (i64, u32)) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: seconds,
            tv_nsec: nanoseconds.into(),
        },
    }
}
