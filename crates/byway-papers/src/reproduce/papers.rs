//! The papers of `experiments/`, which the command carries with it.

use super::cells::Cells;
use super::claim::Paper;
use super::ns2;
use super::rule;
use super::study::StudySpec;
use byway_lab::axis::Base;
use std::borrow::Cow;
use std::path::Path;

/// A paper's folder.
pub(super) struct Folder {
    /// Its name.
    pub(super) id: String,
    files: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

macro_rules! built_in {
    ($($id:literal: $($file:literal),+;)+) => {
        &[$((
            $id,
            &[
                built_in!(@ $id, "claims.toml"),
                $(built_in!(@ $id, $file)),+
            ],
        )),+]
    };
    (@ $id:literal, $file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/", $id, "/", $file)))
    };
}

/// Names and texts of files.
type Texts = &'static [(&'static str, &'static str)];

/// All papers, by year; their questions asked again last.
const BUILT_IN: &[(&str, Texts)] = built_in! {
    "caro-2003": "ns2.csv", "dumbbell.toml";
    "caro-2004": "ns2.csv", "transfer.toml", "failure.toml";
    "caro-2006": "ns2.csv", "detection.toml", "transfer.toml", "transfer-ns-2.35.toml", "three-paths.toml", "scenario-1.toml",
        "scenario-2.toml", "scenario-3.toml", "scenario-4.toml", "section-v.toml";
    "cortes-2008": "ns2.csv", "unplugged.toml", "interrupted.toml", "reserve.toml";
    "natarajan-2006": "ns2.csv", "transfer.toml", "failure.toml", "outage.toml", "timeline.toml",
        "timeout.toml", "trials.toml", "outage-own.toml";
    "today": "transfer.toml", "schemes.toml", "failure.toml", "unplugged.toml",
        "concurrent.toml", "concurrent-failure.toml", "concurrent-outage.toml";
};

/// The papers that the command carries with it.
pub(super) fn built_in() -> Vec<Folder> {
    let folder = |&(id, texts): &(&str, Texts)| Folder {
        id: id.to_owned(),
        files: texts.iter().map(|&(n, t)| (n.into(), t.into())).collect(),
    };
    BUILT_IN.iter().map(folder).collect()
}

/// The papers in the folders of `dir`, by name.
pub(super) fn in_folder(dir: &Path) -> Result<Vec<Folder>, String> {
    let said = |what: &Path, e: &std::io::Error| format!("cannot read {}: {e}", what.display());
    let list = |dir: &Path| -> Result<Vec<std::path::PathBuf>, String> {
        let entries = std::fs::read_dir(dir).map_err(|e| said(dir, &e))?;
        let mut paths: Vec<_> = entries
            .map(|entry| Ok(entry.map_err(|e| said(dir, &e))?.path()))
            .collect::<Result<_, String>>()?;
        paths.sort();
        Ok(paths)
    };
    let mut folders = Vec::new();
    for path in list(dir)? {
        if !path.join("claims.toml").is_file() {
            continue;
        }
        let mut files = Vec::new();
        for file in list(&path)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".toml") || name.ends_with(".csv") {
                let text = std::fs::read_to_string(&file).map_err(|e| said(&file, &e))?;
                files.push((name.into_owned().into(), text.into()));
            }
        }
        let id = path.file_name().unwrap_or_default().to_string_lossy();
        folders.push(Folder {
            id: id.into_owned(),
            files,
        });
    }
    if folders.is_empty() {
        return Err(format!("no folder in {} has a claims.toml", dir.display()));
    }
    Ok(folders)
}

impl Folder {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.files.iter().find(|(file, _)| file == name);
        found.map(|(_, text)| text.as_ref())
    }

    fn path(&self, name: &str) -> String {
        format!("experiments/{}/{name}", self.id)
    }

    /// The text of its claims file.
    pub(super) fn claims(&self) -> &str {
        self.text("claims.toml").unwrap_or_default()
    }

    /// Its claims, figures and studies.
    pub(super) fn paper(&self) -> Result<Paper, String> {
        let name = "claims.toml";
        toml::from_str(self.claims()).map_err(|e| format!("{}: {e}", self.path(name)))
    }

    /// The scenario of a study.
    pub(super) fn scenario(&self, study: &StudySpec) -> Result<Base, String> {
        let name = format!("{}.toml", study.scenario);
        let file = self.path(&name);
        let text = self
            .text(&name)
            .ok_or_else(|| format!("{file} is not there; study \"{}\" needs it", study.id))?;
        Base::parse(&file, text).map_err(|problems| problems.to_string())
    }

    /// The digest of the scenarios of its studies.
    pub(super) fn scenarios_digest(&self, studies: &[StudySpec]) -> String {
        let files = studies.iter().filter_map(|study| {
            let text = self.text(&format!("{}.toml", study.scenario))?;
            Some((study.scenario.as_str(), text))
        });
        rule::digest_of_scenarios(files)
    }

    /// ns-2's cells of a study, if there are any.
    pub(super) fn ns2(&self, study: &str) -> Result<Option<Cells>, String> {
        let name = "ns2.csv";
        let cells = ns2::read(self.text(name).unwrap_or_default(), study)
            .map_err(|e| format!("{}: {e}", self.path(name)))?;
        Ok((!cells.0.is_empty()).then_some(cells))
    }
}
