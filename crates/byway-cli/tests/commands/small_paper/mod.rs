//! A paper of two paths, which `byway reproduce` runs in seconds.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const SCENARIO: &str = r#"
limit = "2000 s"
[protocol]
preset = "ns2"
[traffic]
kind = "bulk"
size = "400 kB"
message = "1452 B"
[[path]]
rate = "10 Mbit/s"
delay = "45 ms"
[[path]]
rate = "10 Mbit/s"
delay = "45 ms"
"#;

/// A new folder of this name, with its own paper, which makes these claims.
pub(crate) fn folder(name: &str, claims: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    let paper = dir.join("papers/small");
    std::fs::create_dir_all(&paper).unwrap();
    std::fs::write(paper.join("claims.toml"), claims).unwrap();
    std::fs::write(paper.join("transfer.toml"), SCENARIO).unwrap();
    dir
}

pub(crate) const REPRODUCE: [&str; 3] = ["reproduce", "--experiments", "papers"];

pub(crate) fn byway(dir: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_byway"));
    command.env_remove("NO_COLOR").current_dir(dir);
    command.args(REPRODUCE).args(more);
    command
}

pub(crate) fn run(dir: &Path, more: &[&str]) -> Output {
    byway(dir, more).output().unwrap()
}
