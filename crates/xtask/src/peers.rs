//! Gets the programs ready: ours, and the peers from Debian packages and our sources in `bench/`.

use crate::process::{limited, run_quietly};
use anyhow::{Context, Result, bail, ensure};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

/// The profile of our programs when they are measured: that of `Cargo.toml` with link-time
/// optimisation. Users build with `release`, which is made for short builds.
pub(crate) const PROFILE: &str = "measure";

/// The checked-out repository.
#[derive(Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
    /// That our programs are built with.
    profile: String,
}

/// Cargo without what `cargo xtask` tells this program about its own package: build scripts that ask for such
/// variables, ring's among them, would run again at each change from the shell to here, and all that uses them.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        let told = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if told {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// The program of a package of ours.
pub(crate) fn program_of(package: &str) -> &str {
    match package {
        "byway-cli" => "byway",
        other => other,
    }
}

impl Workspace {
    /// The repository that this program was built from; `profile` is what its programs are built
    /// with.
    pub(crate) fn find(profile: &str) -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here
            .ancestors()
            .nth(2)
            .context("this crate is not below a workspace")?;
        ensure!(
            root.join("bench").is_dir(),
            "no folder 'bench' in {}",
            root.display()
        );
        Ok(Self {
            root: root.to_path_buf(),
            profile: profile.to_owned(),
        })
    }

    /// The same with our programs built in another way.
    pub(crate) fn with_profile(&self, profile: &str) -> Workspace {
        Workspace {
            root: self.root.clone(),
            profile: profile.to_owned(),
        }
    }

    /// Whether our programs are built as for figures that count.
    pub(crate) fn is_measured(&self) -> bool {
        self.profile == PROFILE
    }

    /// A file of the repository.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A file of the folder `bench`.
    pub(crate) fn bench(&self, path: &str) -> PathBuf {
        self.root.join("bench").join(path)
    }

    /// Its folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where builds go. A relative `CARGO_TARGET_DIR` counts from the root, where cargo is called.
    pub(crate) fn target(&self) -> PathBuf {
        let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        self.root.join(folder)
    }

    /// A program of ours, once [`Self::build`] has built its package.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.target().join(&self.profile).join(name)
    }

    /// Builds the programs of packages of ours.
    pub(crate) fn build(&self, packages: &[&str]) -> Result<()> {
        eprintln!("building {}", packages.join(", "));
        let mut cargo = cargo();
        // With the features that the command needs: cargo compiles a library anew for each set of them.
        cargo
            .args(["build", "--quiet", "--profile", &self.profile])
            .args(["--package", "byway-cli"])
            .args(packages.iter().flat_map(|package| ["--package", package]))
            .args(
                packages
                    .iter()
                    .flat_map(|package| ["--bin", program_of(package)]),
            )
            .current_dir(&self.root);
        run_quietly(&mut cargo)
    }

    /// The program of a package as users have it: the release build, made now.
    pub(crate) fn released(&self, package: &str) -> Result<PathBuf> {
        let released = self.with_profile("release");
        released.build(&[package])?;
        Ok(released.program(program_of(package)))
    }

    /// Our measuring programs, built when the first of them is asked for.
    pub(crate) fn byway_bench(&self) -> Byway {
        Byway {
            workspace: self.clone(),
            program: self.program("byway-bench"),
            built: Rc::default(),
        }
    }

    /// Builds the package `bench/NAME` and returns its program NAME-bench.
    pub(crate) fn cargo_peer(&self, name: &str) -> Result<PathBuf> {
        eprintln!("building the peer {name}");
        let target = self.target().join("peers").join(name);
        let mut cargo = cargo();
        cargo
            .args(["build", "--quiet", "--release", "--locked", "--target-dir"])
            .arg(&target)
            .current_dir(self.bench(name));
        run_quietly(&mut cargo)?;
        Ok(target.join("release").join(format!("{name}-bench")))
    }

    /// Builds the Go program of `interop/NAME`.
    pub(crate) fn go_peer(&self, name: &str) -> Result<PathBuf> {
        eprintln!("building the peer {name}");
        let folder = self.target().join("peers");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let program = folder.join(format!("{name}-peer"));
        let mut go = Command::new("go");
        go.args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(self.file("interop").join(name));
        run_quietly(&mut go)?;
        Ok(program)
    }

    /// Compiles `bench/SOURCE` with the libraries named and returns the program.
    pub(crate) fn c_peer(&self, source: &str, libraries: &[&str]) -> Result<PathBuf> {
        eprintln!("building the peer {source}");
        let folder = self.target().join("peers");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let program = folder.join(source.replace(['/', '.'], "-"));
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-Wall", "-Wextra", "-o"])
            .arg(&program)
            .arg(self.bench(source));
        gcc.args(libraries.iter().map(|l| format!("-l{l}")));
        run_quietly(&mut gcc)?;
        Ok(program)
    }
}

/// Our measuring programs. Copies share the build.
#[derive(Clone)]
pub(crate) struct Byway {
    workspace: Workspace,
    program: PathBuf,
    built: Rc<OnceCell<Result<(), String>>>,
}

impl Byway {
    /// The program of byway-bench that is called `word`, under a time limit.
    pub(crate) fn command(&self, word: &str) -> Result<Command> {
        let mut command = limited(self.program()?);
        command.arg(word);
        Ok(command)
    }

    /// The program itself.
    pub(crate) fn program(&self) -> Result<&Path> {
        match self.built.get_or_init(|| self.build()) {
            Ok(()) => Ok(&self.program),
            Err(reason) => bail!("{reason}"),
        }
    }

    fn build(&self) -> Result<(), String> {
        if !self.workspace.root.join("crates/byway-bench").is_dir() {
            return Err("this repository has no crate byway-bench".into());
        }
        self.workspace.build(&["byway-bench"]).map_err(|error| {
            let text = format!("{error:#}");
            let first = text.lines().find(|line| line.starts_with("error"));
            format!("cannot build byway-bench: {}", first.unwrap_or(&text))
        })
    }
}

/// Installs those of the Debian packages that are absent.
pub(crate) fn need_packages(packages: &[&str]) -> Result<()> {
    let absent: Vec<&str> = packages.iter().copied().filter(|p| !installed(p)).collect();
    if absent.is_empty() {
        return Ok(());
    }
    eprintln!("installing {}", absent.join(" "));
    let install = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive")
            .args([
                "install",
                "--yes",
                "--no-install-recommends",
                "-o",
                "DPkg::Lock::Timeout=120",
            ])
            .args(&absent);
        run_quietly(&mut apt)
    };
    // The first may fail only because the lists of packages are old or absent.
    if install().is_err() {
        run_quietly(Command::new("apt-get").arg("update"))?;
        install().with_context(|| {
            format!(
                "cannot install {} (root and Debian are needed)",
                absent.join(" ")
            )
        })?;
    }
    Ok(())
}

fn installed(package: &str) -> bool {
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .output();
    query.is_ok_and(|output| output.stdout == b"installed")
}
