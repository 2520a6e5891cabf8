//! The terminal that text is made for.

/// How text may terminal.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Characters in a line.
    pub width: usize,
    /// Whether colours may be used.
    pub colour: bool,
}

impl Terminal {
    /// `text` in the colour with this ANSI code, if colours may be used.
    #[must_use]
    pub fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// The same as a line, whose line feed has no colour.
    pub(crate) fn line(self, code: &str, text: &str) -> String {
        let mut line = self.paint(code, text);
        line.push('\n');
        line
    }
}

/// The characters of the longest of these texts.
pub(crate) fn widest<'a>(texts: impl IntoIterator<Item = &'a String>) -> usize {
    let lengths = texts.into_iter().map(|t| t.chars().count());
    lengths.max().unwrap_or(0)
}

/// `text` in at most `width` characters.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}
