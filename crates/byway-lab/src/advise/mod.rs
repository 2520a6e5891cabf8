//! Which settings suit some paths: a search in the simulator.
//!
//! [`Request`] describes the paths, the traffic and what hurts. [`advise`] runs candidate
//! settings in five or six [situations](Situation), drops those that cannot win, and runs the rest
//! again with seeds that the search has not used. The answer, [`Advice`], has figures of
//! these last runs only, with their intervals. All of it follows from the request, the seed
//! and the number of runs; a [`Pace`] decides how many there are: [`Fixed`] numbers, or as many as
//! a time allows ([`Within`]).
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
mod choice;
mod compare;
mod describe;
mod document;
mod evidence;
mod files;
mod held_out;
mod lane;
mod levers;
mod lines;
mod page;
mod race;
mod rates;
mod recommend;
mod request;
mod rerun;
mod situations;
mod table;
#[cfg(test)]
mod tests;
mod verdict;
mod weigh;
mod wishes;
mod within;

pub use answer::{Advice, Effort, Outlook, Role, SCHEMA, TargetAdvice, Verdict};
pub use candidates::{Candidate, Target, baselines};
pub use compare::{Comparison, Shown, compare};
pub use describe::Load;
pub use evidence::{Figures, Interval, Moves, Sample, Score};
pub use files::{File, files};
pub use held_out::{HeldOut, held_out, variations};
pub use race::{AdviseError, Fixed, Hooks, Pace, Pilot, Progress, advise, measure};
pub use request::Request;
pub use rerun::{Rerun, rerun};
pub use situations::{Situation, scenario};
pub use wishes::Wishes;
pub use within::Within;
