//! Errors as Python's exceptions. The classes are in `byway/errors.py`; the words are
//! those of the command.

use crate::toml_text::TomlText;
use byway_lab::engine::EngineError;
use byway_lab::source::{Problem, Problems};
use byway_lab::trouble::Trouble;
use pyo3::{PyErr, import_exception};
use std::any::Any;

import_exception!(byway.errors, Error);
import_exception!(byway.errors, InputError);
import_exception!(byway.errors, ScenarioError);
import_exception!(byway.errors, SweepError);
import_exception!(byway.errors, SettingError);
import_exception!(byway.errors, RunError);
import_exception!(byway.errors, StoreError);

/// Where something is in a dictionary: `path[0].rate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place(String);

impl Place {
    /// The dictionary itself.
    pub(crate) fn root() -> Place {
        Place::default()
    }

    /// The place called `name`.
    pub(crate) fn named(name: &str) -> Place {
        Place(name.to_owned())
    }

    /// The value of `key`.
    pub(crate) fn key(&self, key: &str) -> Place {
        match self.0.as_str() {
            "" => Place(key.to_owned()),
            above => Place(format!("{above}.{key}")),
        }
    }

    /// The item at place `index`, counted from 0.
    pub(crate) fn item(&self, index: usize) -> Place {
        Place(format!("{}[{index}]", self.0))
    }

    /// Whether the keys here are names, in which a dot is a dot.
    pub(crate) fn holds_names(&self) -> bool {
        self.0 == "policies" || self.0 == "axes" || self.0.starts_with("skip[")
    }

    /// In words.
    pub(crate) fn words(&self) -> &str {
        &self.0
    }
}

/// What cannot be said in TOML: places and messages.
#[derive(Debug)]
pub(crate) struct Fault(pub(crate) Vec<(Place, String)>);

/// What is read: it decides the class and the words around the problems.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Scenario,
    Sweep,
    Settings,
}

impl Input {
    fn words(self) -> &'static str {
        match self {
            Input::Scenario => "scenario",
            Input::Sweep => "sweep",
            Input::Settings => "settings",
        }
    }

    fn raise(self, message: String, problems: Vec<Found>) -> PyErr {
        let problems: Vec<(String, usize, String, String, String)> = problems
            .into_iter()
            .map(|p| (p.file, p.line, p.place, p.message, p.text))
            .collect();
        match self {
            Input::Scenario => ScenarioError::new_err((message, problems)),
            Input::Sweep => SweepError::new_err((message, problems)),
            Input::Settings => SettingError::new_err((message, problems)),
        }
    }
}

/// A problem with both of its places: file and line, and keys.
struct Found {
    file: String,
    line: usize,
    place: String,
    message: String,
    text: String,
}

impl Found {
    fn at(place: &Place, what: Input, message: String) -> Found {
        Found {
            file: what.words().to_owned(),
            line: 0,
            place: place.words().to_owned(),
            message,
            text: String::new(),
        }
    }
}

/// All that is wrong with what was read. `texts` are the names of dictionaries, and their
/// texts: a problem in one of them has keys in place of a line.
pub(crate) fn problems(what: Input, problems: &Problems, texts: &[(&str, &TomlText)]) -> PyErr {
    let mut shown = Vec::new();
    let mut found = Vec::new();
    for problem in &problems.0 {
        let made = texts.iter().find(|(name, _)| *name == problem.file);
        let place = made.and_then(|(_, text)| text.place(problem.line));
        shown.push(match (made, place) {
            (Some(_), Some(place)) => with_place(problem, place),
            _ => problem.to_string(),
        });
        found.push(Found {
            file: problem.file.clone(),
            // The line of a text that nobody has seen says nothing.
            line: if made.is_some() { 0 } else { problem.line },
            place: place.unwrap_or_default().to_owned(),
            message: problem.message.clone(),
            text: problem.text.clone(),
        });
    }
    let message = format!(
        "{} in the {}\n{}",
        counted(found.len()),
        what.words(),
        shown.join("\n")
    );
    what.raise(message, found)
}

/// The problem with its keys where a file has its line.
fn with_place(problem: &Problem, place: &str) -> String {
    let (line, marks) = problem.excerpt();
    format!(
        "{}, {place}: {}\n      | {line}\n      | {marks}",
        problem.file, problem.message
    )
}

/// What cannot be said in TOML.
pub(crate) fn faults(what: Input, fault: Fault) -> PyErr {
    let found: Vec<Found> = fault
        .0
        .into_iter()
        .map(|(place, message)| Found::at(&place, what, message))
        .collect();
    let lines = found.iter().map(|f| match f.place.as_str() {
        "" => f.message.clone(),
        place => format!("{place}: {}", f.message),
    });
    let lines: Vec<String> = lines.collect();
    let message = format!(
        "{} in the {}\n{}",
        counted(found.len()),
        what.words(),
        lines.join("\n")
    );
    what.raise(message, found)
}

/// One thing wrong at `place`.
pub(crate) fn wrong(what: Input, place: &str, message: impl Into<String>) -> PyErr {
    faults(what, Fault(vec![(Place::named(place), message.into())]))
}

fn counted(n: usize) -> String {
    match n {
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    }
}

/// A file of runs that cannot be used, and what is kept in its journal.
pub(crate) fn trouble(error: &Trouble, kept: Option<&str>) -> PyErr {
    let (number, path) = match error {
        Trouble::File { path, error, .. } => (error.raw_os_error(), path),
        Trouble::Foreign { path, .. } => (None, path),
    };
    let mut message = in_python(&error.to_string());
    if let Some(kept) = kept {
        message.push('\n');
        message.push_str(kept);
    }
    StoreError::new_err((message, number, path.clone()))
}

/// The command's options as this package calls them.
pub(crate) fn in_python(message: &str) -> String {
    message
        .replace("--restart", "restart=True")
        .replace("--out", "out=")
        .replace("with --path, such as --path ", "in paths, such as ")
        .replace("--dask", "client=")
        .replace("--for", "targets=")
        .replace("--within ", "within=")
        .replace("--hurts", "hurts=")
        .replace("--max-stall", "max_stall=")
        .replace("--at-most-moves", "at_most_moves=")
        .replace("--max-cost", "max_cost=")
        .replace("with --by ", "by axis=")
}

/// Plans that were not completed.
pub(crate) fn engine(error: &EngineError, kept: Option<&str>) -> PyErr {
    match error {
        EngineError::File(error) => trouble(error, kept),
        other => RunError::new_err(other.to_string()),
    }
}

/// A panic: a mistake of byway.
pub(crate) fn panicked(payload: &(dyn Any + Send)) -> PyErr {
    let why = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no reason was given");
    Error::new_err(format!("byway made a mistake, please report it: {why}"))
}
