//! The two builds.

use super::package::Package;
use crate::peers::Workspace;
use crate::process::{output_of, run_quietly};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program is built for.
pub(super) enum Build<'a> {
    /// To count how often it passes where.
    Counting,
    /// With the counts of this file.
    Using(&'a Path),
}

/// Cargo and its compiler, as they work in the workspace.
pub(super) struct Cargo {
    root: PathBuf,
    /// Apart from other builds, but one folder for both of ours: they share what runs in cargo.
    target: PathBuf,
    /// This machine, as the compiler calls it.
    host: String,
    libdir: PathBuf,
    static_libc: bool,
}

impl Cargo {
    pub(super) fn new(workspace: &Workspace) -> Result<Self> {
        let ask = |what: &str| {
            let mut rustc = Command::new("rustc");
            rustc.args(["--print", what]).current_dir(workspace.root());
            Ok::<_, anyhow::Error>(output_of(&mut rustc)?.trim_end().to_owned())
        };
        let host = ask("host-tuple")?;
        Ok(Self {
            root: workspace.root().to_path_buf(),
            target: workspace.target().join("pgo/build"),
            static_libc: host.ends_with("-linux-gnu") && has_static_libc(),
            host,
            libdir: ask("target-libdir")?.into(),
        })
    }

    /// Where the compiler has the libraries of this machine.
    pub(super) fn libdir(&self) -> &Path {
        &self.libdir
    }

    /// Builds a program to be measured; where it is until the next build.
    pub(super) fn build(&self, package: Package, what: &Build<'_>) -> Result<PathBuf> {
        let mut cargo = crate::peers::cargo();
        cargo
            .args(["rustc", "--quiet", "--locked"])
            .args(["--profile", crate::peers::PROFILE])
            .args(["--package", package.name(), "--bin", package.program()])
            // Named, though it is this machine's own: only so are build scripts and macros, which
            // run while cargo does, built without these flags.
            .args(["--target", &self.host, "--target-dir"])
            .arg(&self.target)
            .current_dir(&self.root)
            .env("CARGO_ENCODED_RUSTFLAGS", flags(users_flags(), what));
        if package == Package::BywayBench && self.static_libc {
            // Half a millisecond less until `main`, and nothing there looks up host names, for
            // which glibc wants to be loaded at run time. For the program alone, so that the
            // libraries are the same for both packages.
            cargo.args(["--", "-Ctarget-feature=+crt-static"]);
        }
        run_quietly(&mut cargo).with_context(|| format!("cannot build {}", package.name()))?;
        let folder = self.target.join(&self.host).join(crate::peers::PROFILE);
        Ok(folder.join(package.program()))
    }
}

/// What the user gave cargo for the compiler, in cargo's own encoding.
fn users_flags() -> OsString {
    if let Some(encoded) = std::env::var_os("CARGO_ENCODED_RUSTFLAGS") {
        return encoded;
    }
    let plain = std::env::var("RUSTFLAGS").unwrap_or_default();
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join("\x1f").into()
}

/// The compiler's flags, encoded: behind the user's own, so that ours count.
fn flags(users: OsString, what: &Build<'_>) -> OsString {
    let mut all = users;
    let mut add = |flag: &OsString| {
        if !all.is_empty() {
            all.push("\x1f");
        }
        all.push(flag);
    };
    match what {
        // Nobody debugs it. All that shapes the functions and their names, which the counts hang
        // on, must stay as in the other build.
        Build::Counting => {
            for flag in ["-Cprofile-generate", "-Cdebuginfo=0"] {
                add(&flag.into());
            }
        }
        Build::Using(profile) => {
            let mut flag = OsString::from("-Cprofile-use=");
            flag.push(profile);
            add(&flag);
        }
    }
    all
}

/// Not every system has it beside the shared one (Debian: libc6-dev has).
fn has_static_libc() -> bool {
    // Answers with the bare name if there is none.
    output_of(Command::new("cc").arg("-print-file-name=libc.a"))
        .is_ok_and(|answer| Path::new(answer.trim_end()).is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_flags_follow_the_users() {
        let using = Build::Using(Path::new("/a folder/all.profdata"));
        assert_eq!(
            flags("".into(), &using),
            "-Cprofile-use=/a folder/all.profdata"
        );
        assert_eq!(
            flags("-Copt-level=2\x1f-g".into(), &using),
            "-Copt-level=2\x1f-g\x1f-Cprofile-use=/a folder/all.profdata"
        );
        let counting = flags("-g".into(), &Build::Counting);
        let counting = counting.to_str().unwrap();
        assert!(counting.starts_with("-g\x1f-Cprofile-generate"));
    }
}
