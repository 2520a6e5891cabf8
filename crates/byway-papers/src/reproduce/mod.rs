//! Every claim and figure of the five papers, run again (`byway reproduce`).
//!
//! `experiments/<paper>/claims.toml` says what a paper states, what would have
//! to be seen for that to be so, and which runs show it. Here the runs are done,
//! the checks put to them and to what ns-2 gave for the same question, and
//! verdicts and figures come out.

mod ablation;
pub mod against;
mod cap;
mod carry_out;
pub mod cells;
pub mod check;
mod checked;
mod choose;
pub mod claim;
mod claim_page;
mod estimate;
pub mod figure;
mod hex;
mod html;
mod identity;
mod kept;
pub mod markdown;
mod marks;
pub mod measure;
pub mod near;
pub mod ns2;
pub mod page;
mod papers;
pub mod parameters;
mod part;
mod plan;
mod raw;
pub mod real;
pub mod report;
pub mod rule;
pub mod sample;
pub mod show;
pub mod single;
pub mod study;
pub mod text;
pub mod today;
mod today_page;
mod undecidable;
pub mod varied;
pub mod verdict;

pub use ablation::{Ablation, Vary};
pub use byway_lab::engine::Resumed;
pub use carry_out::reproduce;
pub use checked::Checked;
pub use claim::{Claim, Paper};
pub use figure::Figure;
pub use raw::RawFile;
pub use report::{Origin, PaperResult, Report, ReproduceError, Request, SCHEMA, Watch};
pub use study::Effort;
pub use verdict::{ClaimResult, Verdict};

#[cfg(test)]
mod tests;
