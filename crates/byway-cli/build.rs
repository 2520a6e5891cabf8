//! The profile and the compiler of the build, for reports that say by what they were made.

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
}
