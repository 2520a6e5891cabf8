//! Text of another host, as it may be shown on a terminal or written to a log.

use icu_properties::props::{
    BidiControl, DefaultIgnorableCodePoint, GeneralCategory, NoncharacterCodePoint,
    PrependedConcatenationMark,
};
use icu_properties::{CodePointMapData, CodePointSetData};

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

/// Whether a character is invisible, changes how its neighbours are shown or has no agreed look: by
/// the properties of Unicode what is ignorable by default (UAX #44: joiners, fillers, variation
/// selectors, tags, what is reserved for such), what controls direction or form, separators of
/// lines, private use and noncharacters; and the empty pattern of Braille.
///
/// Spaces, combining marks and unassigned characters do not hide: names have them.
#[must_use]
pub fn hides(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    // The signs that enclose Arabic and Syriac numbers are of category Cf and are seen.
    let of_form = category == GeneralCategory::Format
        && !CodePointSetData::new::<PrependedConcatenationMark>().contains(c);
    let by_category = matches!(
        category,
        GeneralCategory::Control
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::PrivateUse
    );
    by_category
        || of_form
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
        || CodePointSetData::new::<BidiControl>().contains(c)
        || CodePointSetData::new::<NoncharacterCodePoint>().contains(c)
        || c == BRAILLE_BLANK
}

/// Shown as nothing, though its category is that of a symbol.
const BRAILLE_BLANK: char = '\u{2800}';

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

    /// One or more of each kind. The ranges hold at both ends.
    #[test]
    fn each_kind_of_hidden_character_hides() {
        for (what, from, to) in [
            ("soft hyphen", 0xad, 0xad),
            ("combining grapheme joiner", 0x34f, 0x34f),
            ("Arabic letter mark", 0x61c, 0x61c),
            ("Hangul fillers", 0x115f, 0x1160),
            ("Khmer inherent vowels", 0x17b4, 0x17b5),
            ("Mongolian selectors and separator", 0x180b, 0x180f),
            (
                "zero width space, joiners, marks of direction",
                0x200b,
                0x200f,
            ),
            ("separators of lines and paragraphs", 0x2028, 0x2029),
            ("embeddings and overrides of direction", 0x202a, 0x202e),
            ("word joiner, invisible operators", 0x2060, 0x2065),
            ("isolates of direction", 0x2066, 0x2069),
            ("deprecated controls of form", 0x206a, 0x206f),
            ("empty pattern of Braille", 0x2800, 0x2800),
            ("Hangul filler", 0x3164, 0x3164),
            ("noncharacters", 0xfdd0, 0xfdef),
            ("variation selectors", 0xfe00, 0xfe0f),
            ("byte order mark", 0xfeff, 0xfeff),
            ("halfwidth Hangul filler", 0xffa0, 0xffa0),
            ("reserved, annotations between lines", 0xfff0, 0xfffb),
            ("noncharacters", 0xfffe, 0xffff),
            ("controls of hieroglyphs", 0x13430, 0x1343f),
            ("controls of shorthand", 0x1bca0, 0x1bca3),
            ("controls of music", 0x1d173, 0x1d17a),
            ("tags, variation selectors, reserved", 0xe0000, 0xe0fff),
            ("private use", 0xe000, 0xf8ff),
            ("private use, further planes", 0xf0000, 0x10ffff),
        ] {
            for c in (from..=to).map(|n| char::from_u32(n).unwrap()) {
                assert!(hides(c), "{what}: U+{:04X}", c as u32);
                assert_eq!(shown(&c.to_string()), c.escape_unicode().to_string());
            }
        }
    }

    /// What names in many languages have.
    #[test]
    fn what_is_seen_is_shown_as_it_is() {
        for text in [
            "u\u{308}ber",
            "a\u{a0}b\u{3000}c",
            "\u{600}\u{661}",
            "हिन्दी",
            "ไทย",
            "עברית",
            "한국어",
            "😀",
            "\u{fffd}",
        ] {
            assert_eq!(shown(text), text);
        }
    }
}
