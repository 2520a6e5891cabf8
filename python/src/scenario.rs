//! Scenarios: from files, TOML text and dictionaries.

use crate::decider::{Custom, custom_of};
use crate::error::{Input, Place, faults, problems, wrong};
use crate::toml_text::{Table, TomlText, Value, kind, quoted, table};
use byway_dialect_ns2::Settings;
use byway_lab::scenario::{BUILT_IN, BUILT_IN_NAME, GREATEST_SEED, Override, Scenario};
use byway_lab::scenario::{HasText, apply_overrides, setting_lines};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::path::PathBuf;

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScenario>()?;
    module.add_function(wrap_pyfunction!(read_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(to_toml, module)?)?;
    module.add_function(wrap_pyfunction!(list_settings, module)?)
}

/// A scenario, read and checked.
#[pyclass(name = "Scenario", module = "byway._native", frozen)]
pub(crate) struct PyScenario {
    pub(crate) scenario: Scenario,
}

#[pymethods]
impl PyScenario {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    /// What it shows.
    #[getter]
    fn description(&self) -> &str {
        &self.scenario.description
    }

    /// Seed of all chance.
    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    /// Names of its paths, the primary first.
    #[getter]
    fn paths(&self) -> Vec<String> {
        self.scenario.paths.iter().map(|p| p.name.clone()).collect()
    }

    /// Names of its policies.
    #[getter]
    fn policies(&self) -> Vec<String> {
        let policies = self.scenario.policies.iter();
        policies.map(|p| p.name.clone()).collect()
    }

    /// The scenario as a file that `byway run` takes, with nothing left to defaults.
    fn to_toml(&self) -> String {
        self.scenario.to_toml()
    }

    /// Settings that contradict each other: the policy's name, and what is odd.
    fn warnings(&self) -> Vec<(String, String)> {
        let warnings = self.scenario.warnings();
        let words = |(name, w): (&str, _)| (name.to_owned(), format!("{w}"));
        warnings.into_iter().map(words).collect()
    }

    /// Pickled as its text.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let read = py.import("byway._native")?.getattr("read_scenario")?;
        Ok((read, (self.scenario.to_toml(),)))
    }

    fn __repr__(&self) -> String {
        let s = &self.scenario;
        let (paths, policies) = (s.paths.len(), s.policies.len());
        format!(
            "<Scenario {:?}: {paths} paths, {policies} policies, seed {}>",
            s.name, s.seed
        )
    }
}

/// A text with the name that messages give it.
pub(crate) struct Given {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Where its lines come from, if it was made of a dictionary.
    pub(crate) made: Option<TomlText>,
}

/// The text of `from`: a dictionary, a file's name, or TOML text, which has a line break.
pub(crate) fn text_of(from: &Bound<'_, PyAny>, what: Input, name: &str) -> PyResult<Given> {
    if from.is_instance_of::<PyDict>() {
        let made = table(from, &Place::root())
            .map_err(|f| faults(what, f))?
            .text();
        return Ok(Given {
            name: name.to_owned(),
            text: made.text.clone(),
            made: Some(made),
        });
    }
    let text: Option<String> = match from.cast::<PyString>() {
        Ok(text) => Some(text.to_str().map(str::to_owned).unwrap_or_default()),
        Err(_) => None,
    };
    if let Some(text) = text.filter(|t| t.contains('\n')) {
        return Ok(Given {
            name: format!("{name} text"),
            text,
            made: None,
        });
    }
    let Ok(path) = from.extract::<PathBuf>() else {
        let why = format!(
            "found {}, expected a file's name, TOML text of several lines or a dictionary",
            kind(from)
        );
        return Err(wrong(what, "", why));
    };
    let text = std::fs::read_to_string(&path).map_err(|e| {
        let why = format!("cannot read {}: {e}", path.display());
        wrong(what, "", why)
    })?;
    Ok(Given {
        name: path.display().to_string(),
        text,
        made: None,
    })
}

/// Reads a scenario: the built-in one, a file, TOML text, a dictionary or one that was
/// read before.
#[pyfunction]
#[pyo3(signature = (source=None, *, seed=None, policies=None, only=None, settings=None))]
fn read_scenario(
    source: Option<&Bound<'_, PyAny>>,
    seed: Option<&Bound<'_, PyAny>>,
    policies: Option<&Bound<'_, PyAny>>,
    only: Option<Vec<String>>,
    settings: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyScenario> {
    let mut scenario = match source {
        Some(source) => match source.cast::<PyScenario>() {
            Ok(read) => read.get().scenario.clone(),
            Err(_) => of(source, policies)?,
        },
        None => of_text(&built_in(), policies)?,
    };
    if let Some(source) = source
        && source.cast::<PyScenario>().is_ok()
        && policies.is_some()
    {
        let given = Given {
            name: "scenario".to_owned(),
            text: scenario.to_toml(),
            made: None,
        };
        scenario = of_text(&given, policies)?;
    }
    if let Some(seed) = seed {
        let number = whole(seed).filter(|n| *n <= GREATEST_SEED);
        scenario.seed = number.ok_or_else(|| {
            let found = crate::show(seed);
            let why = format!("found {found}, expected a whole number, 0 to {GREATEST_SEED}");
            wrong(Input::Scenario, "seed", why)
        })?;
    }
    keep_only(&mut scenario, &only.unwrap_or_default())?;
    if let Some(settings) = settings {
        let overrides = overrides(settings, "settings")?;
        for policy in &mut scenario.policies {
            policy.config = overlaid(&policy.config, &overrides)?;
        }
    }
    Ok(PyScenario { scenario })
}

pub(crate) fn built_in() -> Given {
    Given {
        name: BUILT_IN_NAME.to_owned(),
        text: BUILT_IN.to_owned(),
        made: None,
    }
}

/// A whole number from 0; true and false are none.
pub(crate) fn whole(from: &Bound<'_, PyAny>) -> Option<u64> {
    let is_bool = from.is_instance_of::<pyo3::types::PyBool>();
    from.extract().ok().filter(|_| !is_bool)
}

fn of(source: &Bound<'_, PyAny>, policies: Option<&Bound<'_, PyAny>>) -> PyResult<Scenario> {
    of_text(&text_of(source, Input::Scenario, "scenario")?, policies)
}

/// Reads the text, with `policies` in place of its own.
fn of_text(given: &Given, policies: Option<&Bound<'_, PyAny>>) -> PyResult<Scenario> {
    let read = |given: &Given| {
        let made: Vec<(&str, &TomlText)> = given
            .made
            .iter()
            .map(|m| (given.name.as_str(), m))
            .collect();
        Scenario::parse(&given.name, &given.text).map_err(|p| problems(Input::Scenario, &p, &made))
    };
    let scenario = read(given)?;
    let Some(policies) = policies else {
        return Ok(scenario);
    };
    read(&with_policies(given, policies)?)
}

/// The text without its policies, and with these.
fn with_policies(given: &Given, policies: &Bound<'_, PyAny>) -> PyResult<Given> {
    let why = |e: &dyn std::fmt::Display| wrong(Input::Scenario, "policies", e.to_string());
    let mut kept: toml::Table = given.text.parse().map_err(|e| why(&e))?;
    kept.remove("policy");
    let mut text = TomlText {
        text: toml::to_string(&kept).map_err(|e| why(&e))?,
        places: Vec::new(),
    };
    text.places = vec![String::new(); text.text.lines().count()];
    let place = Place::named("policies");
    let given = table(policies, &place).map_err(|f| faults(Input::Scenario, f))?;
    if given.0.is_empty() {
        let why = "there is no policy; give at least one, such as {\"RFC 9260\": {}}";
        return Err(wrong(Input::Scenario, "policies", why));
    }
    for (name, value) in given.0 {
        let place = format!("policies[{name:?}]");
        let Value::Table(mut settings) = value else {
            let why = "expected a dictionary of settings, such as {\"rto.min\": \"100 ms\"}";
            return Err(wrong(Input::Scenario, &place, why));
        };
        if settings.0.iter().any(|(key, _)| key == "name") {
            let why = "a policy's name is the key of its settings; leave \"name\" out";
            return Err(wrong(Input::Scenario, &format!("{place}.name"), why));
        }
        settings
            .0
            .insert(0, ("name".to_owned(), Value::Plain(quoted(&name))));
        let mut whole = Table::default();
        whole.put("policy", Value::List(vec![Value::Table(settings)]));
        let more = whole.text();
        text.text.push_str(&more.text);
        let renamed = more
            .places
            .iter()
            .map(|p| p.replacen("policy[0]", &place, 1));
        text.places.extend(renamed);
    }
    Ok(Given {
        name: "scenario".to_owned(),
        text: text.text.clone(),
        made: Some(text),
    })
}

/// As `--only` of the command.
fn keep_only(scenario: &mut Scenario, only: &[String]) -> PyResult<()> {
    for name in only {
        if !scenario.policies.iter().any(|p| p.name == *name) {
            let names: Vec<String> = scenario
                .policies
                .iter()
                .map(|p| format!("\"{}\"", p.name))
                .collect();
            let why = format!("{name}: no such policy; there are {}", names.join(", "));
            return Err(wrong(Input::Scenario, "only", why));
        }
    }
    if !only.is_empty() {
        scenario.policies.retain(|p| only.contains(&p.name));
    }
    Ok(())
}

/// The settings in a dictionary, as `--set` of the command would have them.
pub(crate) fn overrides(settings: &Bound<'_, PyAny>, place: &str) -> PyResult<Vec<Override>> {
    let table = table(settings, &Place::named(place)).map_err(|f| faults(Input::Settings, f))?;
    let mut found = Vec::new();
    leaves("", &table, &mut found);
    Ok(found)
}

fn leaves(prefix: &str, table: &Table, found: &mut Vec<Override>) {
    for (key, value) in &table.0 {
        let key = format!("{prefix}{key}");
        match value {
            Value::Table(inner) if !inner.0.is_empty() => {
                leaves(&format!("{key}."), inner, found);
            }
            value => found.push(Override {
                key,
                value: value.to_string(),
            }),
        }
    }
}

/// Lays settings over `base`, with the command's words for those that are refused.
pub(crate) fn overlaid<S: HasText>(base: &S, overrides: &[Override]) -> PyResult<S> {
    apply_overrides(base, overrides).map_err(|problems| {
        let faults_of = problems.into_iter().map(|problem| {
            let of = overrides.iter().find_map(|o| {
                let begin = format!("--set {}={}: ", o.key, o.value);
                Some((o, problem.strip_prefix(&begin)?))
            });
            match of {
                Some((o, message)) => (Place::named(&o.key), message.to_owned()),
                None => (Place::root(), problem),
            }
        });
        faults(Input::Settings, crate::error::Fault(faults_of.collect()))
    })
}

/// The settings of a preset, with others laid over it.
pub(crate) fn settings_of(
    preset: &str,
    settings: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Settings, Vec<Override>)> {
    let base = Settings::preset(preset).map_err(|e| {
        wrong(
            Input::Settings,
            "preset",
            format!("{preset}: {}", e.problem),
        )
    })?;
    let overrides = match settings {
        Some(settings) => overrides(settings, "")?,
        None => Vec::new(),
    };
    Ok((overlaid(&base, &overrides)?, overrides))
}

/// A dictionary as TOML text, which the command takes.
#[pyfunction]
fn to_toml(dictionary: &Bound<'_, PyAny>) -> PyResult<String> {
    let made = table(dictionary, &Place::root()).map_err(|f| faults(Input::Scenario, f))?;
    Ok(made.text().text)
}

/// What `byway settings` prints.
#[pyfunction]
#[pyo3(signature = (preset="rfc9260", settings=None))]
fn list_settings(preset: &str, settings: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let (settings, _) = settings_of(preset, settings)?;
    Ok(setting_lines(&settings))
}

/// Puts the user's deciders into the policies, and says so in their names.
pub(crate) fn with_deciders(
    scenario: &Scenario,
    deciders: &[(Option<String>, Py<Custom>)],
    py: Python<'_>,
) -> PyResult<(Scenario, crate::decider::Failure)> {
    let mut scenario = scenario.clone();
    let failure = crate::decider::Failure::default();
    for (name, custom) in deciders {
        let mut hit = false;
        for policy in &mut scenario.policies {
            if name.as_ref().is_none_or(|n| *n == policy.name) {
                hit = true;
                custom_of(custom.bind(py).get(), policy, &failure, py);
            }
        }
        if !hit {
            let name = name.clone().unwrap_or_default();
            let why = format!("{name}: no such policy is run, so it cannot have a decider");
            return Err(wrong(Input::Scenario, "decider", why));
        }
    }
    Ok((scenario, failure))
}
