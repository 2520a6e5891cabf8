//! Which settings suit some paths: a search in the simulator.
//!
//! [`Request`] describes the paths, the traffic and what hurts. [`advise`] runs candidate
//! settings in three [situations](Situation), drops those that cannot win, and runs the rest
//! again with seeds that the search has not used. The answer, [`Advice`], has figures of
//! these last runs only, with their intervals. All of it follows from the request, the seed
//! and the number of runs; a [`Pace`] decides how many there are, and may look at a clock.
//!
//! ```
//! use byway_lab::advise::{Fixed, Hooks, Request, advise};
//!
//! let mut request = Request::default();
//! request.add_path("rtt=20ms,rate=10M")?;
//! request.add_path("rtt=60ms,rate=5M,loss=0.5%")?;
//! request.set_traffic("requests 500B/1s")?;
//! let advice = advise(&request, &Fixed { search: 1, check: 8 }, &Hooks::default())?;
//! println!("{}", advice.table());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod candidates;
mod describe;
mod document;
mod evidence;
mod files;
mod levers;
mod lines;
mod page;
mod race;
mod recommend;
mod request;
mod rerun;
mod situations;
mod table;
#[cfg(test)]
mod tests;
mod wishes;

pub use answer::{Advice, Figures, Interval, Moves, Outlook, Role, SCHEMA, TargetAdvice, Verdict};
pub use candidates::{Candidate, Target, baselines};
pub use evidence::{Sample, Score};
pub use files::{File, files};
pub use race::{AdviseError, Effort, Fixed, Hooks, Pace, Pilot, Progress, advise};
pub use recommend::{Comparison, compare};
pub use request::{Load, Request};
pub use rerun::{Rerun, rerun};
pub use situations::{Situation, scenario};
pub use wishes::Wishes;
