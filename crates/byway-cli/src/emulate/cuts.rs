//! Paths that are cut and restored by a key.

use crate::failure::{Failure, Kind};
use crate::terminal::say;
use crate::waiting::wait;
use byway_lab::emulation::Emulation;
use byway_lab::scenario::Scenario;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Which paths are cut: a bit each, of at most eight.
#[derive(Debug, Default)]
pub(crate) struct Cuts(AtomicU8);

impl Cuts {
    /// Cuts a path, or restores it; whether it is cut now.
    fn toggle(&self, path: usize) -> bool {
        let bit = 1 << path;
        self.0.fetch_xor(bit, Ordering::Relaxed) & bit == 0
    }

    /// Cuts and restores what keys have said. What is due must have come out.
    pub(super) fn apply(&self, emulation: &mut Emulation) {
        let cut = self.0.load(Ordering::Relaxed);
        for path in 0..emulation.paths() {
            emulation.cut(path, cut & 1 << path != 0);
        }
    }
}

/// How the terminal was, for whoever puts it back: the end, or a second signal.
static BEFORE: OnceLock<Termios> = OnceLock::new();
/// Whether it is to be put back.
static CHANGED: AtomicBool = AtomicBool::new(false);

/// Puts the terminal back, once.
pub(super) fn restore() {
    if CHANGED.swap(false, Ordering::Relaxed)
        && let Some(before) = BEFORE.get()
    {
        // A terminal that has gone needs nothing.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
    }
}

/// The keys on standard input, which may be a terminal or not, until it is dropped.
pub(super) struct Keys {
    cuts: Arc<Cuts>,
    names: Vec<String>,
    begun: Instant,
    /// Whether there may be more.
    open: bool,
}

/// What a key does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Key {
    /// Cuts or restores a path, counted from 0.
    Path(usize),
    Quit,
}

/// What this key does in a scenario of so many paths.
fn key(byte: u8, paths: usize) -> Option<Key> {
    match byte {
        b'q' => Some(Key::Quit),
        b'1'..=b'9' => Some(usize::from(byte - b'1'))
            .filter(|path| *path < paths)
            .map(Key::Path),
        _ => None,
    }
}

impl Keys {
    /// Takes the keys; a terminal gives each at once from now on, and does not show it.
    pub(super) fn take(cuts: Arc<Cuts>, scenario: &Scenario) -> Result<Keys, Failure> {
        let keys = Keys {
            cuts,
            names: scenario.paths.iter().map(|p| p.name.clone()).collect(),
            begun: Instant::now(),
            open: true,
        };
        if std::io::stdin().is_terminal() {
            let failed = |e: Errno| {
                let why = std::io::Error::from(e);
                Failure::new(Kind::Failed, format!("cannot set the terminal: {why}"))
            };
            let before = tcgetattr(std::io::stdin()).map_err(failed)?;
            let mut direct = before.clone();
            direct
                .local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO);
            // It is taken once in a process.
            let _ = BEFORE.set(before);
            CHANGED.store(true, Ordering::Relaxed);
            tcsetattr(std::io::stdin(), OptionalActions::Now, &direct).map_err(failed)?;
        }
        Ok(keys)
    }

    /// What the keys do, in words.
    pub(super) fn help(&self) -> String {
        let each = self.names.iter().enumerate();
        let each: Vec<String> = each.map(|(i, n)| format!("{} {n}", i + 1)).collect();
        format!("keys cut and restore: {}; q ends\n", each.join(", "))
    }

    /// Waits for keys for a while; whether one of them ends the emulation.
    pub(super) fn wait(&mut self, time: Duration) -> bool {
        let stdin = std::io::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        if !self.open {
            std::thread::sleep(time);
            return false;
        }
        self.open = wait(&mut fds, time).is_ok();
        if fds[0].revents().is_empty() {
            return false;
        }
        let mut bytes = [0; 64];
        let n = match rustix::io::read(&stdin, &mut bytes) {
            Ok(n @ 1..) => n,
            Err(Errno::INTR | Errno::AGAIN) => return false,
            // The terminal has gone, or the file is at its end: no more keys.
            Ok(_) | Err(_) => {
                self.open = false;
                return false;
            }
        };
        bytes[..n].iter().any(|byte| self.pressed(*byte))
    }

    /// Does what a key says; whether it ends the emulation.
    fn pressed(&self, byte: u8) -> bool {
        match key(byte, self.names.len()) {
            Some(Key::Quit) => return true,
            Some(Key::Path(path)) => {
                let cut = self.cuts.toggle(path);
                say(format_args!(
                    "{:.3} s: {} {}",
                    self.begun.elapsed().as_secs_f64(),
                    self.names[path],
                    if cut { "is cut" } else { "is restored" }
                ));
            }
            None => {}
        }
        false
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_paths() {
        assert_eq!(key(b'1', 2), Some(Key::Path(0)));
        assert_eq!(key(b'2', 2), Some(Key::Path(1)));
        assert_eq!(key(b'3', 2), None);
        assert_eq!(key(b'q', 2), Some(Key::Quit));
        assert_eq!(key(0, 8), None);
        assert_eq!(key(b'9', 8), None);
    }

    #[test]
    fn a_key_cuts_and_the_same_key_restores() {
        let cuts = Cuts::default();
        let mut emulation = Emulation::new(&Scenario::built_in()).unwrap();
        let is_cut = |e: &Emulation| [e.is_cut(0), e.is_cut(1)];
        assert!(cuts.toggle(1));
        cuts.apply(&mut emulation);
        assert_eq!(is_cut(&emulation), [false, true]);
        assert!(cuts.toggle(0) && !cuts.toggle(1));
        cuts.apply(&mut emulation);
        assert_eq!(is_cut(&emulation), [true, false]);
    }
}
