//! The input of a run: paths, events, traffic, and the policies to compare.
//!
//! A scenario is a TOML file; [`BUILT_IN`] is one that documents every key.

mod draw;
mod link;
mod listing;
mod model;
mod overrides;
mod policies;
mod read;
mod section;
mod settings;
mod trace;
mod value;
mod write;

pub use listing::{ListedSetting, setting_lines, setting_list};
pub use model::{
    Access, Change, CrossShape, CrossSpec, Direction, EventSpec, GREATEST_SEED, LinkSpec, LossSpec,
    PathSpec, PolicerSpec, Policy, Scenario, Traffic,
};
pub use overrides::{Override, apply_overrides};
pub(crate) use read::read as read_tree;
pub use read::{BUILT_IN, BUILT_IN_NAME};
pub(crate) use section::{Section, tables};
pub use settings::HasText;
pub use trace::{OPPORTUNITY, Trace};

#[cfg(test)]
mod tests;
