//! Keys in files, and `byway key`.

use crate::failure::{Failure, Kind};
use crate::terminal::{print, print_json, say};
use byway_tls::{AuthorizedKeys, SecretKey};
use clap::{Args, Subcommand};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Longest file of a key, and of authorised keys.
const LONGEST: u64 = 1 << 20;

pub(crate) const EXAMPLES: &str = "\
Examples:
  # once on each machine: it prints its public half
  byway key new

  # add the other machine's line to a file, and let its key in
  byway recv --authorized keys --dir inbox

  # the line of this machine again, for the other one's file
  byway key show";

/// Make and show keys
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
    /// Print the file, the fingerprint and the public half as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a key, unless the file is there, and print its public half
    New {
        /// File of the private key [default: ~/.config/byway/key]
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Print the public half of a key: the line that others add to their file of authorised keys
    Show {
        /// File of the private key [default: ~/.config/byway/key]
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
}

/// `byway key`.
pub(crate) fn key(args: &KeyArgs) -> Result<(), Failure> {
    let (KeyCommand::New { key: file } | KeyCommand::Show { key: file }) = &args.command;
    let file = match file {
        Some(file) => file.clone(),
        None => default_file()?,
    };
    let key = match args.command {
        KeyCommand::New { .. } => make(&file)?,
        KeyCommand::Show { .. } => read(&file)?,
    };
    let (line, fingerprint) = (
        key.public_key().to_line(&name()),
        key.public_key().fingerprint().to_string(),
    );
    if args.json {
        return print_json(&serde_json::json!({
            "schema": "byway.key/1",
            "file": file.display().to_string(),
            "fingerprint": fingerprint,
            "public_key": line,
        }));
    }
    say(format_args!("{}: {fingerprint}", file.display()));
    print(&format!("{line}\n"))
}

/// Who this is, behind the key: USER@HOST.
fn name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let user = std::env::var("USER").unwrap_or_default();
    let name = format!("{user}@{}", host.trim());
    name.chars().filter(|c| c.is_ascii_graphic()).collect()
}

/// The key that is used where one is needed and none was named.
pub(super) fn own() -> Result<SecretKey, Failure> {
    read(&default_file()?)
}

/// `byway/key` in the folder for settings.
fn default_file() -> Result<PathBuf, Failure> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty());
    let folder = set("XDG_CONFIG_HOME").map(PathBuf::from);
    // A relative one is to be ignored, says the XDG Base Directory Specification.
    let folder = folder.filter(|f| f.is_absolute());
    let folder = folder.or_else(|| Some(PathBuf::from(set("HOME")?).join(".config")));
    match folder {
        Some(folder) => Ok(folder.join("byway/key")),
        None => Err(Failure::wrong(
            "neither HOME nor XDG_CONFIG_HOME is set: name the file of the key with --key FILE",
        )),
    }
}

fn make(file: &Path) -> Result<SecretKey, Failure> {
    let failed = |e: std::io::Error| Failure::file("write", file, &e);
    if let Some(folder) = file.parent().filter(|f| !f.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(folder).map_err(failed)?;
    }
    let key = SecretKey::generate().map_err(|e| Failure::new(Kind::Failed, e.to_string()))?;
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(file);
    let mut made = match made {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            return Err(Failure::wrong(format!(
                "{} is there already, and whom it lets in would be shut out by another: byway key show prints it; remove it \
                 for a new one, or name another file with --key",
                file.display()
            )));
        }
        made => made.map_err(failed)?,
    };
    let written = made
        .write_all(key.to_pem().as_bytes())
        .and_then(|()| made.sync_all());
    if let Err(e) = written {
        // Half a key is no key.
        let _ = std::fs::remove_file(file);
        return Err(failed(e));
    }
    Ok(key)
}

/// Reads a private key, which only its owner may be able to read.
pub(super) fn read(file: &Path) -> Result<SecretKey, Failure> {
    let opened = std::fs::File::open(file);
    let mut opened = opened.map_err(|e| {
        let mut failure = Failure::file("read the key", file, &e);
        if e.kind() == ErrorKind::NotFound {
            failure.message += "; byway key new makes one";
        }
        failure
    })?;
    let metadata = opened.metadata();
    let metadata = metadata.map_err(|e| Failure::file("read the key", file, &e))?;
    let mode = metadata.permissions().mode() & 0o777;
    if metadata.is_file() && mode & 0o077 != 0 {
        return Err(Failure::wrong(format!(
            "others can read or change the key {} (mode {mode:o}): chmod 600 {}",
            file.display(),
            file.display()
        )));
    }
    let mut pem = Zeroizing::new(Vec::with_capacity(4096));
    let read = (&mut opened).take(LONGEST).read_to_end(&mut pem);
    read.map_err(|e| Failure::file("read the key", file, &e))?;
    SecretKey::from_pem(&pem).map_err(|e| Failure::wrong(format!("{}: {e}", file.display())))
}

/// Reads a file of public keys.
pub(super) fn authorized(file: &Path) -> Result<AuthorizedKeys, Failure> {
    let opened = std::fs::File::open(file);
    let text = opened.and_then(|f| {
        let mut text = String::new();
        f.take(LONGEST).read_to_string(&mut text).map(|_| text)
    });
    let text = text.map_err(|e| Failure::file("read the authorised keys", file, &e))?;
    AuthorizedKeys::parse(&text)
        .map_err(|(line, e)| Failure::wrong(format!("{}, line {line}: {e}", file.display())))
}
