//! Sweeps: plans from files and dictionaries, their runs, and comparisons of results.

use crate::error::{Input, Place, RunError, engine, faults, in_python, problems, trouble, wrong};
use crate::job::{Control, carry_out, or_leave};
use crate::run::{owned, plain};
use crate::scenario::{Given, PyScenario, text_of};
use crate::toml_text::{TomlText, Value, quoted, table};
use byway_lab::engine::{EngineError, Options, Plan, Status, run};
use byway_lab::metrics::Metrics;
use byway_lab::source::Problems;
use byway_lab::sweep::{self as lab, Description, Question, Results, Session, journal_path};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyPlan>()?;
    module.add_class::<PyResults>()?;
    module.add_function(wrap_pyfunction!(read_plan, module)?)?;
    module.add_function(wrap_pyfunction!(sweep, module)?)?;
    module.add_function(wrap_pyfunction!(read_results, module)?)?;
    module.add_function(wrap_pyfunction!(compare_files, module)?)?;
    module.add_function(wrap_pyfunction!(compare_values, module)?)?;
    module.add_function(wrap_pyfunction!(metrics, module)?)
}

/// A sweep that can be run.
#[pyclass(name = "Plan", module = "byway._native", frozen)]
pub(crate) struct PyPlan {
    pub(crate) plan: Plan,
    /// The same for workers on other machines.
    pub(crate) description: Description,
    /// The sweep as a file, if it was made of a dictionary.
    text: String,
}

impl PyPlan {
    fn new((plan, description): (Plan, Description), text: String) -> PyPlan {
        PyPlan {
            plan,
            description,
            text,
        }
    }
}

#[pymethods]
impl PyPlan {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    /// Names and values of its axes, the slowest first.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let axes = self.plan.axes.iter();
        axes.map(|a| (a.name.clone(), a.values.clone())).collect()
    }

    /// The value of each cell on each axis.
    #[getter]
    fn cells(&self) -> Vec<Vec<String>> {
        self.plan.cells.iter().map(|c| c.values.clone()).collect()
    }

    /// The seeds of each cell.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.plan.seeds.clone()
    }

    /// The greatest number of runs that there will be.
    #[getter]
    fn runs(&self) -> usize {
        self.plan.runs()
    }

    /// The sweep as the text of its file.
    fn to_toml(&self) -> &str {
        &self.text
    }

    /// Refused: its text may name a file.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "plans cannot be pickled or copied: take what it was made of, and read it again with plan(...)",
        ))
    }

    fn __repr__(&self) -> String {
        let plan = &self.plan;
        format!(
            "<Plan {:?}: {} cells, {} runs>",
            plan.name,
            plan.cells.len(),
            plan.runs()
        )
    }
}

/// The name of a dictionary's scenario in messages.
const SCENARIO: &str = "scenario";

/// Reads a sweep: a file, TOML text or a dictionary. A file names its scenario from where
/// it is, the others from the working directory.
#[pyfunction]
fn read_plan(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<PyPlan> {
    if !source.is_instance_of::<PyDict>() {
        let given = text_of(source, Input::Sweep, "sweep")?;
        let text = given.text.clone();
        let work = move || {
            let folder = Path::new(&given.name).parent().unwrap_or(Path::new(""));
            let load = |name: &str| load(folder, name);
            Description::of(&given.name, &given.text, &load, &Metrics::standard())
        };
        let read = or_leave(py, work)?.map_err(|p| problems(Input::Sweep, &p, &[]))?;
        return Ok(PyPlan::new(read, text));
    }
    let dict = source.cast::<PyDict>()?.copy()?;
    let scenario = scenario_of(&dict)?;
    let mut whole = table(&dict, &Place::root()).map_err(|f| faults(Input::Sweep, f))?;
    let mut text = whole.text().text;
    if let Some(scenario) = &scenario {
        whole.0.insert(
            0,
            (SCENARIO.to_owned(), Value::Plain(quoted(&scenario.name))),
        );
        text.push_str(&inside(&scenario.text));
    }
    let made = whole.text();
    let named = scenario.as_ref().map(|s| (s.name.clone(), s.text.clone()));
    let whole = made.text.clone();
    let work = move || {
        let load = |name: &str| match &named {
            Some(given) if given.0 == name => Ok(given.clone()),
            _ => load(Path::new(""), name),
        };
        Description::of("sweep", &whole, &load, &Metrics::standard())
    };
    let mut texts: Vec<(&str, &TomlText)> = vec![("sweep", &made)];
    if let Some(given) = &scenario {
        texts.extend(given.made.as_ref().map(|made| (given.name.as_str(), made)));
    }
    let read = or_leave(py, work)?.map_err(|p: Problems| problems(Input::Sweep, &p, &texts))?;
    Ok(PyPlan::new(read, text))
}

fn load(folder: &Path, name: &str) -> Result<(String, String), String> {
    let path = folder.join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path.display().to_string(), text)),
        Err(e) => Err(format!("cannot read {}: {e}", path.display())),
    }
}

/// The scenario in a sweep's dictionary, taken out of it, unless a file is named. It is
/// read as a text of its own, so that its problems have their own places.
fn scenario_of(dict: &Bound<'_, PyDict>) -> PyResult<Option<Given>> {
    let Some(scenario) = dict.get_item(SCENARIO)? else {
        return Ok(None);
    };
    let given = if let Ok(read) = scenario.cast::<PyScenario>() {
        Given {
            name: SCENARIO.to_owned(),
            text: read.get().scenario.to_toml(),
            made: None,
        }
    } else if scenario.is_instance_of::<PyDict>() {
        text_of(&scenario, Input::Sweep, SCENARIO)?
    } else {
        let text: Option<String> = scenario.extract().ok();
        match text.filter(|text| text.contains('\n')) {
            Some(text) => Given {
                name: "scenario text".to_owned(),
                text,
                made: None,
            },
            // A file's name, or what the reader refuses in its own words.
            None => {
                if let Ok(path) = scenario.extract::<PathBuf>() {
                    dict.set_item(SCENARIO, path.display().to_string())?;
                }
                return Ok(None);
            }
        }
    };
    dict.del_item(SCENARIO)?;
    Ok(Some(given))
}

/// The text of a scenario as a table of a sweep file.
fn inside(text: &str) -> String {
    let Ok(scenario) = text.parse::<toml::Table>() else {
        return String::new();
    };
    let mut whole = toml::Table::new();
    whole.insert(SCENARIO.to_owned(), toml::Value::Table(scenario));
    toml::to_string(&whole).map_or(String::new(), |text| format!("\n{text}"))
}

/// The results of a sweep.
#[pyclass(name = "Results", module = "byway._native", frozen)]
pub(crate) struct PyResults {
    pub(crate) results: Results,
    /// Their file, if there is one.
    #[pyo3(get)]
    pub(crate) file: Option<PathBuf>,
}

/// Runs a sweep. With a file, finished runs gather in its journal, and the same call
/// resumes with them.
#[pyfunction]
#[pyo3(signature = (plan, *, out, restart, threads, program, progress))]
fn sweep(
    py: Python<'_>,
    plan: &Bound<'_, PyPlan>,
    out: Option<PathBuf>,
    restart: bool,
    threads: usize,
    program: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyResults> {
    let plan = &plan.get().plan;
    let control = Control::default();
    let tell = |done: usize, most: usize| control.progress(done, most);
    let work = || match &out {
        Some(file) => lab::sweep(
            plan,
            &Session {
                file,
                program,
                restart,
                threads,
                cancel: Some(&control.cancel),
                progress: Some(&tell),
                found: None,
            },
        ),
        None => in_memory(plan, threads, &control, &tell),
    };
    let (done, stopped) = carry_out(py, threads, &control, progress, work)?;
    let kept = out.as_deref().map(journal_path).filter(|j| j.exists());
    let kept = kept.map(|journal| {
        let (done, most) = control.so_far();
        format!(
            "{done} of {most} runs are kept in {}; the same call resumes with them",
            journal.display()
        )
    });
    if let Some(error) = stopped {
        if let Some(kept) = kept {
            error.value(py).call_method1("add_note", (kept,))?;
        }
        return Err(error);
    }
    let results = done.map_err(|e| engine(&e, kept.as_deref()))?;
    Ok(PyResults { results, file: out })
}

fn in_memory(
    plan: &Plan,
    threads: usize,
    control: &Control,
    tell: &(dyn Fn(usize, usize) + Sync),
) -> Result<Results, EngineError> {
    let options = Options {
        threads,
        store: None,
        progress: Some(tell),
        cancel: Some(&control.cancel),
        strict: false,
    };
    let done = run(&[plan], &options)?;
    Ok(Results::new(
        plan,
        done.rows.into_iter().flatten().collect(),
    ))
}

/// Reads a results file.
#[pyfunction]
fn read_results(py: Python<'_>, path: PathBuf) -> PyResult<PyResults> {
    let results = py.detach(|| Results::read(&path));
    Ok(PyResults {
        results: results.map_err(|e| trouble(&e, None))?,
        file: Some(path),
    })
}

#[pymethods]
impl PyResults {
    /// The sweep's name.
    #[getter]
    fn name(&self) -> &str {
        &self.results.about.name
    }

    /// What it is about.
    #[getter]
    fn description(&self) -> &str {
        &self.results.about.description
    }

    /// The seeds that each cell may have.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.results.about.seeds.clone()
    }

    /// Names and values of the axes.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let axes = self.results.about.axes.iter();
        axes.map(|a| (a.name.clone(), a.values.clone())).collect()
    }

    /// The value of each cell on each axis.
    #[getter]
    fn cells(&self) -> Vec<Vec<String>> {
        let cells = self.results.cells.iter();
        cells.map(|c| c.values.clone()).collect()
    }

    /// Names of the metrics, and what each one is, with its unit.
    #[getter]
    fn metrics(&self) -> Vec<(String, String)> {
        let metrics = self.results.about.metrics.iter();
        metrics.map(|m| (m.name.clone(), m.about.clone())).collect()
    }

    /// Names of the metrics that tables show.
    #[getter]
    fn shown(&self) -> Vec<String> {
        let about = &self.results.about;
        about
            .shown
            .iter()
            .map(|m| about.metrics[*m].name.clone())
            .collect()
    }

    /// Confidence of intervals, 0 to 1.
    #[getter]
    fn confidence(&self) -> f64 {
        self.results.confidence()
    }

    fn __len__(&self) -> usize {
        self.results.rows.len()
    }

    /// Columns of all rows: arrays of places of cells, seeds, places of `STATUSES` and
    /// metrics, and the reasons.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = &self.results.rows;
        let all = PyDict::new(py);
        let place = |status: Status| Status::ALL.iter().position(|s| *s == status);
        let codes = rows.iter().map(|r| place(r.status).unwrap_or(0) as u8);
        all.set_item(
            "cell",
            owned(py, rows.iter().map(|r| r.cell as u64).collect())?,
        )?;
        all.set_item("seed", owned(py, rows.iter().map(|r| r.seed).collect())?)?;
        all.set_item("status", owned(py, codes.collect())?)?;
        let reasons: Vec<&str> = rows.iter().map(|r| r.reason.as_str()).collect();
        all.set_item("reason", reasons)?;
        let values = PyDict::new(py);
        for (i, metric) in self.results.about.metrics.iter().enumerate() {
            let column: Vec<f64> = rows.iter().map(|r| r.values[i]).collect();
            values.set_item(&metric.name, owned(py, column)?)?;
        }
        all.set_item("metrics", values)?;
        Ok(all)
    }

    /// What `byway sweep --json` prints.
    fn summary(&self) -> PyResult<String> {
        serde_json::to_string(&self.results.summary()).map_err(|e| RunError::new_err(e.to_string()))
    }

    /// The table that `byway sweep` prints.
    fn table(&self, width: usize) -> String {
        self.results.table(plain(width))
    }

    /// Mean, half the width of its interval and the number of runs of a metric, for each
    /// cell.
    fn means(&self, metric: &str) -> PyResult<Vec<(f64, Option<f64>, u32)>> {
        let place = self.results.metric(metric);
        let place = place.map_err(|e| wrong(Input::Sweep, "metric", e))?;
        let confidence = self.results.confidence();
        let cells = 0..self.results.cells.len();
        Ok(cells
            .map(|cell| {
                let sample = self.results.sample(cell, place);
                (sample.mean, sample.half_width(confidence), sample.n)
            })
            .collect())
    }

    /// The scenario of a row, with its seed: running it gives the numbers of the row.
    fn scenario(&self, row: usize) -> PyResult<PyScenario> {
        let scenario = self.results.scenario_of(row);
        let scenario = scenario.map_err(PyIndexError::new_err)?;
        Ok(PyScenario { scenario })
    }

    /// Writes them as a results file.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.results.write(&path))
            .map_err(|e| trouble(&e, None))
    }
}

/// Holds two results against each other: JSON and table.
#[pyfunction]
fn compare_files(
    a: (String, PyRef<'_, PyResults>),
    b: (String, PyRef<'_, PyResults>),
    metrics: Vec<String>,
    confidence: Option<f64>,
    width: usize,
) -> PyResult<(String, String)> {
    let question = question(metrics, confidence)?;
    let (a, b) = ((a.0.as_str(), &a.1.results), (b.0.as_str(), &b.1.results));
    shown(lab::compare_files(a, b, &question), width)
}

/// Holds two values of an axis against each other: JSON and table.
#[pyfunction]
fn compare_values(
    results: &Bound<'_, PyResults>,
    axis: &str,
    values: (String, String),
    metrics: Vec<String>,
    confidence: Option<f64>,
    width: usize,
) -> PyResult<(String, String)> {
    let question = question(metrics, confidence)?;
    let pair = (values.0.as_str(), values.1.as_str());
    shown(
        lab::compare_values(&results.get().results, axis, pair, &question),
        width,
    )
}

fn question(metrics: Vec<String>, confidence: Option<f64>) -> PyResult<Question> {
    if let Some(c) = confidence.filter(|c| !(*c > 0.0 && *c < 1.0)) {
        let why = format!("found {c}, expected a number between 0 and 1, such as 0.95");
        return Err(wrong(Input::Settings, "confidence", why));
    }
    Ok(Question {
        metrics,
        confidence,
    })
}

fn shown(found: Result<lab::Comparison, String>, width: usize) -> PyResult<(String, String)> {
    let found = found.map_err(|why| wrong(Input::Settings, "", in_python(&why)))?;
    let json = serde_json::to_string(&found).map_err(|e| RunError::new_err(e.to_string()))?;
    Ok((json, found.table(plain(width))))
}

/// What `byway sweep --schema` prints: all that is measured.
#[pyfunction]
fn metrics() -> String {
    lab::schema(None)
}
