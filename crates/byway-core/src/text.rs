//! Text of another host, as it may be shown on a terminal or written to a log.

/// With everything escaped that steers a terminal, forges a line or hides:
/// control characters, and those that [`hides`] names. What is escaped already stays as it is.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || hides(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character is invisible, or changes how its neighbours are shown:
/// the characters that Unicode calls Default_Ignorable_Code_Point, marks of direction, separators of
/// lines, and the empty pattern of Braille.
#[must_use]
pub fn hides(c: char) -> bool {
    matches!(
        c,
        '\u{00ad}'
            | '\u{034f}'
            | '\u{061c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_or_hides() {
        for (text, expected) in [
            ("größe, 文件, \"x\"", "größe, 文件, \"x\""),
            ("\x1b]0;x\x07", "\\u{1b}]0;x\\u{7}"),
            ("a\nbyway: b\r", "a\\nbyway: b\\r"),
            ("\u{9b}1m", "\\u{9b}1m"),
            (
                "a\u{202e}b\u{2066}c\u{200b}",
                "a\\u{202e}b\\u{2066}c\\u{200b}",
            ),
        ] {
            assert_eq!(shown(text), expected);
            assert_eq!(shown(expected), expected);
        }
    }
}
