//! How long failure detection and the stall last, computed from the settings
//! (`byway failover-time`).
//!
//! Nothing is sent: the timers of RFC 9260 (sections 6.3 and 8), RFC 7829 and
//! the probing detector of cortes-2008 are added up, as caro-2006 section II
//! does for 63 s and 360 s. Two numbers have no plain sum, because the errors of
//! two dead paths interlock; these come from a small simulated run.

mod advice;
mod all_dead;
mod compute;
mod frame;
mod mechanisms;
mod model;
mod simulated;
mod timeline;
mod words;

pub use compute::failover_time;
pub use model::{
    Answer, Case, FailoverTime, Goal, Mechanism, Milestone, Question, QuestionError, SCHEMA,
};
pub use timeline::{Step, Sum, Waiting};
pub use words::render;

#[cfg(test)]
mod tests;
