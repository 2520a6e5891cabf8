//! Selects what is requested, does the runs, and checks them.

use super::cells::{self, Cells};
use super::claim::Paper as PaperSpec;
use super::figure::{Data, Figure, FigureSpec};
use super::papers::{self, Folder};
use super::plan::{StudyPlan, Wanted};
use super::report::{PaperResult, Report, ReproduceError, Request, SCHEMA, Watch};
use super::single::Runs;
use super::study::{self, Effort};
use super::{kept, measure, verdict};
use byway_lab::engine::{self, EngineError, Options, Plan, Store};
use byway_lab::metrics::Metrics;
use std::collections::{BTreeMap, BTreeSet};

/// The parts of a paper that are wanted, with its files.
struct Part {
    files: Folder,
    paper: PaperSpec,
}

/// Does the runs and checks.
///
/// # Errors
/// A request for something that does not exist; a file of `experiments/` that cannot be
/// read; a run that cannot be done; a file of kept runs that cannot be written
/// or belongs to something else.
pub fn reproduce(request: &Request, watch: &Watch<'_>) -> Result<Report, ReproduceError> {
    let folders = match &request.experiments {
        Some(dir) => papers::in_folder(dir)?,
        None => papers::built_in(),
    };
    let parts = choose(&request.what, folders)?;
    let mut wanted: Vec<Wanted<'_>> = Vec::new();
    let mut whose: Vec<(usize, usize)> = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        for (s, study) in part.paper.studies.iter().enumerate() {
            let measures = measures(&part.paper, &study.id);
            if measures.is_empty() {
                continue;
            }
            wanted.push(Wanted {
                paper: &part.paper.id,
                study,
                base: part.files.scenario(study)?,
                measures,
            });
            whose.push((p, s));
        }
    }
    let done = carry_out(&wanted, request, watch)?;
    let mut by_study: BTreeMap<(usize, usize), Vec<study::Row>> =
        whose.into_iter().zip(done.rows).collect();
    let mut papers = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        let ours: BTreeMap<&str, Cells> = part
            .paper
            .studies
            .iter()
            .enumerate()
            .filter_map(|(s, study)| {
                let rows = by_study.remove(&(p, s))?;
                Some((study.id.as_str(), study::cells(rows)))
            })
            .collect();
        papers.push(part.result(&ours, request.effort)?);
    }
    Ok(Report {
        schema: SCHEMA,
        effort: request.effort.name(),
        runs: done.asked,
        simulated: done.simulated,
        from_file: done.from_file,
        shared: done.asked - done.simulated - done.from_file,
        papers,
    })
}

/// What the runs gave.
struct Done {
    /// Rows by study, in the order of its places and seeds.
    rows: Vec<Vec<study::Row>>,
    asked: usize,
    simulated: usize,
    from_file: usize,
}

/// Does the runs of all studies.
fn carry_out(
    wanted: &[Wanted<'_>],
    request: &Request,
    watch: &Watch<'_>,
) -> Result<Done, ReproduceError> {
    let metrics = Metrics::standard();
    let plan = |w: &Wanted<'_>| w.plan(request.effort, &metrics);
    let plans: Vec<StudyPlan> = wanted.iter().map(plan).collect::<Result<_, _>>()?;
    let store = match &request.runs {
        Some(file) => {
            let (store, resumed) = kept::open(file, &request.program)?;
            resumed.into_iter().for_each(watch.resumed);
            kept::try_out(&plans, &store, &request.program)?;
            store
        }
        None => Store::nothing(),
    };
    let all: Vec<&Plan> = plans.iter().map(|p| &p.plan).collect();
    let options = Options {
        store: Some(&store),
        progress: Some(watch.progress),
        cancel: watch.cancel,
        strict: true,
        ..Options::default()
    };
    let done = engine::run(&all, &options).map_err(|error| match error {
        EngineError::File(_) => format!(
            "{error}; the {} runs that it holds are not lost: the same command resumes with them",
            store.runs()
        ),
        _ => error.to_string(),
    })?;
    let each = wanted.iter().zip(&plans).zip(&done.rows);
    Ok(Done {
        rows: each.map(|((w, plan), rows)| w.rows(plan, rows)).collect(),
        asked: done.asked,
        simulated: done.simulated,
        from_file: done.from_store,
    })
}

/// The papers with the claims and figures that are requested.
fn choose(what: &[String], folders: Vec<Folder>) -> Result<Vec<Part>, ReproduceError> {
    let mut parts = Vec::new();
    let mut known = BTreeSet::new();
    let mut found = BTreeSet::new();
    for files in folders {
        let mut paper = files.paper()?;
        let asked = |name: &str| what.iter().find(|w| w.eq_ignore_ascii_case(name)).cloned();
        // A claim's name is its own; with its paper it may be said, too.
        let mut keep = |name: String, also: Option<String>| {
            let hits: Vec<String> = asked(&name)
                .into_iter()
                .chain(also.and_then(|also| asked(&also)))
                .collect();
            known.insert(name);
            let hit = !hits.is_empty();
            found.extend(hits);
            hit
        };
        let whole = keep(paper.id.clone(), None) || what.is_empty();
        let id = paper.id.clone();
        let figures: BTreeSet<String> = paper
            .figures
            .iter()
            .map(|f| f.id.clone())
            .filter(|f| keep(format!("{id}/{f}"), None))
            .collect();
        paper
            .claims
            .retain(|c| keep(c.id.clone(), Some(format!("{id}/{}", c.id))) || whole);
        let shown: BTreeSet<&str> = paper
            .claims
            .iter()
            .filter_map(|c| c.figure.as_deref())
            .collect();
        paper
            .figures
            .retain(|f| whole || figures.contains(&f.id) || shown.contains(f.id.as_str()));
        if !paper.claims.is_empty() || !paper.figures.is_empty() {
            parts.push(Part { files, paper });
        }
    }
    if let Some(unknown) = what.iter().find(|w| !found.contains(*w)) {
        let known: Vec<String> = known.into_iter().collect();
        return Err(ReproduceError::Unknown(format!(
            "\"{unknown}\" is no paper, claim or figure here; there are {}",
            known.join(", ")
        )));
    }
    Ok(parts)
}

/// The measures that the wanted claims and figures take from a study.
pub(super) fn measures(paper: &PaperSpec, study: &str) -> BTreeSet<String> {
    let checks = paper.claims.iter().flat_map(|c| &c.checks);
    let mut measures: BTreeSet<String> = checks
        .filter(|c| c.study.as_deref() == Some(study))
        .filter_map(|c| c.kind.measure())
        .map(|m| measure::base(m).to_owned())
        .collect();
    for figure in paper.figures.iter().filter(|f| f.study == study) {
        let shown = figure.kind.measures();
        measures.extend(shown.into_iter().map(|m| measure::base(m).to_owned()));
    }
    measures
}

impl Part {
    fn result(&self, ours: &BTreeMap<&str, Cells>, effort: Effort) -> Result<PaperResult, String> {
        let mut ns2 = BTreeMap::new();
        for study in &self.paper.studies {
            if let Some(mut cells) = self.files.ns2(&study.id)? {
                if let Some(ours) = ours.get(study.id.as_str()) {
                    alike_in_size(&mut cells, ours);
                }
                ns2.insert(study.id.as_str(), cells);
            }
        }
        let claims = self
            .paper
            .claims
            .iter()
            .map(|claim| verdict::of(claim, &self.paper.id, ours, &ns2))
            .collect();
        let mut figures = Vec::new();
        for spec in &self.paper.figures {
            figures.push(self.figure(spec, ours, &ns2, effort)?);
        }
        Ok(PaperResult {
            id: self.paper.id.clone(),
            title: self.paper.title.clone(),
            citation: self.paper.citation.clone(),
            setting: self.paper.setting.clone(),
            questions: self.paper.questions,
            claims,
            figures,
        })
    }

    fn figure(
        &self,
        spec: &FigureSpec,
        ours: &BTreeMap<&str, Cells>,
        ns2: &BTreeMap<&str, Cells>,
        effort: Effort,
    ) -> Result<Figure, String> {
        let name = || format!("{} figure {}", self.paper.id, spec.id);
        let study = self
            .paper
            .studies
            .iter()
            .find(|s| s.id == spec.study)
            .ok_or_else(|| format!("{}: no study \"{}\"", name(), spec.study))?;
        let empty = Cells::default();
        let base = self.files.scenario(study)?;
        let words = study.words(effort);
        let data = Data {
            ours: ours.get(spec.study.as_str()).unwrap_or(&empty),
            ns2: ns2.get(spec.study.as_str()),
            runs: &Runs {
                base: &base,
                study,
                effort,
            },
            words: &words,
        };
        spec.draw(&self.paper.id, data)
            .map_err(|e| format!("{}: {e}", name()))
    }
}

/// Drops ns-2's cells of another size than byway's: transfer times of 8 and of
/// 80 MB are no neighbours.
fn alike_in_size(ns2: &mut Cells, ours: &Cells) {
    let sizes = ours.values("size", &cells::Filter::new());
    if !sizes.is_empty() {
        ns2.0
            .retain(|c| c.place.get("size").is_none_or(|s| sizes.contains(s)));
    }
}
