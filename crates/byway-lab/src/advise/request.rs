//! What is asked.

use super::candidates::Target;
use super::describe::{self, Load};
use super::wishes::Wishes;
use crate::scenario::PathSpec;
use crate::source::Problems;
use std::time::Duration;

/// Local addresses of an association, at most.
const MOST_PATHS: usize = 8;

/// Paths, traffic, what hurts, and for whom the advice is.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The paths; the first is the primary.
    pub paths: Vec<PathSpec>,
    /// How much the round trip of each path wanders above its least (0).
    pub jitter: Vec<Duration>,
    /// What is sent (bulk).
    pub load: Load,
    /// What hurts.
    pub wishes: Wishes,
    /// For whom: byway alone, unless said.
    pub targets: Vec<Target>,
    /// Seeds all chance (1).
    pub seed: u64,
    /// What to know of the paths, in sentences: what was not measured.
    pub remarks: Vec<String>,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            paths: Vec::new(),
            jitter: Vec::new(),
            load: Load::Bulk,
            wishes: Wishes::default(),
            targets: vec![Target::Byway],
            seed: 1,
            remarks: Vec::new(),
        }
    }
}

impl Request {
    /// Adds a path, written `rtt=20ms,rate=50M,loss=0.5%`.
    ///
    /// # Errors
    /// What is wrong with it, where it stands, and what would be right.
    pub fn add_path(&mut self, text: &str) -> Result<(), Problems> {
        let (path, jitter) = describe::path(self.paths.len() + 1, text)?;
        self.paths.push(path);
        self.jitter.push(jitter);
        Ok(())
    }

    /// Sets the traffic, written `bulk`, `paced 1kB/2ms` or `requests 500B/1s`.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn set_traffic(&mut self, text: &str) -> Result<(), Problems> {
        self.load = describe::load(text)?;
        Ok(())
    }

    /// What contradicts itself, or cannot be simulated.
    ///
    /// # Errors
    /// The first such thing, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        if self.paths.is_empty() {
            return Err(
                "no path is described; give each with --path, such as --path rtt=20ms,rate=50M"
                    .to_owned(),
            );
        }
        if self.paths.len() > MOST_PATHS {
            return Err(format!(
                "{} paths; an association has at most {MOST_PATHS} local addresses",
                self.paths.len()
            ));
        }
        for path in &self.paths {
            let same = self.paths.iter().filter(|p| p.name == path.name).count();
            if same > 1 {
                return Err(format!("\"{}\" is the name of two paths", path.name));
            }
            describe::can_be_simulated(path)?;
        }
        if let Load::Paced { message, every } = self.load {
            describe::fits(message, every, &self.paths)?;
        }
        if self.targets.is_empty() {
            return Err("nobody to advise; --for takes byway, linux and usrsctp".to_owned());
        }
        let first = &self.paths[0];
        self.wishes.check(first.forward.delay + first.reverse.delay)
    }
}
