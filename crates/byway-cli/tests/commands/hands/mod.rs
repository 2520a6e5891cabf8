//! What tests do to a command that keeps what it has done in a file: kill it, leave it without
//! room.

use crate::peers::{text, wait_within};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

pub(crate) fn wait_for(what: impl Fn() -> bool) {
    wait_within(Duration::from_secs(120), what);
}

/// Starts the command three times and kills it while it writes `kept`, some runs later than the
/// last time; then tears the last record, as a kill within a write leaves it.
pub(crate) fn kill_thrice(command: impl Fn() -> Command, kept: &Path) {
    let mut before = 0;
    for round in 0..3 {
        let mut child = command()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(|| std::fs::metadata(kept).is_ok_and(|m| m.len() > before + 4000));
        // SIGKILL.
        child.kill().unwrap();
        assert!(
            !child.wait().unwrap().success(),
            "killed in time, round {round}"
        );
        before = std::fs::metadata(kept).unwrap().len();
    }
    let bytes = std::fs::read(kept).unwrap();
    std::fs::write(kept, &bytes[..bytes.len() - 7]).unwrap();
}

/// Checks that the command says that it goes on, and that the torn record was cut.
pub(crate) fn assert_resumed(out: &Output) {
    let said = text(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(
        said.contains("going on after") && said.contains("cut short"),
        "{said}"
    );
}

/// Runs `byway WORDS` in `dir` where no file may be longer than `blocks` blocks of 1024 bytes,
/// which acts as a full disk.
#[cfg(unix)]
pub(crate) fn without_room(dir: &Path, blocks: u32, words: &str) -> Output {
    let script = format!(
        "ulimit -f {blocks}; exec \"{}\" {words}",
        env!("CARGO_BIN_EXE_byway")
    );
    Command::new("bash")
        .current_dir(dir)
        .args(["-c", &script])
        .output()
        .unwrap()
}
