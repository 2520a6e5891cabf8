//! What a person sees meanwhile: a bar, the paths, and what happens to them.

use super::address;
use super::drawing;
use super::log::Log;
use super::record::note;
use super::traffic;
use crate::terminal::say;
use byway::PathStats;
use byway::text::shown;
use byway_lab::show;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

const BAR: &str = "{msg} [{bar:24}] {percent:>3} %  {decimal_bytes}/{decimal_total_bytes}  \
                   {decimal_bytes_per_sec}  {eta} left";
const PATHS: &str = "{wide_msg}";

/// The style of one of the templates above; a test reads them.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).map_or_else(
        |_| ProgressStyle::default_bar(),
        |style| style.progress_chars("=> "),
    )
}

/// A bar and a line for the paths, on standard error when that is a terminal.
pub(super) struct Progress {
    multi: MultiProgress,
    bar: ProgressBar,
    paths: ProgressBar,
    quiet: bool,
    /// Where strangers decide how much is said.
    log: Option<Log>,
    /// The file that is under way, and its size.
    current: Mutex<(String, u64)>,
}

impl Progress {
    pub(super) fn new(quiet: bool) -> Progress {
        let multi = MultiProgress::with_draw_target(match quiet {
            true => ProgressDrawTarget::hidden(),
            false => drawing::target(),
        });
        let bar = multi.add(ProgressBar::no_length());
        let paths = multi.add(ProgressBar::no_length());
        bar.set_style(style(BAR));
        paths.set_style(style(PATHS));
        Progress {
            multi,
            bar,
            paths,
            quiet,
            log: None,
            current: Mutex::default(),
        }
    }

    /// What is said has the rate of this log.
    pub(super) fn with_log(self, log: Log) -> Progress {
        let log = Some(log);
        Progress { log, ..self }
    }

    /// A file begins, of which `done` bytes are there.
    pub(super) fn begin(&self, name: &str, size: u64, done: u64) {
        *self.current() = (name.to_owned(), size);
        self.bar.reset();
        self.bar.set_message(name.to_owned());
        self.bar.set_length(size);
        self.bar.set_position(done);
        self.bar.reset_eta();
    }

    /// What stands before the bar: of a folder, how many of its files there are.
    pub(super) fn label(&self, text: &str) {
        if self.is_seen() {
            self.bar.set_message(text.to_owned());
        }
    }

    /// How far the bar is.
    pub(super) fn place(&self) -> String {
        self.place_of(self.bar.position())
    }

    /// How far `done` bytes are: "34 % of big.iso", or the bytes where the end
    /// is not known.
    pub(super) fn place_of(&self, done: u64) -> String {
        let (name, size) = &*self.current();
        if *size > 0 {
            format!("{:.0} % of {name}", done as f64 * 100.0 / *size as f64)
        } else {
            show::bytes(done)
        }
    }

    fn current(&self) -> MutexGuard<'_, (String, u64)> {
        // Nothing panics while it is held.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn position(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Whether a person sees the bar: on a terminal.
    pub(super) fn is_seen(&self) -> bool {
        !self.multi.is_hidden()
    }

    pub(super) fn show_paths(&self, paths: &[PathStats]) {
        let texts: Vec<String> = paths.iter().map(words).collect();
        self.paths.set_message(texts.join("   "));
    }

    /// An association has begun.
    pub(super) fn say_association(&self, paths: &[PathStats]) {
        let ends: Vec<String> = paths.iter().map(ends).collect();
        self.say(&format!("association over {}", ends.join(", ")));
    }

    /// A line that stays.
    pub(super) fn say(&self, text: &str) {
        if self.quiet || self.log.as_ref().is_some_and(|log| !log.may()) {
            return;
        }
        // It may quote the other side; and it is one line.
        let text = shown(text);
        if self.multi.is_hidden() {
            say(text);
        } else {
            note(&text);
            // Its own `suspend` panics when a terminal has gone.
            let _ = self.multi.println(text);
        }
    }

    /// A line about what failed, which is said to who wants errors only, too.
    pub(super) fn complain(&self, text: &str) {
        if self.quiet {
            say(shown(text));
        } else {
            self.say(text);
        }
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
        self.paths.finish_and_clear();
    }
}

/// A path as people see it: "10.0.0.1 -> 10.0.0.2:9899", "fe80::1%eth0 -> [fe80::2%eth0]:9899".
pub(super) fn ends(path: &PathStats) -> String {
    local_to_remote(path.local, path.remote)
}

fn local_to_remote(local: SocketAddr, remote: SocketAddr) -> String {
    format!(
        "{} -> {}",
        address::shown_host(local),
        byway::shown_address(remote)
    )
}

fn words(path: &PathStats) -> String {
    let rtt = path
        .srtt
        .map_or("-".to_owned(), |d| show::time(d.as_secs_f64()));
    let used = if path.in_use { "*" } else { "" };
    format!(
        "{}{used} {}, {}, rtt {rtt}, cwnd {}",
        ends(path),
        path.state,
        traffic::words(path),
        show::bytes(path.cwnd.into())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_can_be_read() {
        for template in [BAR, PATHS] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn a_path_is_named_by_both_ends_and_that_of_one_link_by_its_card() {
        for (local, remote, expected) in [
            ("10.0.0.1:7", "10.0.0.2:9899", "10.0.0.1 -> 10.0.0.2:9899"),
            ("[::1]:0", "[::1]:9899", "::1 -> [::1]:9899"),
            (
                "[fe80::1%1]:7",
                "[fe80::2%1]:9899",
                "fe80::1%lo -> [fe80::2%lo]:9899",
            ),
        ] {
            let (local, remote) = (local.parse().unwrap(), remote.parse().unwrap());
            assert_eq!(local_to_remote(local, remote), expected);
        }
    }

    #[test]
    fn a_place_is_a_share_where_the_end_is_known() {
        let progress = Progress::new(true);
        progress.position(2_500);
        assert_eq!(progress.place(), "2.50 kB");
        progress.begin("a", 10_000, 2_500);
        assert_eq!(progress.place(), "25 % of a");
    }
}
