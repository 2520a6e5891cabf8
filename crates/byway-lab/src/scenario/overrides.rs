//! Settings from the command line.

use super::settings::{HasText, Overlay};
use crate::source::{Entry, Item, Node, Table};

/// One setting from the command line: `rto.min=100ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The setting, such as `rto.min`.
    pub key: String,
    /// Its value as it was written.
    pub value: String,
}

impl std::str::FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Override, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                Ok(Override {
                    key: key.trim().to_owned(),
                    value: value.trim().to_owned(),
                })
            }
            _ => Err(format!(
                "\"{text}\" is not a setting; write KEY=VALUE, such as rto.min=100ms"
            )),
        }
    }
}

/// Lays settings of the command line over `base`.
///
/// # Errors
/// One sentence for each setting that cannot be taken.
pub fn apply_overrides<S: HasText>(base: &S, overrides: &[Override]) -> Result<S, Vec<String>> {
    let mut overlay = Overlay::new(base);
    let mut problems = Vec::new();
    for (i, setting) in overrides.iter().enumerate() {
        // The place of a setting is its number here.
        let mut item = Item::alone(&setting.value);
        item.span = i..i;
        let mut table = Table::default();
        for key in setting.key.rsplit('.') {
            let entry = Entry {
                key: key.trim().to_owned(),
                key_span: i..i,
                value: item,
            };
            table = Table {
                entries: vec![entry],
            };
            item = Item {
                node: Node::Table(table.clone()),
                span: i..i,
            };
        }
        let mut refused = Vec::new();
        overlay.lay(&table, &[], &mut refused);
        problems.extend(
            refused
                .into_iter()
                .map(|r| format!("--set {}={}: {}", setting.key, setting.value, r.message)),
        );
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    overlay.finish(&(0..0)).map_err(|r| vec![r.message])
}
