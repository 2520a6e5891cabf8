//! A scenario that is watched and changed while it runs.

use crate::file::{File, KEYS, name_of, policies_of};
use crate::lane::{CurveKind, Lane};
use crate::packets::{Mark, nanos};
use crate::view::{Choice, View};
use byway_lab::address;
use byway_lab::run::compared;
use std::time::Duration;

/// Most policies side by side.
const MOST_LANES: usize = 3;
/// What can be chosen in any scene.
const CATALOGUE: &str = include_str!("../policies.toml");

/// Names and notes of the policies that can be chosen in any scene.
#[must_use]
pub fn catalogue() -> Vec<(String, String)> {
    let policies = policies_of(CATALOGUE).unwrap_or_default();
    let note = |p: &toml::Table| {
        p.get("note")
            .and_then(toml::Value::as_str)
            .map(str::to_owned)
    };
    let named = policies.iter();
    named
        .map(|p| (name_of(p).to_owned(), note(p).unwrap_or_default()))
        .collect()
}

/// A scenario that is watched and changed while it runs.
#[derive(Debug)]
pub struct Session {
    /// As it was opened, without all that the visitor did: events, seed and choice of policies.
    opened: File,
    file: File,
    /// The scene's own policies, all of them.
    own: Vec<toml::Table>,
    lanes: Vec<Lane>,
    /// Up to when all policies have run and are shown.
    now: Duration,
    /// For how long losses are shown, nanoseconds.
    shown: u64,
}

impl Session {
    /// Opens the scenario `text` of the file `name` with its first policies.
    ///
    /// # Errors
    /// All that is wrong with it, in the words of the command.
    pub fn open(name: &str, text: &str) -> Result<Session, String> {
        let mut file = File::parse(name, text)?;
        let own = file.policies();
        if own.len() > MOST_LANES {
            file = file.with_policies(own[..MOST_LANES].to_vec())?;
        }
        let mut session = Session {
            opened: file.clone(),
            file: file.clone(),
            own,
            lanes: Vec::new(),
            now: Duration::ZERO,
            shown: 0,
        };
        session.begin(file, Duration::ZERO)?;
        Ok(session)
    }

    /// Opens the scenario in an address.
    ///
    /// # Errors
    /// When the address has none, or something is wrong with it, in the words of the command.
    pub fn open_address(address: &str) -> Result<Session, String> {
        let text = address::text(address).map_err(|e| e.to_string())?;
        Session::open("the address", &text)
    }

    /// Runs `file` from the start; it is shown again when it has come to `now`. Nothing changes if it
    /// cannot be run.
    fn begin(&mut self, file: File, now: Duration) -> Result<(), String> {
        let lanes: Result<Vec<Lane>, String> = (0..file.scenario.policies.len())
            .map(|i| Lane::new(&file.scenario, i))
            .collect();
        self.lanes = lanes?;
        self.file = file;
        self.now = now;
        Ok(())
    }

    /// The text of the scenario with all that the visitor did.
    #[must_use]
    pub fn toml(&self) -> String {
        self.file.text()
    }

    /// The fragment of the page's address that opens this scenario.
    #[must_use]
    pub fn fragment(&self) -> String {
        address::fragment(&self.toml())
    }

    /// The simulated time that is shown.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Runs all policies up to `until`, each at most `events` events. Returns whether they have got there:
    /// then this is the time that is shown. After a change they run from the start again, so the same
    /// call may be needed several times. Losses are shown for `shown` of simulated time.
    ///
    /// # Errors
    /// When a policy cannot be run, in the words of the command.
    pub fn advance(
        &mut self,
        until: Duration,
        events: u64,
        shown: Duration,
    ) -> Result<bool, String> {
        let until = until.max(self.now).min(self.file.scenario.limit);
        self.shown = nanos(shown);
        // A path may delay packets for seconds, and losses are shown where they were.
        let oldest = nanos(until.saturating_sub(shown)).saturating_sub(1_000_000_000);
        let mut all = true;
        for lane in &mut self.lanes {
            all &= lane.run_to(&self.file.scenario, until, events, oldest)?;
        }
        if all {
            self.now = until;
        }
        Ok(all)
    }

    /// How many events all policies have handled since all began, at most: see [`Session::advance`].
    #[must_use]
    pub fn handled(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.handled).sum()
    }

    /// Whether all policies have ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.lanes.iter().all(|lane| lane.result.is_some())
    }

    /// What `byway run --json` prints of this scenario; none before all policies have ended.
    #[must_use]
    pub fn json(&self) -> Option<String> {
        let results: Option<Vec<_>> = self.lanes.iter().map(|l| l.result.clone()).collect();
        let comparison = compared(&self.file.scenario, results?);
        let text = serde_json::to_string_pretty(&comparison).ok()?;
        Some(format!("{text}\n"))
    }

    /// The time of what the visitor does now: the next whole millisecond.
    fn moment(&self) -> Duration {
        let ms = self.now.as_nanos().div_ceil(1_000_000);
        Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX))
    }

    /// Cuts path `path`, counted from 0, or heals it.
    ///
    /// # Errors
    /// When the scene takes no further event.
    pub fn switch(&mut self, path: usize, up: bool) -> Result<(), String> {
        self.known(path)?;
        let file = self.file.with_switch(self.moment(), path, up)?;
        self.begin(file, self.now)
    }

    /// Sets the rate, delay or loss of path `path`, counted from 0, as a scenario writes it.
    ///
    /// # Errors
    /// What is wrong with the value, in the words of the command.
    pub fn set(&mut self, path: usize, key: &str, value: &str) -> Result<(), String> {
        self.known(path)?;
        if !KEYS.contains(&key) {
            return Err(format!(
                "{key} cannot be changed; there are rate, delay and loss"
            ));
        }
        let file = self.file.with_change(self.moment(), path, key, value)?;
        self.begin(file, self.now)
    }

    /// Takes back what the visitor did last to a path: the last event of the file that the opened scene does
    /// not have. Choices of policies and seeds stay.
    ///
    /// # Errors
    /// When there is nothing to take back.
    pub fn undo(&mut self) -> Result<(), String> {
        match self.file.without_last(&self.opened)? {
            Some(file) => self.begin(file, self.now),
            None => {
                Err("nothing to undo: no path was changed since the scene was opened".to_owned())
            }
        }
    }

    fn known(&self, path: usize) -> Result<(), String> {
        let n = self.file.scenario.paths.len();
        (path < n)
            .then_some(())
            .ok_or_else(|| format!("there is no path {}; the scene has {n}", path + 1))
    }

    /// Takes another seed, and begins again.
    ///
    /// # Errors
    /// When it is no number, or too large.
    pub fn seed(&mut self, seed: &str) -> Result<(), String> {
        let number: u64 = seed.trim().parse().map_err(|_| {
            format!(
                "seed: found \"{seed}\", expected a whole number from 0 to {}",
                i64::MAX
            )
        })?;
        let file = self.file.with_seed(number)?;
        self.begin(file, Duration::ZERO)
    }

    /// Compares the policies with these names, and runs them up to the present.
    ///
    /// # Errors
    /// When one is not known, or has the name of another, or there are too many.
    pub fn choose(&mut self, names: &[&str]) -> Result<(), String> {
        if names.is_empty() || names.len() > MOST_LANES {
            return Err(format!("{} policies; 1 to {MOST_LANES}", names.len()));
        }
        let known = self.known_policies();
        let find = |name: &&str| {
            let found = known.iter().find(|p| name_of(p) == *name);
            found.cloned().ok_or_else(|| {
                let names: Vec<String> = known
                    .iter()
                    .map(|p| format!("\"{}\"", name_of(p)))
                    .collect();
                format!("{name}: no such policy; there are {}", names.join(", "))
            })
        };
        let chosen: Result<Vec<toml::Table>, String> = names.iter().map(find).collect();
        let file = self.file.with_policies(chosen?)?;
        self.begin(file, self.now)
    }

    /// The scene's own policies, then those of the catalogue.
    fn known_policies(&self) -> Vec<toml::Table> {
        let mut known = self.own.clone();
        for policy in policies_of(CATALOGUE).unwrap_or_default() {
            if !known.iter().any(|p| name_of(p) == name_of(&policy)) {
                known.push(policy);
            }
        }
        known
    }

    /// Begins again, with all that the visitor did, or as the scene was opened: with its events, seed and first
    /// policies.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn restart(&mut self, as_opened: bool) -> Result<(), String> {
        let file = if as_opened { &self.opened } else { &self.file };
        self.begin(file.clone(), Duration::ZERO)
    }

    /// What there is to show besides packets and curves, as JSON.
    #[must_use]
    pub fn view(&self) -> String {
        let names = self.known_policies();
        let names = names.iter().map(|p| name_of(p).to_owned()).collect();
        let view = View::new(
            &self.file.scenario,
            &self.lanes,
            self.now,
            self.moment(),
            Choice {
                policies: names,
                own: self.own.len(),
                undo: self.file.events_differ(&self.opened),
            },
        );
        serde_json::to_string(&view).unwrap_or_default()
    }

    /// The packets of a policy, at the time that is shown.
    #[must_use]
    pub fn marks(&mut self, lane: usize) -> Vec<Mark> {
        let (now, shown) = (nanos(self.now), self.shown);
        let lane = self.lanes.get_mut(lane);
        lane.map_or_else(Vec::new, |l| l.packets.marks(now, shown))
    }

    /// A curve of a policy, at most about `points` points: seconds and value by turns.
    #[must_use]
    pub fn curve(&self, lane: usize, kind: CurveKind, path: usize, points: usize) -> Vec<f64> {
        let lane = self.lanes.get(lane);
        let curve = lane.and_then(|l| l.trace.curve(kind, path, points.clamp(4, 4000)));
        let curve = curve.unwrap_or_default();
        let points = curve.points().iter();
        points.flat_map(|(at, v)| [*at as f64 / 1e9, *v]).collect()
    }
}
