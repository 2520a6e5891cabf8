//! One paper of a reproduction: the runs that it needs, and what they show.

use super::ablation::Ablation;
use super::cells::{self, Cells, Place};
use super::check::{Check, RunCount};
use super::claim::{Claim, Paper as PaperSpec};
use super::figure::{Data, Figure, FigureSpec};
use super::measure;
use super::papers::Folder;
use super::plan::Wanted;
use super::report::{PaperResult, Request};
use super::rule::{self, Level, Outcome};
use super::single::Runs;
use super::study::{self, Effort};
use super::undecidable;
use super::verdict::{self, Ran};
use std::collections::{BTreeMap, BTreeSet};

/// Whose rows: the settings, the place of the paper, that of the study.
pub(super) type Whose = (Option<Ablation>, usize, usize);

/// What the runs gave so far.
pub(super) type Rows = BTreeMap<Whose, Vec<study::Row>>;

/// Which runs are asked for.
pub(super) struct Ask<'a> {
    pub(super) effort: Effort,
    /// The cells; all if it names no axis.
    pub(super) at: &'a Place,
    /// The look at the growing runs, from 0.
    pub(super) look: u32,
    /// The first seed of all.
    pub(super) first_seed: u64,
    /// The studies; none for all.
    pub(super) only: Option<&'a BTreeSet<String>>,
}

/// The parts of a paper that are wanted, with its files.
pub(super) struct Part {
    pub(super) files: Folder,
    pub(super) paper: PaperSpec,
}

/// The measures that the wanted claims take from a study.
fn checked_measures(paper: &PaperSpec, study: &str) -> BTreeSet<String> {
    let claims = paper.claims.iter();
    measures_of(
        claims.flat_map(|c| c.checks.iter().chain(&c.validation)),
        study,
    )
}

fn measures_of<'a>(checks: impl Iterator<Item = &'a Check>, study: &str) -> BTreeSet<String> {
    checks
        .filter(|c| c.study == study)
        .flat_map(|c| c.kind.measures())
        .map(|measure| measure::base(measure).to_owned())
        .collect()
}

/// The measures that the wanted claims and figures take from a study.
pub(super) fn measures(paper: &PaperSpec, study: &str) -> BTreeSet<String> {
    let mut measures = checked_measures(paper, study);
    for figure in paper.figures.iter().filter(|f| f.study == study) {
        let shown = figure.kind.measures();
        measures.extend(shown.into_iter().map(|m| measure::base(m).to_owned()));
    }
    measures
}

impl Part {
    /// The axes of its studies, set and measured.
    pub(super) fn axes(&self) -> impl Iterator<Item = &str> {
        let studies = self.paper.studies.iter();
        studies.flat_map(|s| s.axes.keys().chain(s.bins.keys()).map(String::as_str))
    }

    /// Whether one of its studies has this axis.
    pub(super) fn has_axis(&self, name: &str) -> bool {
        self.axes().any(|axis| axis == name)
    }

    /// Adds the studies that its claims and figures need.
    pub(super) fn wants<'a>(
        &'a self,
        place: usize,
        ablation: Option<Ablation>,
        ask: &Ask<'a>,
        wanted: &mut Vec<(Whose, Wanted<'a>)>,
    ) -> Result<(), String> {
        for (s, study) in self.paper.studies.iter().enumerate() {
            if ask.only.is_some_and(|only| !only.contains(&study.id)) {
                continue;
            }
            let measures = match ablation {
                None => measures(&self.paper, &study.id),
                // Figures are not drawn again.
                Some(_) => checked_measures(&self.paper, &study.id),
            };
            if measures.is_empty() {
                continue;
            }
            let wants = Wanted {
                effort: match ablation {
                    None => ask.effort,
                    Some(_) => Effort::Quick,
                },
                paper: &self.paper.id,
                study,
                base: self.files.scenario(study)?,
                ablation,
                at: ask.at,
                seeds: match ablation {
                    None => study.look(ask.effort, ask.look, ask.first_seed),
                    Some(_) => study.by_other_settings(ask.effort, ask.first_seed),
                },
                measures,
            };
            wanted.push(((ablation, place, s), wants));
        }
        Ok(())
    }

    /// What the runs of its studies gave.
    pub(super) fn cells(
        &self,
        place: usize,
        ablation: Option<Ablation>,
        (rows, at): (&Rows, &Place),
    ) -> BTreeMap<&str, Cells> {
        let studies = self.paper.studies.iter().enumerate();
        let cells = studies.filter_map(|(s, study)| {
            let rows = rows.get(&(ablation, place, s))?;
            let mut cells = study::cells(rows.clone());
            cells.0.retain(|cell| cells::is_at(&cell.place, at));
            Some((study.id.as_str(), cells))
        });
        cells.collect()
    }

    /// The studies of claims that are not decided yet, for which more runs may help.
    pub(super) fn open(&self, cells: &BTreeMap<&str, Cells>, level: Level) -> BTreeSet<String> {
        let none = BTreeMap::new();
        let claims = self.paper.claims.iter();
        let undecided = claims.filter(|claim| {
            let found = verdict::of(claim, &self.paper.id, cells, &none, level);
            found.is_open()
        });
        undecided
            .flat_map(|c| c.checks.iter().chain(&c.validation))
            .filter(|check| check.kind.may_be_decided())
            .filter(|check| {
                let cells = cells.get(check.study.as_str());
                let found = cells.and_then(|c| check.kind.evaluate(c, level));
                found.is_none_or(|f| f.outcome == Outcome::Undecided)
            })
            .map(|c| c.study.clone())
            .collect()
    }

    /// Puts the claims to other settings.
    pub(super) fn ablate(
        &self,
        ablation: Ablation,
        cells: &BTreeMap<&str, Cells>,
        level: Level,
        result: &mut PaperResult,
    ) {
        for (claim, found) in self.paper.claims.iter().zip(&mut result.claims) {
            let ablated = verdict::ablated(claim, ablation, cells, level);
            found.ablations.push(ablated);
        }
    }

    pub(super) fn result(
        &self,
        ours: &BTreeMap<&str, Cells>,
        request: &Request,
        level: Level,
    ) -> Result<PaperResult, String> {
        let (effort, at) = (request.effort, &request.at);
        let mut ns2 = BTreeMap::new();
        for study in &self.paper.studies {
            if let Some(mut cells) = self.files.ns2(&study.id)? {
                cells.0.retain(|cell| cells::is_at(&cell.place, at));
                if let Some(ours) = ours.get(study.id.as_str()) {
                    alike_in_size(&mut cells, ours);
                }
                ns2.insert(study.id.as_str(), cells);
            }
        }
        let claims = self.paper.claims.iter().map(|claim| {
            let mut found = verdict::of(claim, &self.paper.id, ours, &ns2, level);
            found.ran = self.ran(claim, ours, effort);
            let studies = self.paper.studies.as_slice();
            undecidable::tell(claim, &mut found, ours, (studies, |s| s.seeds(effort)));
            found
        });
        let claims = claims.collect();
        let mut figures = Vec::new();
        for spec in &self.paper.figures {
            figures.push(self.figure(spec, ours, &ns2, request)?);
        }
        Ok(PaperResult {
            id: self.paper.id.clone(),
            title: self.paper.title.clone(),
            citation: self.paper.citation.clone(),
            setting: self.paper.setting.clone(),
            questions: self.paper.questions,
            digest: rule::digest(self.files.claims()),
            scenarios: self.files.scenarios_digest(&self.paper.studies),
            profile: self.paper.profile.clone(),
            parameters: self.paper.parameters.clone(),
            claims,
            figures,
        })
    }

    /// What was run for a claim.
    fn ran(&self, claim: &Claim, ours: &BTreeMap<&str, Cells>, effort: Effort) -> Vec<Ran> {
        let mut ran: Vec<Ran> = Vec::new();
        for check in claim.checks.iter().chain(&claim.validation) {
            let study = self.paper.studies.iter().find(|s| s.id == check.study);
            let (Some(study), Some(cells)) = (study, ours.get(check.study.as_str())) else {
                continue;
            };
            if ran.iter().any(|r| r.study == study.id) {
                continue;
            }
            let all = cells.pooled(&cells::Filter::new(), check.kind.measure());
            ran.push(Ran {
                study: study.id.clone(),
                scenario: study.scenario.clone(),
                what: study.words(effort),
                cells: cells.0.len(),
                runs: all.map_or_else(RunCount::default, |all| RunCount {
                    distinct: all.n,
                    all: all.all,
                }),
            });
        }
        ran
    }

    fn figure(
        &self,
        spec: &FigureSpec,
        ours: &BTreeMap<&str, Cells>,
        ns2: &BTreeMap<&str, Cells>,
        request: &Request,
    ) -> Result<Figure, String> {
        let (effort, at) = (request.effort, &request.at);
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
            at,
            runs: &Runs {
                base: &base,
                study,
                effort,
            },
            words: &words,
            first_seed: request.first_seed,
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
