//! The papers' claims and figures, run again, and failover times by the settings.

use crate::error::{Input, RunError, trouble, wrong};
use crate::job::{Control, carry_out};
use crate::scenario::settings_of;
use byway_lab::units::parse_duration;
use byway_papers::failover_time::{self as times, Question, QuestionError};
use byway_papers::reproduce::figure::Figure;
use byway_papers::reproduce::{self as lab, Effort, Report, ReproduceError, Request, Watch};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::Duration;

/// Adds what is here to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Reproduction>()?;
    module.add_function(wrap_pyfunction!(failover_time, module)?)?;
    module.add_function(wrap_pyfunction!(reproduce, module)?)
}

/// How long a failover takes: the JSON of `byway failover-time --json`, and its text.
#[pyfunction]
#[pyo3(signature = (preset, settings, rtt, rto))]
fn failover_time(
    py: Python<'_>,
    preset: &str,
    settings: Option<&Bound<'_, PyAny>>,
    rtt: &Bound<'_, PyAny>,
    rto: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let (config, overrides) = settings_of(preset, settings)?;
    let mut name = preset.to_owned();
    for setting in &overrides {
        name.push_str(&format!(", {} = {}", setting.key, setting.value));
    }
    let question = Question {
        name,
        config,
        rtt: duration(rtt, "rtt")?,
        rto: rto.map(|rto| duration(rto, "rto")).transpose()?,
    };
    let control = Control::default();
    let work = || times::failover_time(&question);
    let (found, stopped) = carry_out(py, 1, &control, None, work)?;
    if let Some(error) = stopped {
        return Err(error);
    }
    let found = found.map_err(|e| {
        let place = match e {
            QuestionError::Rtt(_) => "rtt",
            QuestionError::Rto { .. } => "rto",
            QuestionError::Config(_) => "settings",
        };
        let words = e.to_string();
        let words = words.strip_prefix(&format!("--{place} ")).unwrap_or(&words);
        wrong(Input::Settings, place, words)
    })?;
    let json = serde_json::to_string(&found).map_err(|e| RunError::new_err(e.to_string()))?;
    Ok((json, times::render(&found)))
}

/// A duration with its unit, in the command's words if it is none.
pub(crate) fn duration(from: &Bound<'_, PyAny>, place: &str) -> PyResult<Duration> {
    let text: String = match from.extract() {
        Ok(text) => text,
        // A number lacks its unit: the reader says which there are.
        Err(_) => crate::show(from),
    };
    parse_duration(&text).map_err(|e| wrong(Input::Settings, place, e))
}

/// Claims and figures, run again.
#[pyclass(module = "byway._native", frozen)]
struct Reproduction {
    report: Report,
}

/// Runs claims and figures again.
#[pyfunction]
#[pyo3(signature = (what, *, full, experiments, runs, raw, program, progress))]
#[expect(clippy::too_many_arguments, reason = "they are the command's options")]
fn reproduce(
    py: Python<'_>,
    what: Vec<String>,
    full: bool,
    experiments: Option<PathBuf>,
    runs: Option<PathBuf>,
    raw: Option<PathBuf>,
    program: String,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Reproduction> {
    let control = Control::default();
    let tell = |done: usize, most: usize| control.progress(done, most);
    let request = Request {
        what,
        effort: if full { Effort::Full } else { Effort::Quick },
        experiments,
        runs,
        raw,
        ablations: Vec::new(),
        at: Default::default(),
        looks: 1,
        first_seed: 1,
        program,
    };
    let work = || {
        let watch = Watch {
            progress: &tell,
            resumed: &|_| {},
            cancel: Some(&control.cancel),
        };
        lab::reproduce(&request, &watch)
    };
    let (done, stopped) = carry_out(py, 0, &control, progress, work)?;
    if let Some(error) = stopped {
        return Err(error);
    }
    let report = done.map_err(|error| match error {
        ReproduceError::Unknown(why) => wrong(Input::Settings, "what", why),
        ReproduceError::Failed(why) => RunError::new_err(why),
        ReproduceError::File(error) => trouble(&error, None),
    })?;
    Ok(Reproduction { report })
}

#[pymethods]
impl Reproduction {
    /// What `byway reproduce --json` prints.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.report).map_err(|e| RunError::new_err(e.to_string()))
    }

    /// What `byway reproduce` prints.
    fn text(&self, width: usize) -> String {
        lab::text::render(&self.report, crate::run::plain(width))
    }

    /// The page `reproduce.html`.
    fn html(&self) -> PyResult<String> {
        lab::page::html(&self.report, env!("CARGO_PKG_VERSION"), None).map_err(RunError::new_err)
    }

    /// The figures of the papers, as JSON: names, panels, lines and points.
    fn figures(&self) -> String {
        let papers = self.report.papers.iter().map(|paper| {
            let figures: Vec<_> = paper.figures.iter().map(figure).collect();
            (paper.id.clone(), serde_json::Value::from(figures))
        });
        serde_json::Value::Object(papers.collect()).to_string()
    }
}

fn figure(figure: &Figure) -> serde_json::Value {
    let panels = figure.panels.iter().map(|panel| {
        let lines = panel.lines.iter().map(|line| {
            let style = format!("{:?}", line.style).to_lowercase();
            let low = line.points.iter().map(|p| p.interval.map(|i| i.0));
            let high = line.points.iter().map(|p| p.interval.map(|i| i.1));
            serde_json::json!({
                "name": figure.names.get(line.name),
                "colour": line.name,
                "source": line.source.name(),
                "style": style,
                "x": line.points.iter().map(|p| p.x).collect::<Vec<_>>(),
                "y": line.points.iter().map(|p| p.y).collect::<Vec<_>>(),
                "low_95": low.collect::<Vec<_>>(),
                "high_95": high.collect::<Vec<_>>(),
                "runs": line.points.iter().map(|p| p.n).collect::<Vec<_>>(),
            })
        });
        serde_json::json!({
            "title": panel.title,
            "x": panel.x,
            "y": panel.y,
            "lines": lines.collect::<Vec<_>>(),
        })
    });
    serde_json::json!({
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "csv": figure.csv(),
        "panels": panels.collect::<Vec<_>>(),
    })
}
