//! Does the runs of what is requested, and checks them.

use super::choose::choose;
use super::kept;
use super::measure;
use super::papers;
use super::part::{Ask, Part, Rows, Whose};
use super::plan::{StudyPlan, Wanted};
use super::raw::{self, RawFile};
use super::report::{PaperResult, Report, ReproduceError, Request, SCHEMA, Watch};
use super::rule::{self, Level};
use super::study;
use byway_lab::engine::{self, EngineError, Options, Plan, Store};
use std::collections::BTreeSet;

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
    if let Some(axis) = (request.at.keys()).find(|a| !parts.iter().any(|p| p.has_axis(a))) {
        let known: BTreeSet<&str> = parts.iter().flat_map(Part::axes).collect();
        let known: Vec<&str> = known.into_iter().collect();
        return Err(ReproduceError::Unknown(format!(
            "\"{axis}\" is no axis of what is asked for; there are {}",
            known.join(", ")
        )));
    }
    let looks = request.looks.max(1);
    let level = Level::of_looks(looks);
    let mut rows = Rows::new();
    let mut counts = Counts::default();
    let mut open: Vec<BTreeSet<String>> = Vec::new();
    let mut files = Vec::new();
    for look in 0..looks {
        let mut wanted: Vec<(Whose, Wanted<'_>)> = Vec::new();
        for ablation in [None]
            .into_iter()
            .chain(request.ablations.iter().copied().map(Some))
        {
            for (p, part) in parts.iter().enumerate() {
                // The questions of today are asked of today's settings alone.
                // Other settings are looked at once.
                if ablation.is_none() || (look == 0 && !part.paper.questions) {
                    let ask = Ask {
                        effort: request.effort,
                        at: &request.at,
                        look,
                        first_seed: request.first_seed,
                        only: open.get(p),
                    };
                    part.wants(p, ablation, &ask, &mut wanted)?;
                }
            }
        }
        let (whose, wanted): (Vec<Whose>, Vec<Wanted<'_>>) = wanted.into_iter().unzip();
        let mut done = carry_out(&wanted, look, request, watch)?;
        counts.add(&done);
        files.append(&mut done.raw);
        for (whose, more) in whose.into_iter().zip(done.rows) {
            rows.entry(whose).or_default().extend(more);
        }
        if look + 1 < looks {
            open = (parts.iter().enumerate())
                .map(|(p, part)| part.open(&part.cells(p, None, (&rows, &request.at)), level))
                .collect();
        }
    }
    let papers = parts
        .iter()
        .enumerate()
        .map(|(p, part)| result(part, p, request, &rows, level))
        .collect::<Result<_, _>>()?;
    Ok(Report {
        schema: SCHEMA,
        origin: None,
        rule: rule::digest(""),
        first_seed: request.first_seed,
        effort: request.effort.name(),
        looks,
        runs: counts.asked,
        simulated: counts.simulated,
        from_file: counts.from_file,
        other_build: counts.other_build,
        shared: counts.asked - counts.simulated - counts.from_file,
        papers,
        raw: files,
    })
}

/// What became of one paper, by its settings and by those that take their place.
fn result(
    part: &Part,
    place: usize,
    request: &Request,
    rows: &Rows,
    level: Level,
) -> Result<PaperResult, String> {
    let ours = part.cells(place, None, (rows, &request.at));
    let mut result = part.result(&ours, request, level)?;
    for ablation in request.ablations.iter().filter(|_| !part.paper.questions) {
        let cells = part.cells(place, Some(*ablation), (rows, &request.at));
        part.ablate(*ablation, &cells, Level::default(), &mut result);
    }
    Ok(result)
}

/// How many runs there were.
#[derive(Default)]
struct Counts {
    asked: usize,
    simulated: usize,
    from_file: usize,
    other_build: bool,
}

impl Counts {
    fn add(&mut self, done: &Done) {
        self.asked += done.asked;
        self.simulated += done.simulated;
        self.from_file += done.from_file;
        self.other_build |= done.other_build;
    }
}

/// What the runs gave.
struct Done {
    /// Rows by study, in the order of its places and seeds.
    rows: Vec<Vec<study::Row>>,
    asked: usize,
    simulated: usize,
    from_file: usize,
    /// Whether another build began the file of kept runs.
    other_build: bool,
    /// The files of the raw runs.
    raw: Vec<RawFile>,
}

/// Does the runs of all studies, for one look at them.
fn carry_out(
    wanted: &[Wanted<'_>],
    look: u32,
    request: &Request,
    watch: &Watch<'_>,
) -> Result<Done, ReproduceError> {
    let metrics = measure::known();
    let plan = |w: &Wanted<'_>| w.plan(&metrics);
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
    let raw = match &request.raw {
        Some(folder) => raw::write(folder, look, (wanted, &plans), &done.rows)?,
        None => Vec::new(),
    };
    let each = wanted.iter().zip(&plans).zip(&done.rows);
    Ok(Done {
        rows: each.map(|((w, plan), rows)| w.rows(plan, rows)).collect(),
        asked: done.asked,
        simulated: done.simulated,
        from_file: done.from_store,
        other_build: store.is_of_another(&request.program),
        raw,
    })
}
