//! By what a report is made: what stands at its top.

use byway_papers::reproduce::Origin;
use std::process::Command;

/// Of this process.
pub(crate) fn origin() -> Origin {
    Origin {
        date: chrono::Utc::now().format("%F").to_string(),
        command: command(),
        program: format!("byway {}", env!("CARGO_PKG_VERSION")),
        commit: commit(),
        build: env!("BYWAY_BUILD").to_owned(),
        machine: machine(),
    }
}

/// The command as it was typed, without the program's folder. Names of files are this machine's own and
/// say nothing of the runs: only their last part.
fn command() -> String {
    command_words(std::env::args())
}

fn command_words(words: impl Iterator<Item = String>) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_elsewhere = |path: &str| ["/", "~", ".."].iter().any(|root| path.starts_with(root));
    let short = |(i, word): (usize, String)| match word.split_once('=') {
        _ if i == 0 || is_elsewhere(&word) => last(&word),
        Some((option, path)) if option.starts_with("--") && is_elsewhere(path) => {
            format!("{option}={}", last(path))
        }
        _ => word,
    };
    words.enumerate().map(short).collect::<Vec<_>>().join(" ")
}

/// The commit that was built, and how the work tree in which the command runs differs from it.
fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(done.stdout).ok()?;
        done.status.success().then(|| text.trim().to_owned())
    };
    let here = git(&["rev-parse", "--short=12", "HEAD"]);
    let changes = git(&["status", "--porcelain", "--untracked-files=no"]);
    commit_words(env!("BYWAY_COMMIT"), here.as_deref(), changes.as_deref())
}

/// `built`: empty if the build does not know it. `here`: the work tree's, if there is one. `changes`:
/// the files that differ from it.
fn commit_words(built: &str, here: Option<&str>, changes: Option<&str>) -> Option<String> {
    let changed = match changes {
        Some("") => "without changes",
        _ => "with changes",
    };
    match (built, here) {
        ("", None) => None,
        ("", Some(here)) => Some(format!("{here} {changed}")),
        (built, Some(here)) if built == here => Some(format!("{here} {changed}")),
        (built, None) => Some(built.to_owned()),
        (built, Some(here)) => Some(format!("{built} (the work tree is at {here} {changed})")),
    }
}

/// Processors and operating system, as far as they can be known.
fn machine() -> String {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("", |(_, model)| model.trim());
    // The release without what its builder appended, which names the machine's own.
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.split(['-', '+']).next().unwrap_or_default();
    let processors = match count {
        1 => "1 processor".to_owned(),
        n => format!("{n} processors"),
    };
    let words = [
        processors.as_str(),
        model,
        std::env::consts::OS,
        kernel.trim(),
        std::env::consts::ARCH,
    ];
    let known: Vec<&str> = words.into_iter().filter(|w| !w.is_empty()).collect();
    known.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_another_commit_than_the_work_tree_is_told() {
        for (built, here, changes, expected) in [
            ("a", Some("a"), Some(""), Some("a without changes")),
            ("a", Some("a"), Some("M x"), Some("a with changes")),
            (
                "a",
                Some("b"),
                Some(""),
                Some("a (the work tree is at b without changes)"),
            ),
            ("a", None, None, Some("a")),
            ("", Some("b"), Some(""), Some("b without changes")),
            ("", None, None, None),
        ] {
            let words = commit_words(built, here, changes);
            assert_eq!(words.as_deref(), expected, "{built:?}, {here:?}");
        }
    }

    #[test]
    fn a_command_is_told_without_the_folders_of_this_machine() {
        let told = |words: &str| command_words(words.split(' ').map(str::to_owned));
        for (typed, expected) in [
            (
                "/home/me/target/byway reproduce --full --runs /data/me/runs",
                "byway reproduce --full --runs runs",
            ),
            (
                "./byway reproduce --runs=/data/me/runs --out=out",
                "byway reproduce --runs=runs --out=out",
            ),
            (
                "byway reproduce --against ../../me/out/reproduce.json",
                "byway reproduce --against reproduce.json",
            ),
            (
                "byway reproduce caro-2006/5 --at loss1=8",
                "byway reproduce caro-2006/5 --at loss1=8",
            ),
        ] {
            assert_eq!(told(typed), expected, "{typed}");
        }
    }

    #[test]
    fn a_report_says_when_by_what_and_where_it_was_made() {
        let origin = origin();
        let day: Vec<&str> = origin.date.split('-').collect();
        assert!(
            matches!(day.as_slice(), [y, m, d] if y.len() == 4 && m.len() == 2 && d.len() == 2)
        );
        assert!(!origin.command.starts_with('/'), "{}", origin.command);
        assert!(origin.build.contains("rustc"), "{}", origin.build);
        assert!(origin.machine.contains("processor"), "{}", origin.machine);
    }
}
