//! `cargo xtask pgo`: our programs built with what was seen of their runs (profile-guided
//! optimisation, the compiler's `-Cprofile-generate` and `-Cprofile-use`).
//!
//! A build that counts, a training run, `llvm-profdata merge`, a build that uses the counts. The
//! training is never what is measured: other sizes, other seeds ([`training`]).

mod cargo;
mod package;
mod profdata;
mod training;

pub(crate) use profdata::NoProfdata;

use crate::peers::Workspace;
use anyhow::{Context, Result};
use cargo::{Build, Cargo};
use clap::ValueEnum;
pub(crate) use package::Package;
use profdata::Profdata;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Which programs.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Build this package's program alone; may be repeated [default: both]
    #[arg(long = "package", short, value_enum)]
    packages: Vec<Package>,
}

/// Builds what was asked for, and prints where it is.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut packages = arguments.packages.clone();
    if packages.is_empty() {
        packages.extend(Package::value_variants());
    }
    let workspace = Workspace::find(crate::peers::PROFILE)?;
    for program in build(&workspace, &packages)? {
        let bytes = size(&program)?;
        println!("{} ({:.1} MB)", program.display(), bytes as f64 / 1e6);
    }
    Ok(())
}

/// Builds the programs of `packages` and returns where they are, in the order of the packages'
/// names.
///
/// The training is left out if its profile is newer than the programs it would run and this one.
///
/// # Errors
/// [`NoProfdata`] if no `llvm-profdata` can merge what the programs write; else what failed.
pub(crate) fn build(workspace: &Workspace, packages: &[Package]) -> Result<Vec<PathBuf>> {
    let mut packages = packages.to_vec();
    packages.sort_unstable();
    packages.dedup();
    let cargo = Cargo::new(workspace)?;
    let profdata = Profdata::find(cargo.libdir(), workspace.root())?;
    // Each choice of packages has a separate profile, because they share functions.
    let names: Vec<&str> = packages.iter().map(|p| p.program()).collect();
    let folder = workspace.target().join("pgo");
    let profile = folder.join(format!("{}.profdata", names.join("+")));

    let mut counting = Vec::new();
    for &package in &packages {
        eprintln!("building {}, to count", package.program());
        let built = cargo.build(package, &Build::Counting)?;
        counting.push((package, built));
    }
    let programs = counting.iter().map(|(_, program)| program.as_path());
    if is_trained(
        &profile,
        programs.chain([std::env::current_exe()?.as_path()]),
    ) {
        eprintln!("nothing has changed since the training");
    } else {
        train(&counting, &folder, &profdata, &profile)?;
    }
    let mut programs = Vec::new();
    for &package in &packages {
        eprintln!("building {}, with the profile", package.program());
        let built = cargo.build(package, &Build::Using(&profile))?;
        // Elsewhere than cargo has them: its next build for this target may be another.
        let program = folder.join(package.program());
        place(&built, &program)?;
        programs.push(program);
    }
    Ok(programs)
}

/// Runs the programs of `counting` and merges what they counted into `profile`.
fn train(
    counting: &[(Package, PathBuf)],
    folder: &Path,
    profdata: &Profdata,
    profile: &Path,
) -> Result<()> {
    let counts = folder.join("counts");
    if counts.exists() {
        std::fs::remove_dir_all(&counts)
            .with_context(|| format!("cannot remove {}", counts.display()))?;
    }
    std::fs::create_dir_all(&counts)
        .with_context(|| format!("cannot make {}", counts.display()))?;
    for (package, program) in counting {
        training::run(*package, program, &counts)?;
    }
    let merged = profdata.merge(&counts, profile)?;
    eprintln!(
        "merged {} files with {} ({:.1} MB)",
        merged.files,
        merged.tool.display(),
        size(profile)? as f64 / 1e6
    );
    // Of no use any more, and some of them are large.
    std::fs::remove_dir_all(&counts).with_context(|| format!("cannot remove {}", counts.display()))
}

/// Whether `profile` is newer than all that it follows from.
fn is_trained<'a>(profile: &Path, from: impl IntoIterator<Item = &'a Path>) -> bool {
    let time = |file: &Path| -> Option<SystemTime> { file.metadata().ok()?.modified().ok() };
    time(profile).is_some_and(|made| {
        from.into_iter()
            .all(|file| time(file).is_some_and(|changed| changed < made))
    })
}

/// Copies a program to its place, also while the one that is there runs.
fn place(built: &Path, program: &Path) -> Result<()> {
    let mut name = OsString::from(program);
    name.push(".new");
    std::fs::copy(built, &name)
        .and_then(|_| std::fs::rename(&name, program))
        .with_context(|| format!("cannot copy {} to {}", built.display(), program.display()))
}

fn size(file: &Path) -> Result<u64> {
    let data = file
        .metadata()
        .with_context(|| format!("no {}", file.display()))?;
    Ok(data.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::Duration;

    #[test]
    fn a_profile_counts_while_it_is_the_newest() {
        let folder = std::env::temp_dir().join(format!("byway-pgo-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [profile, program, other] = ["profile", "program", "other"].map(|n| folder.join(n));
        let touch = |file: &Path, seconds: u64| {
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            File::create(file).unwrap().set_modified(at).unwrap();
        };
        let trained = || is_trained(&profile, [program.as_path(), other.as_path()]);
        touch(&program, 10);
        touch(&other, 20);
        assert!(!trained(), "there is no profile");
        touch(&profile, 15);
        assert!(!trained(), "one of the programs is newer");
        touch(&profile, 30);
        assert!(trained());
        std::fs::remove_file(&other).unwrap();
        assert!(!trained(), "one of the programs is gone");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
