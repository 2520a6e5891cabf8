//! Finds an `llvm-profdata` that reads what our compiler's programs write, and merges with it.
//!
//! The raw counts have no fixed format, and an `llvm-profdata` reads those of a few releases only.
//! Rather than comparing version numbers, each is tried: it must merge the files, and the compiler
//! must read the result.

use crate::process::output_of;
use anyhow::{Context, Result, ensure};
use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The programs that could do it, the likeliest first.
pub(super) struct Profdata {
    candidates: Vec<PathBuf>,
    root: PathBuf,
}

/// Nothing here can merge profiles; with what was tried.
#[derive(Debug)]
pub(crate) struct NoProfdata {
    tried: Vec<(PathBuf, String)>,
}

impl std::error::Error for NoProfdata {}

impl fmt::Display for NoProfdata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tried[..] {
            [] => write!(f, "there is no llvm-profdata, which merges profiles")?,
            tried => {
                write!(
                    f,
                    "no llvm-profdata here can merge this compiler's profiles ("
                )?;
                for (index, (tool, reason)) in tried.iter().enumerate() {
                    let comma = if index > 0 { "; " } else { "" };
                    write!(f, "{comma}{}: {reason}", tool.display())?;
                }
                write!(f, ")")?;
            }
        }
        write!(
            f,
            ": install one with `rustup component add llvm-tools`, \
             or on Debian with `apt-get install llvm-19`"
        )
    }
}

/// What [`Profdata::merge`] did.
pub(super) struct Merged {
    pub(super) files: usize,
    pub(super) tool: PathBuf,
}

impl Profdata {
    /// Looks beside the compiler's libraries in `libdir`, then in `PATH`; `root` is where the
    /// compiler is called.
    ///
    /// # Errors
    /// [`NoProfdata`] if there is none at all.
    pub(super) fn find(libdir: &Path, root: &Path) -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut candidates = Vec::new();
        // The component llvm-tools: lib/rustlib/HOST/bin, beside .../lib.
        let own = libdir.with_file_name("bin").join("llvm-profdata");
        if own.is_file() {
            candidates.push(own);
        }
        candidates.extend(in_path(&path));
        ensure!(!candidates.is_empty(), NoProfdata { tried: Vec::new() });
        Ok(Self {
            candidates,
            root: root.to_path_buf(),
        })
    }

    /// Merges all files of the folder `counts` into `profile`.
    ///
    /// # Errors
    /// [`NoProfdata`] if no candidate can.
    pub(super) fn merge(&self, counts: &Path, profile: &Path) -> Result<Merged> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(counts).with_context(|| counts.display().to_string())? {
            files.push(entry?.path());
        }
        files.sort();
        ensure!(!files.is_empty(), "the training left no counts");
        let mut new = OsString::from(profile);
        new.push(".new");
        let new = PathBuf::from(new);
        let mut tried = Vec::new();
        for tool in &self.candidates {
            let mut merge = Command::new(tool);
            merge.args(["merge", "-o"]).arg(&new).args(&files);
            match output_of(&mut merge).and_then(|_| self.try_profile(&new)) {
                Ok(()) => {
                    // Only now: half a profile must not pass for one.
                    std::fs::rename(&new, profile)
                        .with_context(|| format!("cannot write {}", profile.display()))?;
                    return Ok(Merged {
                        files: files.len(),
                        tool: tool.clone(),
                    });
                }
                Err(error) => tried.push((tool.clone(), format!("{error:#}"))),
            }
        }
        Err(NoProfdata { tried }.into())
    }

    /// Whether the compiler reads `profile`: it may have been merged by too new a program.
    fn try_profile(&self, profile: &Path) -> Result<()> {
        let mut flag = OsString::from("-Cprofile-use=");
        flag.push(profile);
        let object = profile.with_extension("o");
        let mut rustc = Command::new("rustc");
        rustc
            .args(["--crate-type=lib", "--crate-name=empty", "--emit=obj"])
            .args([OsStr::new("-o"), object.as_os_str(), &flag, OsStr::new("-")])
            .stdin(Stdio::null())
            .current_dir(&self.root);
        let answer = output_of(&mut rustc);
        // There is none if the compiler failed.
        let _ = std::fs::remove_file(object);
        answer.map(drop)
    }
}

/// `llvm-profdata` and its numbered fellows in the folders of `path`: the plain name first, then
/// the newest.
fn in_path(path: &OsStr) -> Vec<PathBuf> {
    let mut found: Vec<(Reverse<u32>, PathBuf)> = Vec::new();
    for folder in std::env::split_paths(path) {
        // PATH may name folders that do not exist.
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(release) = name.to_str().and_then(release) else {
                continue;
            };
            // /bin is often a link to /usr/bin.
            let known = |(known, _): &(Reverse<u32>, PathBuf)| known.0 == release;
            if !found.iter().any(known) {
                found.push((Reverse(release), entry.path()));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, file)| file).collect()
}

/// The release of LLVM in the name of an `llvm-profdata`; the plain name is the newest.
fn release(name: &str) -> Option<u32> {
    match name.strip_prefix("llvm-profdata")? {
        "" => Some(u32::MAX),
        suffix => suffix.strip_prefix('-')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_name_comes_first_and_then_the_newest() {
        let folder = std::env::temp_dir().join(format!("byway-profdata-{}", std::process::id()));
        let [a, b] = ["a", "b"].map(|name| folder.join(name));
        for (at, names) in [
            (
                &a,
                vec!["llvm-profdata-9", "llvm-profdata-19", "llvm-profdata.py"],
            ),
            (
                &b,
                vec!["llvm-profdata", "llvm-profdata-19", "llvm-profdata-22"],
            ),
        ] {
            std::fs::create_dir_all(at).unwrap();
            for name in names {
                std::fs::write(at.join(name), "").unwrap();
            }
        }
        let path = std::env::join_paths([&a, &b, &folder.join("absent")]).unwrap();
        let expected = [
            b.join("llvm-profdata"),
            b.join("llvm-profdata-22"),
            a.join("llvm-profdata-19"),
            a.join("llvm-profdata-9"),
        ];
        assert_eq!(in_path(&path), expected);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_error_says_what_was_tried_and_how_to_get_one() {
        let none = NoProfdata { tried: Vec::new() }.to_string();
        let old = ("/usr/bin/llvm-profdata".into(), "too old".to_owned());
        let unfit = NoProfdata { tried: vec![old] }.to_string();
        for text in [&none, &unfit] {
            assert!(text.contains("rustup component add llvm-tools"), "{text}");
            assert!(text.contains("apt-get install llvm-19"), "{text}");
        }
        assert!(unfit.contains("/usr/bin/llvm-profdata: too old"), "{unfit}");
    }
}
