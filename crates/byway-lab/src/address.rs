//! A scenario in the address of the web page: `index.html#scene=1.…`.
//!
//! What follows `#scene=` is a version, a point, and the text of the scenario, compressed (RFC 1951) and
//! written in base64url (RFC 4648 section 5).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

/// What stands before a scenario in an address.
pub const MARK: &str = "#scene=";
/// The version that is written, and the only one that is read.
const VERSION: &str = "1";
/// Longest text of a scenario in an address, bytes.
pub const MAX_TEXT: usize = 1 << 18;
/// Longest fragment that is read, characters.
const MAX_FRAGMENT: usize = 1 << 16;
/// Level of compression: the texts are short.
const LEVEL: u8 = 9;

/// Why an address holds no scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The mark is missing.
    #[error("the address has no \"{MARK}\"; copy it whole, with all that follows the #")]
    NoScene,
    /// Of another version.
    #[error(
        "the scene in the address has version \"{0}\", expected \"{VERSION}\"; use the byway that wrote it"
    )]
    Version(String),
    /// Too long.
    #[error("the scene in the address has {0} characters; at most {MAX_FRAGMENT}")]
    Long(usize),
    /// Not base64url, or not compressed, or not text.
    #[error("the scene in the address is damaged: {0}; copy the address whole")]
    Damaged(&'static str),
    /// Its text is too long.
    #[error("the scene in the address has more than {MAX_TEXT} bytes of text")]
    Large,
}

/// Whether `argument` is an address with a scenario, and no name of a file.
#[must_use]
pub fn is_address(argument: &str) -> bool {
    argument.contains(MARK)
}

/// The fragment of an address that holds the scenario `text`, `#` included.
#[must_use]
pub fn fragment(text: &str) -> String {
    let packed = compress_to_vec(text.as_bytes(), LEVEL);
    format!("{MARK}{VERSION}.{}", URL_SAFE_NO_PAD.encode(packed))
}

/// The text of the scenario in an address.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn text(address: &str) -> Result<String, AddressError> {
    let (_, scene) = address.split_once(MARK).ok_or(AddressError::NoScene)?;
    let scene = scene.trim_end();
    if scene.len() > MAX_FRAGMENT {
        return Err(AddressError::Long(scene.chars().count()));
    }
    let (version, packed) = scene
        .split_once('.')
        .ok_or(AddressError::Damaged("there is no point after its version"))?;
    if version != VERSION {
        let shown = version.chars().filter(|c| !c.is_control()).take(12);
        return Err(AddressError::Version(shown.collect()));
    }
    let packed = URL_SAFE_NO_PAD
        .decode(packed)
        .map_err(|_| AddressError::Damaged("it is not base64url"))?;
    let bytes = decompress_to_vec_with_limit(&packed, MAX_TEXT).map_err(|e| match e.status {
        TINFLStatus::HasMoreOutput => AddressError::Large,
        _ => AddressError::Damaged("it cannot be decompressed"),
    })?;
    String::from_utf8(bytes).map_err(|_| AddressError::Damaged("it is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::BUILT_IN;

    #[test]
    fn an_address_holds_a_scenario() {
        for scene in [BUILT_IN, "", "name = \"é\"\n"] {
            let address = format!("file:///somewhere/index.html{}", fragment(scene));
            assert!(is_address(&address));
            assert_eq!(text(&address).as_deref(), Ok(scene));
            assert_eq!(text(&format!("{address}\n")).as_deref(), Ok(scene));
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || "#=._-".contains(c);
        assert!(fragment(BUILT_IN).chars().all(allowed));
    }

    #[test]
    fn what_is_no_scene_is_refused_in_words() {
        let whole = fragment(BUILT_IN);
        let bomb = {
            let packed = compress_to_vec(&vec![b'#'; MAX_TEXT + 1], LEVEL);
            format!("#scene=1.{}", URL_SAFE_NO_PAD.encode(packed))
        };
        let latin = {
            let packed = compress_to_vec(&[0xe9, 0xff], LEVEL);
            format!("#scene=1.{}", URL_SAFE_NO_PAD.encode(packed))
        };
        let long = format!("#scene=1.{}", "A".repeat(MAX_FRAGMENT));
        for (address, words) in [
            ("index.html", "has no \"#scene=\""),
            ("#scene=", "no point"),
            ("#scene=2.abc", "version \"2\", expected \"1\""),
            ("#scene=1.%%%", "not base64url"),
            ("#scene=1.AAAA", "cannot be decompressed"),
            (&whole[..whole.len() - 40], "damaged"),
            (bomb.as_str(), "more than 262144 bytes"),
            (latin.as_str(), "not text"),
            (long.as_str(), "at most 65536"),
        ] {
            let error = text(address).unwrap_err().to_string();
            assert!(error.contains(words), "{address:.40}: {error}");
        }
    }

    #[test]
    fn no_fragment_makes_it_panic() {
        let whole = fragment(BUILT_IN);
        for i in 0..whole.len() {
            let mut bytes = whole.clone().into_bytes();
            bytes[i] ^= 1;
            let _ = text(&String::from_utf8_lossy(&bytes));
            let _ = text(&whole[..i]);
        }
    }
}
