//! Runs of scenarios, and what they give.

use crate::decider::{Custom, Failure};
use crate::error::RunError;
use crate::job::{Control, carry_out};
use crate::scenario::{PyScenario, with_deciders};
use byway_lab::result::{Comparison, PathCondition, RunResult, SCHEMA};
use byway_lab::run::{self as lab, RunOptions};
use byway_lab::scenario::Scenario;
use byway_lab::series::Curve;
use byway_lab::terminal::Terminal;
use byway_lab::{picture, report, table};
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Run>()?;
    module.add_function(wrap_pyfunction!(run, module)?)
}

/// What the policies of a scenario did.
#[pyclass(module = "byway._native", frozen)]
struct Run {
    comparison: Comparison,
    /// Arrays of each policy, once they were asked for.
    series: Vec<PyOnceLock<Py<PyDict>>>,
}

/// Runs the policies of a scenario. With a decider in Python they run one after another
/// on this thread, else side by side.
#[pyfunction]
#[pyo3(signature = (scenario, *, deciders, captures, progress))]
fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyScenario>,
    deciders: Vec<(Option<String>, Py<Custom>)>,
    captures: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Run> {
    let scenario = &scenario.get().scenario;
    let comparison = match deciders.is_empty() {
        true => side_by_side(py, scenario, captures.as_deref(), progress)?,
        false => {
            let (scenario, failure) = with_deciders(scenario, &deciders, py)?;
            one_by_one(py, &scenario, &failure, captures.as_deref(), progress)?
        }
    };
    let series = comparison
        .results
        .iter()
        .map(|_| PyOnceLock::new())
        .collect();
    Ok(Run { comparison, series })
}

/// Thousandths, in which progress counts.
const SHARES: usize = 1000;

fn side_by_side(
    py: Python<'_>,
    scenario: &Scenario,
    captures: Option<&std::path::Path>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let control = Control::default();
    let shares: Vec<AtomicU64> = scenario.policies.iter().map(|_| 0.into()).collect();
    let tell = |index: usize, share: f64| {
        shares[index].store((share * SHARES as f64) as u64, Relaxed);
        let sum: u64 = shares.iter().map(|s| s.load(Relaxed)).sum();
        control.progress(sum as usize / shares.len().max(1), SHARES);
    };
    let options = RunOptions {
        captures,
        progress: Some(&tell),
        cancel: Some(&control.cancel),
        figures_only: false,
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = scenario.policies.len().min(processors);
    let work = || {
        let done = lab::run(scenario, options);
        if done.is_ok() {
            control.progress(SHARES, SHARES);
        }
        done
    };
    let (done, stopped) = carry_out(py, threads, &control, progress, work)?;
    match stopped {
        Some(error) => Err(error),
        None => done.map_err(|e| RunError::new_err(e.to_string())),
    }
}

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

fn one_by_one(
    py: Python<'_>,
    scenario: &Scenario,
    failure: &Failure,
    captures: Option<&std::path::Path>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let progress = progress.map(|p| p.clone().unbind());
    let all = scenario.policies.len();
    let last = Mutex::new(Instant::now());
    let tell = |index: usize, share: f64| {
        {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() < LOOK {
                return;
            }
            *last = Instant::now();
        }
        let told = Python::try_attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &progress {
                let done = (index as f64 + share) * SHARES as f64 / all as f64;
                progress.call1(py, (done as usize, SHARES))?;
            }
            Ok(())
        });
        if let Some(Err(error)) = told {
            failure.set(error);
        }
    };
    let options = RunOptions {
        captures,
        progress: Some(&tell),
        cancel: Some(failure.cancel()),
        figures_only: false,
    };
    let work = || {
        (0..all)
            .map(|index| lab::one(scenario, index, options))
            .collect::<Result<Vec<RunResult>, lab::RunError>>()
    };
    let results = py.detach(work);
    if let Some(error) = failure.take() {
        return Err(error);
    }
    Ok(Comparison {
        schema: SCHEMA,
        scenario: lab::info(scenario),
        results: results.map_err(|e| RunError::new_err(e.to_string()))?,
    })
}

#[pymethods]
impl Run {
    /// Refused: series and reports are too large to be copied unasked.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "runs cannot be pickled or copied: take their figures (to_dict(), to_pandas()), or \
             their scenario (to_toml()), which gives the same run again",
        ))
    }

    /// What `byway run --json` prints.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.comparison).map_err(|e| RunError::new_err(e.to_string()))
    }

    /// The report, a page that stands alone: `report.html` of `byway run`.
    fn html(&self) -> String {
        report::html(&self.comparison)
    }

    /// The table that `byway run` prints.
    fn table(&self, width: usize) -> String {
        table::render(&self.comparison, plain(width))
    }

    /// The paths over time that `byway run` prints.
    fn picture(&self, width: usize) -> String {
        picture::render(&self.comparison, plain(width))
    }

    /// The last lines that `byway run` prints.
    fn summary(&self) -> String {
        table::summary(&self.comparison)
    }

    /// Values over time of the policy at place `index`: arrays that numpy did not copy.
    fn series<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let (Some(result), Some(cell)) =
            (self.comparison.results.get(index), self.series.get(index))
        else {
            return Err(PyIndexError::new_err(format!("there is no policy {index}")));
        };
        let arrays = cell.get_or_try_init(py, || arrays(py, result).map(Bound::unbind))?;
        Ok(arrays.bind(py).clone())
    }
}

/// Text for no terminal in particular.
pub(crate) fn plain(width: usize) -> Terminal {
    Terminal {
        width,
        colour: false,
    }
}

/// The values over time, each a read-only array that owns what Rust made.
fn arrays<'py>(py: Python<'py>, result: &RunResult) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    curve(&all, "received", &result.series.received)?;
    let mut paths = Vec::new();
    for path in &result.series.paths {
        let dict = PyDict::new(py);
        curve(&dict, "cwnd", &path.cwnd)?;
        curve(&dict, "rto", &path.rto)?;
        let times = path.states.iter().map(|(t, _)| seconds(*t)).collect();
        dict.set_item("state_t", owned(py, times)?)?;
        let codes = path.states.iter().map(|(_, s)| code(*s)).collect();
        dict.set_item("state", owned(py, codes)?)?;
        let timeouts = path.timeouts.iter().map(|t| seconds(*t)).collect();
        dict.set_item("timeouts", owned(py, timeouts)?)?;
        let sent = |k: u64| path.sent.between(k * SENT_WIDTH, (k + 1) * SENT_WIDTH);
        let widths = ((result.end_s * 1e9) as u64)
            .div_ceil(SENT_WIDTH)
            .min(MOST_WIDTHS);
        dict.set_item("sent", owned(py, (0..widths).map(sent).collect())?)?;
        paths.push(dict);
    }
    all.set_item("paths", paths)?;
    Ok(all)
}

/// Bytes sent are given for each of these, nanoseconds.
const SENT_WIDTH: u64 = 100_000_000;
/// More make no better picture.
const MOST_WIDTHS: u64 = 100_000;

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Sets `name` and `name_t`: values, and their times in seconds.
fn curve(dict: &Bound<'_, PyDict>, name: &str, curve: &Curve) -> PyResult<()> {
    let points = curve.points();
    let times = points.iter().map(|(t, _)| seconds(*t)).collect();
    let values = points.iter().map(|(_, v)| *v).collect();
    dict.set_item(format!("{name}_t"), owned(dict.py(), times)?)?;
    dict.set_item(name, owned(dict.py(), values)?)
}

/// The vector as a read-only array: numpy takes it over and copies nothing.
pub(crate) fn owned<T: Element>(py: Python<'_>, values: Vec<T>) -> PyResult<Bound<'_, PyAny>> {
    let array = PyArray1::from_vec(py, values);
    array.try_readwrite()?.make_nonwriteable();
    Ok(array.into_any())
}

/// The number of a state, in the order of `byway.STATES`.
fn code(state: PathCondition) -> u8 {
    match state {
        PathCondition::Unconfirmed => 0,
        PathCondition::Active => 1,
        PathCondition::PotentiallyFailed => 2,
        PathCondition::Inactive => 3,
    }
}
