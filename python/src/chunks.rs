//! A sweep in chunks: its description, what deals the chunks out, and what does them.
//! `byway/dask.py` carries them between processes.

use crate::error::engine;
use crate::sweep::{PyPlan, PyResults};
use byway_lab::engine::{Chunk, EngineError, TakeError, Worker};
use byway_lab::metrics::Metrics;
use byway_lab::sweep::{self, Dealer, Dealt, Description, Found, Results, Session, Written};
use byway_lab::terminal::Terminal;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ChunkDealer>()?;
    module.add_class::<ChunkWorker>()?;
    module.add_function(wrap_pyfunction!(describe_plan, module)?)?;
    module.add_function(wrap_pyfunction!(journal_path, module)?)
}

fn words(message: impl ToString) -> PyErr {
    PyValueError::new_err(message.to_string())
}

fn failed(error: &EngineError) -> PyErr {
    engine(error, None)
}

/// A sweep as bytes, for workers that have the program `build`.
#[pyfunction]
fn describe_plan<'py>(
    py: Python<'py>,
    plan: &Bound<'_, PyPlan>,
    build: &str,
) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &plan.get().description.to_bytes(build))
}

/// What does chunks. One serves all threads of a process.
#[pyclass(frozen, module = "byway._native")]
pub(crate) struct ChunkWorker(Worker);

#[pymethods]
impl ChunkWorker {
    /// Makes ready for the chunks of a sweep: the bytes of its description. `build` is
    /// the program here, which must be the one that made the description.
    #[new]
    fn new(py: Python<'_>, description: &[u8], build: &str) -> PyResult<ChunkWorker> {
        let plan =
            py.detach(|| Description::from_bytes(description)?.plan(build, &Metrics::standard()));
        Ok(ChunkWorker(Worker::new(plan.map_err(words)?)))
    }

    /// The rows of a chunk, as bytes.
    fn run<'py>(&self, py: Python<'py>, chunk: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let rows = py.detach(|| self.0.run(chunk, None)).map_err(words)?;
        Ok(PyBytes::new(py, &rows))
    }
}

/// What deals out the chunks of a sweep, keeps their rows and writes the results.
#[pyclass(frozen, module = "byway._native")]
pub(crate) struct ChunkDealer {
    file: PathBuf,
    /// What was found of an earlier sweep: runs, and bytes that were cut off.
    #[pyo3(get)]
    found: Option<(usize, u64)>,
    state: Mutex<State>,
}

enum State {
    Open(Box<Dealer>),
    Written(Box<Written>),
    Finished(Box<Results>),
    /// An error ended it.
    Gone,
}

impl ChunkDealer {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut State) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| match self.state.lock() {
            Ok(mut state) => act(&mut state),
            Err(_) => Err(words("an earlier call did not end well")),
        })
    }

    fn open<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Dealer) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        self.with(py, |state| match state {
            State::Open(dealer) => act(dealer),
            _ => Err(words("the sweep is not dealt out any more")),
        })
    }

    fn results<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&Results) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        self.with(py, |state| match state {
            State::Finished(results) => act(results),
            State::Written(written) => act(&written.results),
            _ => Err(words("the sweep has no results yet")),
        })
    }
}

#[pymethods]
impl ChunkDealer {
    /// Begins the sweep whose results come into `file`, or resumes it. The journal is
    /// beside it.
    #[new]
    fn new(
        py: Python<'_>,
        plan: &Bound<'_, PyPlan>,
        file: PathBuf,
        program: &str,
        restart: bool,
    ) -> PyResult<ChunkDealer> {
        let plan = &plan.get().plan;
        let found = Mutex::new(None);
        let tell = |what: Found| {
            if let (Found::Partly(resumed), Ok(mut found)) = (what, found.lock()) {
                *found = Some((resumed.runs, resumed.torn));
            }
        };
        let dealt = py.detach(|| {
            let session = Session {
                file: &file,
                program,
                restart,
                threads: 0,
                cancel: None,
                progress: None,
                found: Some(&tell),
            };
            Dealer::begin(plan.clone(), &session)
        });
        let state = match dealt.map_err(|e| failed(&e))? {
            Dealt::Open(dealer) => State::Open(dealer),
            Dealt::Finished(results) => State::Finished(results),
        };
        let found = found.into_inner().unwrap_or_default();
        Ok(ChunkDealer {
            file,
            found,
            state: Mutex::new(state),
        })
    }

    /// Whether the results were there already.
    fn is_finished(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |state| Ok(matches!(state, State::Finished(_))))
    }

    /// Whether the results are there, from before or since they were written.
    fn has_results(&self, py: Python<'_>) -> PyResult<bool> {
        let there = |state: &State| matches!(state, State::Finished(_) | State::Written(_));
        self.with(py, |state| Ok(there(state)))
    }

    /// Whether all runs are done.
    fn is_done(&self, py: Python<'_>) -> PyResult<bool> {
        self.open(py, |dealer| Ok(dealer.coordinator.is_done()))
    }

    /// Rows that are done, and rows at most.
    fn progress(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.open(py, |dealer| Ok(dealer.coordinator.progress()))
    }

    /// The next chunk of about as many seconds, for one of as many threads: its number,
    /// runs and bytes. None when no run waits.
    fn next<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
        threads: usize,
    ) -> PyResult<Option<(u64, usize, Bound<'py, PyBytes>)>> {
        let next = self.open(py, |dealer| Ok(dealer.coordinator.next(seconds, threads)))?;
        let given = |c: Chunk| (c.number, c.runs, PyBytes::new(py, &c.bytes));
        Ok(next.map(given))
    }

    /// Takes the rows of a chunk; false if it is not dealt out. `ValueError` if these
    /// are not its rows.
    fn take(&self, py: Python<'_>, number: u64, rows: &[u8]) -> PyResult<bool> {
        self.open(py, |dealer| match dealer.coordinator.take(number, rows) {
            Ok(taken) => Ok(taken),
            Err(TakeError::Engine(error)) => Err(failed(&error)),
            Err(unusable) => Err(words(unusable)),
        })
    }

    /// Takes a chunk back whose rows will not come. Its runs are dealt out again, each
    /// in a chunk of its own if `apart`.
    fn give_back(&self, py: Python<'_>, number: u64, apart: bool) -> PyResult<()> {
        self.open(py, |dealer| {
            dealer.coordinator.give_back(number, apart);
            Ok(())
        })
    }

    /// Which runs a chunk has that is dealt out, in words.
    fn describe(&self, py: Python<'_>, number: u64) -> PyResult<String> {
        self.open(py, |dealer| Ok(dealer.coordinator.describe(number)))
    }

    /// Brings all rows to the disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.open(py, |dealer| {
            dealer.coordinator.sync().map_err(|e| failed(&e))
        })
    }

    /// Writes the results file. The journal stays until `end`.
    fn write(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| {
            let State::Open(dealer) = std::mem::replace(state, State::Gone) else {
                return Err(words("the sweep is not dealt out any more"));
            };
            *state = State::Written(Box::new(dealer.write().map_err(|e| failed(&e))?));
            Ok(())
        })
    }

    /// Removes the journal, since the results are where they belong.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| {
            *state = match std::mem::replace(state, State::Gone) {
                State::Written(written) => {
                    State::Finished(Box::new(written.end().map_err(|e| failed(&e))?))
                }
                State::Finished(results) => {
                    sweep::remove_journal(&self.file).map_err(|e| failed(&e))?;
                    State::Finished(results)
                }
                _ => return Err(words("the sweep has no results yet")),
            };
            Ok(())
        })
    }

    /// Ends it: the files are closed and stay as they are.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| {
            *state = State::Gone;
            Ok(())
        })
    }

    /// What `byway sweep` prints of results that are at `place`.
    fn text(&self, py: Python<'_>, place: &str, width: usize, colour: bool) -> PyResult<String> {
        let terminal = Terminal { width, colour };
        self.results(py, |results| Ok(results.text(place, terminal)))
    }

    /// What `byway sweep --json` prints.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        self.results(py, |results| {
            serde_json::to_string_pretty(&results.summary()).map_err(words)
        })
    }

    /// The results. `file` is where they are, if that is a file.
    fn take_results(&self, py: Python<'_>, file: Option<PathBuf>) -> PyResult<PyResults> {
        self.with(py, |state| match std::mem::replace(state, State::Gone) {
            State::Finished(results) => Ok(PyResults {
                results: *results,
                file,
            }),
            _ => Err(words("the sweep has no results yet")),
        })
    }
}

/// The journal of a results file.
#[pyfunction]
fn journal_path(file: PathBuf) -> PathBuf {
    sweep::journal_path(Path::new(&file))
}
