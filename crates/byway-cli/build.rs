//! The profile, the compiler and the commit of the build, for reports that say by what they were made.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Cargo names only "release" or "debug"; the folder is that of the profile itself:
    // PROFILE/build/PACKAGE/out.
    let out = env::var("OUT_DIR").unwrap_or_default();
    let folder = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    let profile = folder.map_or("unknown".into(), |name| name.to_string_lossy());
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.and_then(|v| String::from_utf8(v.stdout).ok());
    let version = version.unwrap_or_else(|| "an unknown rustc".to_owned());
    println!(
        "cargo:rustc-env=BYWAY_BUILD=profile {profile}, {}",
        version.trim()
    );
    println!("cargo:rustc-env=BYWAY_COMMIT={}", commit());
}

/// The commit that is built; empty outside of a work tree, and for debugging, where each commit would
/// otherwise build this crate again.
fn commit() -> String {
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(done.stdout).ok()?;
        done.status.success().then(|| text.trim().to_owned())
    };
    if env::var("PROFILE").as_deref() != Ok("release") {
        return String::new();
    }
    // It has a line more with each change of the commit.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default()
}
