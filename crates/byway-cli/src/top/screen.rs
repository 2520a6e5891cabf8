//! The table on a terminal, anew each second, and its keys.

use super::ask::{Found, Key, wish};
use super::rates::Rates;
use super::table::{Line, NOBODY, lines};
use crate::failure::{Failure, Kind};
use crate::net::inspect::{PathNow, Wish};
use crate::signals::{self, Told};
use crate::terminal::{print, terminal};
use crate::waiting::wait;
use byway::text::shown;
use console::{Term, truncate_str};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// A signal is noticed within this time.
const SLICE: Duration = Duration::from_millis(100);

/// Another screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// What the keys do, and of what the losses are a share. With the number of lines that have no room it
/// has 80 columns.
const FOOT: &str = "q ends; up, down choose; p: primary; r: rest; loss: % of payload";

/// How the terminal was, for whoever puts it back: the end, a second signal, a panic.
static BEFORE: OnceLock<Termios> = OnceLock::new();
/// Whether the terminal is ours.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Puts the terminal back, once.
fn leave() {
    if !ENTERED.swap(false, Ordering::Relaxed) {
        return;
    }
    if let Some(before) = BEFORE.get() {
        // A terminal that has gone needs nothing.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, before);
    }
    let _ = print(LEAVE);
}

/// The terminal, until it is dropped.
struct Screen;

impl Screen {
    fn enter() -> Result<Screen, Failure> {
        let failed = |e: Errno| {
            let why = std::io::Error::from(e);
            Failure::new(Kind::Failed, format!("cannot set the terminal: {why}"))
        };
        let before = tcgetattr(std::io::stdin()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        // It is entered once in a process.
        let _ = BEFORE.set(before);
        let panics = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            leave();
            panics(info);
        }));
        ENTERED.store(true, Ordering::Relaxed);
        let screen = Screen;
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &raw).map_err(failed)?;
        print(ENTER)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// What a key does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Action {
    Quit,
    Interrupt,
    Up,
    Down,
    Prefer,
    Rest,
}

/// Shows the table until it is ended.
pub(super) fn live() -> Result<(), Failure> {
    let cancel = Arc::new(AtomicBool::new(false));
    signals::watch(&cancel, || {
        leave();
        Failure::signal().kind as i32
    })
    .map_err(|e| Failure::new(Kind::Failed, format!("cannot watch for signals: {e}")))?;
    let mut view = View::look()?;
    let _screen = Screen::enter()?;
    show(&mut view, &cancel).map_err(|failure| match cancel.load(Ordering::Relaxed) {
        // A terminal that was closed cannot be written, either.
        true => Failure::signal(),
        false => failure,
    })
}

fn show(view: &mut View, cancel: &AtomicBool) -> Result<(), Failure> {
    loop {
        let next = Instant::now() + PERIOD;
        view.draw()?;
        while Instant::now() < next {
            if cancel.load(Ordering::Relaxed) {
                return Err(Failure::signal());
            }
            for action in keys()? {
                match action {
                    Action::Quit => return Ok(()),
                    Action::Interrupt => return Err(Failure::interrupted()),
                    Action::Up => view.step(-1),
                    Action::Down => view.step(1),
                    Action::Prefer => view.wish(Wish::Prefer),
                    Action::Rest => view.rest(),
                }
                view.draw()?;
            }
        }
        view.look_again()?;
    }
}

/// Waits a moment for keys.
fn keys() -> Result<Vec<Action>, Failure> {
    let stdin = std::io::stdin();
    let failed = |why: std::io::Error| {
        Failure::new(Kind::Failed, format!("cannot read the terminal: {why}"))
    };
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    wait(&mut fds, SLICE).map_err(failed)?;
    if fds[0].revents().is_empty() {
        return Ok(Vec::new());
    }
    let mut bytes = [0; 64];
    match rustix::io::read(&stdin, &mut bytes) {
        // The terminal has gone; the signal comes at the same time.
        Ok(0) | Err(Errno::IO) => Err(Failure::told(Told::HangUp)),
        Ok(n) => Ok(actions(&bytes[..n])),
        Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
        Err(e) => Err(failed(e.into())),
    }
}

/// What these keys do.
fn actions(mut bytes: &[u8]) -> Vec<Action> {
    let mut all = Vec::new();
    while let [first, rest @ ..] = bytes {
        let (action, rest) = match (first, rest) {
            (0x1b, [b'[' | b'O', b'A', rest @ ..]) | (b'k', rest) => (Some(Action::Up), rest),
            (0x1b, [b'[' | b'O', b'B', rest @ ..]) | (b'j', rest) => (Some(Action::Down), rest),
            (b'q', rest) => (Some(Action::Quit), rest),
            (0x03, rest) => (Some(Action::Interrupt), rest),
            (b'p', rest) => (Some(Action::Prefer), rest),
            (b'r', rest) => (Some(Action::Rest), rest),
            (_, rest) => (None, rest),
        };
        all.extend(action);
        bytes = rest;
    }
    all
}

/// What is shown.
struct View {
    found: Found,
    rates: Rates,
    chosen: Option<Key>,
    /// What a key has done.
    said: String,
}

impl View {
    fn look() -> Result<View, Failure> {
        Ok(View::of(Found::now()?))
    }

    fn of(found: Found) -> View {
        let mut rates = Rates::default();
        rates.update(&found, Instant::now());
        View {
            found,
            rates,
            chosen: None,
            said: String::new(),
        }
    }

    fn look_again(&mut self) -> Result<(), Failure> {
        self.found = Found::now()?;
        self.rates.update(&self.found, Instant::now());
        Ok(())
    }

    /// Chooses the next path, or the one before.
    fn step(&mut self, by: isize) {
        let paths: Vec<Key> = self.found.paths().map(|(key, _)| key).collect();
        let now = paths
            .iter()
            .position(|key| Some(key) == self.chosen.as_ref());
        let to = match now {
            Some(at) => at.saturating_add_signed(by).min(paths.len() - 1),
            None => 0,
        };
        self.chosen = paths.get(to).cloned();
        self.said.clear();
    }

    /// Asks for what the user wants of the chosen path.
    fn wish(&mut self, wanted: Wish) {
        self.said = match &self.chosen {
            None => "choose a path first: up and down".to_owned(),
            Some((pid, association, path)) => match wish(wanted, *pid, association, *path) {
                Ok(()) => match wanted {
                    Wish::Prefer => {
                        "it is the primary path now: data goes there while it is active"
                    }
                    Wish::Rest => {
                        "it rests: this side sends data there only while no other is active"
                    }
                    Wish::Use => "it rests no more",
                }
                .to_owned(),
                Err(failure) => shown(&failure.to_string()),
            },
        };
    }

    /// Lets the chosen path rest, or ends that.
    fn rest(&mut self) {
        let chosen = self.chosen.as_ref();
        let is_backup = |(key, path): (Key, &PathNow)| path.backup && Some(&key) == chosen;
        let rests = self.found.paths().any(is_backup);
        self.wish(if rests { Wish::Use } else { Wish::Rest });
    }

    fn draw(&self) -> Result<(), Failure> {
        let (height, width) = Term::stdout().size();
        let (height, width) = (usize::from(height), usize::from(width));
        print(&self.frame(width, height))
    }

    fn frame(&self, width: usize, height: usize) -> String {
        let mut terminal = terminal();
        terminal.width = width;
        let lines = lines(&self.found, &self.rates, width);
        let mut frame = "\x1b[H".to_owned();
        let mut row = |text: &str| {
            // Writing to a string does not fail.
            let _ = write!(frame, "{text}\x1b[K\r\n");
        };
        let (from, to) = part(&lines, self.chosen.as_ref(), height.saturating_sub(1));
        if lines.is_empty() {
            row(&truncate_str(NOBODY, width, "…"));
        }
        for line in &lines[from..to] {
            let chosen = line.path.is_some() && line.path == self.chosen;
            row(&line.painted(terminal, chosen));
        }
        let mut foot = match self.said.as_str() {
            "" => FOOT.to_owned(),
            said => said.to_owned(),
        };
        let hidden = lines.len() - (to - from);
        if hidden > 0 {
            foot = format!("{hidden} more lines; {foot}");
        }
        frame.push_str(&truncate_str(&foot, width, "…"));
        frame.push_str("\x1b[K\x1b[J");
        frame
    }
}

/// Which lines fit: the first ones, or those around the chosen path.
fn part(lines: &[Line], chosen: Option<&Key>, height: usize) -> (usize, usize) {
    let at = lines
        .iter()
        .position(|line| line.path.is_some() && line.path.as_ref() == chosen);
    let last = lines.len().saturating_sub(height);
    let from = at.map_or(0, |at| (at + 2).saturating_sub(height)).min(last);
    (from, lines.len().min(from + height))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::inspect::SCHEMA;
    use serde_json::json;

    /// What a process with so many paths is seen as, without colours.
    fn shown_of(paths: usize, width: usize, height: usize) -> Vec<String> {
        let path = |n| {
            json!({
                "path": n, "local": "10.0.0.1:9899", "remote": format!("10.0.{n}.2:40000"),
                "state": "active", "trouble": null, "errors": 0, "primary": n == 0,
                "in_use": n == 0, "srtt_s": 0.021, "rto_s": 1.0, "cwnd_bytes": 42_000,
                "flight_bytes": 0, "pmtu_bytes": 1500, "bytes_sent": 0, "bytes_received": 0,
                "data_bytes_sent": 0, "data_bytes_retransmitted": 0, "data_bytes_lost": 0,
                "timeouts": 0, "failures": 0
            })
        };
        let process = json!({
            "schema": SCHEMA, "pid": 4242, "command": "recv", "version": "", "endpoint": null,
            "associations": [{
                "number": 0, "id": "0.1", "state": "ESTABLISHED", "bytes_queued": 0,
                "bytes_acked": 0, "bytes_delivered": 0, "chunks_retransmitted": 0, "timeouts": 0,
                "moves": 0, "suspicions": 0, "latest": null,
                "paths": (0..paths).map(path).collect::<Vec<_>>()
            }]
        });
        let found = Found::of(vec![serde_json::from_value(process).unwrap()]);
        let view = View::of(found);
        let frame = view.frame(width, height);
        let plain = console::strip_ansi_codes(&frame);
        plain.split("\r\n").map(str::to_owned).collect()
    }

    #[test]
    fn a_screen_of_80_columns_says_what_rates_and_losses_are() {
        for (paths, hidden) in [(2, ""), (8, ""), (200, "180 more lines; ")] {
            let shown = shown_of(paths, 80, 24);
            assert!(shown.len() <= 24, "{shown:?}");
            let fits = |line: &String| line.chars().count() <= 80;
            assert!(shown.iter().all(fits), "{shown:?}");
            assert!(shown[1].contains("rates: bit/s"), "{shown:?}");
            assert_eq!(shown.last(), Some(&format!("{hidden}{FOOT}")));
            assert!(FOOT.contains("loss: % of payload"));
        }
        // Where there is less room, what does not fit is marked.
        let narrow = shown_of(2, 40, 24);
        assert!(narrow.iter().all(|l| l.chars().count() <= 40), "{narrow:?}");
        assert!(narrow.last().unwrap().ends_with('…'), "{narrow:?}");
    }

    #[test]
    fn keys_do_what_the_help_says() {
        use Action::{Down, Interrupt, Prefer, Quit, Rest, Up};
        assert_eq!(actions(b"q"), [Quit]);
        assert_eq!(actions(b"\x03"), [Interrupt]);
        assert_eq!(
            actions(b"\x1b[A\x1b[B\x1bOA\x1bOBkj"),
            [Up, Down, Up, Down, Up, Down]
        );
        assert_eq!(actions(b"xpr\x1b"), [Prefer, Rest]);
        assert_eq!(actions(b"\x1b[C\xff"), []);
    }
}
