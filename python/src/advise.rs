//! Recommended settings for described paths.

use crate::error::{Input, RunError, engine, in_python, problems, wrong};
use crate::job::{Control, carry_out};
use crate::scenario::text_of;
use byway_lab::advise::{
    self as lab, Advice, AdviseError, File, Fixed, Hooks, Request, Target, Within,
};
use byway_lab::source::Problems;
use byway_lab::units::parse_duration;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyAdvice>()?;
    module.add_function(wrap_pyfunction!(advise, module)?)
}

/// Recommended settings, and the runs that speak for them.
#[pyclass(name = "Advice", module = "byway._native", frozen)]
struct PyAdvice {
    advice: Advice,
    files: Vec<File>,
}

/// What hurts and what may not be: the texts of the command's options.
type Wishes = [(&'static str, Option<String>); 4];

/// Looks for settings that suit some paths. `paths` is a dictionary with what a file of
/// paths has, a file's name, or a list of texts such as `rtt=20ms,rate=50M`.
#[pyfunction]
#[pyo3(signature = (paths, *, traffic, hurts, max_stall, at_most_moves, max_cost, targets, within, runs, seed, progress))]
#[expect(clippy::too_many_arguments, reason = "they are the command's options")]
fn advise(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    traffic: Option<&str>,
    hurts: Option<String>,
    max_stall: Option<String>,
    at_most_moves: Option<String>,
    max_cost: Option<String>,
    targets: Vec<String>,
    within: &str,
    runs: Option<(u32, u32)>,
    seed: u64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyAdvice> {
    let mut request = Request {
        seed,
        targets: Vec::new(),
        ..Request::default()
    };
    add_paths(&mut request, paths)?;
    if let Some(traffic) = traffic {
        request.set_traffic(traffic).map_err(said)?;
    }
    let wishes = [
        ("hurts", hurts),
        ("max_stall", max_stall),
        ("at_most_moves", at_most_moves),
        ("max_cost", max_cost),
    ];
    set_wishes(&mut request, wishes)?;
    for name in targets {
        let target = Target::named(name.trim());
        let target = target.map_err(|e| wrong(Input::Settings, "targets", e))?;
        if !request.targets.contains(&target) {
            request.targets.push(target);
        }
    }
    let control = Control::default();
    let tell = |_: &str, done: usize| control.progress(done, 0);
    let hooks = Hooks {
        cancel: Some(&control.cancel),
        progress: Some(&tell),
    };
    let within = parse_duration(within).map_err(|e| wrong(Input::Settings, "within", e))?;
    let work = || match runs {
        Some((search, check)) => lab::advise(&request, &Fixed { search, check }, &hooks),
        None => lab::advise(&request, &Within::begin(within), &hooks),
    };
    let (done, stopped) = carry_out(py, 0, &control, progress, work)?;
    if let Some(error) = stopped {
        return Err(error);
    }
    let advice = done.map_err(|error| match error {
        AdviseError::Wrong(why) | AdviseError::TooShort(why) => {
            wrong(Input::Settings, "", in_python(&why))
        }
        AdviseError::Engine(error) => engine(&error, None),
        AdviseError::Interrupted => RunError::new_err("interrupted"),
    })?;
    let files = lab::files(&request, &advice).map_err(RunError::new_err)?;
    Ok(PyAdvice { advice, files })
}

fn add_paths(request: &mut Request, paths: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(texts) = paths.extract::<Vec<String>>()
        && !paths.is_instance_of::<PyString>()
    {
        for text in texts {
            let added = request.add_path(&text);
            added.map_err(said)?;
        }
        return Ok(());
    }
    let given = text_of(paths, Input::Settings, "paths")?;
    let made: Vec<_> = given
        .made
        .iter()
        .map(|m| (given.name.as_str(), m))
        .collect();
    request
        .add_document(&given.name, &given.text)
        .map_err(|p| problems(Input::Settings, &p, &made))
}

/// What is wrong with a text, which the command calls by its option.
fn said(mut found: Problems) -> PyErr {
    for problem in &mut found.0 {
        problem.file = problem.file.replace("--path ", "paths, ").replace("--", "");
    }
    problems(Input::Settings, &found, &[])
}

fn set_wishes(request: &mut Request, given: Wishes) -> PyResult<()> {
    let wishes = &mut request.wishes;
    for (name, text) in given {
        let Some(text) = text else {
            continue;
        };
        let set = match name {
            "hurts" => wishes.set_hurts(&text),
            "max_stall" => wishes.set_max_stall(&text),
            "at_most_moves" => wishes.set_max_moves(&text),
            _ => wishes.set_max_cost(&text),
        };
        set.map_err(|e| wrong(Input::Settings, name, e))?;
    }
    Ok(())
}

#[pymethods]
impl PyAdvice {
    /// What `byway advise --json` prints.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.advice).map_err(|e| RunError::new_err(e.to_string()))
    }

    /// What `byway advise` prints.
    fn table(&self) -> String {
        self.advice.table()
    }

    /// Names and texts of the files to check the answer with.
    fn files(&self) -> Vec<(String, String)> {
        let files = self.files.iter();
        files.map(|f| (f.name.clone(), f.text.clone())).collect()
    }
}
