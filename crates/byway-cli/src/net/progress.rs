//! What a person sees meanwhile: a bar, the paths, and what happens to them.

use super::stall::StallMeter;
use crate::failure::{Failure, Kind};
use byway::text::shown;
use byway::{Association, PathState, PathStats};
use byway_lab::show;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Between two looks at a transfer that gets on.
const TICK: Duration = Duration::from_millis(20);

/// The longest time between two looks at a transfer that does not.
const SLOW_TICK: Duration = Duration::from_secs(1);

/// What an association that is watched must do, or it is given up.
#[derive(Copy, Clone, Debug)]
pub(super) enum GiveUp {
    /// It must be heard from within this time.
    Silent(Duration),
    /// The transfer must get on within this time, by a byte or by a message. Heartbeats
    /// alone do not count.
    NoProgress(Duration),
    /// It may take any time.
    Never,
}

/// How far a transfer is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Bytes.
    pub(super) done: u64,
    /// Messages and bytes together: it grows with every step of the other side.
    pub(super) steps: u64,
    /// Whether anything is under way. If not, nobody looks until it begins.
    pub(super) under_way: bool,
    /// Whether the other side waits for this one.
    pub(super) ours: bool,
}

impl Step {
    /// A transfer of bytes, always under way.
    pub(super) fn of(done: u64) -> Step {
        Step {
            done,
            steps: done,
            under_way: true,
            ours: false,
        }
    }
}

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
    /// The file that is under way, and its size.
    current: RefCell<(String, u64)>,
}

impl Progress {
    pub(super) fn new(quiet: bool) -> Progress {
        let multi = MultiProgress::new();
        if quiet {
            multi.set_draw_target(indicatif::ProgressDrawTarget::hidden());
        }
        let bar = multi.add(ProgressBar::no_length());
        let paths = multi.add(ProgressBar::no_length());
        bar.set_style(style(BAR));
        paths.set_style(style(PATHS));
        Progress {
            multi,
            bar,
            paths,
            quiet,
            current: RefCell::default(),
        }
    }

    /// A file begins, of which `done` bytes are there.
    pub(super) fn begin(&self, name: &str, size: u64, done: u64) {
        *self.current.borrow_mut() = (name.to_owned(), size);
        self.bar.reset();
        self.bar.set_message(name.to_owned());
        self.bar.set_length(size);
        self.bar.set_position(done);
        self.bar.reset_eta();
    }

    /// How far `done` bytes are: "34 % of big.iso", or the bytes where the end
    /// is not known.
    pub(super) fn place(&self, done: u64) -> String {
        let (name, size) = &*self.current.borrow();
        if *size > 0 {
            format!("{:.0} % of {name}", done as f64 * 100.0 / *size as f64)
        } else {
            show::bytes(done)
        }
    }

    pub(super) fn position(&self, done: u64) {
        self.bar.set_position(done);
    }

    fn show_paths(&self, paths: &[PathStats]) {
        let texts: Vec<String> = paths.iter().map(words).collect();
        self.paths.set_message(texts.join("   "));
    }

    /// A line that stays.
    pub(super) fn say(&self, text: &str) {
        if self.quiet {
            return;
        }
        // It may quote the other side; and it is one line.
        let text = shown(text);
        if self.multi.is_hidden() {
            eprintln!("{text}");
        } else {
            self.multi.suspend(|| eprintln!("{text}"));
        }
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
        self.paths.finish_and_clear();
    }
}

fn words(path: &PathStats) -> String {
    let rtt = path
        .srtt
        .map_or("-".to_owned(), |d| show::time(d.as_secs_f64()));
    let used = if path.in_use { "*" } else { "" };
    format!(
        "{} -> {}{used} {}, rtt {rtt}, cwnd {}",
        path.local.ip(),
        path.remote,
        path.state,
        show::bytes(path.cwnd.into())
    )
}

async fn told(begins: Option<&Notify>) {
    match begins {
        Some(begins) => begins.notified().await,
        None => std::future::pending().await,
    }
}

/// Looks at an association again and again.
pub(super) struct Watch<'a> {
    association: &'a Association,
    states: Vec<(SocketAddr, PathState)>,
    in_use: Option<SocketAddr>,
    /// The sign of life or progress, and since when it has not changed.
    sign: u64,
    since: Instant,
}

impl<'a> Watch<'a> {
    pub(super) fn new(association: &'a Association) -> Watch<'a> {
        Watch {
            association,
            states: Vec::new(),
            in_use: None,
            sign: 0,
            since: Instant::now(),
        }
    }

    /// Runs until it is dropped, or until the association is given up: then it is
    /// aborted. `step` says how far the transfer is; `begins` tells that one is under way
    /// from now on. `progress` shows it, once there is something to show.
    pub(super) async fn run<'p>(
        mut self,
        progress: impl Fn() -> Option<&'p Progress>,
        meter: &RefCell<StallMeter>,
        step: impl Fn() -> Step,
        begins: Option<&Notify>,
        give_up: GiveUp,
    ) -> Failure {
        loop {
            let step = step();
            if let Some(progress) = progress() {
                meter
                    .borrow_mut()
                    .update(step.done, |at| progress.place(at));
                progress.position(step.done);
                self.show_changes(progress);
            }
            let left = match self.time_left(&step, give_up) {
                Ok(left) => left,
                Err(failure) => return failure,
            };
            let pause = if step.under_way {
                let slower = self.since.elapsed() / 8;
                slower.clamp(TICK, SLOW_TICK).min(left)
            } else {
                left
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = told(begins) => {}
            }
        }
    }

    /// How long the association may go on like this.
    ///
    /// # Errors
    /// Why it was given up.
    fn time_left(&mut self, step: &Step, give_up: GiveUp) -> Result<Duration, Failure> {
        let (sign, limit, what) = match give_up {
            GiveUp::Silent(limit) => {
                let heard = self.association.stats().packets_received;
                (heard, limit, "nothing was heard from the other side")
            }
            GiveUp::NoProgress(limit) => (step.steps, limit, "the other side sent nothing more"),
            GiveUp::Never => (step.steps, Duration::MAX, ""),
        };
        if sign != self.sign || step.ours {
            self.sign = sign;
            self.since = Instant::now();
        }
        match limit.checked_sub(self.since.elapsed()) {
            // A timer may be early by less than a millisecond.
            Some(left) => Ok(left.max(Duration::from_millis(1))),
            None => {
                // Refused only when it has ended already.
                let _ = self.association.abort(b"nothing came for too long");
                let limit = byway_lab::units::format_duration(limit);
                Err(Failure::new(
                    Kind::Lost,
                    format!("the association was given up: {what} for {limit} (--give-up)"),
                ))
            }
        }
    }

    /// Shows what changed since the last poll.
    fn show_changes(&mut self, progress: &Progress) {
        let paths = self.association.paths();
        if paths.is_empty() {
            return;
        }
        for path in &paths {
            match self
                .states
                .iter_mut()
                .find(|(remote, _)| *remote == path.remote)
            {
                Some((_, state)) if *state == path.state => {}
                Some((remote, state)) => {
                    progress.say(&format!("path {remote}: {} -> {}", state, path.state));
                    *state = path.state;
                }
                None => self.states.push((path.remote, path.state)),
            }
        }
        let in_use = paths.iter().find(|p| p.in_use).map(|p| p.remote);
        if let (Some(before), Some(now)) = (self.in_use, in_use)
            && before != now
        {
            progress.say(&format!("data goes to {now} now"));
        }
        self.in_use = in_use.or(self.in_use);
        progress.show_paths(&paths);
    }
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
    fn a_place_is_a_share_where_the_end_is_known() {
        let progress = Progress::new(true);
        assert_eq!(progress.place(2_500), "2.50 kB");
        progress.begin("a", 10_000, 0);
        assert_eq!(progress.place(2_500), "25 % of a");
    }
}
