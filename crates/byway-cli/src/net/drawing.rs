//! Where progress is drawn: on standard error, by the thread that writes lines there.
//!
//! A terminal that stands still (Ctrl-S) takes nothing, and who draws would wait for it: with a bar, all
//! transfers of a receiver. So each picture goes into the queue of lines, as one of them.

use crate::terminal::say_part;
use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};
use std::fmt::Write;
use std::io;
use std::sync::{Mutex, PoisonError};

/// Pictures a second at most, as `indicatif` has it for terminals.
const RATE: u8 = 20;

/// Standard error if it is a terminal; otherwise nothing is drawn.
pub(super) fn target() -> ProgressDrawTarget {
    let term = Term::stderr();
    if term.features().is_attended() {
        let picture = Mutex::default();
        ProgressDrawTarget::term_like_with_hz(Box::new(Queued { term, picture }), RATE)
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// A terminal that is written to later.
#[derive(Debug)]
struct Queued {
    /// Asked for its size alone.
    term: Term,
    /// What belongs together.
    picture: Mutex<String>,
}

impl Queued {
    fn add(&self, text: std::fmt::Arguments<'_>) -> io::Result<()> {
        let mut picture = self.picture.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a String cannot fail.
        let _ = picture.write_fmt(text);
        Ok(())
    }

    /// Moves the cursor `n` places: A up, B down, C right, D left (ECMA-48).
    fn moved(&self, n: usize, direction: char) -> io::Result<()> {
        match n {
            0 => Ok(()),
            n => self.add(format_args!("\x1b[{n}{direction}")),
        }
    }
}

impl TermLike for Queued {
    fn width(&self) -> u16 {
        self.term.size().1
    }

    fn height(&self) -> u16 {
        self.term.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'D')
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.add(format_args!("{s}\n"))
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.add(format_args!("{s}"))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.add(format_args!("\r\x1b[2K"))
    }

    fn flush(&self) -> io::Result<()> {
        let mut picture = self.picture.lock().unwrap_or_else(PoisonError::into_inner);
        if !picture.is_empty() {
            say_part(&std::mem::take(&mut *picture));
        }
        Ok(())
    }
}
