//! Rules of the protocol as functions in Python.
//!
//! A function reads a view of the paths and answers, as the policies of `byway-core` do.
//! It runs on the thread that called `byway.run`, so Ctrl-C ends it like any function.

use byway_core::path::{PathId, PathState, PathsView};
use byway_core::policy::{Failover, LossCause, RetransmissionTarget};
use byway_dialect_ns2::Settings;
use byway_lab::scenario::Policy;
use pyo3::exceptions::{PyIndexError, PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Custom>()?;
    module.add_class::<Paths>()?;
    module.add_class::<PathView>()
}

/// A rule in Python: what `byway.policy` makes.
#[pyclass(name = "Decider", module = "byway.policy", frozen)]
pub(crate) struct Custom {
    rule: Rule,
    /// The function's name.
    #[pyo3(get)]
    name: String,
}

enum Rule {
    Retransmission(Py<PyAny>),
    Failover(FailoverRules),
}

struct FailoverRules {
    data_path: Option<Py<PyAny>>,
    judge: Option<Py<PyAny>>,
    switch_primary: Option<Py<PyAny>>,
}

#[pymethods]
impl Custom {
    /// Where a lost chunk is sent again.
    #[staticmethod]
    fn retransmission_target(function: &Bound<'_, PyAny>) -> PyResult<Custom> {
        let (function, name) = callable(function, "retransmission_target")?;
        Ok(Custom {
            rule: Rule::Retransmission(function),
            name,
        })
    }

    /// Where new data goes, and which state a path with errors gets.
    #[staticmethod]
    #[pyo3(signature = (data_path=None, judge=None, switch_primary=None))]
    fn failover(
        data_path: Option<&Bound<'_, PyAny>>,
        judge: Option<&Bound<'_, PyAny>>,
        switch_primary: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Custom> {
        let mut names = Vec::new();
        let mut take = |function: Option<&Bound<'_, PyAny>>, what: &str| {
            let taken = function.map(|f| callable(f, what)).transpose()?;
            Ok::<_, PyErr>(taken.map(|(function, name)| {
                names.push(name);
                function
            }))
        };
        let rules = FailoverRules {
            data_path: take(data_path, "data_path")?,
            judge: take(judge, "judge")?,
            switch_primary: take(switch_primary, "switch_primary")?,
        };
        if names.is_empty() {
            let why = "failover() takes at least one function: data_path, judge or switch_primary";
            return Err(PyTypeError::new_err(why));
        }
        Ok(Custom {
            rule: Rule::Failover(rules),
            name: names.join(", "),
        })
    }

    /// What it decides: "retransmission target" or "failover".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.rule {
            Rule::Retransmission(_) => "retransmission target",
            Rule::Failover(_) => "failover",
        }
    }

    fn __repr__(&self) -> String {
        format!("<Decider: {} by {}>", self.kind(), self.name)
    }
}

fn callable(function: &Bound<'_, PyAny>, what: &str) -> PyResult<(Py<PyAny>, String)> {
    if !function.is_callable() {
        let found = crate::toml_text::kind(function);
        let why = format!("{what}: found {found}, expected a function of a view of the paths");
        return Err(PyTypeError::new_err(why));
    }
    let name = function.getattr("__name__").and_then(|n| n.extract());
    let name = name.unwrap_or_else(|_| "a callable".to_owned());
    Ok((function.clone().unbind(), name))
}

/// Puts the rule into a policy; its name says so.
pub(crate) fn custom_of(custom: &Custom, policy: &mut Policy, failure: &Failure, py: Python<'_>) {
    let builtin = policy.config.clone();
    let core = std::mem::take(&mut policy.config.core.custom);
    policy.config.core.custom = match &custom.rule {
        Rule::Retransmission(function) => core.retransmission(Target(Call {
            function: function.clone_ref(py),
            name: custom.name.clone(),
            failure: failure.clone(),
            builtin,
        })),
        Rule::Failover(rules) => core.failover(rules.policy(custom, &builtin, failure, py)),
    };
    if !policy.name.ends_with(SUFFIX) {
        policy.name.push_str(SUFFIX);
    }
    let note = format!("{} by {}, a function in Python", custom.kind(), custom.name);
    policy.note = match policy.note.as_str() {
        "" => note,
        before => format!("{before}; {note}"),
    };
}

/// What the names of policies with such rules end in.
const SUFFIX: &str = " (custom)";

impl FailoverRules {
    fn policy(
        &self,
        custom: &Custom,
        builtin: &Settings,
        failure: &Failure,
        py: Python<'_>,
    ) -> OwnFailover {
        let call = |function: &Option<Py<PyAny>>| {
            function.as_ref().map(|function| Call {
                function: function.clone_ref(py),
                name: custom.name.clone(),
                failure: failure.clone(),
                builtin: builtin.clone(),
            })
        };
        OwnFailover {
            data_path: call(&self.data_path),
            judge: call(&self.judge),
            switch_primary: call(&self.switch_primary),
            builtin: builtin.clone(),
        }
    }
}

/// The first exception that a function raised; it ends the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure(Arc<FailureInner>);

#[derive(Debug, Default)]
struct FailureInner {
    error: Mutex<Option<PyErr>>,
    cancel: AtomicBool,
}

impl Failure {
    /// True once the run shall end.
    pub(crate) fn cancel(&self) -> &AtomicBool {
        &self.0.cancel
    }

    /// Ends the run, with this exception if it is the first.
    pub(crate) fn set(&self, error: PyErr) {
        let mut first = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.0.cancel.store(true, Ordering::Relaxed);
    }

    /// Takes the exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        let mut first = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.take()
    }

    fn is_set(&self) -> bool {
        self.0.cancel.load(Ordering::Relaxed)
    }
}

/// Rules within runs that rules began. Each takes stack of this thread, which Python's own limit
/// does not know: 29 fill 512 KiB, the least that a thread of Python usually has.
const MAX_DEPTH: usize = 8;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A rule that is being asked on this thread.
struct Depth;

impl Depth {
    /// One more, unless there are too many.
    fn enter() -> Option<Depth> {
        let depth = DEPTH.get();
        (depth < MAX_DEPTH).then(|| {
            DEPTH.set(depth + 1);
            Depth
        })
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// A function with what it needs.
struct Call {
    function: Py<PyAny>,
    name: String,
    failure: Failure,
    builtin: Settings,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in Python", self.name)
    }
}

impl Call {
    /// What the function answers; `None` if it leaves the answer to the built-in rule, or
    /// the run ends because it failed.
    fn ask<T>(
        &self,
        view: Paths,
        answer: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, Wrong>,
    ) -> Option<T> {
        if self.failure.is_set() {
            return None;
        }
        let Some(_depth) = Depth::enter() else {
            let why = format!(
                "{}: rules that run byway are {MAX_DEPTH} deep in one another, more are not allowed",
                self.name
            );
            self.failure.set(PyRecursionError::new_err(why));
            return None;
        };
        let found = Python::try_attach(|py| {
            let found = self.function.bind(py).call1((view,))?;
            if found.is_none() {
                return Ok(None);
            }
            match answer(&found) {
                Ok(found) => Ok(Some(found)),
                Err(wrong) => Err(wrong.error(&self.name, &found)),
            }
        });
        match found {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                self.failure.set(error);
                None
            }
            // The interpreter ends.
            None => {
                self.failure.0.cancel.store(true, Ordering::Relaxed);
                None
            }
        }
    }
}

/// An answer that is none.
struct Wrong {
    expected: String,
    of_type: bool,
}

impl Wrong {
    fn error(self, name: &str, found: &Bound<'_, PyAny>) -> PyErr {
        let found = crate::show(found);
        let why = format!("{name} returned {found}, expected {}", self.expected);
        match self.of_type {
            true => PyTypeError::new_err(why),
            false => PyValueError::new_err(why),
        }
    }
}

/// A path's number, or a path.
fn path_of(found: &Bound<'_, PyAny>, count: usize) -> Result<PathId, Wrong> {
    let wrong = |of_type| Wrong {
        expected: format!(
            "a path of the view, a number from 0 to {}, or None for the built-in rule",
            count.saturating_sub(1)
        ),
        of_type,
    };
    if let Ok(path) = found.cast::<PathView>() {
        return Ok(PathId(path.get().number));
    }
    if found.is_instance_of::<PyBool>() {
        return Err(wrong(true));
    }
    let is_int = found.is_instance_of::<PyInt>() || found.hasattr("__index__").unwrap_or(false);
    match found.extract::<u8>() {
        Ok(number) if usize::from(number) < count => Ok(PathId(number)),
        _ => Err(wrong(!is_int)),
    }
}

fn state_of(found: &Bound<'_, PyAny>) -> Result<PathState, Wrong> {
    let wrong = |of_type| Wrong {
        expected: "\"active\", \"potentially_failed\", \"inactive\" or \"unconfirmed\", or None \
                   for the built-in rule"
            .to_owned(),
        of_type,
    };
    let name: String = found.extract().map_err(|_| wrong(true))?;
    let states = [
        PathState::Active,
        PathState::PotentiallyFailed,
        PathState::Inactive,
        PathState::Unconfirmed,
    ];
    let found = states.into_iter().find(|s| state_name(*s) == name);
    found.ok_or_else(|| wrong(false))
}

/// The name of a state, as in results.
fn state_name(state: PathState) -> &'static str {
    match state {
        PathState::Unconfirmed => "unconfirmed",
        PathState::Active => "active",
        PathState::PotentiallyFailed => "potentially_failed",
        PathState::Inactive => "inactive",
    }
}

#[derive(Debug)]
struct Target(Call);

impl RetransmissionTarget for Target {
    fn target(&self, cause: LossCause, last: PathId, paths: &PathsView<'_>) -> PathId {
        let mut view = Paths::of(paths);
        view.last = Some(last.0);
        view.cause = Some(match cause {
            LossCause::FastRetransmit => "fast_retransmit",
            LossCause::Timeout => "timeout",
            LossCause::ProbeTimeout => "probe_timeout",
        });
        let count = paths.count();
        let found = self.0.ask(view, |found| path_of(found, count));
        let builtin = self.0.builtin.retransmission.target;
        found.unwrap_or_else(|| builtin.target(cause, last, paths))
    }
}

#[derive(Debug)]
struct OwnFailover {
    data_path: Option<Call>,
    judge: Option<Call>,
    switch_primary: Option<Call>,
    builtin: Settings,
}

impl Failover for OwnFailover {
    fn data_path(&self, paths: &PathsView<'_>, timed_out: Option<PathId>) -> PathId {
        let ask = |call: &Call| {
            let mut view = Paths::of(paths);
            view.timed_out = timed_out.map(|p| p.0);
            call.ask(view, |found| path_of(found, paths.count()))
        };
        let found = self.data_path.as_ref().and_then(ask);
        found.unwrap_or_else(|| self.builtin.failover.data_path(paths, timed_out))
    }

    fn judge(&self, paths: &PathsView<'_>, path: PathId, limit: u32) -> PathState {
        let ask = |call: &Call| {
            let mut view = Paths::of(paths);
            view.path = Some(path.0);
            view.limit = Some(limit);
            call.ask(view, state_of)
        };
        let found = self.judge.as_ref().and_then(ask);
        found.unwrap_or_else(|| self.builtin.failover.judge(paths, path, limit))
    }

    fn switch_primary(&self, paths: &PathsView<'_>) -> Option<PathId> {
        match &self.switch_primary {
            Some(call) => call.ask(Paths::of(paths), |found| path_of(found, paths.count())),
            None => self.builtin.failover.switch_primary(paths),
        }
    }
}

/// What a rule may read: the paths, and what is asked.
#[pyclass(module = "byway.policy", frozen)]
struct Paths {
    all: Vec<PathView>,
    /// For each path, the active one that differs most from it.
    alternates: Vec<Option<u8>>,
    /// Number of the path that takes new data now.
    #[pyo3(get)]
    data_path: u8,
    /// Number of the primary.
    #[pyo3(get)]
    primary: u8,
    /// Number of the path that was active last.
    #[pyo3(get)]
    last_active: u8,
    /// Number of the path that lost the chunk; None unless a target is asked for.
    #[pyo3(get)]
    last: Option<u8>,
    /// Why it is lost: "fast_retransmit", "timeout" or "probe_timeout"; None unless a
    /// target is asked for.
    #[pyo3(get)]
    cause: Option<&'static str>,
    /// Number of the path whose T3-rtx expired, if that is why data_path is asked.
    #[pyo3(get)]
    timed_out: Option<u8>,
    /// Number of the path to be judged; None unless judge is asked.
    #[pyo3(get)]
    path: Option<u8>,
    /// Errors that the settings allow this path; None unless judge is asked.
    #[pyo3(get)]
    limit: Option<u32>,
}

impl Paths {
    fn of(paths: &PathsView<'_>) -> Paths {
        Paths {
            all: paths.all().map(|id| PathView::of(paths, id)).collect(),
            alternates: paths
                .all()
                .map(|id| paths.alternate(id).map(|p| p.0))
                .collect(),
            data_path: paths.data_path().0,
            primary: paths.primary().0,
            last_active: paths.last_active().0,
            last: None,
            cause: None,
            timed_out: None,
            path: None,
            limit: None,
        }
    }
}

#[pymethods]
impl Paths {
    /// All paths, by number.
    #[getter]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.all.iter().copied())
    }

    fn __len__(&self) -> usize {
        self.all.len()
    }

    fn __getitem__(&self, number: isize) -> PyResult<PathView> {
        let found = usize::try_from(number).ok().and_then(|n| self.all.get(n));
        found.copied().ok_or_else(|| {
            let last = self.all.len().saturating_sub(1);
            PyIndexError::new_err(format!("there is no path {number}; there are 0 to {last}"))
        })
    }

    /// The number of the active path that differs most from path `after` in its
    /// addresses, the next one in order if several do (RFC 9260 section 6.4.1); None if no
    /// other path is active.
    fn alternate(&self, after: isize) -> PyResult<Option<u8>> {
        let found = usize::try_from(after)
            .ok()
            .and_then(|n| self.alternates.get(n));
        found.copied().ok_or_else(|| {
            let last = self.all.len().saturating_sub(1);
            PyIndexError::new_err(format!("there is no path {after}; there are 0 to {last}"))
        })
    }

    fn __repr__(&self) -> String {
        format!("<{} paths, data on {}>", self.all.len(), self.data_path)
    }
}

/// One path, as it was when the rule was asked.
#[pyclass(name = "Path", module = "byway.policy", frozen, get_all)]
#[derive(Copy, Clone)]
struct PathView {
    /// Its number, counted from 0.
    number: u8,
    /// "unconfirmed", "active", "potentially_failed" or "inactive".
    state: &'static str,
    /// Congestion window, bytes.
    cwnd: u32,
    /// Slow start threshold, bytes.
    ssthresh: u32,
    /// The free part of the window, bytes.
    room: u32,
    /// Smoothed round trip, seconds; None before the first measurement.
    srtt_s: Option<f64>,
    /// Retransmission timeout, seconds.
    rto_s: f64,
    /// Consecutive errors.
    errors: u32,
    /// Heartbeats lost since it stopped being active.
    heartbeats_lost: u32,
    /// Heartbeats answered since its last error.
    heartbeats_answered: u32,
    /// Estimated share of chunks lost, 0 to 1; only with concurrent multipath transfer.
    loss: f32,
    /// Whether its address was ever confirmed.
    confirmed: bool,
    /// Whether data may be sent on it: it is active or potentially failed.
    usable: bool,
}

impl PathView {
    fn of(paths: &PathsView<'_>, id: PathId) -> PathView {
        PathView {
            number: id.0,
            state: state_name(paths.state(id)),
            cwnd: paths.cwnd(id),
            ssthresh: paths.ssthresh(id),
            room: paths.room(id),
            srtt_s: paths.srtt(id).map(|d| d.as_secs_f64()),
            rto_s: paths.rto(id).as_secs_f64(),
            errors: paths.errors(id),
            heartbeats_lost: paths.heartbeats_lost(id),
            heartbeats_answered: paths.heartbeats_answered(id),
            loss: paths.loss_rate(id),
            confirmed: paths.is_confirmed(id),
            usable: paths.is_usable(id),
        }
    }
}

#[pymethods]
impl PathView {
    fn __repr__(&self) -> String {
        format!(
            "<Path {}: {}, cwnd {} B, {} errors>",
            self.number, self.state, self.cwnd, self.errors
        )
    }
}
